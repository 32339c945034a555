"""The page on engines (docs/readers.md): what each builds from the measured files, and advice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ropeaudit.document import parse
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers.engines.compare import views
from ropeaudit.readers.engines.interface import NotCovered, Refuses, Request
from ropeaudit.readers.engines.known import REFERENCE, find, names, releases
from ropeaudit.readers.interface import Resolution
from ropeaudit.readers.transformers import read
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.views import View

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures" / "readers"
CASES: Mapping[str, Mapping[str, str]] = json.loads(
    Path(__file__).with_name("readers_cases.json").read_text(encoding="utf-8")
)
"""Groups of measured files, each with what the file says."""
SHORT = {
    "transformers-5.20": "tf 5.20", "transformers-4.57": "tf 4.57", "transformers-4.46": "tf 4.46",
    "vllm-0.33": "vLLM", "sglang-0.5.23": "SGLang", "mlx-lm-0.32": "mlx 0.32",
    "mlx-lm-0.28": "mlx 0.28", "llama.cpp+tf5": "l.cpp tf5", "llama.cpp+tf4.57": "l.cpp tf4",
    "exllamav3-1.6": "exl3", "exllamav2-0.3": "exl2", "tgi-2026.01": "TGI",
    "ctranslate2+tf4.57": "ct2 tf4", "ctranslate2+tf5.20": "ct2 tf5", "deepspeed-0.19": "DS",
}  # fmt: skip
"""Columns of the matrix."""


def page(notice: str) -> str:
    """The whole page, from the text beside this file, the releases and the measured files."""
    text = Path(__file__).with_name("readers.md.in").read_text(encoding="utf-8")
    parts = {
        "notice": notice,
        "engines": "\n".join(_engines()),
        "matrix": "\n".join(_matrix()),
        "counts": "\n".join(_counts()),
        "count": str(len(_vectors()["cases"])),
    }
    for name, made in parts.items():
        text = text.replace(f"{{{{{name}}}}}", made)
    return text


def _vectors() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((FIXTURES / "vectors.json").read_text(encoding="utf-8"))
    return found


def _engines() -> Iterator[str]:
    yield "| reader | version | how | source |"
    yield "|---|---|---|---|"
    for _, release in releases():
        yield f"| `{release.name}` | {release.version} | {release.how} | {release.source} |"


def _seen(case: Mapping[str, Any]) -> tuple[View, ...]:
    """Every release's reading of a measured file, against the release that it was measured on."""
    document = parse(json.dumps(case["config"]), case["file"])
    reference: Resolution | None = None
    if case["file"] == "config.json":
        try:
            reading = Reading(target="config.json", format="hf-config", document=document)
            reference = read(reading, ())
        except InvalidValue:
            reference = None
    return views(
        document,
        find(names()),
        reference=reference,
        against=_built(Request(document=document, reference=reference), case["reference"]),
    )


def _built(request: Request, name: str) -> tuple[Schedule, ...]:
    (chosen,) = find([name])
    try:
        return chosen.engine.build(request, chosen.release).schedules
    except (Refuses, NotCovered, InvalidValue):
        return ()


def _cell(view: View) -> str:
    if view.status != "ok":
        return "F" if view.status == "refuses" else "–"
    found = view.distance
    if found is None:
        return "?"
    if found.same:
        return "="
    said = []
    if found.width:
        said.append("w")
    elif found.max_abs_dlog is not None and found.max_abs_dlog > 1e-5:
        far = found.max_abs_dlog
        said.append("∞" if far == float("inf") else f"{far:.2g}")
    if found.attention is not None and abs(found.attention - 1) > 1e-4:
        said.append(f"a{found.attention:.2f}")
    if found.softmax is not None and abs(found.softmax - 1) > 1e-4:
        said.append(f"s{found.softmax:.2f}")
    said += ["p"] if found.pairing else []
    said += ["n"] if found.layers else []
    return " ".join(said)


def _again(vectors: Mapping[str, Any], release: str, case: str) -> str:
    engine = vectors["engines"][release]["engine"]
    return "†" if case in vectors["measured_again"].get(engine, ()) else ""


def _matrix() -> Iterator[str]:
    """Groups of rows; files that every engine treats alike share one."""
    vectors = _vectors()
    cells: dict[str, tuple[str, ...]] = {}
    for name, case in vectors["cases"].items():
        seen = {v.reader: v for v in _seen(case)}
        cells[name] = tuple(_cell(seen[r]) + _again(vectors, r, name) for r in SHORT)
    for group, rows in CASES.items():
        yield f"### {group}"
        yield ""
        yield f"| what the file says | {' | '.join(SHORT.values())} |"
        yield f"|---|{'---|' * len(SHORT)}"
        merged: dict[tuple[str, ...], list[str]] = {}
        for name, words in rows.items():
            merged.setdefault(cells[name], []).append(f"{words} (`{name}`)")
        for row, words in merged.items():
            yield f"| {'; '.join(words)} | {' | '.join(row)} |"
        yield ""


def _counts() -> Iterator[str]:
    """How many of the measured files each release reads as the reference, otherwise, or not."""
    vectors = _vectors()
    told: dict[str, list[str]] = {r: [] for r in SHORT}
    for case in vectors["cases"].values():
        for view in _seen(case):
            if view.reader in told:
                told[view.reader].append(_cell(view))
    yield "| reader | same | otherwise, without a message | refuses | not covered |"
    yield "|---|---|---|---|---|"
    for release, cells in told.items():
        same, loud, dark = (cells.count(c) for c in ("=", "F", "–"))
        other = len(cells) - same - loud - dark
        yield f"| `{release}` | {same} | {other} | {loud} | {dark} |"


def unnamed() -> set[str]:
    """Measured files that no group holds."""
    return set(_vectors()["cases"]) - {name for rows in CASES.values() for name in rows}


assert set(SHORT) == set(names()) - {REFERENCE}, "a release has no column"
assert not unnamed(), f"no words for {sorted(unnamed())}"
