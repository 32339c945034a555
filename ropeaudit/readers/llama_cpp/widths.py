"""Head and rotary widths (``load_hparams`` in ``src/llama-model.cpp``)."""

from __future__ import annotations

from ropeaudit.errors import InvalidValue, quoted, unexpected
from ropeaudit.facts import Observation, Oddity
from ropeaudit.readers.llama_cpp.architectures import Architecture
from ropeaudit.readers.llama_cpp.factors import Divisors
from ropeaudit.readers.llama_cpp.keys import Keys
from ropeaudit.records import record
from ropeaudit.schedule.core import Axis, axis_runs
from ropeaudit.schedule.families.interface import check_width


@record()
class Widths:
    """Rotary and head widths of full and of sliding layers; head widths may be unknown."""

    rotary: int
    head: int | None
    rotary_sliding: int
    head_sliding: int | None

    def of(self, *, sliding: bool) -> tuple[int, int | None]:
        if sliding:
            return self.rotary_sliding, self.head_sliding
        return self.rotary, self.head


def widths(keys: Keys, arch: Architecture, divisors: Divisors) -> Widths | None:
    """None when the file does not say; raises InvalidValue for impossible ones."""
    even = _even_split(keys)
    head = keys.count("attention.key_length", "head_dim")
    if head is None and even is not None:
        keys.derived("head_dim", even)
        head = even
    rotary = even if arch.whole_head else keys.count("rope.dimension_count", "rotary_dim")
    if rotary is None:
        rotary = head or _from_table(keys, divisors)
    if not rotary:
        return None
    sliding = keys.count("rope.dimension_count_swa") or rotary
    if arch.half_width:
        rotary //= 2
    head_sliding = keys.count("attention.key_length_swa") or head
    shown = keys.count("attention.key_length_mla") or head
    for width, limit in ((rotary, head), (sliding, head_sliding)):
        check_width(width)
        if limit is not None and width > limit:
            raise InvalidValue(
                f"rope.dimension_count is {quoted(width)}, and a head has {quoted(limit)} "
                "channels; convert the model again",
                where="rope.dimension_count",
            )
    return Widths(rotary, shown, sliding, keys.count("attention.key_length_swa") or shown)


def _even_split(keys: Keys) -> int | None:
    """embedding_length / head_count; of a list, the first layer that has heads counts."""
    embedding = keys.count("embedding_length")
    heads = keys.integers("attention.head_count")
    count = next((n for n in heads if n > 0), None) if isinstance(heads, list) else heads
    return embedding // count if embedding and count else None


def _from_table(keys: Keys, divisors: Divisors) -> int | None:
    table = next(iter(divisors.all()), None)
    if table is None:
        return None
    width = 2 * len(table.values)
    keys.derived("rotary_dim", width, table.location)
    return width


def axes(
    keys: Keys, arch: Architecture, rotary: int
) -> tuple[tuple[Axis, ...] | None, list[Observation]]:
    """Which channel turns with which coordinate (``ggml_mrope_cache_init``), and what is odd."""
    if arch.mrope is None:
        return None, []
    found = keys.integers("rope.dimension_sections")
    sections = [found] * 4 if isinstance(found, int) else (found or [])
    if not sections:
        return None, []
    sections = [*sections, 0, 0, 0, 0][:4]
    if min(sections) < 0 or not 0 < sum(sections) <= rotary:
        raise unexpected(
            "rope.dimension_sections",
            found,
            f"four counts that add up to {rotary // 2} channels",
            where="rope.dimension_sections",
        )
    if arch.mrope == "sections" and not (sections[0] and sections[1]):
        return None, []
    odd = []
    if sum(sections) != rotary // 2:
        odd.append(
            Observation(
                kind=Oddity.LENGTH_MISMATCH,
                message=f"rope.dimension_sections {sections} add up to {sum(sections)}, and "
                f"{rotary // 2} channels rotate",
                location=keys.place("rope.dimension_sections"),
                evidence={"expected": rotary // 2, "found": sum(sections)},
            )
        )
    pick = _alternating if arch.mixed else _in_blocks
    total = sum(sections)
    return axis_runs((pick(k % total, sections), k) for k in range(rotary // 2)), odd


def _in_blocks(at: int, sections: list[int]) -> str:
    for name, count in zip("thwe", sections, strict=True):
        if at < count:
            return name
        at -= count
    return "e"


def _alternating(at: int, sections: list[int]) -> str:
    turn = {0: ("t", 0), 1: ("h", 1), 2: ("w", 2)}[at % 3]
    return turn[0] if at < 3 * sections[turn[1]] else "e"
