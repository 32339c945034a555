"""``ropeaudit ppl --demo``: a small model that is shipped, on text it was not trained on.

A Llama-type model of 2.7 million parameters over bytes, trained on CPython's own documentation
(``fixtures/README.md`` says how). It shows the effect on any machine, without a download, in under
a minute; it does not show how large the effect is in a language model that people use.
"""

from __future__ import annotations

from pathlib import Path

from ropeaudit.errors import SourceError
from ropeaudit.perplexity.records import Settings
from ropeaudit.perplexity.sweep import Sweep
from ropeaudit.perturb.recipe import parse

NAME = "ropeaudit demo"
TEXT = "pydoc_topics:held-out"
CONTEXTS = (256, 1024)
"""A quarter of the trained length and all of it."""
WINDOWS = 32
"""Of each length; the text holds 45 of the longer ones, and a minute is to suffice."""
RECIPES = (
    "int8:sym",
    "int8:sym+jitter:eps=1e-7",
    "int4:sym",
    "log8",
    "noise:eps=1e-2,seed=0",
    "cluster:at=0,codim=2,gap=3,to=gm",
    "apart:at=0,gap=3",
)
"""Two linear quantisers, the first also with all frequencies made distinct; the logarithmic one;
noise; two channels merged, and moved as far away from each other."""

_PACKAGE = Path(__file__).parents[1]


def folder() -> Path:
    """The model: inside the package once installed, in ``fixtures`` in a checkout.

    Raises SourceError where it is in neither.
    """
    for place in (_PACKAGE / "demo", _PACKAGE.parent / "fixtures" / "demo"):
        if (place / "model.safetensors").is_file():
            return place
    raise SourceError(
        "the model of --demo is not part of this installation; install ropeaudit again, or name "
        "a model"
    )


def sweep() -> Sweep:
    """What ``--demo`` measures."""
    return Sweep(
        name="demo",
        reproduces="the effect of each kind of table, on a model small enough to be shipped",
        models=(str(folder()),),
        corpora=(TEXT,),
        settings=Settings(contexts=CONTEXTS, windows=WINDOWS),
        recipes=tuple(map(parse, RECIPES)),
    )
