"""What ``ropeaudit ppl`` does between its options and its report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import RopeAuditError, UsageError, quoted
from ropeaudit.records import field, record, replace

if TYPE_CHECKING:
    from ropeaudit.cli._progress import Bar
    from ropeaudit.config import Settings as Config
    from ropeaudit.perplexity.launch.interface import Launcher
    from ropeaudit.perplexity.records import Result
    from ropeaudit.perplexity.run import Request
    from ropeaudit.perplexity.store import Store
    from ropeaudit.perplexity.sweep import Sweep
    from ropeaudit.report._terminal import View

INTERRUPTED = 130
_CONTEXT = 2048


@record(kw_only=True)
class Asked:
    """What was asked for; ``settings`` holds only what was given, and goes before any plan's."""

    models: Sequence[str] = ()
    variants: Sequence[str] = ()
    plan: str | None = None
    preset: str | None = None
    demo: bool = False
    corpora: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    offline: bool = False
    batch: int | None = None


@record(frozen=False, kw_only=True)
class Done:
    """Runs that ended, and what went wrong with the others."""

    results: list[Result] = field(default_factory=list)
    failed: bool = False
    interrupted: bool = False

    @property
    def code(self) -> int:
        return INTERRUPTED if self.interrupted else 2 if self.failed else 0


def places(
    name: str, output: Sequence[str] | None, plot: str | None, models: Sequence[str]
) -> list[tuple[str, Path]]:
    """Where reports go; formats and the folder for pictures are checked before any work is done."""
    from ropeaudit.cli import _output
    from ropeaudit.report._perplexity import FORMATS, check_format

    files = _output.outputs(output, models, formats=FORMATS)
    for one in (name, *(n for n, _ in files)):
        check_format(one)
    if plot is not None:
        from ropeaudit.report import _plots

        _plots.require(plot)
    return files


def settings(words: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of ``perplexity.records.Settings`` from options that were given."""
    found = dict(words)
    for name in ("windows", "offset", "stride", "seed"):
        found[name] = whole(name, found[name])
    for name in ("precision", "threshold"):
        found[name] = _ratio(name, found[name])
    return {name: value for name, value in found.items() if value is not None}


def whole(name: str, text: str | None) -> int | None:
    """The number of an option; raises UsageError for other text."""
    if text is None:
        return None
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 13):
        raise UsageError(f"--{name} is {quoted(text)}, expected a whole number")
    return int(text)


def _ratio(name: str, text: str | None) -> float | None:
    from ropeaudit.perplexity.sweep import ratio

    if text is None:
        return None
    try:
        return ratio(text.strip())
    except ValueError as error:
        raise UsageError(f"--{name} is {quoted(text)}, expected {error}") from None


def measured(asked: Asked, *, store: str | None, launcher: str, address: str | None) -> Done:
    """Carry out every run; one that fails costs no other.

    Raises what a single run raises. An interrupt ends the rest, and what there is stays.
    """
    from ropeaudit.cli._progress import Bar
    from ropeaudit.perplexity.launch.interface import launcher as start
    from ropeaudit.perplexity.loading import require_extra
    from ropeaudit.perplexity.store import Store

    if launcher == "local":
        require_extra()  # before a store is made for nothing
    requests = _requests(asked)
    doer = start(launcher, address=address)  # one for all: it keeps the model from run to run
    done, bar = Done(), Bar()
    with nullcontext() if store is None else Store(store) as kept:
        for number, request in enumerate(requests, 1):
            bar.begin(f"{number}/{len(requests)}" if len(requests) > 1 else "")
            try:
                result = _one(request, kept, doer, bar)
            except KeyboardInterrupt:
                done.interrupted = True
                break
            except RopeAuditError as error:
                if len(requests) == 1:
                    raise
                bar.end()
                print(f"ropeaudit: {_named(request)}: {error}", file=sys.stderr)
                done.failed = True
                continue
            finally:
                bar.end()
            _take(done, result, asked.demo)
            if result.interrupted:
                break
        done.failed = done.failed or (kept is not None and kept.unwritten > 0)
    return done


def _one(request: Request, store: Store | None, launcher: Launcher, bar: Bar) -> Result:
    from ropeaudit.perplexity.run import run

    return run(request, store=store, progress=bar, launcher=launcher)


def _take(done: Done, result: Result, demo: bool) -> None:
    if demo:
        from ropeaudit.perplexity.demo import NAME

        result = replace(result, model=NAME)  # not where it lies on this machine
    if result.cells or result.failures:
        done.results.append(result)
    done.failed = done.failed or bool(result.failures)
    done.interrupted = done.interrupted or result.interrupted


def _named(request: Request) -> str:
    return quoted(f"{request.model} on {request.corpus}", 200)


def _requests(asked: Asked) -> tuple[Request, ...]:
    from ropeaudit.perplexity import sweep
    from ropeaudit.perturb.recipe import parse

    found = _sweep(asked)
    recipes = tuple(map(parse, asked.variants))
    if asked.demo and recipes:
        found = replace(found, recipes=())  # they stand for the demo's own
    unique = {r.text: r for r in (*recipes, *found.recipes)}
    found = replace(
        found,
        settings=replace(found.settings, **asked.settings),
        recipes=tuple(unique.values()),
    )
    return sweep.requests(
        found,
        models=tuple(dict.fromkeys(asked.models)),
        corpora=tuple(dict.fromkeys(asked.corpora)),
        offline=asked.offline,
        batch=asked.batch,
    )


def _sweep(asked: Asked) -> Sweep:
    """The sweep that options are laid over: the demo's, a preset, a plan's, or an empty one."""
    from ropeaudit.perplexity import sweep
    from ropeaudit.perplexity.records import Settings

    chosen = {"--demo": asked.demo, "--preset": asked.preset, "--plan": asked.plan}
    several = [name for name, given in chosen.items() if given]
    if len(several) > 1:
        raise UsageError(f"{' and '.join(several)} each say what to measure; give one of them")
    if asked.demo:
        from ropeaudit.perplexity import demo

        for what, given in (("MODEL", asked.models), ("--corpus", asked.corpora)):
            if given:
                raise UsageError(f"--demo has its own model and text; leave {what} out")
        return demo.sweep()
    if asked.preset is not None:
        return sweep.preset(asked.preset)
    if asked.plan is not None:
        return sweep.load(asked.plan)
    if not asked.models:
        raise UsageError("no model given; name a folder, a GGUF file or hf:org/name, or try --demo")
    length = _CONTEXT if "contexts" in asked.settings else _fitting(asked.models)
    return sweep.Sweep(name="ppl", settings=Settings(contexts=(length,)), recipes=())


def _fitting(models: Sequence[str]) -> int:
    """The usual length, or what the shortest model on this machine was made for, if that is less.

    A model that cannot be read says so when it is loaded.
    """
    from ropeaudit.resolve import resolve

    lengths = [_CONTEXT]
    for model in models:
        if Path(model).exists():
            schedules = resolve(model, offline=True).schedules
            known = (s.context.declared or s.context.trained for s in schedules if s.is_text)
            lengths += [n for n in known if n]
    return max(2, min(lengths))


def tell(
    results: Sequence[Result],
    config: Config,
    files: Sequence[tuple[str, Path]],
    *,
    verbose: bool,
    quiet: bool,
) -> None:
    """Write the reports."""
    from ropeaudit.cli import _output
    from ropeaudit.report._perplexity import render

    def page(name: str, view: View) -> str:
        return render(name, results, view)

    _output.write(page, config.format, files, color=config.color, verbose=verbose, silent=quiet)
    if quiet:  # no page says why the exit code is what it is
        for failure in (f for result in results for f in result.failures):
            cell = f"{failure.recipe or 'base'} at {failure.context} tokens"
            print(f"ropeaudit: {quoted(cell, 200)}: {failure.message}", file=sys.stderr)


def draw(results: Sequence[Result], folder: str | None) -> None:
    """Draw the pictures, where a folder for them was given, and say where they are."""
    if folder is None:
        return
    from ropeaudit.report import _plots

    written = _plots.write(results, folder)
    if not written:
        print("ropeaudit: nothing to draw: no variant was measured", file=sys.stderr)
    for path in written:
        print(f"ropeaudit: drew {quoted(path, 300)}", file=sys.stderr)
