"""``ropeaudit normalise``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ropeaudit.cli import _options as option

if TYPE_CHECKING:
    from ropeaudit.normalise.interface import Normalised
    from ropeaudit.report._terminal import View

EXAMPLES = """\b
Examples:
  ropeaudit normalise path/to/model
  ropeaudit normalise path/to/model --write
  ropeaudit normalise config.json -f diff | patch -p0
  ropeaudit normalise config.json -f json
  ropeaudit normalise hf:ORG/NAME

\b
Exit codes: 0 normal already or written, 1 changes are proposed and not written,
2 usage or a file that cannot be read or written, 3 nothing to normalise."""

Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET",
        show_default=False,
        help="A model folder, its config.json, - for a config on standard input, or "
        "hf:ORG/NAME[@REV].",
    ),
]
Write = Annotated[
    bool, typer.Option("--write", help="Write the proposal in the place of the config.")
]
ProposalFormat = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="NAME",
        help="What goes to standard output: console (default), diff, json.",
        autocompletion=lambda incomplete: [
            n for n in ("console", "diff", "json") if n.startswith(incomplete)
        ],
    ),
]
VerboseNormalise = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="Every change with its reason, and every engine."),
]


def command(
    targets: Targets = None,
    write: Write = False,
    format: ProposalFormat = None,
    output: option.Output = None,
    offline: option.Offline = None,
    color: option.Color = None,
    verbose: VerboseNormalise = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Spell a config so that most engines read it alike; the reference's schedule stays the same.

    Engines differ in which keys they read. This writes both schemas in full, with equal values, in
    the spelling on which most engines agree, found by building them all. Without --write it shows
    the change as a diff. All else in the file stays byte for byte.
    """
    from ropeaudit.cli import _output
    from ropeaudit.cli._targets import expand, say_left_out
    from ropeaudit.report import _normalise

    given = {"format": format, "offline": offline, "color": color}
    settings = _output.settings(given, no_config=no_config, formats=_normalise.FORMATS)
    if show_settings:
        typer.echo("\n".join(settings.lines()))
        return
    files = _output.outputs(output, targets or (), formats=_normalise.FORMATS)
    for name in (settings.format, *(name for name, _ in files)):
        _normalise.check_format(name)
    names, left_out = expand(targets or ())
    say_left_out(left_out)
    found = [_one(name, write=write, offline=settings.offline) for name in names]

    def render(name: str, view: View) -> str:
        return _normalise.render(name, found, view)

    _output.write(render, settings.format, files, color=settings.color, verbose=verbose)
    if settings.format == "diff":  # which has no place for what is no diff
        for one in found:
            if one.error is not None or one.status == "nothing":
                print(f"ropeaudit: {_normalise.told(one)}", file=sys.stderr)
    raise typer.Exit(exit_code(found))


def _one(target: str, *, write: bool, offline: bool) -> Normalised:
    """The proposal, written where asked for; what cannot be written is the target's error."""
    from ropeaudit.errors import UsageError
    from ropeaudit.normalise.run import attempt
    from ropeaudit.normalise.write import write as put
    from ropeaudit.records import replace
    from ropeaudit.schedule.subject import Problem

    made = attempt(target, offline=offline)
    if not write:
        return made
    try:
        return put(made)
    except UsageError as error:
        return replace(made, error=Problem(error.kind, str(error)))


def exit_code(found: Sequence[Normalised]) -> int:
    """2 for an error, 1 for a change that is not written, 3 where one has nothing to normalise."""
    if any(f.error for f in found):
        return 2
    if any(f.status == "changed" and not f.written for f in found):
        return 1
    return 3 if any(f.status == "nothing" for f in found) else 0
