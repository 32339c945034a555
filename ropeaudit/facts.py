"""What the files say, before anyone interprets it.

A *source* (``ropeaudit.sources``) turns bytes into one :class:`Reading`: documents, small tensors
and notes, each with the place it came from. A *reader* (``ropeaudit.readers``) turns a Reading into
the schedules that one engine would build.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from ropeaudit.records import field, record

Json = Any
"""A value that ``json.loads`` can return."""

MAX_LENGTH = 10**12
"""No context length, in positions, is above this; a larger number is a slip."""

CONVERSION = "ropeaudit/conversion/1"
"""Schema of the document that a conversion writes beside its tensors."""


def as_number(value: Json) -> float | None:
    """``value`` as a float, infinite beyond its range; None for what is no number, booleans too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@record(kw_only=True)
class Location:
    """A place in an input: a file and, inside it, a JSON pointer, a tensor or a metadata key."""

    file: str
    pointer: str | None = None
    tensor: str | None = None
    key: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        inner = self.pointer or self.tensor or self.key
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return place if inner is None else f"{place} {inner}"


class Origin(StrEnum):
    """Where a value came from."""

    FILE = "file"
    OVERRIDE = "override"
    DEFAULT = "default"
    """Not in the input: the engine's class or format default."""
    DERIVED = "derived"
    """Computed from other values, such as head_dim = hidden_size / num_attention_heads."""


@record()
class Fact:
    """One value that decided a schedule, with its place. ``location`` is None for defaults."""

    field: str
    value: Json
    origin: Origin = Origin.FILE
    location: Location | None = None


@record()
class Note:
    """Something worth saying about an input that is no finding. ``kind`` is stable."""

    kind: str
    message: str


class Oddity(StrEnum):
    """What a reader noticed while building schedules; checks decide how much it matters."""

    TYPE_CONFLICT = "type_conflict"
    """``type`` and ``rope_type`` both present and different."""
    SCHEMA_CONFLICT = "schema_conflict"
    """Old and new schema, or top level and dict, both present and different."""
    KEY_IGNORED = "key_ignored"
    """A position key that the engine does not read here."""
    KEY_MISSPELT = "key_misspelt"
    """A key that looks like a known one; ``evidence["meant"]`` names it."""
    TYPE_MISSING = "type_missing"
    """A scaling dict without a type: read as default, so its factor is dead."""
    TYPE_UNKNOWN = "type_unknown"
    """A rope_type that the engine does not know: no schedule can be derived."""
    BASE_DEFAULTED = "base_defaulted"
    """No base in the file; ``evidence``: rope_theta, scaled (bool), model_type."""
    ORIGINAL_DEFAULTED = "original_defaulted"
    """llama3, yarn or longrope without original length: the declared length takes its place."""
    NOT_APPLIED = "not_applied"
    """Scaling declared, but the engine builds the unscaled table (flat dict on a two-schedule
    model, nested truncate, a model type whose code ignores it)."""
    PER_LAYER_IGNORED = "per_layer_ignored"
    """A no_rope_layers list (or kin) that this model type's code does not read."""
    LENGTH_MISMATCH = "length_mismatch"
    """Factor list, sections or stored table of the wrong length; ``evidence``: expected, found."""
    ODD_SPLIT = "odd_split"
    """Axis widths that do not divide evenly."""
    BETA_ORDER = "beta_order"
    """yarn with beta_fast < beta_slow, or llama3 with high_freq_factor <= low_freq_factor."""
    GENERIC_READING = "generic_reading"
    """Unknown model type: read by the common rules, pairing and defaults assumed."""
    OUT_OF_RANGE = "out_of_range"
    """A parameter outside what its formula allows; ``evidence``: key, value, expected, read."""
    MODEL_SPECIFIC = "model_specific"
    """Known to be computed by code that is not in the file (remote code, hard-coded tables)."""


@record(kw_only=True)
class Observation:
    """An oddity at a place. ``schedule`` names the schedule it concerns, None for the subject."""

    kind: Oddity
    message: str
    location: Location | None = None
    schedule: str | None = None
    evidence: Mapping[str, Json] = field(default_factory=dict)


@record(kw_only=True)
class StoredTable:
    """A small tensor that holds or implies frequencies.

    ``values`` are exact (every float16, bfloat16, float8 and float32 is a float64). ``role`` is
    ``inv_freq``, ``cos_sin_cache`` (then values are the angles at position 1), ``rope_factors``,
    ``rope_factors_long``, ``rope_factors_short`` or ``learned``.

    ``attention_scaling`` is the factor on cos and sin where the holder of the table states or shows
    it. ``state`` is what else the holder says: for live modules ``device``, ``module`` (class),
    ``config`` (JSON pointer of the part of the config that it was built from), ``rope_type``,
    ``layer_type``, ``max_seq_len_cached``, ``original_max_seq_len``.
    """

    name: str
    values: tuple[float, ...]
    dtype: str
    shape: tuple[int, ...]
    location: Location
    role: str = "inv_freq"
    layer: int | None = None
    attention_scaling: float | None = None
    state: Mapping[str, Json] = field(default_factory=dict, compare=False)


@record(kw_only=True)
class StoredTensor:
    """A tensor that parameterises a position encoding, of any shape, read when somebody asks.

    ``name`` without the steps that training wrappers add; ``dtype`` as the file holds it.
    ``read()`` returns the exact values as a float64 numpy array of ``shape``; it raises SourceError
    where the file has changed or ends early.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    location: Location
    read: Callable[[], Any] = field(compare=False)


@record(kw_only=True)
class InputFile:
    """A file that was read, or its header. ``bytes_read`` is what the audit really touched.

    ``content``: all bytes, where they were read whole and are few.
    """

    path: str
    format: str
    bytes_read: int | None = None
    content: bytes | None = field(default=None, compare=False)


def file_name(target: str, path: str) -> str:
    """``path`` as seen from ``target``: what names a file of it on any machine.

    A file inside a folder (or a repository of the hub) by its path in there, a file that is the
    target or lies beside it from the target's own folder. Separated by ``/``.
    """
    if path.startswith(f"{target}/"):
        return path[len(target) + 1 :].lstrip("/")
    if path == target or target.startswith("hf:"):
        return path.replace(os.sep, "/").rsplit("/", 1)[-1]
    try:
        folder = target if os.path.isdir(target) else os.path.dirname(target)  # noqa: PTH112, PTH120
        return os.path.relpath(path, folder or ".").replace(os.sep, "/")
    except ValueError:  # another drive, or a NUL character
        return path


@record(kw_only=True)
class Reading:
    """Everything one target yielded.

    ``format`` is one of hf-config, params-json, safetensors, gguf, torch, raw, hub, module.
    ``document`` is the config (``sources.document.Document``), ``metadata`` the GGUF key-value
    pairs that were kept, ``tables`` the small tensors that hold frequencies, ``tensors`` those that
    parameterise an encoding. ``stored_config`` is what a checkpoint keeps beside its weights about
    how the model was made (a Document). ``overridden`` names the metadata keys whose
    values came from the command line. Exactly what is absent is None or empty.
    """

    target: str
    format: str
    document: Any | None = None
    metadata: Mapping[str, Json] | None = None
    tables: tuple[StoredTable, ...] = ()
    tensors: tuple[StoredTensor, ...] = ()
    stored_config: Any | None = None
    tensor_names: tuple[str, ...] = ()
    files: tuple[InputFile, ...] = ()
    notes: tuple[Note, ...] = ()
    overridden: frozenset[str] = frozenset()
