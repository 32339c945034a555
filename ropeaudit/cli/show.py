"""``ropeaudit show``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ropeaudit.cli import _options as option

if TYPE_CHECKING:
    from ropeaudit.report._terminal import View
    from ropeaudit.schedule.subject import Subject

EXAMPLES = """\b
Examples:
  ropeaudit show path/to/model
  ropeaudit show config.json -v
  ropeaudit show config.json --format json
  ropeaudit show config.json --override rope_theta=1e6
  ropeaudit show path/to/model --reader vllm,llama.cpp
  ropeaudit show path/to/model --reader all"""


def command(
    targets: option.Targets = None,
    format: option.PageFormat = None,
    output: option.Output = None,
    context: option.Context = None,
    override: option.Override = None,
    reader: option.Reader = None,
    ape_skew: option.ApeSkew = None,
    ape_tree_layout: option.ApeTreeLayout = None,
    encoding: option.EncodingOption = None,
    offline: option.Offline = None,
    color: option.Color = None,
    verbose: option.VerboseShow = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Show the schedules that an engine builds.

    With -v every frequency, and where each value that decided it came from. With --reader what
    other engines make of the same file, beside the reference (the newest transformers).
    """
    from ropeaudit.cli import _output
    from ropeaudit.cli._targets import expand, say_left_out
    from ropeaudit.report.interface import for_schedules, of_schedules
    from ropeaudit.resolve import attempt, chosen_readers

    settings = _output.settings(
        {
            "format": format, "context": context, "reader": reader, "offline": offline,
            "color": color,
        },
        no_config=no_config, formats=of_schedules,
    )  # fmt: skip
    if show_settings:
        typer.echo("\n".join(settings.lines()))
        return
    files = _output.outputs(output, targets or (), formats=of_schedules)
    for name in (settings.format, *(name for name, _ in files)):
        for_schedules(name)
    chosen_readers(settings.reader)  # a name that is not known stops the run before any target
    names, left_out = expand(targets or ())
    say_left_out(left_out)
    stated = option.encoding(ape_skew, ape_tree_layout, encoding)
    subjects = [
        attempt(
            target,
            contexts=settings.context,
            overrides=tuple(override or ()),
            offline=settings.offline,
            encoding=stated,
            readers=settings.reader,
        )
        for target in names
    ]

    def render(name: str, view: View) -> str:
        from ropeaudit.report import console

        if name == "console":
            return console.render_schedules(subjects, view)
        return for_schedules(name)(subjects)

    _output.write(render, settings.format, files, color=settings.color, verbose=verbose)
    raise typer.Exit(exit_code(subjects))


def exit_code(subjects: Sequence[Subject]) -> int:
    """2 when a target cannot be read, 3 when one has no position encoding, else 0."""
    if any(s.error for s in subjects):
        return 2
    return 0 if all(s.schedules or s.encodings for s in subjects) else 3
