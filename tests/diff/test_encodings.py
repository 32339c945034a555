"""Learned encodings compared: unit by unit, in words, and against schedules."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeaudit.diff.compare import Options, compare
from ropeaudit.diff.interface import Comparison
from ropeaudit.diff.likeness import Likeness
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import of
from ropeaudit.findings import Severity
from ropeaudit.perturb.beside import apply
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from ropeaudit.schedule.core import Axis
from ropeaudit.schedule.subject import Subject
from tests.encodings import build, every_kind, layouts_jordan
from tests.encodings.make import recognised
from tests.schedules import plain

ANGLES = np.array([1.0, 0.5, 0.2, 0.05])
OTHERS = np.array([2.0, 0.9, 0.4, 0.1])


def subject(*encodings: Encoding, **kw: Any) -> Subject:
    return Subject(target="x", format="safetensors", encodings=encodings, **kw)


def ape(*angles: Any, **options: str) -> Encoding:
    (found,) = recognised(
        build.ape(*angles), options={k.replace("_", "-"): v for k, v in options.items()}
    )
    return found


def mixed(vectors: Any = None, **options: str) -> Encoding:
    stated = {k.replace("_", "-"): v for k, v in options.items()}
    (found,) = recognised(build.mixed(vectors), options={"grid": "14x14"} | stated)
    return found


def diff(a: Encoding, b: Encoding, **options: Any) -> Comparison:
    return compare(subject(a), subject(b), Options(**options))


def names(found: Comparison) -> list[str]:
    return [s.name for p in found.encodings for s in p.lost]


@pytest.mark.parametrize("name", every_kind.CASES)
def test_a_variant_differs_by_what_the_recipe_did(name: str, tmp_path: Path) -> None:
    """Same as itself; and perturbed, by the displacement and the drift that perturb names."""
    source = every_kind.subject(name, tmp_path)
    same = compare(source, source)
    assert (same.verdict, same.exit_code, same.severity) == (Likeness.SAME, 0, None)
    recipe = every_kind.recipe(name)
    variant = make(source.schedules, recipe, source.encodings)
    found = compare(source, apply(source, recipe))
    assert (found.verdict, found.exit_code) == (Likeness.DIFFERENT, 1)
    assert len(found.encodings) == len(variant.encodings)
    for pair, made in zip(found.encodings, variant.encodings, strict=True):
        (measure,) = made.measures
        (quantity,) = [q for q in pair.quantities if q.quantity == measure.quantity]
        assert quantity.likeness is Likeness.DIFFERENT
        assert quantity.max_abs_dlog == pytest.approx(measure.max_abs_dlog, rel=1e-4)
        assert quantity.worst is not None
        assert quantity.worst.dlog == pytest.approx(measure.largest_dlog, rel=1e-4)
        assert (quantity.worst.layer, quantity.worst.head) == (measure.layer, measure.head)
        assert quantity.worst.axis == measure.axis
        if measure.max_phase_drift is not None:
            assert pair.max_phase_drift == pytest.approx(measure.max_phase_drift, rel=1e-4)
            assert pair.extent == measure.extent
        if measure.max_bias_drift is not None:
            assert quantity.max_bias_drift == pytest.approx(measure.max_bias_drift, rel=1e-4)


def test_the_head_that_differs_is_named() -> None:
    a = mixed()
    b = apply(subject(a), "linear:factor=1.01@head=1").encodings[0]
    (pair,) = diff(a, b).encodings
    (quantity,) = pair.quantities
    assert [(h.layer, h.head, h.differing) for h in quantity.heads] == [(0, 1, 32)]
    assert quantity.differing == 32
    assert quantity.count == 64
    # Both sides are float32 numbers.
    assert quantity.max_abs_dlog == pytest.approx(math.log(1.01), abs=2.0**-22)
    assert pair.lost[0].text.startswith(
        "frequencies changed: 32 of 64 values, most at layer 0, head 1, unit "
    )


def test_phase_drift_is_that_of_the_far_corner() -> None:
    a, b = mixed([(0.5, 0.25)]), mixed([(0.5, 0.24)])
    (pair,) = diff(a, b).encodings
    assert pair.extent == (13.0, 13.0)
    assert pair.max_phase_drift == pytest.approx(13 * 0.01, rel=1e-4)
    assert pair.severity is Severity.WARNING
    (pair,) = diff(a, mixed([(0.5, 0.12)])).encodings
    assert pair.severity is Severity.ERROR


def test_direction_counts_where_sizes_are_equal() -> None:
    (pair,) = diff(mixed([(0.3, 0.4)]), mixed([(0.4, 0.3)])).encodings
    assert pair.likeness is Likeness.DIFFERENT
    assert pair.max_abs_dlog < 1e-6
    assert pair.max_phase_drift == pytest.approx(2.6, rel=1e-4)


def test_the_sign_of_a_plane_is_nobodys_business() -> None:
    """Also where a component about zero makes the canonical sign another one."""
    assert diff(mixed([(0.5, 0.25)]), mixed([(-0.5, -0.25)])).verdict is Likeness.SAME
    near = diff(mixed([(1e-7, 0.5)]), mixed([(-1e-7, 0.5)]))
    assert near.encodings[0].max_phase_drift < 1e-5


def test_rounding_is_equivalent() -> None:
    a = mixed()
    freqs = a.parameters["freqs"]
    b = replace(a, parameters={"freqs": np.nextafter(freqs.astype("f4"), np.float32(9)) * 1.0})
    found = diff(a, b)
    assert (found.verdict, found.exit_code) == (Likeness.EQUIVALENT, 0)
    assert found.encodings[0].quantities[0].differing == 0
    assert found.encodings[0].quantities[0].max_ulp in (1, 2, 3)
    assert diff(a, b, ulp=0).verdict is Likeness.DIFFERENT


def test_the_same_spectrum_in_other_planes() -> None:
    a = ape(ANGLES, OTHERS)
    q, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((8, 8)))
    stored = a.parameters["_primitives"]
    turned = q @ (stored - stored.swapaxes(-1, -2)) @ q.T / 2.0
    b = replace(a, parameters={"_primitives": turned})
    found = diff(a, b)
    assert (found.verdict, found.severity) == (Likeness.DIFFERENT, Severity.WARNING)
    assert names(found) == ["the same spectrum in other planes"]
    (pair,) = found.encodings
    assert pair.basis_distance is not None
    assert pair.basis_distance > 0.5
    assert "scores agree only where the change of basis went into W_Q and W_K" in pair.lost[0].text
    # A swap of two planes is the same thing.
    assert names(diff(a, apply(subject(a), "swap:at=0,gap=1").encodings[0])) == names(found)
    # The other symmetric part is none: it is never read.
    plus = replace(a, parameters={"_primitives": stored + np.ones((8, 8))})
    assert diff(a, plus).verdict is not Likeness.DIFFERENT


def test_constants_of_the_score() -> None:
    a = ape(ANGLES, ape_decay="0.98")
    found = diff(a, ape(ANGLES, ape_decay="0.95"))
    assert names(found) == ["decay changed"]
    assert found.encodings[0].lost[0].text == "decay changed: 0.98 in A, 0.95 in B"
    assert found.severity is Severity.WARNING
    assert names(diff(a, ape(ANGLES, ape_decay="none"))) == ["decay lost"]
    found = diff(ape(ANGLES), ape(ANGLES, ape_skew="tril"))
    assert "skewing changed" in names(found)
    found = diff(mixed(), mixed(grid="16x14", test_grid="28x28"))
    assert names(found) == ["training grid changed", "grid in use changed"]
    assert found.severity is Severity.INFO


def jordan(method: str, **more: Any) -> Encoding:
    state, config = layouts_jordan.checkpoint(method, width=64, noise=0.1, init_gamma=0.01, **more)
    (found,) = recognised(state, config)
    return found


def test_methods_and_orders() -> None:
    raw = jordan("jordan_raw_tau")
    found = diff(raw, jordan("jordan_rope"))
    assert names(found) == ["another encoding", "method changed", "coordinate of the shear changed"]
    assert found.severity is Severity.WARNING
    found = diff(raw, jordan("jordan_m4"))
    assert "order of blocks changed" in names(found)
    found = diff(raw, jordan("damped_rope"))
    assert {"method changed", "shear lost"} <= set(names(found))


def test_damping_is_a_warning() -> None:
    a = jordan("damped_rope")
    found = diff(a, apply(subject(a), "linear:factor=2@damping").encodings[0])
    assert names(found) == ["damping changed"]
    assert found.severity is Severity.WARNING
    (damping,) = [q for q in found.encodings[0].quantities if q.quantity == "damping"]
    assert damping.max_abs_dlog == pytest.approx(math.log(2), rel=1e-6)
    gone = diff(a, apply(subject(a), "zero:from=0,to=7@damping").encodings[0])
    assert names(gone) == ["damping lost"]
    assert gone.encodings[0].max_abs_dlog == math.inf


def test_shapes_that_do_not_fit() -> None:
    found = diff(ape(ANGLES, OTHERS), ape(ANGLES[:3], OTHERS[:3], OTHERS[:3]))
    assert {"other heads", "planes"} <= set(names(found))
    assert found.severity is Severity.ERROR
    found = diff(ape(ANGLES, OTHERS), mixed())
    assert {"another encoding", "other axes"} <= set(names(found))
    assert found.encodings[0].extent == ()


def test_encodings_without_a_counterpart() -> None:
    found = compare(subject(mixed(), ape(ANGLES)), subject(mixed()))
    assert found.verdict is Likeness.DIFFERENT
    assert [(u.side, u.matters) for u in found.unpaired_encodings] == [("a", True)]
    assert found.severity is Severity.ERROR
    silent = Subject(target="y", format="hf-config")
    found = compare(subject(mixed()), silent)
    assert (found.verdict, found.exit_code) == (Likeness.UNKNOWN, 3)
    assert "B gives nothing to compare" in found.undecided[0]


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("heads", [1, 3])
def test_a_schedule_and_its_conversion(pairing: str, heads: int) -> None:
    from ropeaudit.convert import ape as convert
    from ropeaudit.convert.reading import of_subject

    schedule = plain(dim=32, trained=512, pairing=pairing)
    rope = Subject(target="r", format="hf-config", schedules=(schedule,))
    made = convert.convert(of_subject(rope), heads=heads)
    for decay, verdict in (("none", Likeness.EQUIVALENT), ("0.98", Likeness.DIFFERENT)):
        (encoding,) = recognised(
            {k: v.astype(np.float32) for k, v in made.tensors.items()}, options={"ape-decay": decay}
        )
        for a, b in ((rope, subject(encoding)), (subject(encoding), rope)):
            found = compare(a, b)
            assert found.verdict in (verdict, Likeness.SAME)
            assert found.encodings[0].extent == (512.0,)
            assert not found.unpaired
            assert found.encodings[0].basis_distance == 0.0
            assert not found.encodings[0].notes
            if verdict is Likeness.DIFFERENT:
                assert names(found) == ["decay lost" if a is not rope else "decay added"]
        moved = apply(subject(encoding), "int4:sym")
        found = compare(rope, moved)
        assert found.severity is Severity.ERROR
        assert "frequencies changed" in names(found)


def test_a_schedule_in_a_basis_of_its_own_is_a_note() -> None:
    schedule = replace(plain(dim=8, trained=128), inv_freq=tuple(map(float, ANGLES)))
    rope = Subject(target="r", format="hf-config", schedules=(schedule,))
    found = compare(rope, subject(ape(ANGLES)))
    assert found.verdict is Likeness.EQUIVALENT
    said = [n.name for n in found.encodings[0].notes]
    assert said == ["decay", "the same spectrum in other planes"]


def test_a_grid_of_schedules() -> None:
    """Channels of two coordinates answer to the planes of the two axes."""
    table = tuple(float(v) for v in (*ANGLES, *ANGLES))
    schedule = replace(
        plain(dim=16, component="vision", trained=16),
        inv_freq=table, axes=(Axis("h", (0, 3)), Axis("w", (4, 7))),
    )  # fmt: skip
    rope = Subject(target="r", format="hf-config", schedules=(schedule,))
    tensors = build.ape(ANGLES, ANGLES)
    (grid,) = recognised(tensors, options={"grid": "8x8", "ape-decay": "none"})
    assert compare(rope, subject(grid)).encodings[0].quantities[0].differing == 0
    shared = replace(schedule, axes=(Axis("h", (0, 7)), Axis("w", (0, 7))))
    found = compare(replace(rope, schedules=(shared,)), subject(grid))
    assert found.verdict is Likeness.DIFFERENT
    assert "other coordinates" in found.unpaired_encodings[0].reason


def test_a_bias_and_a_rotation() -> None:
    bloom = every_bloom()
    rope = Subject(target="r", format="hf-config", schedules=(plain(),))
    found = compare(rope, bloom)
    assert found.verdict is Likeness.DIFFERENT
    assert not found.undecided
    assert "a schedule turns, and it adds to the score" in found.unpaired_encodings[0].reason


def every_bloom() -> Subject:
    from ropeaudit.document import Document
    from ropeaudit.encodings.interface import Sources, recognise
    from tests.encodings.layouts_alibi import bloom

    document = Document(file="config.json", data=bloom(seq_length=512))
    return subject(*recognise(Sources(document=document)))


def test_contexts_choose_the_extent() -> None:
    a = ape(ANGLES, train_context="128")
    b = apply(subject(a), "linear:factor=1.0001").encodings[0]
    assert diff(a, b).encodings[0].extent == (127.0,)
    long = diff(a, b, contexts=(1001,)).encodings[0]
    assert (long.extent, long.extent_source) == ((1000.0,), "given")
    assert long.max_phase_drift == pytest.approx(1000 * (1 - 1 / 1.0001), rel=1e-2)
    nobody = diff(ape(ANGLES), ape(ANGLES)).encodings[0]
    assert (nobody.extent, nobody.extent_source) == ((4096.0,), "reference")


def test_non_commuting_axes_are_compared_apart() -> None:
    (a,) = recognised({build.LIERE: build.liere(8)}, options={"grid": "14x14"})
    assert not of(a).spectrum(a).joint
    b = apply(subject(a), "zero:from=31,to=31").encodings[0]
    (pair,) = diff(a, b).encodings
    worst = pair.quantities[0].worst
    assert worst is not None
    assert worst.axis in ("y", "x")
    assert len(worst.a) == 1


def test_schedules_beside_encodings_answer_to_schedules() -> None:
    both = replace(subject(mixed()), schedules=(plain(trained=128),))
    rope = Subject(target="r", format="hf-config", schedules=(plain(trained=128),))
    found = compare(both, rope)
    assert [p.likeness for p in found.pairs] == [Likeness.SAME]
    assert not found.encodings
    assert [u.reason for u in found.unpaired_encodings] == ["B has no rope-mixed encoding"]
    assert found.verdict is Likeness.DIFFERENT
    assert compare(both, both).verdict is Likeness.SAME


@pytest.mark.parametrize("recipe", ["zero:from=0,to=1", "int4:sym", "keep:from=0,to=0"])
def test_planes_of_a_matrix_that_stopped(recipe: str) -> None:
    """An eigenvalue that is rounding of 0 is 0, as the recipe says."""
    (block,) = recognised({build.LIERE: build.liere(8)}, options={"grid": "14x14"})
    raw = np.array(build.liere(8))
    raw[1] = 0.5 * raw[0]
    (commuting,) = recognised({build.LIERE: raw}, options={"grid": "14x14"})
    assert of(commuting).spectrum(commuting).joint
    for a in (ape(ANGLES), block, commuting):
        variant = make((), recipe, (a,))
        (measure,) = variant.encodings[0].measures
        found = diff(a, variant.encodings[0].encoding).encodings[0]
        assert found.max_abs_dlog == pytest.approx(measure.max_abs_dlog, rel=1e-4)
        assert measure.max_abs_dlog == math.inf or recipe == "int4:sym"
    # A slow frequency is none: RoPE with a large base beside its own APE.
    slow = np.array([1.0, 1e-2, 1e-5, 1.2e-7])
    schedule = replace(plain(dim=8, trained=128), inv_freq=tuple(map(float, slow)))
    exact = np.zeros((1, 8, 8))
    for k, v in enumerate(slow):
        exact[0, k, k + 4] = -v
    (encoding,) = recognised({build.APE: exact}, options={"ape-decay": "none"})
    rope = Subject(target="r", format="hf-config", schedules=(schedule,))
    assert compare(rope, subject(encoding)).encodings[0].max_abs_dlog < 1e-6
