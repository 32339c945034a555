"""One case of every kind of loss, and what a comparison needs to see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ropeaudit.diff.interface import Comparison
from ropeaudit.facts import Fact, Location, Observation, Oddity, Origin
from ropeaudit.records import replace
from ropeaudit.schedule.core import Axis, Context, Schedule
from ropeaudit.schedule.families.interface import powers, reciprocal
from ropeaudit.schedule.subject import Subject
from tests.schedules import (
    cast,
    llama3,
    plain,
    proportional,
    raw,
    scaled,
    stored,
    subject,
    with_values,
    yarn,
)

LONG = {"context": Context(4096, 131072)}


def longrope(
    short: float, long: float, original: int = 4096, **kw: Any
) -> tuple[Schedule, Schedule]:
    """Two tables whose k-th factor is 1 + k * slope."""
    lists = {
        "short_factor": [1 + k * short for k in range(48)],
        "long_factor": [1 + k * long for k in range(48)],
        "original_max_position_embeddings": original,
    }
    return (
        scaled("longrope", 1e4, 96, scaling=lists, variant="short", **kw),
        scaled("longrope", 1e4, 96, scaling=lists, variant="long", length=original + 1, **kw),
    )


def two(full: Schedule, sliding: Schedule, layers: int = 12, every: int = 6) -> list[Schedule]:
    """A model with a full layer in every few, the others sliding."""
    own = tuple(k for k in range(layers) if k % every == every - 1)
    rest = tuple(k for k in range(layers) if k % every != every - 1)
    return [
        replace(full, layer_type="full_attention", layers=own),
        replace(sliding, layer_type="sliding_attention", layers=rest),
    ]


def no_base(schedule: Schedule) -> Schedule:
    base = Fact("rope_theta", schedule.rope_theta, Origin.DEFAULT)
    return replace(schedule, provenance=(base,))


def elementwise(change: Callable[[float, float], float], law: Schedule) -> Schedule:
    """``law`` with values made of its own and its unscaled ones, rounded."""
    assert law.unscaled is not None
    return with_values(law, list(map(change, law.inv_freq, law.unscaled)))


def narrow_exponent() -> Schedule:
    return replace(plain(1e4, 64, head_dim=128), inv_freq=tuple(reciprocal(powers(1e4, 128, 32))))


def axes(*widths: int) -> tuple[Axis, ...]:
    ends = [sum(widths[: k + 1]) for k in range(len(widths))]
    return tuple(Axis(a, (e - w, e - 1)) for a, w, e in zip("thw", widths, ends, strict=True))


def unread(*_: Any) -> Observation:
    return Observation(
        kind=Oddity.KEY_IGNORED,
        message="nothing reads rope_scale",
        location=Location(file="config.json", pointer="/rope_scale"),
    )


SHORT_LONG = longrope(0.001, 0.5)
DYNAMIC = scaled("dynamic", scaling={"factor": 2.0}, declared=4096, trained=4096)
DEEPSEEK = yarn(softmax_scale=1.87385)

# Kind, A, B, kinds that come with it.
Case = tuple[str, Any, Any, set[str]]
CASES: list[Case] = [
    ("base defaulted", plain(5e5), no_base(plain(1e4)), set()),
    ("base defaulted", plain(1e6), stored(plain(1e4)), set()),
    ("base defaulted", plain(5e5), no_base(plain(5e4)), set()),
    ("base changed", plain(1e4), plain(1e5), set()),
    ("base changed", stored(cast(plain(1e6), "bfloat16")), plain(1e11), set()),
    ("scaling dropped", llama3(), plain(5e5), set()),
    ("scaling dropped", yarn(), stored(plain(1e6)), set()),
    ("scaling dropped", stored(llama3()), plain(5e5), set()),
    ("scaling added", plain(5e5, **LONG), llama3(), set()),
    ("factors missing", llama3(), subject(plain(5e5), format="gguf"), {"scaling dropped"}),
    ("short and long swapped", SHORT_LONG, longrope(0.5, 0.001), set()),
    ("one factor list for all lengths", SHORT_LONG, longrope(0.5, 0.5), set()),
    ("factor lists changed", SHORT_LONG, longrope(0.001, 0.6), set()),
    ("pairing layout changed", plain(), plain(pairing="interleaved"), set()),
    ("wrong rotary width", plain(dim=64, head_dim=128), plain(dim=128), set()),
    (
        "channels dropped",
        plain(),
        raw(plain().inv_freq[:32]),
        {"wrong rotary width", "base changed"},
    ),
    ("exponent over another width", plain(1e4, 64, head_dim=128), narrow_exponent(), set()),
    ("channels stopped", plain(), with_values(plain(), lambda k, v: v * (k < 60)), set()),
    ("still channels turn", proportional(), plain(1e6, 512), {"another law"}),
    ("table rounded", plain(), stored(cast(plain(), "bfloat16")), set()),
    ("table rounded", stored(cast(plain(), "float16")), plain(), set()),
    ("factor applied twice", llama3(), elementwise(lambda a, u: a * a / u, llama3()), set()),
    (
        "factor applied twice",
        scaled("linear", scaling={"factor": 4.0}),
        scaled("linear", scaling={"factor": 16.0}),
        set(),
    ),
    ("factor inverted", yarn(), elementwise(lambda a, u: u * u / a, yarn()), set()),
    ("factor changed", llama3(factor=32.0), llama3(factor=8.0), set()),
    ("factor changed", llama3(factor=32.0), stored(llama3(factor=8.0)), set()),
    ("wrong original length", yarn(), yarn(original=131072), set()),
    (
        "switch between lists moved",
        SHORT_LONG,
        longrope(0.001, 0.5, 8192),
        {"factor changed", "attention factor changed", "wrong original length"},
    ),
    (
        "switch between lists moved",
        longrope(0.001, 0.5, attention_scaling=1.0),
        longrope(0.001, 0.5, 8192, attention_scaling=1.0),
        set(),
    ),
    (
        "blend bounds changed",
        yarn(),
        scaled(
            "yarn",
            1e6,
            scaling={"factor": 4.0, "original_max_position_embeddings": 32768, "beta_fast": 8},
        ),
        set(),
    ),
    (
        "another law",
        yarn(),
        scaled("linear", 1e6, scaling={"factor": 4.0}),
        {"attention factor lost"},
    ),
    ("attention factor lost", yarn(), yarn(attention_scaling=1.0), set()),
    ("attention factor changed", yarn(), yarn(attention_scaling=4.0), set()),
    ("softmax scale lost", DEEPSEEK, yarn(), set()),
    ("softmax scale changed", DEEPSEEK, yarn(softmax_scale=2.0), set()),
    (
        "per-layer-type schedule lost",
        two(plain(1e6), plain(1e4)),
        plain(1e6, layers=tuple(range(12))),
        {"base changed"},
    ),
    (
        "rotated layers changed",
        plain(layers=(0, 1, 2, 4, 5, 6, 8)),
        plain(layers=tuple(range(9))),
        set(),
    ),
    (
        "layers moved",
        two(plain(1e6), plain(1e4)),
        two(plain(1e6), plain(1e4), every=4),
        {"base changed", "base defaulted"},
    ),
    ("position axes changed", plain(axes=axes(16, 24, 24)), plain(axes=axes(24, 20, 20)), set()),
    ("position axes changed", plain(axes=axes(16, 24, 24)), plain(), set()),
    ("state of a long prompt", DYNAMIC, stored(plain(48000.0)), set()),
    (
        "no frequencies",
        plain(),
        stored(plain(), [math.nan if k == 3 else v for k, v in enumerate(plain().inv_freq)]),
        set(),
    ),
    ("channels reordered", plain(), stored(plain(), reversed(plain().inv_freq)), set()),
    (
        "all frequencies multiplied",
        plain(),
        stored(plain(), [v * 1.75 for v in plain().inv_freq]),
        {"scaling added"},
    ),
    (
        "another order of arithmetic",
        plain(5e6, 96),
        stored(plain(), [5e6 ** (-k / 48) for k in range(48)]),
        set(),
    ),
    ("setting not read", plain(), subject(plain(), observations=[unread()]), set()),
]


def sides(*given: Any) -> Iterable[Subject]:
    for one in given:
        if isinstance(one, Subject):
            yield one
        else:
            yield subject(*([one] if isinstance(one, Schedule) else one))


def names(found: Comparison) -> set[str]:
    return {lost.name for pair in found.pairs for lost in pair.lost}
