"""Run-time settings of a GGUF engine as metadata keys of the file's own architecture.

A key may be GGUF's own (``llama.rope.freq_base=1e6``, or ``rope.freq_base`` without the prefix, as
``--override-kv`` takes it) or the config's word for the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ropeaudit.errors import quoted
from ropeaudit.facts import Json, Note, Reading
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
    """``reading`` with ``settings`` in its metadata; a note names those that it cannot hold."""
    metadata = dict(reading.metadata or {})
    architecture = str(metadata.get("general.architecture"))
    changed: dict[str, Json] = {}
    homeless: list[str] = []
    for path, setting in settings:
        for name, key, value in _translated(path, setting, architecture):
            if key is None:
                homeless.append(name)
            else:
                changed[f"{architecture}.{key}"] = value
    return replace(
        reading,
        metadata={**metadata, **changed},
        overridden=reading.overridden | frozenset(changed),
        notes=(*reading.notes, *([_no_key(homeless)] if homeless else [])),
    )


def _translated(
    path: tuple[str, ...], value: Json, architecture: str
) -> Iterator[tuple[str, str | None, Json]]:
    """(name as given, GGUF key without the architecture or None, value) of each part."""
    name = ".".join(path).removeprefix(f"{architecture}.")
    if name.startswith(_OWN):
        yield name, name, value
    elif name in _KEYS:
        yield name, _KEYS[name], value
    elif path[0] in ("rope_scaling", "rope_parameters"):
        parts = value if len(path) == 1 and isinstance(value, Mapping) else {path[-1]: value}
        for part, inner in parts.items():
            found = f"rope.scaling.{_SCALING[part]}" if part in _SCALING else None
            key = "rope.freq_base" if part == "rope_theta" else found
            yield f"{path[0]}.{part}", key, inner
    else:
        yield name, None, value


def _no_key(names: Sequence[str]) -> Note:
    return Note(
        "override_without_effect",
        f"GGUF has no key for {', '.join(map(quoted, names))}, so the override changes nothing; "
        "name GGUF's own, such as rope.freq_base=1e6 or rope.scaling.factor=4",
    )
