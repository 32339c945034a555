"""Run-time settings of a GGUF engine as metadata keys of the file's own architecture.

A key may be GGUF's own (``llama.rope.freq_base=1e6``, or ``rope.freq_base`` without the prefix, as
``--override-kv`` takes it) or the config's word for the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ropeaudit.errors import UsageError, quoted
from ropeaudit.facts import Json, Reading
from ropeaudit.records import replace

_KEYS = {
    "rope_theta": "rope.freq_base",
    "rope_local_base_freq": "rope.freq_base_swa",
    "rotary_dim": "rope.dimension_count",
    "head_dim": "attention.key_length",
    "max_position_embeddings": "context_length",
    "sliding_window": "attention.sliding_window",
    "original_max_position_embeddings": "rope.scaling.original_context_length",
}
_SCALING = {
    "rope_type": "type",
    "type": "type",
    "factor": "factor",
    "original_max_position_embeddings": "original_context_length",
    "beta_fast": "yarn_beta_fast",
    "beta_slow": "yarn_beta_slow",
}
_OWN = ("rope.", "attention.", "context_length", "embedding_length", "block_count")


def apply(reading: Reading, settings: Sequence[tuple[tuple[str, ...], Json]]) -> Reading:
    """``reading`` with ``settings`` in its metadata; raises UsageError for a key it cannot hold."""
    metadata = dict(reading.metadata or {})
    architecture = metadata.get("general.architecture")
    changed = {
        f"{architecture}.{key}": value
        for path, setting in settings
        for key, value in _translated(path, setting, str(architecture))
    }
    return replace(
        reading,
        metadata={**metadata, **changed},
        overridden=reading.overridden | frozenset(changed),
    )


def _translated(
    path: tuple[str, ...], value: Json, architecture: str
) -> Iterator[tuple[str, Json]]:
    name = ".".join(path).removeprefix(f"{architecture}.")
    if name.startswith(_OWN):
        yield name, value
    elif name in _KEYS:
        yield _KEYS[name], value
    elif path[0] in ("rope_scaling", "rope_parameters"):
        parts = value if len(path) == 1 and isinstance(value, Mapping) else {path[-1]: value}
        for key, part in parts.items():
            if key == "rope_theta":
                yield "rope.freq_base", part
            elif key in _SCALING:
                yield f"rope.scaling.{_SCALING[key]}", part
            else:
                raise _no_key(f"{path[0]}.{key}")
    else:
        raise _no_key(name)


def _no_key(name: str) -> UsageError:
    return UsageError(
        f"--override {quoted(name)}: a GGUF file has no key for it; name GGUF's own, such as "
        "rope.freq_base=1e6 or rope.scaling.factor=4"
    )
