"""``ropeaudit rules``."""

from __future__ import annotations

from ropeaudit.cli import _options as option

EXAMPLES = """\b
Examples:
  ropeaudit rules
  ropeaudit rules --rules strict -v
  ropeaudit rules --format json"""


def command(
    format: option.PageFormat = None,
    output: option.Output = None,
    rules: option.ListedRules = None,
    offline: option.Offline = None,
    color: option.Color = None,
    verbose: option.VerboseRules = False,
    no_config: option.NoConfig = False,
) -> None:
    """List all rules and their severity in each pack."""
    from ropeaudit.cli import _output
    from ropeaudit.explain import catalogue
    from ropeaudit.packs import load_pack, shipped
    from ropeaudit.report._rules import render_rules

    given = {"format": format, "color": color, "offline": offline}
    settings, files = _output.for_pages(given, output, no_config=no_config)
    packs = [load_pack(name) for name in rules or shipped()]
    entries = catalogue(packs)
    _output.write(
        lambda name, view: render_rules(name, entries, packs, view),
        settings.format, files, color=settings.color, verbose=verbose,
    )  # fmt: skip
