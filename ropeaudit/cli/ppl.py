"""``ropeaudit ppl``."""

from __future__ import annotations

import typer

from ropeaudit.cli import _options as option
from ropeaudit.cli import _ppl_options as own

EXAMPLES = """\b
Examples:
  ropeaudit ppl --demo
  ropeaudit ppl path/to/model --variant int8:sym --variant log8
  ropeaudit ppl model.gguf --preset quick --store cells.jsonl --precision 0.5%
  ropeaudit ppl path/to/model --plan sweep.yaml --plot pictures -o csv=cells.csv
  ropeaudit ppl hf:org/name --preset controls --launcher ray --address auto

\b
Exit codes: 0 measured, 2 usage, unreadable input, a cell that failed or a store that could not be
written, 130 interrupted (what was measured by then is printed, and kept with --store)."""


def command(
    models: own.Models = None,
    variant: own.Variant = None,
    plan: own.Plan = None,
    preset: own.Preset = None,
    demo: own.Demo = False,
    corpus: own.CorpusOption = None,
    context: own.Context = None,
    windows: own.Windows = None,
    offset: own.Offset = None,
    scoring: own.Scoring = None,
    stride: own.Stride = None,
    bos: own.Bos = None,
    seed: own.Seed = None,
    precision: own.Precision = None,
    threshold: own.Threshold = None,
    dtype: own.Dtype = None,
    device: own.Device = None,
    batch: own.Batch = None,
    launcher: own.Launcher = "local",
    address: own.Address = None,
    store: own.StoreOption = None,
    plot: own.Plot = None,
    format: own.Format = None,
    output: option.Output = None,
    offline: option.Offline = None,
    color: option.Color = None,
    verbose: own.Verbose = False,
    quiet: own.Quiet = False,
    show_settings: option.ShowSettings = False,
    no_config: option.NoConfig = False,
) -> None:
    """Measure what a schedule costs: perplexity with the model's own and with other tables.

    Every variant is scored on the same windows of text as the unchanged base. The report says by
    how much perplexity inflates, how sure that is, and where in the context the damage sits.
    """
    from ropeaudit.cli import _output
    from ropeaudit.cli import _ppl_run as work
    from ropeaudit.report._perplexity import FORMATS

    given = {"format": format, "context": context, "offline": offline, "color": color}
    config = _output.settings(given, no_config=no_config, formats=FORMATS)
    if show_settings:
        typer.echo("\n".join(config.lines()))
        return
    files = work.places(config.format, output, plot, models or ())
    words = {
        "windows": windows, "offset": offset, "scoring": scoring, "stride": stride, "bos": bos,
        "seed": seed, "precision": precision, "threshold": threshold, "dtype": dtype,
        "device": device, "contexts": config.context or None,
    }  # fmt: skip
    asked = work.Asked(
        models=models or (),
        variants=variant or (),
        plan=plan,
        preset=preset,
        demo=demo,
        corpora=corpus or (),
        settings=work.settings(words),
        offline=config.offline,
        batch=work.whole("batch", batch),
    )
    done = work.measured(asked, store=store, launcher=launcher, address=address)
    if done.results:
        work.tell(done.results, config, files, verbose=verbose, quiet=quiet)
        work.draw(done.results, plot)
    raise typer.Exit(done.code)
