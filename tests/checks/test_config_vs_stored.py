"""Stored tables against the config's, with the accidents that really happened."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import config_vs_stored as check
from ropeaudit.findings import Severity, Status
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from ropeaudit.schedule.float32 import round_to
from tests.schedules import cast, llama3, outcomes, plain, scaled, stored, with_values, yarn


def one(*schedules: Schedule, **kw: object) -> object:
    found = outcomes(check, *schedules, **kw)
    assert len(found) == 1, found
    return found[0]


def test_equal_table_passes() -> None:
    built = llama3(declared=131072)
    assert one(built, stored(built)).status is Status.PASS


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.floats(100, 1e7),
    st.sampled_from([32, 64, 128]),
    st.sampled_from(["bfloat16", "float16"]),
    st.booleans(),
)
def test_rounding_to_a_narrower_format_passes(
    base: float, dim: int, dtype: str, back: bool
) -> None:
    built = plain(base, dim, trained=4096)
    held = cast(stored(built), dtype)
    held = replace(held, dtype="float32") if back else held
    assert one(built, held).status is Status.PASS


def test_a_few_ulp_pass_and_more_do_not() -> None:
    built = plain(trained=4096)
    near = stored(built, [v * (1 + 2e-7) for v in built.inv_freq])
    assert one(built, near).status is Status.PASS
    off = one(built, stored(built, [v * (1 + 2e-6) for v in built.inv_freq]))
    assert off.status is Status.FAIL
    assert off.severity is Severity.INFO


def test_lost_scaling_is_named_with_its_first_channel() -> None:
    built = llama3(declared=131072)
    found = one(built, stored(built, plain(5e5).inv_freq))
    assert found.status is Status.FAIL
    assert found.severity is None
    assert found.evidence["first_channel"] == 29
    assert found.evidence["max_abs_dlog"] == pytest.approx(math.log(8))
    assert found.evidence["max_phase_drift"] == math.pi
    assert "equals the unscaled schedule, so the llama3 scaling is lost" in found.message
    assert found.location is not None
    assert found.location.tensor == "model.rotary_emb.inv_freq"


def test_another_base_is_named_with_its_rounding() -> None:
    built = plain(1e11, trained=1048576)
    values = [round_to(v, "bfloat16") for v in plain(1e6).inv_freq]
    found = one(built, stored(built, values))
    assert "fits base 1000000 rounded to bfloat16" in found.message
    assert "100,000,000,000" in found.message


def test_state_of_an_earlier_prompt_is_named_with_its_length() -> None:
    built = scaled(
        "dynamic", scaling={"factor": 2.0}, declared=2048, context=Context(2048, 2048, True)
    )
    found = one(built, stored(built, plain(72195.86008650938).inv_freq))
    assert found.severity is None
    assert "earlier prompt of about 8,192 positions" in found.message
    grown = scaled("dynamic", scaling={"factor": 2.0}, declared=2048, length=4096)
    grown = replace(grown, variant="@4096")
    found = one(built, grown, stored(built, grown.inv_freq))
    assert "earlier long prompt (text/@4096)" in found.message


def test_another_law_is_an_error() -> None:
    built = yarn(declared=131072)
    wrong = scaled(
        "llama3",
        1e6,
        scaling={
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
    )
    found = one(built, stored(built, wrong.inv_freq))
    assert found.severity is None
    assert found.evidence["max_phase_drift"] >= math.pi / 2


def test_fresh_memory_is_named() -> None:
    built = plain(5e5, trained=8192)
    values = [0.0 if k % 2 else 3.1e20 for k in range(64)]
    found = one(built, stored(built, values))
    assert found.severity is None
    assert "never initialised" in found.message
    broken = one(built, stored(built, [math.nan] * 64))
    assert broken.severity is None
    assert broken.evidence["max_phase_drift"] == math.pi


@pytest.mark.parametrize(
    ("error", "severity"),
    [(1e-6, Severity.INFO), (1e-4, Severity.WARNING), (1e-3, None)],
)
def test_severity_follows_the_phase(error: float, severity: Severity | None) -> None:
    built = plain(trained=4096)
    values = [v + (error if k == 5 else 0.0) for k, v in enumerate(built.inv_freq)]
    found = one(built, stored(with_values(built, values)))
    assert found.severity is severity
    drift = min(error * 4096, math.pi)
    assert found.evidence["max_phase_drift"] == pytest.approx(drift, rel=0.05)
    assert found.evidence["differing"] == 1


def test_constant_ratio_is_said() -> None:
    built = yarn(declared=131072)
    found = one(built, stored(built, [v / 2 for v in built.inv_freq]))
    assert "0.5 times the config's" in found.message


def test_layer_types_are_told_apart() -> None:
    full = plain(1e6, 256, layer_type="full_attention", layers=(5,), trained=4096)
    sliding = plain(1e4, 256, layer_type="sliding_attention", layers=(0, 1, 2, 3, 4), trained=4096)
    right = stored(full), stored(sliding)
    assert [o.status for o in outcomes(check, full, sliding, *right)] == [Status.PASS] * 2
    swapped = one(full, sliding, stored(full, sliding.inv_freq))
    assert swapped.severity is None
    assert "it equals text/sliding_attention" in swapped.message
    by_layer = replace(stored(full), layer_type="layer_5", layers=(5,))
    assert one(full, sliding, by_layer).status is Status.PASS
    nameless = replace(stored(sliding), layer_type=None)
    assert one(full, sliding, nameless).status is Status.PASS


def test_tensor_that_serves_another_part_passes() -> None:
    text, vision = plain(1e6, trained=4096), plain(1e4, 40, component="vision")
    assert one(text, vision, replace(stored(vision), component="text")).status is Status.PASS


def test_unknown_for_another_width() -> None:
    built = plain(5e5, trained=8192)
    found = one(built, stored(built, plain(5e5, 64).inv_freq))
    assert found.status is Status.UNKNOWN
    assert "32 channels" in found.message


def test_skips() -> None:
    built = plain(trained=4096)
    assert one(built).status is Status.SKIP
    assert one(stored(built)).status is Status.SKIP
    assert one(built, replace(stored(built), rope_type="learned")).status is Status.SKIP


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "it has 8 values of 0, the others agree"), (math.nan, "8 values that are no freq")],
)
def test_a_part_that_is_lost_is_no_uninitialised_memory(value: float, said: str) -> None:
    built = plain()
    values = [*built.inv_freq[:-8], *[value] * 8]
    (found,) = outcomes(check, built, stored(built, values))
    assert said in found.message
    assert found.severity is None


def test_a_quantised_table_is_no_uninitialised_memory() -> None:
    built = plain()
    values = [round(v * 127) / 127 for v in built.inv_freq]
    (found,) = outcomes(check, built, stored(built, values))
    assert "it has 25 values of 0, and others differ too" in found.message
    assert found.severity is None


@pytest.mark.parametrize("recipe", ["int8:sym", "noise:eps=0.01,seed=0", "keep:from=0,to=40"])
def test_a_variant_is_named_after_its_recipe(recipe: str) -> None:
    built = plain()
    (made,) = make([built], recipe).schedules
    held = replace(stored(made), provenance=made.provenance)
    (found,) = outcomes(check, built, held)
    said = "of 0, the others agree" if "keep" in recipe else f"it is what {recipe} makes of it"
    assert said in found.message
    assert "initialised" not in found.message
    assert found.severity is None or "noise" in recipe


def test_a_drift_that_is_cut_off_is_said_so() -> None:
    built = plain()
    (found,) = outcomes(check, built, stored(built, [v / 2 for v in built.inv_freq]))
    assert "the config means (text): from channel 0 of 64 on it differs" in found.message
    assert "by half a turn or more at" in found.message
    assert found.evidence["max_phase_drift"] == math.pi
    (small,) = outcomes(check, built, stored(built, [v * (1 + 3e-5) for v in built.inv_freq]))
    assert "by up to 0." in small.message
