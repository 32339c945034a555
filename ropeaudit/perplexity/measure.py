"""What a program calls: measure a model with its own tables and with others."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ropeaudit.errors import UsageError
from ropeaudit.perplexity.records import Result, Settings
from ropeaudit.records import replace


def measure(
    model: Any,
    recipes: str | Iterable[str] = (),
    *,
    tokenizer: Any = None,
    corpus: str = "pydoc_topics",
    contexts: int | Iterable[int] = 2048,
    store: str | os.PathLike[str] | None = None,
    launcher: str = "local",
    offline: bool = False,
    **settings: Any,
) -> Result:
    """Perplexity of a causal language model as it is and under each recipe, on the same windows.

    ``model``: a folder, GGUF file or hub id, or a transformers model in memory, then with its
    ``tokenizer``. ``corpus``: a name, file, folder or data set; ``contexts``: window lengths in
    tokens; ``store``: a file that keeps every measurement, so that a run that ended early goes on.
    Other keywords are fields of ``perplexity.records.Settings``, such as ``windows=32``,
    ``precision=0.005`` or ``dtype="bfloat16"``. An interrupt ends the measuring and gives what
    there is (``interrupted``); a cell that fails is in ``failures``. Raises UsageError for what
    cannot be carried out, SourceError for what cannot be read, MissingDependency without an extra.
    """
    from ropeaudit.perplexity import loading
    from ropeaudit.perplexity.run import Request, run
    from ropeaudit.perplexity.store import Store

    chosen = replace(
        Settings(contexts=(contexts,) if isinstance(contexts, int) else tuple(contexts)), **settings
    )
    if isinstance(model, str | os.PathLike):
        model = os.fspath(model)
    elif not isinstance(model, loading.Loaded):
        model = loading.of_model(model, tokenizer, contexts=chosen.contexts)
    if store is not None and not isinstance(model, str) and not model.digest:
        raise UsageError(
            "a model in memory has no files to know it by again; save it and give its folder, or "
            "leave store out"
        )
    request = Request(
        model=model,
        corpus=corpus,
        settings=chosen,
        recipes=(recipes,) if isinstance(recipes, str) else tuple(recipes),
        offline=offline,
    )
    if store is None:
        return run(request, launcher=launcher)
    with Store(store) as kept:
        return run(request, store=kept, launcher=launcher)
