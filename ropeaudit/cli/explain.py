"""``ropeaudit explain``."""

from __future__ import annotations

from typing import Annotated

import typer

from ropeaudit.cli import _options as option

EXAMPLES = """\b
Examples:
  ropeaudit explain RA101
  ropeaudit explain duplicate-frequency --format json"""


def command(
    rule: Annotated[
        str,
        typer.Argument(
            metavar="RULE",
            help="A rule's id or name.",
            autocompletion=option.complete_rule,
            show_default=False,
        ),
    ],
    format: option.PageFormat = None,
    output: option.Output = None,
    rules: option.ListedRules = None,
    offline: option.Offline = None,
    color: option.Color = None,
    no_config: option.NoConfig = False,
) -> None:
    """Explain a rule: what it checks, and why."""
    from ropeaudit.cli import _output
    from ropeaudit.explain import explain
    from ropeaudit.report._rules import render_explanation

    given = {"format": format, "color": color, "offline": offline}
    settings, files = _output.for_pages(given, output, no_config=no_config)
    explanation = explain(rule, rules)
    _output.write(
        lambda name, view: render_explanation(name, explanation, view),
        settings.format, files, color=settings.color,
    )  # fmt: skip
