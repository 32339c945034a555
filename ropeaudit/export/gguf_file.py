"""``--to gguf=FILE``: a GGUF file with the wanted table as divisors of the model's own.

llama.cpp divides each frequency by ``rope_freqs.weight`` where its loader creates that tensor; it
refuses files with one that it does not create. Tensors are copied byte by byte, the base stays, and
the ``rope.scaling`` keys are reset, because the divisors hold the whole table.
"""

from __future__ import annotations

from pathlib import Path

from ropeaudit.errors import SourceError, UsageError, quoted, quoted_path
from ropeaudit.export import _document, _factors, _gguf_copy, _pairs, _target
from ropeaudit.export._table import PATCH
from ropeaudit.export.interface import Request, Written, claim_prefix
from ropeaudit.readers.llama_cpp.architectures import ARCHITECTURES
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

NAME = "gguf"
STILL = 3.4e38
"""The largest divisor of any use: converters and loaders reject infinite ones."""
CREATES_FREQS = frozenset(n for n, a in ARCHITECTURES.items() if a.freqs and not a.unused)
"""Architectures whose loader creates ``rope_freqs.weight`` and whose graph divides by it
(llama.cpp, ``load_arch_tensors`` and ``ggml_rope_ext`` in ``src/models/<architecture>.cpp``,
formerly ``src/llama-model.cpp``)."""


def claims(spec: str) -> str | None:
    return claim_prefix(spec, "gguf")


def write(request: Request) -> Written:
    """The file with the variant's table; raises UsageError, then nothing is left behind."""
    source = _source(request.source)
    targets = _pairs.targets(request.variant)
    wanted = _wanted(request.source, targets)
    _target.check(request.path, source, force=request.force)
    change, notes = _change(request, wanted)
    with _target.replacing(request.path, force=request.force) as work:
        _gguf_copy.copy(source, work, change)
        found, worst = _read_back(work, targets)
    written = Written(
        kind=NAME,
        path=str(request.path),
        schedules=tuple(found),
        max_ulp=worst,
        notes=tuple(notes),
    )
    return _document.recorded(request, written)


def _source(subject: Subject) -> Path:
    """The source's single GGUF file; raises UsageError for anything else."""
    path, reading = Path(subject.target), subject.reading
    files = [] if reading is None else [f.path for f in reading.files]
    if subject.format != "gguf" or not files or not path.exists():
        raise UsageError(
            f"--to gguf= needs a GGUF file, and {quoted_path(subject.target)} is none; convert the "
            f"model first; {PATCH}"
        )
    if len(files) > 1:
        raise UsageError(
            f"{quoted_path(path)} is split into {len(files)} files; join them with "
            "llama-gguf-split --merge first"
        )
    if reading is not None and reading.overridden:
        raise UsageError("a variant is made of the files alone; leave the overrides out")
    return Path(files[0])


def _wanted(subject: Subject, targets: list[_pairs.Target]) -> _pairs.Target | None:
    """The one table that the divisors have to give; None where nothing changes.

    Raises UsageError where this file cannot hold it.
    """
    changed = [t for t in targets if t.changed]
    if not changed:
        return None
    name = subject.model_type or ""
    if name not in CREATES_FREQS:
        raise UsageError(
            f"llama.cpp's loader for {quoted(name)} creates no rope_freqs tensor and would refuse "
            f"a file with one; {PATCH}"
        )
    tables = {s.inv_freq for t in changed for s in t.wanted}
    if any(len(t.wanted) > 1 for t in changed) or len(tables) > 1:
        raise UsageError(
            f"a GGUF file of {quoted(name)} has one list of divisors for all layers and lengths, "
            f"and the variant has several tables; {PATCH}"
        )
    if any(n.startswith("blk.") and "rope_freqs" in n for n in _names(subject)):
        raise UsageError(f"the file holds divisors for each layer; {PATCH}")
    return changed[0]


def _names(subject: Subject) -> tuple[str, ...]:
    return () if subject.reading is None else subject.reading.tensor_names


def _change(
    request: Request, target: _pairs.Target | None
) -> tuple[_gguf_copy.Change | None, list[str]]:
    """What is to be written otherwise than it stands in the source."""
    if target is None:
        return None, []
    schedule, base = target.short, target.base[0]
    if base.rope_theta is None or len(schedule.inv_freq) * 2 != base.rotary_dim:
        raise UsageError(f"the base of schedule {quoted(schedule.name)} is not known; {PATCH}")
    theta, notes = float(base.rope_theta), []
    choice = _choose(schedule, theta)
    if choice is None:
        choice, theta = _choose(schedule, 1.0), 1.0
        notes.append(
            f"schedule {schedule.name}: rope.freq_base is 1, because no divisors over the model's "
            "own base keep equal channels equal in float32; the divisors hold the whole table"
        )
    if choice is None:
        raise UsageError(
            f"schedule {quoted(schedule.name)} holds values that no float32 divisors give: "
            f"NaN, infinite, below 1e-38, or too close to each other; {PATCH}"
        )
    if any(v == 0 for v in schedule.inv_freq):
        notes.append(
            f"schedule {schedule.name}: channels that are 0 turn by less than 1e-38 radians a "
            "position, since loaders reject infinite divisors"
        )
    change = _gguf_copy.Change(
        factors=choice.factors,
        base=theta if theta != base.rope_theta else None,
        attention=schedule.attention_scaling,
        recipe=request.variant.recipe.text,
    )
    return change, notes


def _choose(schedule: Schedule, theta: float) -> _factors.Choice | None:
    dim = 2 * len(schedule.inv_freq)
    powers = [(theta ** (2 * k / dim),) for k in range(dim // 2)]
    return _factors.choose(schedule.inv_freq, powers, _factors.exact, still=STILL)


def _read_back(work: Path, targets: list[_pairs.Target]) -> tuple[list[Schedule], int]:
    """The tables that llama.cpp builds from the file, and their distance from the wanted ones.

    Raises UsageError where a promise is not kept.
    """
    from ropeaudit.resolve import build
    from ropeaudit.sources import gguf

    try:
        read = build(gguf.read(work, target=str(work))).schedules
    except SourceError as error:
        raise UsageError(f"the written file cannot be read back: {error}; {PATCH}") from None
    return _pairs.compare(targets, read)
