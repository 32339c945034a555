"""Recipes on learned encodings: lists as a schedule would have them, planes and directions kept."""

from __future__ import annotations

import math
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ropeaudit
from ropeaudit.audit import audit_subject, bind
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import of
from ropeaudit.errors import UsageError
from ropeaudit.packs import load_pack
from ropeaudit.perturb.beside import apply
from ropeaudit.perturb.changes.noise import normals
from ropeaudit.perturb.recipe import parse
from ropeaudit.perturb.variant import Variant, make
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32, f32s
from ropeaudit.schedule.subject import Subject
from tests.encodings import build, every_kind, layouts_jordan
from tests.encodings.make import recognised
from tests.schedules import plain

RECIPES = [
    "int8:sym", "int4:affine", "log8", "log4", "cast:bf16", "cast:fp16", "noise:eps=1e-2,seed=7",
    "cluster:at=0,codim=2,gap=1,to=gm", "apart:at=0,gap=1", "shift:at=0,gap=1,dir=up",
    "swap:at=0,gap=1", "jitter:eps=1e-6", "zero:from=0,to=0", "keep:from=0,to=1",
    "linear:factor=4", "int8:sym+jitter:eps=1e-5",
]  # fmt: skip
ANGLES = np.array([1.0, 0.5, 0.2, 0.05])
OTHERS = np.array([2.0, 0.9, 0.4, 0.1])


def ape() -> Encoding:
    (found,) = recognised(build.ape(ANGLES, OTHERS))
    return found


def mixed() -> Encoding:
    (found,) = recognised(build.mixed())
    return found


def liere(block: int = 8) -> Encoding:
    (found,) = recognised({build.LIERE: build.liere(block)}, options={"grid": "14x14"})
    return found


def one(encoding: Encoding, recipe: str) -> tuple[Variant, Encoding]:
    variant = make((), recipe, (encoding,))
    return variant, variant.encodings[0].encoding


def w(encoding: Encoding) -> Any:
    return of(encoding).spectrum(encoding).w


def table(values: Any) -> Schedule:
    values = tuple(f32s(np.asarray(values).tolist()))
    return Schedule(
        rope_type="stored", rope_theta=None, head_dim=2 * len(values),
        rotary_dim=2 * len(values), inv_freq=values,
    )  # fmt: skip


@pytest.mark.parametrize("recipe", [r for r in RECIPES if "noise" not in r])
def test_a_list_is_changed_as_a_schedule_is(recipe: str) -> None:
    """The same module on the same float32 values, head by head."""
    for encoding in (ape(), liere(2), mixed()):
        variant, _ = one(encoding, recipe)
        for item in variant.encodings[0].lists:
            (expected,) = make([table(item.base)], recipe).schedules
            assert item.now == expected.inv_freq


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_made_turns_as_the_lists_say(recipe: str) -> None:
    for encoding in (ape(), liere(2), liere(), mixed()):
        variant, made = one(encoding, recipe)
        found = w(made)
        for item in variant.encodings[0].lists:
            layer, head, axis = item.at
            own = found[layer, head]
            sizes = np.linalg.norm(own, axis=-1) if axis is None else np.abs(own[:, axis])
            wanted = np.array(item.now)
            # Dense matrices give their spectrum falling, and to rounding of the whole matrix.
            off = np.abs(np.sort(sizes) - np.sort(wanted)).max()
            noise = np.asarray(of(made).spectrum(made).noise, float).max() / 2
            assert off < 1e-9 + 1e-7 * wanted.max() + noise


def test_planes_and_directions_stay() -> None:
    before = mixed()
    _, after = one(before, "noise:eps=1e-2,seed=3")
    a, b = w(before), w(after)
    size = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    assert np.abs((a * b).sum(-1) / size - 1.0).max() < 1e-12  # a square of float32's rounding
    before = ape()
    _, after = one(before, "noise:eps=1e-2,seed=3")
    x, y = of(before).generators(before)[0], of(after).generators(after)[0]
    # Turned in the same planes, they commute to what float32 holds.
    assert np.abs(x @ y - y @ x).max() < 1e-6 < 0.1 < np.abs(x @ y).max()
    assert np.abs(x - y).max() > 1e-4


def test_what_is_not_reached_keeps_every_bit() -> None:
    before = mixed()
    _, after = one(before, "zero:from=3,to=3@head=1")
    a, b = w(before), w(after)
    assert (a[:, 0] == b[:, 0]).all()
    assert (np.delete(a[:, 1], 3, 1) == np.delete(b[:, 1], 3, 1)).all()
    assert not b[:, 1, 3].any()
    variant, same = one(before, "identity")
    assert same is before
    assert not variant.encodings[0].changed
    assert variant.encodings[0].measures[0].largest_dlog == 0.0


def test_symmetric_parts_and_dead_matrices_stay() -> None:
    (before,) = recognised(build.tree(build.skew(ANGLES, 1), build.skew(OTHERS, 2)))
    _, after = one(before, "int4:sym")
    a, b = before.parameters["_primitives"], after.parameters["_primitives"]
    rounding = 2.0**-23  # of entries below 1, of which two are added
    assert np.abs((a + a.swapaxes(-1, -2)) - (b + b.swapaxes(-1, -2))).max() <= rounding
    assert (a[2:] == b[2:]).all()
    assert np.abs(a[:2] - b[:2]).max() > 1e-3


def test_layers_and_heads_get_noise_of_their_own() -> None:
    encoding = liere_layers()
    variant, _ = one(encoding, "noise:eps=1e-2,seed=0")
    factors = {
        tuple(round(b / a, 5) for a, b in zip(i.base, i.now, strict=True))
        for i in variant.encodings[0].lists
    }
    assert len(factors) == len(variant.encodings[0].lists) == 6
    again, _ = one(encoding, "noise:eps=1e-2,seed=0")
    assert [i.now for i in again.encodings[0].lists] == [i.now for i in variant.encodings[0].lists]
    other, _ = one(encoding, "noise:eps=1e-2,seed=1")
    assert [i.now for i in other.encodings[0].lists] != [i.now for i in variant.encodings[0].lists]
    # What else is chosen does not change what one head gets.
    alone, _ = one(encoding, "noise:eps=1e-2,seed=0@layers=2@head=1")
    whole = {(i.layer, i.head): i.now for i in variant.encodings[0].lists}
    for item in alone.encodings[0].lists:
        reached = (item.layer, item.head) == (2, 1)
        assert item.now == (whole[item.layer, item.head] if reached else item.base)


def liere_layers() -> Encoding:
    raw = np.concatenate([build.liere(2, axes=2, scale=0.1 * (k + 1)) for k in range(3)], axis=1)
    values = np.concatenate([raw, 0.7 * raw], axis=2).astype(np.float32)
    (found,) = recognised({build.LIERE: values}, options={"liere-layers": "own", "grid": "14x14"})
    return found


def test_the_numbers_of_a_noise_are_pinned() -> None:
    """A seed names the same numbers on every machine and in every version."""
    variant, _ = one(ape(), "noise:eps=1e-2,seed=0")
    base, now = _first(variant)
    found = [b / a - 1.0 for a, b in zip(base, now, strict=True)]
    seed = int.from_bytes(sha256(b"0/positional_encoder/frequency//0/").digest()[:8], "big")
    expected = [0.01 * g for g in islice(normals(seed), 4)]
    assert found == pytest.approx(expected, abs=2e-7)
    pinned = [0.00035036, -0.00013655, 0.01288213, 0.00400499]
    assert found == pytest.approx(pinned, abs=2e-7)


def _first(variant: Variant) -> tuple[Any, Any]:
    item = variant.encodings[0].lists[0]
    return item.base, item.now


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(1e-3, 3.0), min_size=2, max_size=6, unique_by=lambda v: round(v, 2)),
    st.sampled_from(RECIPES),
)
def test_measures_of_any_matrix(angles: list[float], recipe: str) -> None:
    (encoding,) = recognised(build.ape(np.array(angles)), options={"train-context": "100"})
    try:
        variant, made = one(encoding, recipe)
    except UsageError:
        return
    (measure,) = variant.encodings[0].measures
    item = variant.encodings[0].lists[0]
    moved = [abs(math.log(b / a)) if a * b else math.inf * (a != b)
             for a, b in zip(item.base, item.now, strict=True)]  # fmt: skip
    moved = [0.0 if math.isnan(m) else m for m in moved]
    assert measure.max_abs_dlog == pytest.approx(max(moved), rel=2e-6)
    drift = max(abs(a - b) for a, b in zip(item.base, item.now, strict=True)) * 99
    assert measure.max_phase_drift == pytest.approx(min(drift, math.pi), rel=1e-3, abs=2e-5)
    exact = max(item.now.count(v) for v in item.now)
    assert measure.max_cluster >= min(exact, len(angles))
    assert made.parameters["_primitives"].shape == encoding.parameters["_primitives"].shape


def test_dense_blocks_fall_over_the_whole_head() -> None:
    for item in make((), "identity", (liere(),)).encodings[0].lists:
        assert list(item.base) == sorted(item.base, reverse=True)
        assert sorted(item.units) == list(range(len(item.units)))
    stored = make((), "identity", (mixed(),)).encodings[0].lists[0]
    assert stored.units == tuple(range(len(stored.units)))


def test_clusters_are_counted_as_the_rules_count_them() -> None:
    variant, _ = one(ape(), "cluster:at=0,codim=3,gap=1")
    assert variant.encodings[0].measures[0].max_cluster == 3
    assert variant.encodings[0].measures[0].smallest_log_gap == 0.0
    subject = Subject(target="x", format="safetensors", encodings=(ape(),))
    judged = apply(subject, "cluster:at=0,codim=3,gap=1")
    report = audit_subject(judged, bind([load_pack("research")]))
    found = next(f for f in report.findings if f.rule == "RA702")
    assert found.evidence["max_cluster"] == 3
    before = audit_subject(subject, bind([load_pack("research")]))
    assert all(f.rule != "RA702" for f in before.findings)
    # Planes of one direction that turn equally fast are one in float32; of other directions, not.
    variant, _ = one(mixed(), "cluster:at=0,codim=3,gap=1")
    assert variant.encodings[0].measures[0].max_cluster == 3
    apart = np.array([[1.0, 0.1], [0.6, 0.4], [0.2, 0.3]])
    (other,) = recognised(build.mixed(apart))
    variant, _ = one(other, "cluster:at=0,codim=3,gap=1@head=0")
    assert variant.encodings[0].measures[0].max_cluster == 1
    assert variant.encodings[0].measures[0].smallest_log_gap is None
    assert variant.encodings[0].lists[0].now[:3] == (variant.encodings[0].lists[0].now[0],) * 3


def jordan(method: str = "jordan_raw_tau", **more: Any) -> Encoding:
    state, config = layouts_jordan.checkpoint(method, width=64, noise=0.1, init_gamma=0.01, **more)
    (found,) = recognised(state, config)
    return found


def test_damping_and_shear_are_named() -> None:
    before = jordan()
    spectrum = of(before).spectrum(before)
    _, after = one(before, "linear:factor=2@damping")
    changed = of(after).spectrum(after)
    assert (changed.w == spectrum.w).all()
    assert (changed.eta == spectrum.eta).all()
    assert np.allclose(changed.gamma, spectrum.gamma / 2, rtol=1e-7)
    _, after = one(before, "zero:from=0,to=1@shear@layers=0@head=1")
    changed = of(after).spectrum(after)
    assert not changed.eta[0, 1, :2].any()
    assert (changed.eta != spectrum.eta).sum() == 2
    assert (changed.gamma == spectrum.gamma).all()
    quantities = [m.quantity for m in make((), "int8:sym@shear", (before,)).encodings[0].measures]
    assert quantities == ["frequency", "shear"]


def test_untrained_shear_is_said_to_be_zero() -> None:
    state, config = layouts_jordan.checkpoint("jordan_raw_tau", width=64, init_gamma=0.01)
    (encoding,) = recognised(state, config)
    with pytest.raises(UsageError, match="has no shear that is not 0; name what to change, with"):
        make((), "int8:sym@shear", (encoding,))


def test_slopes_are_a_list_of_heads(tmp_path: Path) -> None:
    subject = every_kind.subject("alibi", tmp_path)
    variant = make((), "swap:at=0,gap=2", subject.encodings)
    (item,) = variant.encodings[0].lists
    assert item.base == tuple(2.0**-h for h in range(1, 9))
    assert item.now == (2.0**-3, 2.0**-2, 2.0**-1, *item.base[3:])
    assert w(variant.encodings[0].encoding).any() == np.False_
    measure = variant.encodings[0].measures[0]
    assert measure.max_phase_drift is None
    assert measure.max_bias_drift == 0.375 * 2047
    with pytest.raises(UsageError, match="has one slope a head, and recipes act on the list"):
        make((), "int8:sym@head=1", subject.encodings)


def test_planes_and_slopes_of_one_encoding(tmp_path: Path) -> None:
    (encoding,) = every_kind.subject("rope-alibi", tmp_path).encodings
    variant, made = one(encoding, "int8:sym@head=1+linear:factor=2@slope")
    assert [m.quantity for m in variant.encodings[0].measures] == ["frequency", "slope"]
    moved = {(i.quantity, i.head) for i in variant.encodings[0].lists if i.now != i.base}
    assert moved == {("frequency", 1), ("slope", None)}
    spectrum, base = of(made).spectrum(made), of(encoding).spectrum(encoding)
    assert (spectrum.w[:, 0] == base.w[:, 0]).all()
    assert (spectrum.w[:, 1] != base.w[:, 1]).any()


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("ntk:factor=2", "this law builds a table from the base of a RoPE config"),
        ("base:500000", "use linear or a recipe that works on the values"),
        ("longrope:factors.json", "a learned encoding has none"),
        ("int8:sym@layers=0", "encoding positional_encoder has one set for all layers"),
        ("int8:sym@head=2", "has no head 2, the last one is 1; correct it"),
        ("int8:sym@slope", "has no slope that is not 0; name what to change, with @frequency"),
        ("noise:eps=900,seed=0", "the noise turns channel"),
        ("apart:at=0,gap=9", "head 0: there is no channel 9: the table has channels 0 to 3"),
        ("linear:factor=1e-45", "beyond what float32 holds; take a smaller change"),
    ],
)
def test_what_cannot_be_done_is_said(recipe: str, said: str, tmp_path: Path) -> None:
    if "longrope" in recipe:
        (tmp_path / "factors.json").write_text("[1, 1, 1, 1]")
        recipe = f"longrope:{tmp_path / 'factors.json'}"
    with pytest.raises(UsageError) as caught:
        make((), recipe, (ape(),))
    assert said in str(caught.value)


def test_a_scope_names_schedules_or_encodings() -> None:
    schedule, encoding = table([1.0, 0.5, 0.25, 0.125]), ape()
    both = make([schedule], "int8:sym", (encoding,))
    assert both.changed()
    assert both.encodings[0].changed
    alone = make([schedule], "int8:sym@text", (encoding,))
    assert alone.changed()
    assert not alone.encodings[0].changed
    learned = make([schedule], "int8:sym@ape-sequence", (encoding,))
    assert not learned.changed()
    assert learned.encodings[0].changed
    # A law of a RoPE config means the schedules.
    law = make([plain()], "yarn:factor=2,original=1024", (encoding,))
    assert law.changed()
    assert not law.encodings[0].changed
    with pytest.raises(UsageError, match="no schedule of layer type vision; known: "):
        make([schedule], "int8:sym@vision", (encoding,))


def test_quantities_are_scopes_of_their_own() -> None:
    recipe = parse("int8:sym@damping@rope-mixed.stage0@layers=1")
    assert recipe.text == "int8:sym@rope-mixed.stage0@damping@layers=1"
    assert parse(recipe.text) == recipe
    with pytest.raises(UsageError, match="gives quantity twice"):
        parse("int8:sym@damping@shear")
    with pytest.raises(UsageError, match="one table of frequencies for all heads"):
        make([table([1.0, 0.5])], "int8:sym@damping")


def test_the_public_function_takes_them(tmp_path: Path) -> None:
    target = every_kind.target("rope-mixed", tmp_path)
    variant = ropeaudit.perturb(target, "int8:sym")
    assert variant.schedules == ()
    (made,) = variant.encodings
    step = max(made.lists[0].base) / 127
    wanted = [f32(round(v / step) * step) for v in made.lists[0].base]
    assert list(made.lists[0].now) == wanted


def test_a_stored_rotation_knows_angles_up_to_pi() -> None:
    from ropeaudit.encodings._algebra import expm_skew

    w = np.stack([expm_skew(build.skew(ANGLES, k)) for k in range(2)])
    (encoding,) = recognised({build.APE: w}, options={"ape-stores": "operator"})
    _, made = one(encoding, "linear:factor=0.5")
    assert np.abs(of(made).spectrum(made).w[0, 0, :, 0] - 2 * ANGLES).max() < 1e-6
    with pytest.raises(UsageError, match="cannot hold frequencies of up to 10; take a smaller"):
        one(encoding, "linear:factor=0.1")
