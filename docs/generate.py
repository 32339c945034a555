"""Writes what is made and not written: the rule pages, the list of rules, samples, closed forms.

    python docs/generate.py            write the files
    python docs/generate.py --check    exit 1 if one of them is out of date

A rule page comes from the rule's entries in the packs and from its check's docstring. A sample is
what the command in its marker prints, run in the repository's root. Closed forms are those that
real configs state. The page on engines is what their readers make of measured files.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import readers_page  # noqa: E402

from ropeaudit.cli.app import run  # noqa: E402  (the checkout's own, not an installed one)
from ropeaudit.exact import statement  # noqa: E402
from ropeaudit.explain import Entry, catalogue, documentation  # noqa: E402
from ropeaudit.packs import load_pack, shipped  # noqa: E402
from ropeaudit.proofs.stated import exhibits  # noqa: E402
from ropeaudit.resolve import resolve  # noqa: E402

NOTICE = "<!-- Made by docs/generate.py from the check's docstring and the packs. -->"
STATED = (
    ("default", "Qwen__Qwen3-8B"),
    ("linear", "google__gemma-3-27b-it"),
    ("proportional", "google__gemma-4-26B-A4B"),
    ("dynamic", "internlm__internlm2_5-7b-chat"),
    ("ntk_alpha", "tencent__Tencent-Hunyuan-Large__A50B-Pretrain"),
    ("ntk_fixed", "Alibaba-NLP__gte-large-en-v1.5"),
    ("longrope", "microsoft__Phi-4-mini-reasoning"),
    ("yarn", "deepseek-ai__DeepSeek-V3"),
    ("yarn", "openai__gpt-oss-120b"),
    ("llama3", "meta-llama__Meta-Llama-3.1-70B"),
    ("axial", "Qwen__Qwen3-VL-4B-Instruct"),
    ("axial_dealt", "mistralai__Pixtral-Large-Instruct-2411"),
)
"""Scaling laws, each with a model of fixtures/zoo that has it."""
SAMPLE = re.compile(r"(<!-- sample: ropeaudit (.+?) -->\n```text\n).*?(```\n)", re.S)


def pages() -> Iterator[tuple[Path, str]]:
    """Every made file with its text."""
    entries = catalogue(load_pack(name) for name in shipped())
    yield ROOT / "docs" / "rules" / "README.md", index(entries)
    for entry in entries:
        yield ROOT / "docs" / "rules" / f"{entry.id}.md", page(entry)
    yield ROOT / "docs" / "closed-forms.md", closed_forms()
    made = NOTICE.replace("the check's docstring and the packs", "docs/readers.md.in and fixtures")
    yield ROOT / "docs" / "readers.md", readers_page.page(made)
    for path in (ROOT / "README.md", ROOT / "docs" / "quickstart.md"):
        yield path, SAMPLE.sub(_sampled, path.read_text(encoding="utf-8"))


def closed_forms() -> str:
    """What real models state, as formulas: plain as the console shows them, and typeset."""
    lines = [
        NOTICE.replace("the check's docstring and the packs", "the configs in fixtures/zoo"),
        "",
        "# Closed forms",
        "",
        "What the configs of real models state, as `ropeaudit prove` finds it in the exact terms",
        "of each channel. theta_k is the frequency of channel k in radians per position; c_k is a",
        "coefficient that follows no rule. [Exactness](exactness.md) says what is proved of them.",
    ]
    for law, model in STATED:
        subject = resolve(str(ROOT / "fixtures" / "zoo" / model), offline=True)
        found = [e for e in exhibits(subject) if e.form is not None and e.form.law == law][-1]
        assert found.form is not None
        name = model.replace("__", "/", 1)
        lines += ["", f"## {law}: {name}, `{found.schedule.name}`", ""]
        lines += [f"- `{p.formula}` for k = {_range(p)}" for p in statement.plain(found.form)]
        lines += ["", f"$${statement.latex(found.form)}$$"]
    return "\n".join(lines) + "\n"


def _range(piece: statement.Piece) -> str:
    first, last = piece.first, piece.last
    return str(first) if first == last else f"{first} to {last}"


def index(entries: tuple[Entry, ...]) -> str:
    """The table of all rules: severity in each pack."""
    packs = shipped()
    lines = [
        NOTICE,
        "",
        "# Rules",
        "",
        "The severity of each rule in each pack. `ropeaudit rules` prints the same table.",
        "",
        f"| rule | name | {' | '.join(packs)} |",
        f"|---|---|{'---|' * len(packs)}",
    ]
    for entry in entries:
        levels = [entry.severities.get(p) for p in packs]
        cells = " | ".join("–" if level is None else level.label for level in levels)
        lines.append(f"| [{entry.id}]({entry.id}.md) | {entry.name} | {cells} |")
    return "\n".join(lines) + "\n"


def page(entry: Entry) -> str:
    """One rule: its severities, why, how to mend it, and the check's own sections."""
    title, sections = documentation(entry.check)
    levels = ", ".join(f"{level.label} in {pack}" for pack, level in entry.severities.items())
    lines = [NOTICE, "", f"# {entry.id} {entry.name}", "", title, "", f"Severity: {levels}."]
    if entry.applies_to:
        lines.append(f"Applies to: {', '.join(entry.applies_to)}.")
    lines += ["", f"**Why.** {entry.why}", "", f"**What to do.** {entry.fix}", ""]
    for heading, text in sections.items():
        lines += [f"## {heading}", "", _markdown(text), ""]
    lines += [
        f"Since {entry.since}. Check `{entry.check}`, in "
        f"`{Path(entry.source).relative_to(ROOT).as_posix()}`."
    ]
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    """Docstring text as Markdown: double back quotes single, the rest as it stands."""
    return re.sub(r"``(.+?)``", r"`\1`", text, flags=re.S)


def _sampled(match: re.Match[str]) -> str:
    data = io.BytesIO()
    out = io.TextIOWrapper(data, encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.chdir(ROOT):
        run([*match[2].split(), "--no-config"])
    return f"{match[1]}{data.getvalue().decode()}{match[3]}"


def main(arguments: list[str]) -> int:
    for name in list(os.environ):  # nothing of this machine gets into a page
        if name.startswith(("ROPEAUDIT_", "GITHUB_")) or name in ("COLUMNS", "FORCE_COLOR"):
            del os.environ[name]
    made = dict(pages())
    folder = ROOT / "docs" / "rules"
    stale = [p for p in folder.glob("*.md") if p not in made]
    wrong = [p for p, text in made.items() if not p.is_file() or p.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in (*wrong, *stale):
            print(f"out of date: {path.relative_to(ROOT)}; run make docs", file=sys.stderr)
        return 1 if wrong or stale else 0
    folder.mkdir(exist_ok=True)
    for path in wrong:
        path.write_text(made[path], encoding="utf-8")
    for path in stale:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
