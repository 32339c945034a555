"""Options that several commands share, with their help and completion."""

from __future__ import annotations

from typing import Annotated

import typer


def complete_format(incomplete: str) -> list[str]:
    from ropeaudit.report.interface import names

    return [n for n in names() if n.startswith(incomplete)]


def complete_page_format(incomplete: str) -> list[str]:
    """Formats of what is no report of findings: schedules, the catalogue, an explanation."""
    return [n for n in ("console", "json") if n.startswith(incomplete)]


def complete_level(incomplete: str) -> list[str]:
    return [n for n in ("error", "warning", "info") if n.startswith(incomplete)]


def complete_color(incomplete: str) -> list[str]:
    return [n for n in ("auto", "always", "never") if n.startswith(incomplete)]


def complete_skew(incomplete: str) -> list[str]:
    return [n for n in ("full", "tril") if n.startswith(incomplete)]


def complete_tree_layout(incomplete: str) -> list[str]:
    return [n for n in ("head-shared", "per-head-sos") if n.startswith(incomplete)]


def complete_reader(incomplete: str) -> list[str]:
    """Engines, releases and ``all``, for the last name of what is typed."""
    from ropeaudit.readers.engines.known import ALL, engines, names

    before, comma, last = incomplete.rpartition(",")
    known = {ALL, *names(), *(e.RELEASES[0].engine for e in engines())}
    return [f"{before}{comma}{n}" for n in sorted(known) if n.startswith(last)]


def complete_pack(incomplete: str) -> list[str]:
    from ropeaudit.packs import shipped

    return [n for n in shipped() if n.startswith(incomplete)]


def complete_head(incomplete: str) -> list[str]:
    """Heads of recipes, for the last step of what is typed."""
    from ropeaudit.perturb.interface import heads

    before, plus, last = incomplete.rpartition("+")
    return [f"{before}{plus}{n}" for n in sorted(heads()) if n.startswith(last)]


def complete_rule(incomplete: str) -> list[tuple[str, str]]:
    """Ids with their names, and names with their ids."""
    from ropeaudit.packs import load_pack, shipped

    found = {r.id: r.name for name in shipped() for r in load_pack(name).rules}
    pairs = sorted([*found.items(), *((name, rule) for rule, name in found.items())])
    return [p for p in pairs if p[0].lower().startswith(incomplete.lower())]


Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET",
        show_default=False,
        help="A model folder, config.json, checkpoint, GGUF file, raw table, hf:ORG/NAME[@REV], "
        "- for a config on standard input, or a folder of many of these.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="NAME",
        help="What goes to standard output: console (default), json, github, markdown.",
        autocompletion=complete_format,
    ),
]
PageFormat = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="NAME",
        help="What goes to standard output: console (default) or json.",
        autocompletion=complete_page_format,
    ),
]
Output = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FMT=PATH",
        help="One more report, as a file, in the same run. Repeatable.",
    ),
]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rules",
        metavar="PACK|FILE",
        help="Rule packs: core (default), deploy, strict, research, or a YAML file. Repeatable.",
        autocompletion=complete_pack,
    ),
]
ListedRules = Annotated[
    list[str] | None,
    typer.Option(
        "--rules",
        metavar="PACK|FILE",
        help="Packs to look in, by name or as YAML files (default: all shipped). Repeatable.",
        autocompletion=complete_pack,
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="LEVEL",
        help="Fail at: error (default), warning or info.",
        autocompletion=complete_level,
    ),
]
AllowUnknown = Annotated[
    bool | None,
    typer.Option(
        "--allow-unknown/--no-allow-unknown",
        help="Exit 0, not 3, when something could not be decided.",
        show_default=False,
    ),
]
ExitZero = Annotated[
    bool | None,
    typer.Option(
        "--exit-zero/--no-exit-zero",
        help="Exit 0 whatever was found; 2 stays 2.",
        show_default=False,
    ),
]
SkipUnrecognised = Annotated[
    bool | None,
    typer.Option(
        "--skip-unrecognised/--no-skip-unrecognised",
        help="Leave out files that are no model or config.",
        show_default=False,
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="N",
        help="Context lengths to judge at, beside the trained and the declared one. Repeatable, "
        "or a comma list.",
    ),
]
Reader = Annotated[
    list[str] | None,
    typer.Option(
        "--reader",
        metavar="NAME[,NAME]|all",
        help="Engines whose reading of the same file is wanted beside the reference: vllm, "
        "llama.cpp, transformers-4.57, all. A name without version is the newest known. An audit "
        "fails on engines that are named, not on those that all brings along. Repeatable.",
        autocompletion=complete_reader,
    ),
]
Override = Annotated[
    list[str] | None,
    typer.Option(
        "--override",
        metavar="KEY=VALUE",
        help="What the engine is told at run time, as KEY=VALUE or JSON: rope_theta=1e6, "
        "max_model_len=65536. Repeatable.",
    ),
]
ApeSkew = Annotated[
    str | None,
    typer.Option(
        "--ape-skew",
        metavar="HOW",
        help="How APE's skew generators come from the stored matrix: full (default), or tril for "
        "its strict lower triangle.",
        autocompletion=complete_skew,
    ),
]
ApeTreeLayout = Annotated[
    str | None,
    typer.Option(
        "--ape-tree-layout",
        metavar="LAYOUT",
        help="Order of APE's branch matrices: head-shared (default), or per-head-sos for one a "
        "head and a start symbol.",
        autocompletion=complete_tree_layout,
    ),
]
EncodingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--encoding",
        metavar="KEY=VALUE",
        help="What a checkpoint does not say about its learned encoding: grid=14x14, "
        "test-grid=28x28, train-context=1024, method=NAME, head-dim=N. Repeatable.",
    ),
]
Apply = Annotated[
    list[str] | None,
    typer.Option(
        "--apply",
        metavar="RECIPE",
        help="A variant of the schedules, such as int8:sym or noise:eps=1e-3,seed=0; steps are "
        "joined with +. Repeatable, a variant each.",
        autocompletion=complete_head,
    ),
]
Plan = Annotated[
    str | None,
    typer.Option("--plan", metavar="FILE", help="Variants from a YAML file, with grids and seeds."),
]
Offline = Annotated[
    bool | None,
    typer.Option("--offline/--no-offline", help="Never touch the network.", show_default=False),
]
Color = Annotated[
    str | None,
    typer.Option(
        "--color",
        metavar="WHEN",
        help="Colour: auto (default), always or never.",
        autocompletion=complete_color,
    ),
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Everything: infos, skipped rules, all evidence.")
]
VerboseRules = Annotated[
    bool, typer.Option("-v", "--verbose", help="Why each rule is there, and where it stands.")
]
VerboseShow = Annotated[
    bool, typer.Option("-v", "--verbose", help="Every frequency, and where each value came from.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing when the gate passes.")]
NoConfig = Annotated[
    bool, typer.Option("--no-config", help="Read no pyproject.toml or ropeaudit.toml.")
]
ShowSettings = Annotated[
    bool,
    typer.Option("--show-settings", help="Print each setting with its origin, and stop."),
]


def encoding(skew: str | None, tree_layout: str | None, stated: list[str] | None) -> dict[str, str]:
    """What the user states about encodings; raises UsageError for what is no KEY=VALUE."""
    found = {}
    for text in stated or ():
        key, sign, value = text.partition("=")
        if not sign or not key or not value:
            from ropeaudit.errors import UsageError, quoted

            raise UsageError(f"--encoding {quoted(text)} is not KEY=VALUE, such as grid=14x14")
        found[key] = value
    given = {"ape-skew": skew, "ape-tree-layout": tree_layout}
    return found | {key: value for key, value in given.items() if value is not None}
