"""The law behind a table of floats: found again from tables that transformers builds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ropeaudit.audit import resolve
from ropeaudit.certify import certify
from ropeaudit.proofs import recovery
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.float32 import f32, f32s, round_to, ulp_distance
from ropeaudit.verifier import verify
from tests.schedules import cast, llama3, plain, proportional, quantised, raw, scaled, yarn

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LENGTH = "original_max_position_embeddings"
DTYPES = ("float32", "bfloat16", "float16")
ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
GEOMETRIC = ("default", "dynamic", "ntk_alpha", "axial")


def claimed(schedule: Schedule, ulp: int = 8) -> Claim:
    return recovery.prove(Exhibit(schedule=schedule, form=None, ulp=ulp))


def found(values: Sequence[float], ulp: int = 8, **kw: Any) -> Any:
    """The evidence about a bare table, which must be proved."""
    claim = claimed(raw(values, **kw), ulp)
    assert claim.status is Status.PROVED, claim.evidence
    assert claim.evidence["max_ulp"] <= ulp
    return claim.evidence


def engine(rope: dict[str, Any], dim: int, dtype: str = "float32") -> list[float]:
    """The buffer of transformers' Llama, cast by torch."""
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = transformers.LlamaConfig(
        hidden_size=4 * dim,
        num_attention_heads=4,
        head_dim=dim,
        max_position_embeddings=131072,
        rope_parameters=rope,
    )
    table = LlamaRotaryEmbedding(config).inv_freq
    return table.to(getattr(torch, dtype)).to(torch.float64).tolist()  # type: ignore[no-any-return]


def built(fit: dict[str, Any], dtype: str) -> list[float]:
    """The table of a set of parameters, by the law's own module and torch's rounding."""
    law = family(fit["rope_type"])
    assert law is not None
    given = dict(fit["parameters"])
    partial = given.pop("partial_rotary_factor", 1.0)
    table = law.build(
        Inputs(
            rope_theta=fit["rope_theta"],
            rotary_dim=fit["rotary_dim"],
            head_dim=fit["rotary_dim"],
            partial_rotary_factor=partial,
            scaling=given,
        )
    ).inv_freq
    rounded = torch.tensor(table, dtype=torch.float64).to(getattr(torch, dtype))
    return rounded.to(torch.float64).tolist()  # type: ignore[no-any-return]


# Tables of transformers


PLAIN = [
    *[(1e4, 128), (1e4, 80), (1e4, 24), (1e4, 8), (5e5, 128), (1e6, 96), (1e6, 256), (1e7, 64)],
    *[(150000, 64), (8e6, 128), (1e9, 128), (1e11, 128), (100, 32), (2e4, 512)],
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("base", "dim"), PLAIN)
def test_plain_tables_give_base_and_width(base: float, dim: int, dtype: str) -> None:
    fit = found(engine({"rope_type": "default", "rope_theta": base}, dim, dtype))
    assert (fit["rope_type"], fit["rotary_dim"], fit["parameters"]) == ("default", dim, {})
    assert fit["rope_theta"] == base
    assert fit["dtype"] == dtype
    assert fit["max_ulp"] <= (2 if dtype == "float32" else 1)


SCALED = [
    (1e6, 128, {"rope_type": "linear", "factor": 8.0}),
    (1e5, 128, {"rope_type": "linear", "factor": 2.5}),
    (5e5, 128, {"rope_type": "llama3", "factor": 8.0, LENGTH: 8192}),
    (5e5, 64, {"rope_type": "llama3", "factor": 32.0, LENGTH: 8192}),
    (1e6, 128, {"rope_type": "llama3", "factor": 16.0, LENGTH: 8192}),
    (1e6, 128, {"rope_type": "yarn", "factor": 4.0, LENGTH: 32768}),
    (1e4, 64, {"rope_type": "yarn", "factor": 40.0, LENGTH: 4096}),
    (1e4, 128, {"rope_type": "yarn", "factor": 16.0, LENGTH: 8192}),
    (1e6, 128, {"rope_type": "yarn", "factor": 64.0, LENGTH: 4096, "beta_fast": 4}),
    (5e4, 64, {"rope_type": "yarn", "factor": 32.0, LENGTH: 4096, "beta_fast": 1}),
    (150000, 64, {"rope_type": "yarn", "factor": 32.0, LENGTH: 4096, "truncate": False}),
]
DEFAULTS = {
    "linear": {},
    "llama3": {"low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "yarn": {"beta_fast": 32, "beta_slow": 1, "truncate": True},
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("base", "dim", "rope"), SCALED)
def test_scaled_tables_give_their_parameters(
    base: float, dim: int, rope: dict[str, Any], dtype: str
) -> None:
    rope = DEFAULTS[rope["rope_type"]] | rope | {"rope_theta": base}
    fit = found(engine(rope, dim, dtype))
    wanted = {k: v for k, v in rope.items() if k not in ("rope_type", "rope_theta")}
    assert (fit["rope_type"], fit["rope_theta"]) == (rope["rope_type"], base)
    assert (fit["rotary_dim"], fit["dtype"]) == (dim, dtype)
    assert fit["parameters"] == wanted


def test_a_dynamic_table_is_a_plain_one_with_a_long_base() -> None:
    law = scaled("dynamic", 1e6, 128, scaling={"factor": 2.0}, declared=32768, length=65536)
    fit = found(law.inv_freq)
    assert fit["rope_type"] == "default"
    assert fit["rope_theta"] == pytest.approx(law.parameters["effective_rope_theta"], rel=1e-7)


def test_a_config_says_1e11_and_its_buffer_is_1e6_in_bfloat16() -> None:
    held = engine({"rope_type": "default", "rope_theta": 1e6}, 128, "bfloat16")
    schedule = replace(plain(1e11), inv_freq=tuple(held))
    assert claimed(schedule).evidence["rope_theta"] == 1e6


def test_nothing_but_the_table_counts() -> None:
    table = yarn()
    told = claimed(table).evidence
    assert told == claimed(raw(table.inv_freq, component=table.component)).evidence
    assert told == claimed(replace(table, rope_theta=123.0, parameters={}, head_dim=4)).evidence


def test_a_padded_table_is_read_over_the_whole_head() -> None:
    for dtype in DTYPES:
        fit = found(cast(proportional(512, 0.25), dtype).inv_freq)
        assert (fit["rope_type"], fit["rope_theta"]) == ("proportional", 1e6)
        assert fit["rotary_dim"] == 512
        assert fit["parameters"] == {"factor": 1, "partial_rotary_factor": 0.25}


def test_the_zoo_gives_back_its_bases() -> None:
    """Every schedule of every config: plain ones exactly, as far as float32 holds a base."""
    counted = 0
    for folder in sorted(ZOO.iterdir()):
        for schedule in resolve(str(folder / "config.json"), offline=True).schedules:
            if schedule.rope_type == "longrope":
                continue
            base = schedule.parameters.get("effective_rope_theta", schedule.rope_theta)
            claim = claimed(schedule)
            if claim.status is Status.UNDECIDED:  # Pixtral's towers, and image transformers
                how = "dealt" if schedule.rope_type == "axial" else "behind each other"
                assert how in claim.evidence["reason"]
                assert f"base {base:.0f}" in claim.evidence["reason"]
                continue
            assert claim.status is Status.PROVED, (folder.name, claim.evidence)
            assert claim.evidence["max_ulp"] <= 2
            assert f32(claim.evidence["rope_theta"]) == pytest.approx(f32(base), rel=6e-8)
            if schedule.rope_type not in GEOMETRIC and schedule.rope_type != "ntk_fixed":
                same = schedule.rope_type == claim.evidence["rope_type"]
                also = [f["rope_type"] for f in claim.evidence["ambiguous"]]
                assert same or schedule.rope_type in also
            counted += 1
    assert counted >= 165


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_rotary_module_of_transformers_gives_back_its_base() -> None:
    """Default configs of all rotary classes: the base of the config or of a nested part of it."""
    from tests.readers.test_zoo import packages, pairs

    wrong, seen = [], 0
    for package in packages():
        for cls, config, buffers in pairs(package):
            bases = set(_bases(config.to_dict()))
            for label, (values, _) in buffers.items():
                claim = claimed(raw(values))
                base = claim.evidence.get("rope_theta")
                seen += 1
                where = f"{cls.__name__} {type(config).__name__} {label}"
                if claim.status is not Status.PROVED:
                    wrong.append(f"{where}: {claim.evidence['reason']}")
                elif bases and not any(math.isclose(base, b, rel_tol=1e-6) for b in bases):
                    wrong.append(f"{where}: {base}, the config has {sorted(bases)}")
    assert seen >= 223
    assert wrong == []


def _bases(config: Any) -> list[float]:
    if not isinstance(config, dict):
        return []
    own = [v for k, v in config.items() if "theta" in k and isinstance(v, int | float)]
    return own + [b for v in config.values() for b in _bases(v)]


# Laws of all parameters


@settings(max_examples=80)
@given(
    st.integers(1, 999),
    st.integers(1, 8),
    st.sampled_from([8, 16, 20, 24, 32, 64, 80, 96, 128, 192, 256, 512]),
    st.sampled_from(DTYPES),
)
def test_any_short_base_is_found(digits: int, power: int, dim: int, dtype: str) -> None:
    base = float(f"{digits}e{power}")
    assume(base >= 100)
    fit = found(cast(plain(base, dim), dtype).inv_freq)
    assert fit["rotary_dim"] == dim
    if dtype == "float32":
        assert (fit["rope_type"], fit["rope_theta"], fit["max_ulp"]) == ("default", base, 0)
    else:  # a shorter base may round to the same table
        assert len(str(fit["rope_theta"]).strip("0")) <= len(str(digits)) or fit["max_ulp"] <= 1


@settings(max_examples=60)
@given(st.floats(2, 1e12), st.sampled_from([32, 64, 128, 256]))
@example(3580165449.0, 128)
@example(2.0**31 - 1, 128)
@example(1e9 + 7, 128)
@example(10000.5, 128)
def test_any_base_is_found_as_far_as_float32_holds_it(base: float, dim: int) -> None:
    fit = found(plain(base, dim).inv_freq)
    assert fit["max_ulp"] <= 2
    assert fit["rope_theta"] == pytest.approx(base, rel=4e-7)


lengths = st.sampled_from([2048, 4096, 8192, 16384, 32768, 65536, 5000, 10000])
factors = st.sampled_from([1.5, 2, 2.5, 3, 4, 8, 16, 32, 40, 64])
bases = st.sampled_from([1e5, 150000, 5e5, 1e6, 8e6, 1e7])
widths = st.sampled_from([64, 80, 96, 128, 192, 256])


@settings(max_examples=60)
@given(bases, widths, factors, lengths, st.booleans(), st.sampled_from(["float32", "bfloat16"]))
def test_any_yarn_table_is_found(
    base: float, dim: int, factor: float, length: int, truncate: bool, dtype: str
) -> None:
    scaling = {"factor": factor, LENGTH: length, "truncate": truncate}
    law = scaled("yarn", base, dim, scaling=scaling)
    low, high = law.parameters["ramp"]
    assume(low >= 2 and high < dim // 2 - 2)
    fit = found(cast(law, dtype).inv_freq)
    assert (fit["rope_type"], fit["rope_theta"]) == ("yarn", base)
    assert fit["parameters"]["factor"] == factor
    if dtype == "float32":
        assert fit["parameters"]["truncate"] is truncate
        again = scaled("yarn", base, dim, scaling=fit["parameters"])
        assert again.parameters["ramp"] == pytest.approx((low, high), abs=1e-4)


@settings(max_examples=60)
@given(
    bases, widths, factors, lengths, st.sampled_from([2, 4, 8]), st.sampled_from(DTYPES[:2])
)  # fmt: skip
def test_any_llama3_table_is_found(
    base: float, dim: int, factor: float, length: int, high: float, dtype: str
) -> None:
    scaling = {
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": high,
        LENGTH: length,
    }
    law = scaled("llama3", base, dim, scaling=scaling)
    between = [
        v for v, p in zip(law.inv_freq, plain(base, dim).inv_freq, strict=True)
        if p / factor * 1.01 < v < p * 0.99
    ]  # fmt: skip
    assume(len(between) >= 2 and length < 2 * math.pi * base / 2)
    fit = found(cast(law, dtype).inv_freq)
    assert (fit["rope_type"], fit["rope_theta"]) == ("llama3", base)
    assert fit["parameters"]["factor"] == factor
    if dtype == "float32":
        assert fit["parameters"] == scaling


@settings(max_examples=40)
@given(bases, widths, st.integers(2, 400), st.sampled_from(DTYPES[:2]))
def test_any_linear_table_is_found(base: float, dim: int, tenths: int, dtype: str) -> None:
    assume(tenths != 10)
    factor = tenths / 10
    law = scaled("linear", base, dim, scaling={"factor": factor})
    fit = found(cast(law, dtype).inv_freq)
    assert (fit["rope_type"], fit["rope_theta"]) == ("linear", base)
    assert fit["parameters"]["factor"] == pytest.approx(factor, rel=1e-2)
    if dtype == "float32":
        assert fit["parameters"]["factor"] == factor


# What is said of other parameters


LAWS = [
    plain(1e6),
    plain(3580165449.0),
    proportional(),
    llama3(),
    llama3(factor=16),
    scaled("linear", 1e6, 128, scaling={"factor": 8.0}),
    yarn(),
    scaled("yarn", 1.5e5, 64, scaling={"factor": 32, LENGTH: 4096, "truncate": False}),
    scaled("yarn", 5e4, 64, scaling={"factor": 32, LENGTH: 4096, "beta_fast": 1}),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("law", LAWS)
def test_other_parameters_do_fit_as_well(law: Schedule, dtype: str) -> None:
    held = cast(law, dtype).inv_freq
    fit = found(held)
    assert max(map(abs, _off(fit, held, fit["dtype"]))) == fit["max_ulp"]
    for other in fit["ambiguous"]:
        assert max(_off(other, held, fit["dtype"])) == other["max_ulp"] == fit["max_ulp"]
        assert {k: other[k] for k in ("rope_theta", "rope_type", "parameters")} != {
            k: fit[k] for k in ("rope_theta", "rope_type", "parameters")
        }
    assert fit["next"]["max_ulp"] == max(_off(fit["next"], held, fit["dtype"]))
    assert fit["next"]["max_ulp"] >= fit["max_ulp"]


def _off(fit: dict[str, Any], held: Sequence[float], dtype: str) -> list[int]:
    steps = {"float32": 1, "bfloat16": 1 << 16}
    pairs = zip(built(fit, dtype), held, strict=True)
    if dtype in steps:
        return [(ulp_distance(a, b) or 0) // steps[dtype] for a, b in pairs]
    bits = [torch.tensor(p, dtype=torch.float16).view(torch.int16).tolist() for p in pairs]
    return [abs(a - b) for a, b in bits]


def test_a_rounded_base_is_given_as_an_interval() -> None:
    held = cast(plain(1e6), "bfloat16").inv_freq
    bases = [f["rope_theta"] for f in found(held)["ambiguous"]]
    assert len(bases) == 2
    assert min(bases) < 1e6 < max(bases)
    for base, inside in ((min(bases), 1), (max(bases), -1)):
        assert cast(plain(base + inside), "bfloat16").inv_freq == held
        # Beyond the ends by a tenth of the interval it is another table.
        beyond = base - inside * (max(bases) - min(bases)) / 10
        assert cast(plain(beyond), "bfloat16").inv_freq != held


def test_a_truncated_ramp_leaves_length_and_turns_open() -> None:
    fit = found(yarn().inv_freq)
    assert fit["parameters"][LENGTH] == 32768
    for key, value in ((LENGTH, 32768), ("beta_fast", 32), ("beta_slow", 1)):
        values = [f["parameters"][key] for f in fit["ambiguous"]]
        assert min(values) < value < max(values), key


def test_only_quotients_of_llama3_show() -> None:
    doubled = {"factor": 8, "low_freq_factor": 2, "high_freq_factor": 8, LENGTH: 16384}
    assert doubled in [f["parameters"] for f in found(llama3().inv_freq)["ambiguous"]]


def test_a_step_is_yarn_and_llama3() -> None:
    """Llama 4 Scout has one bound for both ends, so nothing lies between."""
    table = scaled(
        "llama3", 5e5, 128,
        scaling={"factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0, LENGTH: 8192},
    ).inv_freq  # fmt: skip
    fit = found(table)
    assert {fit["rope_type"], *(f["rope_type"] for f in fit["ambiguous"])} == {"yarn", "llama3"}


def test_the_next_best_base_tells_how_sharp_the_table_is() -> None:
    assert found(plain(1e6).inv_freq)["next"]["max_ulp"] > 1e6
    assert found(cast(plain(1e6), "bfloat16").inv_freq)["next"]["max_ulp"] == 22


# Tables without a law


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([], "0 of 0 values"),
        ([1.0, 0.5], "a law needs 3"),
        ([0.0] * 64, "0 of 64 values"),
        ([1.0] * 64, "equal"),
        ([1.0, math.nan, 0.5, 0.1], "channel 1"),
        ([math.inf, 0.5, 0.1], "channel 0"),
        ([1.0, -0.5, 0.25], "channel 1 is negative"),
        ([1e300, 1e200, 1.0], "no finite float32"),
        ([0.1, 0.9, 0.5, 0.2] * 8, "no default"),
        ([1e-40, 1e-41, 1e-42, 1e-44], "no default"),
        ([1.0, 0.0, 0.25, 0.125], "no default"),
        ([1 / (k + 1) for k in range(64)], "channels are off the nearest plain law"),
    ],
)
def test_odd_tables_are_undecided_with_a_reason(table: list[float], said: str) -> None:
    claim = claimed(raw(table))
    assert claim.status is Status.UNDECIDED
    assert said in claim.evidence["reason"]


def test_damaged_tables_name_the_channel() -> None:
    moved = [v * 1.05 if k == 10 else v for k, v in enumerate(plain(1e6).inv_freq)]
    evidence = claimed(raw(f32s(moved))).evidence
    assert (evidence["rope_theta"], evidence["rope_type"]) == (1e6, "default")
    assert evidence["max_ulp"] > 8
    assert "1 of 64 channels are off" in evidence["reason"]
    assert "channel 10" in evidence["reason"]


@pytest.mark.parametrize(("bits", "mode"), [(8, "sym"), (8, "affine"), (8, "log"), (4, "sym")])
def test_quantised_tables_have_no_law(bits: int, mode: str) -> None:
    assert claimed(quantised(plain(1e6), bits, mode)).status is Status.UNDECIDED


def test_a_list_of_factors_is_no_law() -> None:
    grown = [1 + k * k / 50 for k in range(48)]
    law = scaled("longrope", 1e4, 96, declared=4096, scaling={LENGTH: 4096} | {
        "short_factor": grown, "long_factor": grown
    })  # fmt: skip
    claim = claimed(law)
    assert claim.status is Status.UNDECIDED
    assert "factors" in claim.evidence["reason"]


def test_ladders_behind_each_other_are_told_apart() -> None:
    parts = [v for d in (16, 56, 56) for v in plain(1e4, d).inv_freq]
    assert "base 10000 over the widths 16, 56, 56" in claimed(raw(parts)).evidence["reason"]
    ladder = plain(1e4, 64).inv_freq
    assert "dealt" in claimed(raw([*ladder[::2], *ladder[1::2]])).evidence["reason"]


def test_a_rounding_step_is_no_licence_in_narrow_formats() -> None:
    """One step of bfloat16 is 0.8 %: allowed only where float32 steps cross a boundary."""
    held = list(cast(plain(1e6), "bfloat16").inv_freq)
    held[9] = round_to(held[9] * (1 + 2.0**-7), "bfloat16")
    assert claimed(raw(held)).status is Status.UNDECIDED


def test_the_tolerance_is_the_exhibit_s() -> None:
    """Powers in float64, rounded once, miss the engine by 3 ulp at this width."""
    table = raw(f32s(1e4 ** (-2 * k / 96) for k in range(48)))
    off = claimed(table).evidence["max_ulp"]
    assert off >= 3
    assert claimed(table, off).status is Status.PROVED
    assert claimed(table, off - 1).status is Status.UNDECIDED


# Certificates


@pytest.mark.parametrize(
    "table",
    [
        plain(1e6).inv_freq,
        cast(plain(1e6), "bfloat16").inv_freq,
        cast(yarn(), "bfloat16").inv_freq,
        cast(llama3(dim=64), "float16").inv_freq,
        proportional(64, 0.25).inv_freq,
        quantised(plain(1e6, 32), 8, "log").inv_freq,
        [*plain(1e4, 16).inv_freq, *plain(1e4, 16).inv_freq],
        [1.0, 0.5, 0.25, 0.125],
    ],
)
def test_the_certificate_is_verified(table: Sequence[float], tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(json.dumps(list(table)))
    certificate = certify([str(tmp_path / "table.json")])
    assert "recovery" in {c.claim for c in certificate.claims}
    assert verify(certificate.to_json()).kind == "verified", verify(certificate.to_json())
