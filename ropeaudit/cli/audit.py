"""``ropeaudit audit``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from ropeaudit.cli import _options as option

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ropeaudit.config import Settings
    from ropeaudit.report._terminal import View
    from ropeaudit.verdict import Report

EXAMPLES = """\b
Examples:
  ropeaudit audit path/to/model
  ropeaudit audit config.json --context 65536
  ropeaudit audit models/ --rules deploy -o json=report.json
  cat config.json | ropeaudit audit -
  ropeaudit audit model.gguf --fail-on warning
  ropeaudit audit config.json --apply int8:sym
  ropeaudit audit path/to/model --reader vllm,llama.cpp

\b
Exit codes: 0 the gate passed, 1 a finding at or above --fail-on, 2 usage,
settings or unreadable input, 3 nothing audited or undecided."""

PROGRESS_FROM = 20
"""Targets from which progress is worth a line on standard error."""


def command(
    targets: option.Targets = None,
    format: option.Format = None,
    output: option.Output = None,
    rules: option.Rules = None,
    fail_on: option.FailOn = None,
    allow_unknown: option.AllowUnknown = None,
    exit_zero: option.ExitZero = None,
    context: option.Context = None,
    reader: option.Reader = None,
    override: option.Override = None,
    apply: option.Apply = None,
    plan: option.Plan = None,
    ape_skew: option.ApeSkew = None,
    ape_tree_layout: option.ApeTreeLayout = None,
    encoding: option.EncodingOption = None,
    offline: option.Offline = None,
    skip_unrecognised: option.SkipUnrecognised = None,
    color: option.Color = None,
    verbose: option.Verbose = False,
    quiet: option.Quiet = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Audit models and gate on what is found.

    Every target is read, its schedules are built as the engine builds them, and the rules of the
    packs are applied. A target that cannot be read does not stop the others. With --reader the
    file must also mean the same schedules to these engines.
    """
    from ropeaudit.cli import _output
    from ropeaudit.cli._targets import expand, say_left_out

    settings = _output.settings(
        {
            "format": format, "rules": rules, "fail_on": fail_on, "allow_unknown": allow_unknown,
            "exit_zero": exit_zero, "context": context, "reader": reader,
            "offline": offline, "skip_unrecognised": skip_unrecognised, "color": color,
        },
        no_config=no_config,
    )  # fmt: skip
    if show_settings:
        typer.echo("\n".join(settings.lines()))
        return
    files = _output.outputs(output, targets or ())
    names, left_out = expand(targets or ())
    say_left_out(left_out)
    stated = option.encoding(ape_skew, ape_tree_layout, encoding)
    report = _audit(names, settings, tuple(override or ()), _recipes(apply, plan), stated, quiet)
    raise typer.Exit(_tell(report, settings, files, verbose=verbose, quiet=quiet))


def _tell(
    report: Report, settings: Settings, files: list[tuple[str, Path]], *, verbose: bool, quiet: bool
) -> int:
    """Writes the report wherever it is wanted; the exit code."""
    from ropeaudit.cli import _output

    code = report.exit_code
    if settings.exit_zero and code != 2:
        code = 0
    name = _output.chosen_format(settings)
    _output.write(
        _renderer(report), name, files,
        color=settings.color, verbose=verbose, silent=quiet and code == 0,
    )  # fmt: skip
    if name == "github":
        from ropeaudit.report.markdown import render

        _output.append_summary(render(report))
    return code


def _recipes(apply: list[str] | None, plan: str | None) -> tuple[str, ...]:
    """What the targets are judged as, where it is not as they are."""
    if plan is None:
        return tuple(apply or ())
    from ropeaudit.perturb.plan import load

    return (*(apply or ()), *(recipe.text for recipe in load(plan)))


def _audit(
    targets: list[str],
    settings: Settings,
    override: tuple[str, ...],
    recipes: tuple[str, ...],
    encoding: dict[str, str],
    quiet: bool,
) -> Report:
    from ropeaudit.audit import Options, audit_targets
    from ropeaudit.findings import Severity

    options = Options(
        packs=settings.rules,
        fail_on=Severity.parse(settings.fail_on),
        allow_unknown=settings.allow_unknown,
        contexts=settings.context,
        overrides=override,
        apply=recipes,
        readers=settings.reader,
        encoding=encoding,
        offline=settings.offline,
        skip_unrecognised=settings.skip_unrecognised,
    )
    wanted = not quiet and len(targets) >= PROGRESS_FROM and sys.stderr.isatty()
    try:
        return audit_targets(targets, options, _progress if wanted else None)
    finally:
        if wanted:
            sys.stderr.write("\r\x1b[K")


def _progress(done: int, total: int) -> None:
    if done % 10 == 0 or done == total:
        sys.stderr.write(f"\raudited {done:,} of {total:,}")
        sys.stderr.flush()


def _renderer(report: Report) -> Callable[[str, View], str]:
    def render(name: str, view: View) -> str:
        from ropeaudit.report import console
        from ropeaudit.report.interface import load

        return console.render(report, view) if name == "console" else load(name).render(report)

    return render
