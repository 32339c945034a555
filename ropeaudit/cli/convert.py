"""``ropeaudit convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropeaudit.cli import _options as option

if TYPE_CHECKING:
    from ropeaudit.convert._fold import Projections
    from ropeaudit.convert.interface import Converted
    from ropeaudit.report._terminal import View

EXAMPLES = """\b
Examples:
  ropeaudit convert path/to/model --to ape=ape.safetensors
  ropeaudit convert checkpoint.pt --to rope=rope.safetensors
  ropeaudit convert W.npy --matrix map --to rope -f json
  ropeaudit convert checkpoint.pt --to rope=out.safetensors --weights model.safetensors \\
      --query "layers.{layer}.q.weight" --key "layers.{layer}.k.weight" --head-layout strided

\b
Exit codes: 0 converted, 2 usage, unreadable input, or no such conversion."""

Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET",
        show_default=False,
        help="A model or config with rotary schedules, a checkpoint with a learned encoding, a "
        "file of matrices (--matrix), or what --to rope has written.",
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="FORM[=FILE]",
        help="ape: skew parameters in the layout of the public code. rope: frequencies of each "
        "head and their basis. With =FILE.safetensors they are written.",
    ),
]
Matrix = Annotated[
    str | None,
    typer.Option(
        "--matrix",
        metavar="KIND",
        help="The target is an .npy or .safetensors file of matrices (n, n) or (heads, n, n): map "
        "(W), generator (skew B) or parameter (A with B = A - A^T).",
    ),
]
Name = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Which schedule or encoding, of several."),
]
Heads = Annotated[
    str | None,
    typer.Option("--heads", metavar="N", help="Heads to write, where the source does not say."),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="FILE",
        help="A safetensors file whose query and key projections take in the conversion; they are "
        "written beside the parameters.",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query", metavar="TENSOR", help="The query projection; {layer} stands for a number."
    ),
]
Key = Annotated[
    str | None, typer.Option("--key", metavar="TENSOR", help="The key projection, likewise.")
]
HeadLayout = Annotated[
    str,
    typer.Option(
        "--head-layout",
        metavar="LAYOUT",
        help="Rows of these projections: together (heads one after the other) or strided (head h "
        "owns rows h, h+H, ...).",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the file, if it is there.")]
VerboseConvert = Annotated[bool, typer.Option("-v", "--verbose", help="Every head.")]


def command(
    target: Target = None,
    to: To = None,
    matrix: Matrix = None,
    name: Name = None,
    heads: Heads = None,
    weights: Weights = None,
    query: Query = None,
    key: Key = None,
    head_layout: HeadLayout = "together",
    force: Force = False,
    format: option.PageFormat = None,
    output: option.Output = None,
    override: option.Override = None,
    ape_skew: option.ApeSkew = None,
    ape_tree_layout: option.ApeTreeLayout = None,
    encoding: option.EncodingOption = None,
    offline: option.Offline = None,
    color: option.Color = None,
    verbose: VerboseConvert = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Say an encoding in another form, exactly, or why that is impossible.

    Rotary schedules become parameters of an algebraic encoding in closed form; learned rotations
    of one axis become frequencies and a basis that goes into the projections.
    """
    from ropeaudit.cli import _output
    from ropeaudit.cli._ppl_run import whole
    from ropeaudit.convert.interface import target as form_of
    from ropeaudit.convert.reading import read
    from ropeaudit.errors import UsageError
    from ropeaudit.report import _convert

    given = {"format": format, "offline": offline, "color": color}
    config = _output.settings(given, no_config=no_config, formats=_convert.FORMATS)
    if show_settings:
        typer.echo("\n".join(config.lines()))
        return
    if target is None or to is None:
        what = "no target" if target is None else "no form"
        raise UsageError(f"{what} given; name both, as in: convert path/to/model --to ape")
    files = _output.outputs(output, [target], formats=_convert.FORMATS)
    for one in (config.format, *(one for one, _ in files)):
        _convert.check_format(one)
    into, form, path = _projections(weights, query, key, head_layout), *_place(to)
    module = form_of(form)
    source_path = Path(target) if Path(target).exists() else None
    if path is not None:
        from ropeaudit.export import _tensors

        _tensors.check(path, source_path, force=force)
    elif into is not None:
        raise UsageError(f"--weights changes weights, which have to go somewhere; --to {form}=FILE")
    source = read(
        target,
        matrix=matrix,
        name=name,
        encoding=option.encoding(ape_skew, ape_tree_layout, encoding),
        overrides=tuple(override or ()),
        offline=config.offline,
    )
    done = _written(module.convert(source, heads=whole("heads", heads)), into, path, force=force)

    def page(name: str, view: View) -> str:
        return _convert.render(name, done, view)

    _output.write(page, config.format, files, color=config.color, verbose=verbose)


def _place(to: str) -> tuple[str, Path | None]:
    from ropeaudit.errors import UsageError, quoted

    form, sign, path = to.partition("=")
    if sign and not path:
        raise UsageError(f"--to {quoted(to)} names no file, such as {form or 'ape'}=FILE")
    return form, Path(path) if path else None


def _projections(
    weights: str | None, query: str | None, key: str | None, layout: str
) -> Projections | None:
    from ropeaudit.convert._fold import Projections, require_file
    from ropeaudit.errors import UsageError

    given = [n for n, v in (("--weights", weights), ("--query", query), ("--key", key)) if v]
    if not given:
        return None
    if weights is None or query is None or key is None:
        raise UsageError(
            f"{' and '.join(given)} alone cannot be carried out; give --weights, --query and --key"
        )
    require_file(weights)
    return Projections(path=weights, query=query, key=key, layout=layout)


def _written(made: Converted, into: Projections | None, path: Path | None, *, force: bool) -> Any:
    """The conversion, written where it was asked for."""
    from ropeaudit.convert._fold import document, folded
    from ropeaudit.convert._stored import stored
    from ropeaudit.records import replace
    from ropeaudit.report._convert import Done, metadata

    tensors = stored(made) | (folded(made, into) if into is not None else {})
    done = Done(
        made=made,
        tensors={n: (str(v.dtype), v.shape) for n, v in tensors.items()},
        projections=None if into is None else document(into),
    )
    if path is None:
        return done
    from ropeaudit.export import _tensors

    _tensors.write(path, tensors, metadata(done), force=force)
    return replace(done, path=str(path))
