"""``ropeaudit perturb``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ropeaudit.cli import _options as option

if TYPE_CHECKING:
    from ropeaudit.perturb.recipe import Recipe
    from ropeaudit.perturb.variant import Variant
    from ropeaudit.report._terminal import View
    from ropeaudit.report._variants import Output
    from ropeaudit.schedule.subject import Subject

EXAMPLES = """\b
Examples:
  ropeaudit perturb config.json --apply int8:sym
  ropeaudit perturb path/to/model --apply cluster:at=0,codim=2,gap=3,to=gm
  ropeaudit perturb path/to/model --apply int8:sym+jitter:eps=1e-7 --to hf=variant
  ropeaudit perturb config.json --plan sweep.yaml -f json
  ropeaudit perturb liere.ckpt --apply noise:eps=1e-2,seed=0@head=2 --to noisy.safetensors

\b
Exit codes: 0 made, 2 usage or unreadable input, 3 the input has no position encoding."""

Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET",
        show_default=False,
        help="A model folder, config.json, checkpoint, GGUF file, raw table, hf:ORG/NAME[@REV], "
        "or - for a config on standard input.",
    ),
]
To = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        metavar="WHERE",
        help="Write the variant: hf=DIR, gguf=FILE, FILE.json, FILE.npy or FILE.safetensors. "
        "Repeatable.",
    ),
]
Copy = Annotated[
    bool, typer.Option("--copy", help="Copy the weights of hf=DIR, where links are usual.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what --to names, if it is there.")]
VerbosePerturb = Annotated[
    bool, typer.Option("-v", "--verbose", help="Every changed table, and every channel that moved.")
]


def command(
    target: Target = None,
    apply: option.Apply = None,
    plan: option.Plan = None,
    to: To = None,
    copy: Copy = False,
    force: Force = False,
    ape_skew: option.ApeSkew = None,
    ape_tree_layout: option.ApeTreeLayout = None,
    encoding: option.EncodingOption = None,
    format: option.PageFormat = None,
    output: option.Output = None,
    offline: option.Offline = None,
    color: option.Color = None,
    verbose: VerbosePerturb = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Make variants of a model's schedules or learned encodings for stress tests.

    A recipe names perturbations, joined by +, each with parameters and an optional scope. The same
    recipe on the same input gives the same bits.
    """
    from ropeaudit.cli import _output
    from ropeaudit.perturb.variant import make
    from ropeaudit.report._variants import FORMATS, Made, check_format, render

    given = {"format": format, "offline": offline, "color": color}
    settings = _output.settings(given, no_config=no_config, formats=FORMATS)
    if show_settings:
        typer.echo("\n".join(settings.lines()))
        return
    files = _output.outputs(output, [target] if target else [], formats=FORMATS)
    for name in (settings.format, *(name for name, _ in files)):
        check_format(name)
    recipes, several = _recipes(apply or (), plan, to or ())
    stated = option.encoding(ape_skew, ape_tree_layout, encoding)
    subject = _subject(target, stated, offline=settings.offline)
    if subject is None:
        raise typer.Exit(3)
    variants = [make(subject.schedules, recipe, subject.encodings) for recipe in recipes]
    written = _written(variants[0], to or (), subject, copy=copy, force=force)
    made = [Made(v, written) for v in variants]

    def page(name: str, view: View) -> str:
        return render(name, subject, made, view, several=several)

    _output.write(page, settings.format, files, color=settings.color, verbose=verbose)


def _recipes(
    apply: Sequence[str], plan: str | None, to: Sequence[str]
) -> tuple[tuple[Recipe, ...], bool]:
    """The recipes, and whether they are several by the way they were asked for."""
    from ropeaudit.errors import UsageError
    from ropeaudit.perturb.plan import load
    from ropeaudit.perturb.recipe import parse

    recipes = tuple(map(parse, apply)) + (load(plan) if plan is not None else ())
    if not recipes:
        raise UsageError("no recipe given; name one, as in --apply int8:sym, or use --plan FILE")
    several = plan is not None or len(recipes) > 1
    if several and to:
        raise UsageError("--to writes one variant; give one --apply, and join steps with +")
    return recipes, several


def _subject(target: str | None, encoding: Mapping[str, str], *, offline: bool) -> Subject | None:
    """What is to be perturbed; None, said on standard error, where there is nothing."""
    from ropeaudit.errors import SourceError, UsageError, quoted
    from ropeaudit.resolve import resolve

    if target is None:
        raise UsageError(
            "no target given; name a model folder or a config, as in: perturb config.json"
        )
    subject = resolve(target, offline=offline, encoding=encoding)
    if subject.error is not None:
        raise SourceError(subject.error.message, where=subject.error.where)
    if subject.schedules or subject.encodings:
        return subject
    why = "; ".join(dict.fromkeys(n.message for n in subject.notes)) or "it has no rotary table"
    print(f"ropeaudit: nothing to perturb in {quoted(target)}: {quoted(why, 300)}", file=sys.stderr)
    return None


def _written(
    variant: Variant, to: Sequence[str], subject: Subject, *, copy: bool, force: bool
) -> tuple[Output, ...]:
    if not to:
        return ()
    from ropeaudit.export.writing import write
    from ropeaudit.report._variants import Output

    done = [write(variant, spec, source=subject, copy=copy, force=force) for spec in to]
    return tuple(Output(w.kind, w.path, w.max_ulp, w.notes) for w in done)
