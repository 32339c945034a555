"""``ropeaudit probe``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ropeaudit.cli import _options as option

if TYPE_CHECKING:
    from ropeaudit.probe.kernel import Settings
    from ropeaudit.report._terminal import View

EXAMPLES = """\b
Examples:
  ropeaudit probe kernel
  ropeaudit probe kernel --target mixed --target "exp(-d/L)*cos(omega*d)"
  ropeaudit probe kernel --length 64 --lengths 256 --frequencies 1 --gamma 0.01 --ridge 0 \\
      --target-index 0
  ropeaudit probe kernel --basis rope --basis jordan_scaled_c0.5 -o csv=probe.csv --plot pictures

\b
Exit codes: 0 done, 2 usage, or a target that cannot be read."""

_PROBES = ("kernel",)

Which = Annotated[
    str | None,
    typer.Argument(metavar="PROBE", show_default=False, help="The experiment: kernel."),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="NAME|EXPR",
        help="phase, linear, mixed (default: all three), or an expression of d, L and omega with "
        "+ - * / **, abs, cos, exp, log, sin, sqrt and pi. Repeatable.",
    ),
]
BasisOption = Annotated[
    list[str] | None,
    typer.Option(
        "--basis",
        metavar="NAME",
        help="rope, damped, rope_alibi, alibi, direct_sum, jordan_stabilized, jordan_raw, "
        "jordan_scaled_cX (damping X/L), with _gamma0 at the end for no damping. Repeatable.",
    ),
]
Length = Annotated[
    str | None, typer.Option("--length", metavar="L", help="Lags in the fit (default 1024).")
]
Lengths = Annotated[
    list[str] | None,
    typer.Option(
        "--lengths",
        metavar="T",
        help="Lags to take the error over, beside L (default 2048, 4096, 8192). Repeatable, or a "
        "comma list.",
    ),
]
Theta = Annotated[
    str | None, typer.Option("--theta", metavar="B", help="Base of the frequencies (10000).")
]
HeadDim = Annotated[
    str | None,
    typer.Option("--head-dim", metavar="N", help="Divisor of the exponent -2k/N (64)."),
]
Frequencies = Annotated[
    str | None, typer.Option("--frequencies", metavar="N", help="How many, from k = 0 on (16).")
]
Gamma = Annotated[
    str | None, typer.Option("--gamma", metavar="G", help="Damping per position (1e-4).")
]
Ridge = Annotated[
    str | None, typer.Option("--ridge", metavar="R", help="Ridge of the fit, unscaled (1e-4).")
]
TargetIndex = Annotated[
    str | None,
    typer.Option("--target-index", metavar="K", help="Frequency that omega of a target is (3)."),
]
Precision = Annotated[
    str,
    typer.Option(
        "--precision",
        metavar="DTYPE",
        help="Whose errors the tables show: float64 or float32. JSON and CSV hold both.",
    ),
]
ProbeFormat = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="NAME",
        help="What goes to standard output: console (default), json, csv, markdown.",
        autocompletion=lambda incomplete: [
            n for n in ("console", "json", "csv", "markdown") if n.startswith(incomplete)
        ],
    ),
]
Plot = Annotated[
    str | None,
    typer.Option("--plot", metavar="DIR", help="Draw the fits as PNG and SVG into this folder."),
]
VerboseProbe = Annotated[
    bool, typer.Option("-v", "--verbose", help="Definitions of the bases, and each float32 run.")
]


def command(
    probe: Which = None,
    target: Target = None,
    basis: BasisOption = None,
    length: Length = None,
    lengths: Lengths = None,
    theta: Theta = None,
    head_dim: HeadDim = None,
    frequencies: Frequencies = None,
    gamma: Gamma = None,
    ridge: Ridge = None,
    target_index: TargetIndex = None,
    precision: Precision = "float64",
    plot: Plot = None,
    format: ProbeFormat = None,
    output: option.Output = None,
    color: option.Color = None,
    verbose: VerboseProbe = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Find out what the functions of an encoding can express, without training a model.

    kernel: least-squares fits of fixed bases to a target on the trained lags, and their errors
    beyond. By default the published table, with what of its digits is arithmetic.
    """
    from ropeaudit.cli import _output
    from ropeaudit.report import _probe

    given = {"format": format, "color": color}
    config = _output.settings(given, no_config=no_config, formats=_probe.FORMATS)
    if show_settings:
        typer.echo("\n".join(config.lines()))
        return
    _check(probe, precision)
    files = _output.outputs(output, formats=_probe.FORMATS)
    for name in (config.format, *(name for name, _ in files)):
        _probe.check_format(name)
    if plot is not None:
        from ropeaudit.report import _plots

        _plots.require(plot)
    from ropeaudit.probe.kernel import run

    asked = _settings(
        lengths,
        {"length": length, "head-dim": head_dim, "frequencies": frequencies,
         "target-index": target_index},
        {"theta": theta, "gamma": gamma, "ridge": ridge},
    )  # fmt: skip
    result = run(asked, targets=target or (), bases=basis or ())

    def page(name: str, view: View) -> str:
        return _probe.render(name, result, view, precision=precision)

    _output.write(page, config.format, files, color=config.color, verbose=verbose)
    if plot is not None:
        from ropeaudit.errors import quoted
        from ropeaudit.report import _probe_plot

        for path in _probe_plot.write(result, plot):
            print(f"ropeaudit: drew {quoted(path, 300)}", file=sys.stderr)


def _check(probe: str | None, precision: str) -> None:
    from ropeaudit.errors import UsageError, quoted, suggestion
    from ropeaudit.report._probe import PRECISIONS

    if probe is None:
        raise UsageError("no probe given; name one, as in: probe kernel")
    if probe not in _PROBES:
        near = suggestion(probe, _PROBES) or f"; known: {', '.join(_PROBES)}"
        raise UsageError(f"no probe is called {quoted(probe)}{near}")
    if precision not in PRECISIONS:
        raise UsageError(f"--precision is {quoted(precision)}, expected float64 or float32")


def _settings(
    lengths: Sequence[str] | None, wholes: dict[str, str | None], reals: dict[str, str | None]
) -> Settings:
    """The probe's settings with what was given; ranges are checked where they are used."""
    from ropeaudit.cli._ppl_run import whole
    from ropeaudit.errors import UsageError, quoted
    from ropeaudit.probe.kernel import Settings
    from ropeaudit.records import replace

    given: dict[str, object] = {}
    for name, text in wholes.items():
        found = whole(name, text)
        if found is not None:
            given[name.replace("-", "_")] = found
    for name, text in reals.items():
        if text is None:
            continue
        try:
            given[name] = float(text)
        except ValueError:
            raise UsageError(f"--{name} is {quoted(text)}, expected a number") from None
    if lengths:
        each = (part for text in lengths for part in text.split(",") if part.strip())
        given["lengths"] = tuple(
            n for n in (whole("lengths", part) for part in each) if n is not None
        )
    return replace(Settings(), **given)
