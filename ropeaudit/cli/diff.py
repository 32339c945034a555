"""``ropeaudit diff``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ropeaudit.cli import _options as option

if TYPE_CHECKING:
    from pathlib import Path

    from ropeaudit.config import Settings
    from ropeaudit.diff.interface import Comparison

EXAMPLES = """\b
Examples:
  ropeaudit diff path/to/model model.gguf
  ropeaudit diff before/ after/ --context 131072
  ropeaudit diff config.json model.safetensors
  ropeaudit diff config.json config.json --override b:rope_theta=1e6
  ropeaudit diff before/ after/ --reader mlx-lm,vllm
  ropeaudit diff hf:org/base hf:org/finetune --fail-on error -f json

\b
Exit codes: 0 same or equivalent, 1 different, 2 usage or unreadable input,
3 nothing to compare or undecided."""

Pair = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="A B",
        show_default=False,
        help="The reference, and what became of it: each a model folder, config.json, "
        "checkpoint, GGUF file, raw table, hf:ORG/NAME[@REV], or - for a config on standard input.",
    ),
]
DiffFormat = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="NAME",
        help="What goes to standard output: console (default), json, markdown.",
        autocompletion=lambda incomplete: [
            n for n in ("console", "json", "markdown") if n.startswith(incomplete)
        ],
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="LEVEL",
        help="Exit 1 only for a difference of this severity: error, warning or info "
        "(default: any difference).",
        autocompletion=option.complete_level,
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="N",
        help="Lengths to take the phase drift at (default: the trained one). Repeatable, or a "
        "comma list.",
    ),
]
Reader = Annotated[
    list[str] | None,
    typer.Option(
        "--reader",
        metavar="NAME[,NAME]|all",
        help="Compare what these engines make of both, not what the reference does: vllm, "
        "llama.cpp, transformers-4.57, all. Repeatable.",
        autocompletion=option.complete_reader,
    ),
]
Override = Annotated[
    list[str] | None,
    typer.Option(
        "--override",
        metavar="[a:|b:]KEY=VALUE",
        help="What the engine is told at run time, for both sides or for one: "
        "b:rope_theta=1e6. Repeatable.",
    ),
]
Encoding = Annotated[
    list[str] | None,
    typer.Option(
        "--encoding",
        metavar="[a:|b:]KEY=VALUE",
        help="What a checkpoint does not say about its learned encoding, for both sides or for "
        "one: grid=14x14, b:test-grid=28x28, ape-skew=tril. Repeatable.",
    ),
]
Ulp = Annotated[
    str | None,
    typer.Option(
        "--ulp",
        metavar="N",
        help="Float32 steps that count as equivalent (default 4; 16 between a GGUF file and "
        "another engine's arithmetic).",
    ),
]
VerboseDiff = Annotated[
    bool, typer.Option("-v", "--verbose", help="Every channel of every pair, and all notes.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing when the gate passes.")]


def command(
    targets: Pair = None,
    format: DiffFormat = None,
    output: option.Output = None,
    ulp: Ulp = None,
    fail_on: FailOn = None,
    allow_unknown: option.AllowUnknown = None,
    exit_zero: option.ExitZero = None,
    context: Context = None,
    reader: Reader = None,
    override: Override = None,
    ape_skew: option.ApeSkew = None,
    ape_tree_layout: option.ApeTreeLayout = None,
    encoding: Encoding = None,
    offline: option.Offline = None,
    color: option.Color = None,
    verbose: VerboseDiff = False,
    quiet: Quiet = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Tell how two schedules or learned encodings differ, and what was lost.

    Compares a model with its conversion, a checkpoint before and after, a config with a stored
    table. Says channel by channel by how much they part, and in words what was lost. With --reader
    as these engines read both.
    """
    from ropeaudit.cli import _output
    from ropeaudit.report._diff import FORMATS, check_format

    settings = _output.settings(
        {
            "format": format, "fail_on": fail_on, "allow_unknown": allow_unknown,
            "exit_zero": exit_zero, "context": context, "reader": reader, "offline": offline,
            "color": color,
        },
        no_config=no_config, formats=FORMATS,
    )  # fmt: skip
    if show_settings:
        typer.echo("\n".join(settings.lines()))
        return
    a, b = _two(targets or ())
    files = _output.outputs(output, (a, b), formats=FORMATS)
    for name in (settings.format, *(name for name, _ in files)):
        check_format(name)
    stated = _stated(ape_skew, ape_tree_layout, encoding)
    found = _compare(a, b, settings, tuple(override or ()), _steps(ulp), stated)
    raise typer.Exit(_tell(found, settings, files, verbose=verbose, quiet=quiet))


def _two(targets: Sequence[str]) -> tuple[str, str]:
    from ropeaudit.errors import UsageError

    if len(targets) != 2:
        given = {0: "none was", 1: "one was"}.get(len(targets), f"{len(targets)} were")
        raise UsageError(
            f"diff compares two targets, and {given} given; name the reference and what became of "
            "it, as in: diff path/to/model model.gguf"
        )
    if targets[0] == targets[1] == "-":
        raise UsageError("standard input can be read once; give - for one target and a path")
    return targets[0], targets[1]


def _steps(text: str | None) -> int | None:
    from ropeaudit.errors import UsageError, quoted

    if text is None:
        return None
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(f"--ulp is {quoted(text)}, expected a whole number of steps, such as 4")
    return int(text)


def _stated(
    skew: str | None, tree_layout: str | None, encoding: Sequence[str] | None
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """What the user states about the encodings of A and of B."""
    from ropeaudit.diff.overrides import sided

    for_a, for_b = sided(encoding or (), "--encoding")
    return (
        option.encoding(skew, tree_layout, list(for_a)),
        option.encoding(skew, tree_layout, list(for_b)),
    )


def _compare(
    a: str,
    b: str,
    settings: Settings,
    overrides: tuple[str, ...],
    ulp: int | None,
    encoding: tuple[Mapping[str, str], Mapping[str, str]],
) -> Comparison:
    from ropeaudit.diff.compare import Options
    from ropeaudit.diff.targets import compare_targets
    from ropeaudit.findings import Severity

    # A level in a settings file is meant for findings; here it would hide what is different.
    asked = settings.origin("fail_on") == "command line"
    options = Options(
        contexts=settings.context,
        overrides=overrides,
        readers=settings.reader,
        insist=settings.origin("reader") == "command line",
        ulp=ulp,
        fail_on=Severity.parse(settings.fail_on) if asked else Severity.INFO,
        allow_unknown=settings.allow_unknown,
        offline=settings.offline,
        encoding=encoding,
    )
    return compare_targets(a, b, options)


def _tell(
    found: Comparison,
    settings: Settings,
    files: list[tuple[str, Path]],
    *,
    verbose: bool,
    quiet: bool,
) -> int:
    from ropeaudit.cli import _output

    code = found.exit_code
    if settings.exit_zero and code != 2:
        code = 0

    from ropeaudit.report._terminal import View

    def render(name: str, view: View) -> str:
        from ropeaudit.report import _diff

        return _diff.render(name, found, view)

    _output.write(
        render, settings.format, files,
        color=settings.color, verbose=verbose, silent=quiet and code == 0,
    )  # fmt: skip
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        _output.append_summary(render("markdown", View()))
    return code
