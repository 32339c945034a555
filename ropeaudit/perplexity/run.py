"""One model, one text, many tables: what each costs.

The unchanged base is measured first, once for each length, and every variant on the same windows.
What a store holds is not measured again; what is measured is in the store before the run goes on,
so that a run that was killed continues where it was, and ends with the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ropeaudit.errors import MissingDependency, RopeAuditError, SourceError, UsageError
from ropeaudit.perplexity import _settings
from ropeaudit.perplexity._conduct import Conductor, Progress
from ropeaudit.perplexity._plan import Plan, plans
from ropeaudit.perplexity.launch.interface import Ended, Launcher, Order, Prepared
from ropeaudit.perplexity.launch.interface import launcher as launcher_named
from ropeaudit.perplexity.records import Cell, Corpus, Failure, Result, Settings
from ropeaudit.perplexity.statistics.paired import inflation
from ropeaudit.perplexity.store import Store
from ropeaudit.perturb.recipe import Recipe, parse
from ropeaudit.records import record

__all__ = ["Progress", "Request", "run"]


@record(kw_only=True)
class Request:
    """What to measure. ``model``: a folder, GGUF file or hub id, or a ``loading.Loaded``;
    ``corpus``: a name, a path, or a text; ``batch``: windows that go through the model at once,
    None by the device."""

    model: Any
    corpus: str | Corpus = "pydoc_topics"
    settings: Settings = Settings()
    recipes: tuple[Recipe | str, ...] = ()
    offline: bool = False
    batch: int | None = None


def run(
    request: Request,
    *,
    store: Store | None = None,
    progress: Progress | None = None,
    launcher: Launcher | str = "local",
) -> Result:
    """Measure the base and every recipe at every length.

    ``progress`` is called with tokens done, tokens in all and seconds left (None at first). An
    interrupt (Ctrl-C) ends the measuring and gives what there is, with ``interrupted`` set. A cell
    that fails is in ``failures`` and costs no other; where every cell fails, the error is raised.

    Raises UsageError for settings or recipes that cannot be carried out, before anything is
    measured, and as ``loading.load`` and ``corpora.load`` do.
    """
    _settings.require(request.settings)
    recipes = _unique(request.recipes)
    doer = launcher_named(launcher) if isinstance(launcher, str) else launcher
    try:
        prepared = doer.prepare(
            Order(
                model=request.model,
                corpus=request.corpus,
                settings=request.settings,
                offline=request.offline,
                batch=request.batch,
            )
        )
        planned = plans(prepared, request.settings, recipes)
    except BaseException:
        doer.close()
        raise
    conductor = Conductor(
        planned, doer, store, progress, lambda plan: _about(plan, prepared, request.settings)
    )
    conductor.run()
    return _result(planned, prepared, request, conductor, store)


def _unique(recipes: Sequence[Recipe | str]) -> tuple[Recipe, ...]:
    return tuple({r.text: r for r in map(parse, recipes)}.values())


def _result(
    planned: Sequence[Plan],
    prepared: Prepared,
    request: Request,
    conductor: Conductor,
    store: Store | None,
) -> Result:
    cells = tuple(cell for plan in planned if (cell := _cell(plan, conductor.interrupted)))
    failures = tuple(f for plan in planned if (f := _failure(plan)))
    if not cells and failures and not conductor.interrupted:
        raise _again(failures[0])
    notes = [*prepared.notes, *conductor.notes, *(store.notes if store is not None else ())]
    if conductor.interrupted:
        notes.append("the run was interrupted; cells may be missing or hold fewer windows")
    if len(conductor.places) > 1:
        notes.append(
            f"cells ran on different devices: {', '.join(conductor.places)}; expect differences in "
            "the last digits"
        )
    return Result(
        model=prepared.model if not isinstance(request.model, str) else request.model,
        corpus=prepared.corpus,
        settings=request.settings,
        cells=cells,
        environment=prepared.environment,
        tokens=prepared.tokens,
        words=prepared.words,
        bytes=prepared.bytes,
        notes=tuple(dict.fromkeys(notes)),
        failures=failures,
        interrupted=conductor.interrupted,
    )


def _cell(plan: Plan, interrupted: bool) -> Cell | None:
    """The cell of a plan; None where not one window can be compared with the base."""
    track, base = plan.track, plan.base
    if track is not base and _error(plan) is not None:
        return None
    if plan.sequential is None or not plan.sequential.done:
        indices = sorted(track.scores.keys() & base.scores.keys())
    else:  # blocks beyond the decision, from another run, would not belong to its interval
        blocks = track.blocks[: plan.settled]
        indices = sorted(w.index for b in blocks for w in b)
    if not indices:
        return None
    scores = tuple(track.scores[n] for n in indices)
    ratio, notes = 1.0, list(plan.notes)
    interval: tuple[float, float] | None = (1.0, 1.0)
    early = len(indices) < track.windows
    stopped = plan.sequential is not None and plan.sequential.done and early
    if track is not base:
        estimate = inflation(tuple(base.scores[n] for n in indices), scores)
        if stopped and plan.sequential is not None:
            estimate = plan.sequential.estimate()
            notes.append(f"stopped early: {estimate.method}")
        ratio, interval = estimate.ratio, estimate.ci95
    if early and not stopped and interrupted:
        notes.append(f"interrupted after {len(indices)} of {track.windows} windows")
    return Cell(
        recipe=None if plan.recipe is None else plan.recipe.text,
        schedule_id=plan.schedule_id,
        context=track.context,
        scores=scores,
        inflation=ratio,
        inflation_ci95=interval,
        max_abs_dlog=plan.max_abs_dlog,
        max_phase_drift=plan.max_phase_drift,
        seconds=track.seconds,
        peak_bytes=track.peak_bytes,
        stopped=stopped,
        notes=tuple(notes),
    )


def _error(plan: Plan) -> Ended | None:
    """What kept a cell from its end: its own error, or the base's before it was decided."""
    return plan.track.error or (None if plan.done else plan.base.error)


def _failure(plan: Plan) -> Failure | None:
    error = _error(plan)
    if error is None:
        return None
    message = error.message
    if plan.track.error is None:
        message = f"the base could not be measured at this length: {message}"
    return Failure(
        recipe=None if plan.recipe is None else plan.recipe.text,
        context=plan.track.context,
        kind=error.kind or "unexpected",
        message=message,
    )


def _again(failure: Failure) -> RopeAuditError:
    kinds = {kind.kind: kind for kind in (UsageError, SourceError, MissingDependency)}
    return kinds.get(failure.kind, RopeAuditError)(failure.message)


def _about(plan: Plan, prepared: Prepared, settings: Settings) -> Mapping[str, Any]:
    """What a line of the store says for people and scripts; the key alone decides."""
    return {
        "model": prepared.model,
        "model_sha256": prepared.digest,
        "corpus": {"name": prepared.corpus.name, "sha256": prepared.corpus.sha256},
        "recipe": None if plan.recipe is None else plan.recipe.text,
        "schedule_id": plan.schedule_id,
        "context": plan.track.context,
        **_settings.choosing(settings),
        "max_abs_dlog": _json(plan.max_abs_dlog),
        "max_phase_drift": plan.max_phase_drift,
        "environment": dict(prepared.environment),
    }


def _json(value: float) -> float | str:
    return value if abs(value) < float("inf") else str(value)
