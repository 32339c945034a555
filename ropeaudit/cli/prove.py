"""``ropeaudit prove``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ropeaudit.cli import _options as option
from ropeaudit.records import field, record

if TYPE_CHECKING:
    from ropeaudit.config import Settings
    from ropeaudit.proofs.certificate import Certificate
    from ropeaudit.report._terminal import View

EXAMPLES = """\b
Examples:
  ropeaudit prove config.json
  ropeaudit prove path/to/model --require form,distinct,geometric
  ropeaudit prove config.json -f json > certificate.json
  ropeaudit prove --check certificate.json
  ropeaudit prove --check certificate.json path/to/model

\b
Exit codes: 0 every required claim proved (or the certificate verified), 1 one
refuted (or the certificate refused), 2 usage or unreadable input, 3 one
undecided, nothing to prove, or (--check) nothing verified: all claims are about
encodings, whose numbers only the target has."""

MAX_CERTIFICATE = 64 * 1024 * 1024
"""Bytes of a certificate; one of two hundred schedules has two million."""
_CODES = {"verified": 0, "refused": 1, "stated": 3}


def complete_claim(incomplete: str) -> list[str]:
    """The last name of a comma list, completed."""
    from ropeaudit.proofs._claims import ABOUT_ENCODINGS, provers

    before, comma, last = incomplete.rpartition(",")
    names = dict.fromkeys((*provers(), *ABOUT_ENCODINGS))
    return [f"{before}{comma}{n}" for n in names if n.startswith(last)]


Ulp = Annotated[
    str | None,
    typer.Option(
        "--ulp", metavar="N", help="Steps that a stored value may be off its form (default 8)."
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="CLAIM,..",
        help="Claims that decide the exit code (default form,distinct). Repeatable.",
        autocompletion=complete_claim,
    ),
]
Candidates = Annotated[
    bool,
    typer.Option(
        "--candidates", help="Also search for small integer relations; they prove nothing."
    ),
]
Check = Annotated[
    str | None,
    typer.Option(
        "--check",
        metavar="FILE",
        help="Verify a certificate (- for standard input); with TARGETs also that it is about "
        "them.",
    ),
]
CertificateFormat = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="NAME",
        help="What goes to standard output: console (default), json (the certificate), markdown.",
        autocompletion=lambda incomplete: [
            n for n in ("console", "json", "markdown") if n.startswith(incomplete)
        ],
    ),
]
VerboseProve = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="Parameters, methods, all evidence, input digests."),
]


def command(
    targets: option.Targets = None,
    ulp: Ulp = None,
    require: Require = None,
    candidates: Candidates = False,
    check: Check = None,
    format: CertificateFormat = None,
    output: option.Output = None,
    context: option.Context = None,
    override: option.Override = None,
    ape_skew: option.ApeSkew = None,
    ape_tree_layout: option.ApeTreeLayout = None,
    encoding: option.EncodingOption = None,
    offline: option.Offline = None,
    color: option.Color = None,
    verbose: VerboseProve = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Prove what is mathematically true of a schedule.

    Each claim is proved, refuted with a witness, or undecided. The JSON format is a certificate
    that --check verifies without the target.
    """
    from ropeaudit.cli import _output
    from ropeaudit.report._certificate import FORMATS, check_format

    given = {"format": format, "context": context, "offline": offline, "color": color}
    settings = _output.settings(given, no_config=no_config, formats=FORMATS)
    if show_settings:
        typer.echo("\n".join(settings.lines()))
        return
    inputs = [*(targets or ()), *([check] if check else [])]
    files = _output.outputs(output, inputs, formats=FORMATS)
    for name in (settings.format, *(name for name, _ in files)):
        check_format(name)
    stated = option.encoding(ape_skew, ape_tree_layout, encoding)
    if check is not None:
        _require_alone(ulp=ulp, require=require, candidates=candidates)
        if not targets:
            _require_alone(override=override, context=context, encoding=encoding)
        told = _Told(tuple(override or ()), stated)
        code = _check(check, targets or (), told, settings, files, verbose=verbose)
        raise typer.Exit(code)
    certificate, required = _prove(
        targets or (), settings, _Told(tuple(override or ()), stated),
        ulp="8" if ulp is None else ulp, require=require, candidates=candidates,
    )  # fmt: skip

    def render(name: str, view: View) -> str:
        from ropeaudit.report import _certificate

        return _certificate.render(name, certificate, required, view)

    _output.write(render, settings.format, files, color=settings.color, verbose=verbose)
    if settings.format not in ("console", "markdown"):
        _say_what_is_missing(certificate)
    raise typer.Exit(certificate.exit_code(required))


@record()
class _Told:
    """What the user says of targets beyond what their files hold."""

    overrides: tuple[str, ...] = ()
    encoding: Mapping[str, str] = field(default_factory=dict)


def _require_alone(**given: object) -> None:
    """A certificate says what it says; an option that would change nothing is no gate."""
    from ropeaudit.errors import UsageError

    for name, value in given.items():
        if value not in (None, False, []):
            raise UsageError(f"--{name} has no meaning beside --check; leave one of them out")


def _prove(
    targets: Sequence[str],
    settings: Settings,
    told: _Told,
    *,
    ulp: str,
    require: list[str] | None,
    candidates: bool,
) -> tuple[Certificate, tuple[str, ...]]:
    from ropeaudit.certify import certify, required_claims
    from ropeaudit.cli._targets import expand, say_left_out

    required = required_claims([] if require is None else require)
    names, left_out = expand(targets)
    say_left_out(left_out)
    certificate = certify(
        names,
        ulp=_tolerance(ulp),
        require=required,
        candidates=candidates,
        contexts=settings.context,
        overrides=told.overrides,
        encoding=told.encoding,
        offline=settings.offline,
    )
    return certificate, required


def _tolerance(text: str) -> int:
    from ropeaudit.errors import UsageError, quoted

    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise UsageError(f"--ulp is {quoted(text)}, expected a whole number of steps, such as 8")
    return int(text)


def _say_what_is_missing(certificate: Certificate) -> None:
    """A certificate is about schedules; that a target has none goes to standard error."""
    from ropeaudit.errors import quoted, quoted_path

    for part in certificate.parts:
        subject = part.subject
        if subject.error is not None:
            said = subject.error.message
        elif part.is_empty:
            said = "; ".join(n.message for n in subject.notes) or "no schedule was found"
        else:
            continue
        print(f"ropeaudit: {quoted_path(subject.target)}: {quoted(said, 500)}", file=sys.stderr)


def _check(
    file: str,
    targets: Sequence[str],
    told: _Told,
    settings: Settings,
    files: list[tuple[str, Path]],
    *,
    verbose: bool,
) -> int:
    from ropeaudit.certify import check
    from ropeaudit.cli import _output

    result = check(
        _certificate(file),
        targets,
        contexts=settings.context if targets else (),
        overrides=told.overrides,
        encoding=told.encoding,
        offline=settings.offline,
    )

    def render(name: str, view: View) -> str:
        from ropeaudit.report._verification import render_check

        return render_check(name, file, result, view)

    _output.write(render, settings.format, files, color=settings.color, verbose=verbose)
    return _CODES.get(result.kind, 2)


def _certificate(file: str) -> str:
    """The text of a certificate; raises SourceError where there is none."""
    from ropeaudit.errors import SourceError, quoted_path
    from ropeaudit.sources._files import RegularFile

    if file == "-" and not Path(file).exists():
        if sys.stdin is None:
            raise SourceError("standard input is closed; give the path of a certificate")
        data = sys.stdin.buffer.read(MAX_CERTIFICATE + 1)
    else:
        with RegularFile(file) as opened:
            data = opened.all(MAX_CERTIFICATE, "a certificate")
    if len(data) > MAX_CERTIFICATE:
        raise SourceError(f"standard input has more than {MAX_CERTIFICATE} bytes; give a path")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{quoted_path(file)} is not UTF-8 text (byte {error.start}); no certificate"
        ) from None
