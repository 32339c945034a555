"""Distinct values of the table in each format: measured clusters, torch's casts, odd tables."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.proofs import distinct_in
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.schedule.core import Axis
from tests import schedules
from tests.proofs import forms

DTYPES = {
    "distinct:float32": torch.float32,
    "distinct:bf16": torch.bfloat16,
    "distinct:fp16": torch.float16,
    "distinct:fp8_e4m3": torch.float8_e4m3fn,
    "distinct:fp8_e5m2": torch.float8_e5m2,
}


def prove(claim: str, base: float, dim: int) -> Claim:
    schedule = schedules.plain(base, dim)
    return distinct_in.prove(Exhibit(schedule=schedule, form=None), claim)


def test_claims_are_those_of_the_formats() -> None:
    assert set(distinct_in.CLAIMS) == set(DTYPES)


@pytest.mark.parametrize(
    ("claim", "base", "cluster"),
    [
        ("distinct:float32", 5e8, 1),
        ("distinct:bf16", 1e4, 1),
        ("distinct:bf16", 5e8, 1),
        ("distinct:fp16", 1e7, 1),
        ("distinct:fp16", 1e8, 4),
        ("distinct:fp16", 5e8, 8),
        ("distinct:fp8_e4m3", 1e4, 15),
        ("distinct:fp8_e4m3", 1e6, 31),
        ("distinct:fp8_e4m3", 1e7, 36),
        ("distinct:fp8_e5m2", 1e4, 2),
        ("distinct:fp8_e5m2", 1e6, 9),
        ("distinct:fp8_e5m2", 1e7, 17),
    ],
)
def test_largest_clusters_of_default_tables(claim: str, base: float, cluster: int) -> None:
    found = prove(claim, base, 128)
    assert found.evidence["max_cluster"] == cluster
    assert found.status is (Status.REFUTED if cluster > 1 else Status.PROVED)
    assert found.claim == claim
    assert found.method == "The table's values are rounded to nearest even and compared."


@given(
    st.lists(st.floats(0, 1e6, width=32), min_size=1, max_size=12),
    st.sampled_from(sorted(DTYPES)),
)
def test_clusters_are_those_of_torchs_casts(table: list[float], claim: str) -> None:
    found = distinct_in.prove(forms.formless(table), claim)
    if claim == "distinct:fp8_e4m3":
        table = [min(value, 448.0) for value in table]
    cast = torch.tensor(table).to(DTYPES[claim]).double().tolist()
    sets: dict[float, list[int]] = {}
    for k, value in enumerate(cast):
        sets.setdefault(value, []).append(k)
    expected = sorted((m for m in sets.values() if len(m) > 1), key=lambda m: (-len(m), m))
    if expected or all(map(math.isfinite, cast)):
        assert found.evidence["clusters"] == expected
        assert found.evidence["max_cluster"] == max(map(len, sets.values()))
        assert found.status is (Status.REFUTED if expected else Status.PROVED)
    else:
        assert found.status is Status.UNDECIDED


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_never_proved(value: float) -> None:
    claim = distinct_in.prove(forms.formless([1.0, value, 0.5]), "distinct:float32")
    assert claim.status is Status.UNDECIDED
    assert claim.evidence == {"reason": "Channel 1 is no finite number."}
    twice = distinct_in.prove(forms.formless([1.0, value, 1.0]), "distinct:float32")
    assert twice.status is Status.REFUTED
    assert twice.evidence == {"max_cluster": 2, "clusters": [[0, 2]]}


def test_two_infinities_are_equal_and_two_nan_are_not() -> None:
    large = distinct_in.prove(forms.formless([1e6, 1e7, 1.0]), "distinct:fp16")
    assert large.evidence["clusters"] == [[0, 1]]
    nan = distinct_in.prove(forms.formless([math.nan, math.nan]), "distinct:fp16")
    assert nan.status is Status.UNDECIDED


def test_zeros_of_either_sign_are_equal() -> None:
    claim = distinct_in.prove(forms.formless([1.0, 0.0, -0.0, 1e-12]), "distinct:fp16")
    assert claim.evidence == {"max_cluster": 3, "clusters": [[1, 2, 3]]}


def test_static_channels_and_other_axes_take_no_part() -> None:
    terms = forms.proportional(10**4, 2, 2)
    static = forms.exhibit(terms, static=[2, 3])
    assert distinct_in.prove(static, "distinct:bf16").status is Status.PROVED
    assert distinct_in.prove(forms.exhibit(terms), "distinct:bf16").status is Status.REFUTED
    axes = [Axis("h", (0, 1)), Axis("w", (2, 3))]
    twice = forms.exhibit(terms[:2] * 2, axes=axes)
    assert distinct_in.prove(twice, "distinct:bf16").evidence == {
        "max_cluster": 1,
        "clusters": [],
    }


@pytest.mark.parametrize("claim", sorted(DTYPES))
def test_empty_and_single_tables(claim: str) -> None:
    empty = distinct_in.prove(forms.formless([]), claim)
    assert (empty.status, empty.evidence) == (
        Status.UNDECIDED,
        {"reason": "The table is empty."},
    )
    assert distinct_in.prove(forms.formless([1.0]), claim).status is Status.PROVED
