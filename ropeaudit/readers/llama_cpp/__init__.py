"""What llama.cpp builds from a GGUF file.

The table is the correctly rounded closed form. The engine itself multiplies its way from channel to
channel in float32, which strays from it by about 1e-6; a note says by how much.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.errors import quoted
from ropeaudit.facts import Note, Observation, Oddity, Reading
from ropeaudit.readers.interface import Resolution
from ropeaudit.readers.llama_cpp import factors, observe, scaling
from ropeaudit.readers.llama_cpp.architectures import ARCHITECTURES, Architecture, Window
from ropeaudit.readers.llama_cpp.arithmetic import stray
from ropeaudit.readers.llama_cpp.build import Model, Row, rows, schedule
from ropeaudit.readers.llama_cpp.keys import Keys
from ropeaudit.readers.llama_cpp.plan import Plan, plan
from ropeaudit.readers.llama_cpp.widths import axes, widths

NAME = "llama.cpp"

_WHOLE_HEAD = frozenset({"llama", "llama-embed", "deci", "falcon"})
"""Architectures for which llama.cpp refuses a rotary width other than the head's."""

_IMPORTED = frozenset(
    {"llama", "mistral", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "phi3", "stablelm", "starcoder2",
     "nemotron", "gemma2", "gemma3", "lfm2", "deci", "minimax-m2"}
)  # fmt: skip
"""Architectures whose GGUF import in transformers 5.24 (``integrations/ggml.py``) keeps the base
and neither scaling keys nor factor tensors; only gpt-oss has its scaling read."""


def read(reading: Reading, lengths: tuple[int, ...]) -> Resolution:
    """Schedules of a GGUF file, radians per position; ``lengths`` plays no part.

    Long and short factor lists give a variant each, because ``n_ctx`` chooses between them at run
    time. Raises InvalidValue for values from which no table can be built.
    """
    keys = Keys(reading)
    name = keys.architecture
    if not name:
        return _nothing(None, "insufficient", _unnamed(reading))
    known = ARCHITECTURES.get(name)
    if known is not None and known.none is not None:
        kind = "insufficient" if name == "clip" else "no_rotary"
        return _nothing(name, kind, f"{quoted(name)} has no rotary positions: {known.none}")
    arch = known or _generic(keys)
    if arch.none_at is not None and keys.count("block_count") == arch.none_at:
        reason = f"{quoted(name)} with {arch.none_at} layers uses ALiBi biases and no rotation"
        return _nothing(name, "no_rotary", reason)
    return _resolve(keys, arch, reading, generic=known is None)


def _nothing(model_type: str | None, kind: str, message: str) -> Resolution:
    return Resolution(model_type=model_type, notes=(Note(kind, message),))


def _unnamed(reading: Reading) -> str:
    kind = (reading.metadata or {}).get("general.type")
    if kind in ("adapter", "mmproj", "imatrix"):
        return f"the file is of type {kind}; audit the model that it belongs to"
    return "the file has no general.architecture, so none of its keys can be told; convert it again"


def _generic(keys: Keys) -> Architecture:
    """Common rules for an architecture that is not known: what the keys say, nothing else."""
    sliding = "rope.freq_base_swa" in keys or "attention.sliding_window_pattern" in keys
    return Architecture(
        freqs=True,
        lists="always",
        mrope="sections",
        reads=frozenset({"yarn_beta_fast", "yarn_beta_slow", "yarn_ext_factor"}),
        window=Window(when="key", base="inherit", scaled=True) if sliding else None,
    )


def _resolve(keys: Keys, arch: Architecture, reading: Reading, *, generic: bool) -> Resolution:
    declared = keys.count("context_length", "max_position_embeddings") or None
    divisors = factors.collect(reading)
    settled = scaling.settle(keys, arch)
    odd = [*_generic_observation(keys, generic), *observe.unread_keys(keys, arch)]
    odd += observe.ranges(keys, arch)
    if settled.kind not in scaling.TYPES:
        odd.append(_unknown_type(keys, settled.kind))
        return Resolution(
            model_type=keys.architecture,
            observations=tuple(odd),
            notes=(Note("insufficient", odd[-1].message),),
        )
    odd += observe.settled(keys, arch, settled, declared)
    odd += observe.base_missing(keys, arch, settled, divisors, declared)
    odd += observe.tensors(keys, arch, settled, divisors, declared)
    odd += observe.tensor_needed(keys, arch, divisors, reading.tensor_names)
    sizes = widths(keys, arch, divisors)
    missing = None
    if sizes is None:
        missing = "neither a rotary width nor a head width"
    elif settled.ext and not (settled.original or declared):
        missing = "YaRN scaling, but neither an original nor a declared length"
    if sizes is None or missing is not None:
        note = Note("insufficient", f"the file states {missing}, so no table can be derived")
        return Resolution(model_type=keys.architecture, observations=tuple(odd), notes=(note,))
    axis, uneven = axes(keys, arch, sizes.rotary)
    odd += uneven
    odd += observe.short_tables(divisors, sizes.rotary, arch.half_width)
    model = Model(
        keys=keys,
        arch=arch,
        scaling=settled,
        widths=sizes,
        divisors=factors.applied(divisors, arch, settled.kind),
        declared=declared,
        axes=axis,
    )
    layers = plan(keys, arch)
    found = rows(model, layers.groups)
    alone = len({(r.group.sliding, r.group.compressed, r.label) for r in found}) < 2
    return Resolution(
        model_type=keys.architecture,
        schedules=tuple(schedule(model, row, alone=alone) for row in found),
        observations=tuple(odd),
        notes=tuple(_notes(model, layers, found)),
    )


def _generic_observation(keys: Keys, generic: bool) -> Iterator[Observation]:
    if generic:
        yield Observation(
            kind=Oddity.GENERIC_READING,
            message=f"the architecture {quoted(keys.architecture)} is not known: its keys are read "
            "by the common rules, with half pairing and the same table in all layers assumed",
            evidence={"model_type": keys.architecture},
        )


def _unknown_type(keys: Keys, kind: str) -> Observation:
    return Observation(
        kind=Oddity.TYPE_UNKNOWN,
        message=f"rope.scaling.type is {quoted(kind)}, and llama.cpp knows "
        f"{', '.join(sorted(scaling.TYPES))}; it stops at such a file",
        location=keys.place("rope.scaling.type"),
        evidence={"rope_type": kind},
    )


def _notes(model: Model, layers: Plan, found: list[Row]) -> Iterator[Note]:
    keys, name = model.keys, quoted(model.keys.architecture)
    if not found:
        yield Note("no_rotary", f"no layer of this {name} model rotates")
        return
    if layers.still:
        shown = ", ".join(map(str, layers.still[:8])) + (", …" if len(layers.still) > 8 else "")
        yield Note("layers_without_rotation", f"layers that do not rotate: {shown}")
    yield from _base_rule(model, found)
    worst = max(stray(r.rotation) for r in found)
    yield Note(
        "engine_arithmetic",
        "llama.cpp multiplies its way from channel to channel in float32: on the CPU its values "
        f"are up to {worst:.1e} (relative) off the table shown",
    )
    if model.arch.permuted:
        yield Note(
            "pairing",
            f"converters reorder the query and key rows of {name} models, so interleaved pairs "
            "here are the half pairs of the original",
        )
    fourth = [a.channels for a in model.axes or () if a.axis == "e"]
    if fourth:
        spans = ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in fourth)
        yield Note(
            "fourth_axis",
            f"channels {spans} follow the fourth coordinate, which llama.cpp sets to 0 for text",
        )
    width, head = model.widths.of(sliding=False)
    if keys.architecture in _WHOLE_HEAD and head is not None and head != width:
        yield Note(
            "engine_refuses",
            f"{width} of {head} channels rotate, and llama.cpp loads {name} files only if all do",
        )
    d = model.divisors
    if keys.architecture in _IMPORTED and (
        d.freqs or d.long or d.short or d.layers or model.scaling.factor != 1
    ):
        yield Note(
            "transformers_import",
            "transformers 5.24 keeps only rope.freq_base when it loads a GGUF file of this "
            "architecture: through gguf_file= the model runs without the scaling shown",
        )
    yield from observe.strange_dtypes(model.divisors)


def _base_rule(model: Model, found: list[Row]) -> Iterator[Note]:
    """Says when sliding layers have a base that the architecture gives and the file does not."""
    window = model.arch.window
    if window is None or not any(r.group.sliding for r in found):
        return
    if window.base == "own" and "rope.freq_base_swa" not in model.keys:
        yield Note(
            "architecture_rule",
            "rope.freq_base_swa is absent; sliding layers have base 10000 by the rule of "
            f"{quoted(model.keys.architecture)}",
        )
