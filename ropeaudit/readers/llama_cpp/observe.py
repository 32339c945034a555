"""What is odd about a GGUF file's position keys, for checks to judge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ropeaudit.errors import closest, quoted
from ropeaudit.facts import Location, Note, Observation, Oddity, StoredTable
from ropeaudit.readers.llama_cpp import scaling
from ropeaudit.readers.llama_cpp.architectures import Architecture
from ropeaudit.readers.llama_cpp.factors import Divisors, read_roles
from ropeaudit.readers.llama_cpp.keys import Keys
from ropeaudit.readers.llama_cpp.scaling import Scaling

_TOP = frozenset(
    {"dimension_count", "dimension_count_swa", "dimension_sections", "freq_base", "freq_base_swa"}
    | {"scale_linear"}
)


def unread_keys(keys: Keys, arch: Architecture) -> Iterator[Observation]:
    """``rope.*`` keys that this architecture's code does not read, unless they change nothing."""
    known = scaling.COMMON | arch.reads
    for name in keys.names("rope."):
        rest = name.removeprefix("rope.")
        part = rest.removeprefix("scaling.")
        is_scaling = part != rest
        if part in known if is_scaling else rest in _TOP:
            continue
        value = keys.raw(name)
        if is_scaling and part in scaling.NEUTRAL:
            if _near(value, scaling.NEUTRAL[part]):
                continue
            text = (
                f"llama.cpp reads {name} for other architectures than {quoted(keys.architecture)}"
            )
            yield _seen(Oddity.KEY_IGNORED, text, keys.place(name), key=name, value=value)
            continue
        wanted = (part, known) if is_scaling else (rest, _TOP)
        meant = closest(*wanted, cutoff=0.85)
        if meant is not None:
            text = f"llama.cpp knows no key {quoted(name)}; it looks like {meant}"
            yield _seen(Oddity.KEY_MISSPELT, text, keys.place(name), key=name, meant=meant)
        else:
            text = f"llama.cpp knows no key {quoted(name)}"
            yield _seen(Oddity.KEY_IGNORED, text, keys.place(name), key=name, value=value)


def ranges(keys: Keys, arch: Architecture) -> Iterator[Observation]:
    """Parameters outside what the formula allows, read or not: other engines may read them."""
    name = "rope.scaling.yarn_ext_factor"
    value = keys.number(name)
    if value is not None and value > 1.0:
        read = "yarn_ext_factor" in arch.reads
        by = "" if read else " (llama.cpp reads it for Grok alone, forks of it for more)"
        yield _seen(
            Oddity.OUT_OF_RANGE,
            f"yarn_ext_factor is {value:g}{by}: it is the weight of the YaRN ramp, from 0 to 1",
            keys.place(name),
            key=name,
            value=value,
            expected=[0.0, 1.0],
            read=read,
        )


def settled(
    keys: Keys, arch: Architecture, s: Scaling, declared: int | None
) -> Iterator[Observation]:
    """Scaling that has no effect, is placed by a default, or is put the wrong way round."""
    given = keys.number("rope.scaling.factor")
    if s.kind == "none" and given is not None and given not in (0.0, 1.0):
        yield _seen(
            Oddity.NOT_APPLIED,
            f"rope.scaling.factor is {given:g}, and type none means that nothing is scaled",
            keys.place("rope.scaling.factor"),
            key="rope.scaling.factor",
            value=given,
        )
    if s.kind != "yarn":
        return
    if s.factor == 1.0 and given is None:
        yield _seen(
            Oddity.NOT_APPLIED,
            "rope.scaling.type is yarn without a rope.scaling.factor, so nothing is scaled",
            keys.place("rope.scaling.type"),
            key="rope.scaling.factor",
        )
    elif s.original is None and declared:
        yield _seen(
            Oddity.ORIGINAL_DEFAULTED,
            "yarn scaling without rope.scaling.original_context_length: llama.cpp places the ramp "
            f"by the declared {declared}",
            keys.place("rope.scaling.type"),
            rope_type="yarn",
            original=declared,
        )
    if s.beta_fast < s.beta_slow:
        yield _seen(
            Oddity.BETA_ORDER,
            f"yarn_beta_fast {s.beta_fast:g} is below yarn_beta_slow {s.beta_slow:g}",
            keys.place("rope.scaling.yarn_beta_fast"),
            beta_fast=s.beta_fast,
            beta_slow=s.beta_slow,
        )


def base_missing(
    keys: Keys, arch: Architecture, s: Scaling, divisors: Divisors, declared: int | None
) -> Iterator[Observation]:
    """No ``rope.freq_base``: the engine takes 10000, whatever the weights were trained with."""
    if "rope.freq_base" in keys or arch.fixed_base:
        return
    known = arch.family_base
    name = quoted(keys.architecture)
    hint = "" if known is None else f"; published {name} models have {known:g}"
    yield _seen(
        Oddity.BASE_DEFAULTED,
        f"{name}.rope.freq_base is absent, so llama.cpp takes 10000{hint}",
        keys.place("rope.freq_base"),
        rope_theta=scaling.DEFAULT_BASE,
        scaled=s.factor != 1.0 or any(True for _ in divisors.all()),
        model_type=keys.architecture,
        family_base=known,
        context_length=declared,
    )


def tensors(
    keys: Keys, arch: Architecture, s: Scaling, divisors: Divisors, declared: int | None
) -> Iterator[Observation]:
    """Factor tensors that are missing, or that this architecture does not apply."""
    roles = read_roles(arch, s.kind)
    for table in divisors.all():
        read = table.role in roles
        if arch.unused or not read:
            yield _seen(
                Oddity.NOT_APPLIED,
                f"the tensor {table.name} is there, and llama.cpp "
                f"{'does not apply it to' if read else 'refuses it in'} "
                f"{quoted(keys.architecture)} files",
                table.location,
                tensor=table.name,
                refused=not read,
            )
    original = s.original
    extended = bool(original and declared and declared > original)
    if not divisors.lists and (s.kind == "longrope" or (arch.lists == "always" and extended)):
        yield from _lists_missing(keys, s, divisors, declared)
    elif arch.lists != "always" or not extended:
        return
    if original and declared and keys.number("rope.scaling.attn_factor") is None:
        expected = math.sqrt(1 + math.log(declared / original) / math.log(max(original, 2)))
        yield _seen(
            Oddity.NOT_APPLIED,
            f"rope.scaling.attn_factor is absent, so attention is not scaled; longrope from "
            f"{original:g} to {declared} means {expected:.6g}",
            keys.place("rope.scaling.attn_factor"),
            key="rope.scaling.attn_factor",
            expected=expected,
            found=1.0,
        )


def _lists_missing(
    keys: Keys, s: Scaling, divisors: Divisors, declared: int | None
) -> Iterator[Observation]:
    held = (("rope_factors_long", divisors.long), ("rope_factors_short", divisors.short))
    missing = [f"{name}.weight" for name, table in held if table is None]
    named = "rope.scaling.type" in keys
    key = "rope.scaling.type" if named else "rope.scaling.original_context_length"
    why = (
        "rope.scaling.type is longrope"
        if named
        else f"{declared} positions are declared and {s.original:g} are the original length"
    )
    yield _seen(
        Oddity.NOT_APPLIED,
        f"{why}, but the tensors {' and '.join(missing)} are missing: llama.cpp runs unscaled and "
        "does not say so",
        keys.place(key),
        missing_tensors=missing,
        original=s.original,
        declared=declared,
    )


def short_tables(divisors: Divisors, rotary: int, padded: bool) -> Iterator[Observation]:
    """Factor tensors whose length is not the number of rotating channels."""
    need = rotary // 2
    for table in divisors.all():
        if len(table.values) < need or (len(table.values) > need and not padded):
            yield _seen(
                Oddity.LENGTH_MISMATCH,
                f"the tensor {table.name} has {len(table.values)} values, and {need} channels "
                "rotate; llama.cpp refuses the file",
                table.location,
                tensor=table.name,
                expected=need,
                found=len(table.values),
            )


def tensor_needed(
    keys: Keys, arch: Architecture, divisors: Divisors, names: tuple[str, ...]
) -> Iterator[Observation]:
    """``rope_freqs`` lost from a file with weights whose architecture rests on it (Gemma 4)."""
    if arch.needs_freqs and names and divisors.freqs is None and not divisors.layers:
        name = quoted(keys.architecture)
        yield _seen(
            Oddity.NOT_APPLIED,
            f"the tensor rope_freqs.weight is missing: full-attention layers of {name} turn only "
            "the channels that it leaves undivided, and llama.cpp refuses the file",
            keys.place("rope.dimension_count"),
            missing_tensors=["rope_freqs.weight"],
        )


def strange_dtypes(divisors: Divisors) -> Iterator[Note]:
    """Factor tensors that are not float32: llama.cpp stops at them."""
    for table in divisors.all():
        if table.dtype != "float32":
            yield Note("engine_refuses", _dtype_text(table))


def _dtype_text(table: StoredTable) -> str:
    return f"the tensor {table.name} is {table.dtype}, and llama.cpp takes float32 factors only"


def _seen(kind: Oddity, message: str, location: Location, **evidence: Any) -> Observation:
    return Observation(kind=kind, message=message, location=location, evidence=evidence)


def _near(value: Any, neutral: float) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value - neutral) <= 1e-6
    )
