"""Options of ``ropeaudit ppl``, with their help and completion."""

from __future__ import annotations

from typing import Annotated

import typer


def _starts(names: tuple[str, ...], incomplete: str) -> list[str]:
    return [n for n in names if n.startswith(incomplete)]


def complete_preset(incomplete: str) -> list[str]:
    from ropeaudit.perplexity.sweep import presets

    return _starts(presets(), incomplete)


def complete_corpus(incomplete: str) -> list[str]:
    from ropeaudit.perplexity import corpora

    return _starts(tuple(corpora.names()), incomplete)


def complete_launcher(incomplete: str) -> list[str]:
    from ropeaudit.perplexity.launch.interface import names

    return _starts(names(), incomplete)


def complete_scoring(incomplete: str) -> list[str]:
    from ropeaudit.perplexity.records import SCORINGS

    return _starts(SCORINGS, incomplete)


def complete_dtype(incomplete: str) -> list[str]:
    from ropeaudit.perplexity.records import DTYPES

    return _starts(DTYPES, incomplete)


def complete_format(incomplete: str) -> list[str]:
    return _starts(("console", "json", "csv", "markdown"), incomplete)


Models = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="A transformers model folder, a GGUF file or hf:ORG/NAME[@REV].",
    ),
]
Variant = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="RECIPE",
        help="A variant of the schedules to measure beside the unchanged base, such as int8:sym; "
        "recipes are those of perturb. Repeatable.",
    ),
]
Plan = Annotated[
    str | None,
    typer.Option("--plan", metavar="FILE", help="A sweep from a YAML file; options go before it."),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="A sweep that is shipped: quick, twos, noise, power-law, position, controls, hybrid, "
        "base-sweep.",
        autocompletion=complete_preset,
    ),
]
Demo = Annotated[
    bool,
    typer.Option("--demo", help="Measure a small model that is shipped; no download, a minute."),
]
CorpusOption = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus",
        metavar="NAME|FILE",
        help="The text: a name, a file, a folder or a data set (default: CPython's language "
        "reference, which every Python has). Repeatable.",
        autocompletion=complete_corpus,
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="N",
        help="Window lengths in tokens (default 2048, or the model's own if shorter). Repeatable, "
        "or a comma list.",
    ),
]
Windows = Annotated[
    str | None,
    typer.Option("--windows", metavar="N", help="Windows of each length (default: all)."),
]
Offset = Annotated[
    str | None,
    typer.Option("--offset", metavar="TOKENS", help="Tokens to skip at the start of the text."),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        "--scoring",
        metavar="HOW",
        help="Targets that count: full (default), second-half (as llama.cpp) or strided.",
        autocompletion=complete_scoring,
    ),
]
Stride = Annotated[
    str | None,
    typer.Option("--stride", metavar="TOKENS", help="For strided scoring (default: half)."),
]
Bos = Annotated[
    bool | None,
    typer.Option(
        "--bos/--no-bos",
        help="Put the model's BOS in place of each window's first token (default: no).",
        show_default=False,
    ),
]
Seed = Annotated[
    str | None, typer.Option("--seed", metavar="N", help="Orders the windows (default 0).")
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="P",
        help="Stop a cell as soon as its interval is this narrow, such as 0.5%.",
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="RATIO",
        help="Stop a cell as soon as its inflation is surely above or below this, such as 1.05.",
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="NAME",
        help="Of the weights: float32, bfloat16 or float16 (default: float32 on a CPU, else the "
        "checkpoint's). Rotary tables are float32 always.",
        autocompletion=complete_dtype,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="cpu, cuda, cuda:N, mps, or auto for a model larger than one GPU (default: a GPU if "
        "there is one).",
    ),
]
Batch = Annotated[
    str | None,
    typer.Option(
        "--batch", metavar="N", help="Windows that go through the model at once (default: chosen)."
    ),
]
Launcher = Annotated[
    str,
    typer.Option(
        "--launcher",
        metavar="NAME",
        help="local (default), or ray to spread the cells over GPUs and machines.",
        show_default=False,
        autocompletion=complete_launcher,
    ),
]
Address = Annotated[
    str | None,
    typer.Option("--address", metavar="ADDRESS", help="The Ray cluster: auto, or ray://HOST:PORT."),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="Keep every measurement in this file; a run that ended early goes on from there.",
    ),
]
Plot = Annotated[
    str | None,
    typer.Option("--plot", metavar="DIR", help="Draw pictures into this folder, as PNG and SVG."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="NAME",
        help="What goes to standard output: console (default), json, csv, markdown.",
        autocompletion=complete_format,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "-v", "--verbose", help="Displacement, time and memory; loss by position; all fits."
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No report on standard output.")]
