"""What the user passes to the engine at run time: ``--override KEY=VALUE`` or a JSON object.

Keys may be dotted (``text_config.rope_theta=1e6``). Position keys without a path apply to the part
of the config that describes the text model, because that is what engines do with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ropeaudit.document import escape, loads
from ropeaudit.errors import SourceError, UsageError, quoted, shown
from ropeaudit.facts import Json, Note, Reading
from ropeaudit.records import record, replace

LENGTH = "max_model_len"
"""The engine's own length limit: no field of the config, but a length to judge at."""
POSITION_KEYS = frozenset(
    {"rope_theta", "rope_scaling", "rope_parameters", "max_position_embeddings",
     "original_max_position_embeddings", "partial_rotary_factor", "rope_local_base_freq",
     "global_rope_theta", "local_rope_theta", "rotary_pct", "rotary_dim", "rotary_emb_base",
     "rope_ratio", "head_dim", "qk_rope_head_dim", "sliding_window", "layer_types",
     "no_rope_layers", "no_rope_layer_interval"}
)  # fmt: skip
TEXT_CONFIGS = (
    ("text_config",),
    ("thinker_config", "text_config"),
    ("llm_config",),
    ("language_config",),
    ("language_model_config",),
    ("text_model_config",),
    ("llm",),
    ("decoder",),
)
"""Where multimodal configs keep their text model, in the order in which they are tried."""
READ_BY_CHECKS = frozenset({"position_dtype", "rope_dtype"})
"""What no config has: the format of positions and angles at run time, which one check judges."""
MAX_LENGTH = 1 << 40
_CONTAINER_STARTS = ("{", "[", '"')
_PYTHON = {"True": True, "False": False, "None": None}
"""Spellings that JSON does not know and nobody means as strings."""


@record()
class Overrides:
    """``settings``: paths into the config with their values; ``length``: ``max_model_len``."""

    settings: tuple[tuple[tuple[str, ...], Json], ...] = ()
    length: int | None = None

    def pointers(self, data: Mapping[str, Json]) -> dict[str, Json]:
        """JSON pointers into ``data`` with the values to put there."""
        nested = next((p for p in TEXT_CONFIGS if _holds(data, p)), ())
        found = {}
        for path, value in self.settings:
            place = (*nested, *path) if path[0] in POSITION_KEYS else path
            found["".join(f"/{escape(step)}" for step in place)] = value
        return found


def parse(texts: Iterable[str]) -> Overrides:
    """Read ``KEY=VALUE`` and JSON texts; later ones win. Raises UsageError."""
    settings: dict[tuple[str, ...], Json] = {}
    length = None
    for text in texts:
        for path, value in _one(text.strip()):
            if path == (LENGTH,):
                length = _length(value)
            else:
                settings.pop(path, None)  # the order counts: a later whole replaces earlier parts
                settings[path] = value
    return Overrides(tuple(settings.items()), length)


def apply(reading: Reading, texts: Sequence[str]) -> tuple[Reading, tuple[int, ...]]:
    """``reading`` with the overrides in its document or metadata, and the lengths they ask for.

    Bare tables have neither: settings change nothing, and a note says so. Raises UsageError for
    texts that cannot be understood.
    """
    overrides = parse(texts)
    lengths = () if overrides.length is None else (overrides.length,)
    if not overrides.settings:
        return reading, lengths
    if reading.document is None and reading.metadata is not None:
        from ropeaudit.sources import _gguf_overrides  # only GGUF pays for it

        return _gguf_overrides.apply(reading, overrides.settings), lengths
    if reading.document is None:
        note = Note(
            "override_ignored",
            "overrides change a config, and this target has none; they were not applied",
        )
        return replace(reading, notes=(*reading.notes, note)), lengths
    values = overrides.pointers(reading.document.data)
    return replace(reading, document=reading.document.with_overrides(values)), lengths


def _one(text: str) -> list[tuple[tuple[str, ...], Json]]:
    if text.startswith("{"):
        data = _json(text, text)
        return list(_flattened(data, ()))
    key, equals, value = text.partition("=")
    path = tuple(step.strip() for step in key.split("."))
    if not equals or not all(path):
        raise UsageError(
            f"--override {quoted(text)} cannot be read; write KEY=VALUE, such as rope_theta=1e6 "
            "or rope_scaling.factor=4, or a JSON object"
        )
    value = value.strip()
    if not value:
        raise UsageError(
            f"--override {quoted(text)} has no value; write {quoted(key)}=null to clear it"
        )
    return list(_flattened({path[-1]: _value(value, text)}, path[:-1]))


def _flattened(
    data: Mapping[str, Json], at: tuple[str, ...]
) -> Iterable[tuple[tuple[str, ...], Json]]:
    """Parts of the config are merged; anything else, ``rope_scaling`` too, is replaced whole."""
    for key, value in data.items():
        path = (*at, key)
        if not key:
            raise UsageError("--override has an empty key; name the field to set")
        if isinstance(value, dict) and value and (key.endswith("_config") or key == "llm"):
            yield from _flattened(value, path)
        else:
            yield path, value


def _value(value: str, text: str) -> Json:
    """JSON where it is JSON, otherwise the string itself (``rope_scaling.rope_type=yarn``)."""
    if value.startswith(_CONTAINER_STARTS):
        return _json(value, text)
    try:
        return loads(value, "--override")
    except SourceError as error:
        if "digits" in str(error):
            raise UsageError(f"--override {quoted(text)}: {error}") from None
    return _PYTHON.get(value, value)


def _json(value: str, text: str) -> Json:
    try:
        return loads(value, "--override")
    except SourceError as error:
        why = str(error).partition("; restore")[0]  # there is no file to restore
        raise UsageError(f"--override {quoted(text)} is no valid JSON: {why}") from None


def _length(value: Json) -> int:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    if not 0 < number < MAX_LENGTH or number != int(number):
        raise UsageError(
            f"--override {LENGTH}={shown(value)}: expected a whole number of positions, from 1 "
            f"to {MAX_LENGTH - 1}"
        )
    return int(number)


def _holds(data: Mapping[str, Json], path: tuple[str, ...]) -> bool:
    node: Json = data
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return isinstance(node, dict)
