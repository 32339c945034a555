"""Numbers of a pair, verdict, severity, gate."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import ropeaudit
from ropeaudit.diff.compare import Options, compare
from ropeaudit.diff.interface import Comparison
from ropeaudit.diff.likeness import Likeness
from ropeaudit.diff.overrides import sided
from ropeaudit.findings import Severity
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from tests.schedules import llama3, plain, raw, stored, subject, with_values, yarn


def diff(a: Schedule, b: Schedule, **options: Any) -> Comparison:
    return compare(subject(a), subject(b), Options(**options))


def moved(k: int, by: float, trained: int = 4096) -> Comparison:
    """A pair whose channel k (theta about 0.0001 to 1) is moved by ``by`` radians a position."""
    a = plain(trained=trained)
    return diff(a, with_values(a, lambda i, v: v + by if i == k else v))


@pytest.mark.parametrize(
    ("by", "severity"),
    [
        (0.09 / 4096, Severity.INFO),
        (0.11 / 4096, Severity.WARNING),
        (1.56 / 4096, Severity.WARNING),
        (1.58 / 4096, Severity.ERROR),
        (1.0, Severity.ERROR),
    ],
)
def test_severity_by_phase_at_the_trained_length(by: float, severity: Severity) -> None:
    found = moved(20, by)
    assert found.severity is severity
    assert found.verdict is Likeness.DIFFERENT
    assert found.exit_code == 1


def test_severity_does_not_follow_the_length_asked_for() -> None:
    a = plain(trained=4096)
    b = with_values(a, lambda k, v: v + 0.11 / 4096 if k == 20 else v)
    found = diff(a, b, contexts=(64, 10**6))
    assert [p.context for p in found.pairs] == [64, 10**6]
    assert [p.severity for p in found.pairs] == [Severity.WARNING] * 2
    assert found.pairs[0].max_phase_drift == pytest.approx(0.11 / 64, rel=1e-2)
    assert found.pairs[1].max_phase_drift == math.pi


def test_numbers_of_a_channel() -> None:
    a = plain(trained=100)
    b = with_values(a, lambda k, v: {3: v / 2, 5: 0.0}.get(k, v))
    pair = diff(a, b).pairs[0]
    half, gone = pair.channels[3], pair.channels[5]
    assert (half.k, half.a, half.b) == (3, a.inv_freq[3], b.inv_freq[3])
    assert half.dlog == pytest.approx(-math.log(2))
    assert half.ulp == 2**23
    assert half.phase_drift == min(a.inv_freq[3] / 2 * 100, math.pi)
    assert gone.dlog == -math.inf
    assert gone.phase_drift == min(a.inv_freq[5] * 100, math.pi)
    assert pair.max_abs_dlog == math.inf
    assert pair.channels[4].dlog == pair.channels[4].phase_drift == 0


def test_missing_channels_stand_still() -> None:
    a = plain(dim=128, trained=100)
    pair = diff(a, plain(dim=64, trained=100)).pairs[0]
    assert len(pair.channels) == 64
    gone = pair.channels[40]
    assert (gone.a, gone.b, gone.ulp, gone.dlog) == (a.inv_freq[40], None, None, -math.inf)
    assert gone.phase_drift == a.inv_freq[40] * 100
    new = diff(plain(dim=64), a).pairs[0].channels[40]
    assert (new.a, new.b, new.dlog) == (None, a.inv_freq[40], math.inf)
    assert pair.max_ulp is None


def test_equivalent_is_within_the_tolerance() -> None:
    from ropeaudit.schedule.float32 import f32

    a = plain(trained=4096)
    step = 2.0**-24

    def up(steps: int) -> Schedule:
        return with_values(a, lambda k, v: f32(v + steps * step) if k == 1 else v)

    for steps, wanted in ((0, "same"), (1, "equivalent"), (4, "equivalent"), (5, "different")):
        found = diff(a, up(steps))
        assert found.pairs[0].max_ulp == steps
        assert found.verdict == wanted
        assert found.exit_code == (wanted == "different")
    assert diff(a, up(1), ulp=0).verdict is Likeness.DIFFERENT
    assert diff(a, up(5), ulp=5).verdict is Likeness.EQUIVALENT


def test_other_arithmetic_may_part_further() -> None:
    a, b = plain(5e6, 96), plain(5e6, 96)
    b = with_values(b, [5e6 ** (-k / 48) for k in range(48)])
    assert diff(a, b).verdict is Likeness.DIFFERENT
    found = compare(subject(a), subject(b, format="gguf"))
    assert found.verdict is Likeness.EQUIVALENT
    assert found.pairs[0].tolerance == 16
    asked = compare(subject(a), subject(b, format="gguf"), Options(ulp=4))
    assert asked.verdict is Likeness.DIFFERENT


def test_rows_of_cos_and_sin_are_uncertain() -> None:
    a = plain()
    b = stored(with_values(a, lambda k, v: v * (1 + 6e-7)), parameters={"role": "cos_sin_cache"})
    assert 4 < (diff(a, b).pairs[0].max_ulp or 0) <= 16
    assert diff(a, b).verdict is Likeness.EQUIVALENT


def test_scalings_count() -> None:
    assert diff(yarn(), yarn(attention_scaling=1.2)).severity is Severity.WARNING
    assert diff(yarn(), yarn(attention_scaling=1.0)).severity is Severity.ERROR
    near = yarn().attention_scaling * (1 + 1e-7)
    assert diff(yarn(), yarn(attention_scaling=near)).verdict is Likeness.EQUIVALENT


def test_nan_is_the_same_as_itself_only() -> None:
    table = [1.0, math.nan, 0.1, 0.01]
    assert diff(raw(table), raw(table)).verdict is Likeness.SAME
    found = diff(raw([1.0, 0.5, 0.1, 0.01]), raw(table))
    assert found.verdict is Likeness.DIFFERENT
    channel = found.pairs[0].channels[1]
    assert channel.ulp is None
    assert math.isnan(channel.dlog)
    assert channel.phase_drift == math.pi
    assert found.pairs[0].max_abs_dlog == math.inf


def test_new_clusters() -> None:
    a = plain()
    b = with_values(a, lambda k, v: a.inv_freq[10] if k in (10, 11, 12) else v)
    assert diff(a, b).pairs[0].new_clusters == ((10, 11, 12),)
    assert diff(b, a).pairs[0].new_clusters == ()
    assert diff(b, b).pairs[0].new_clusters == ()
    wider = with_values(b, lambda k, v: a.inv_freq[10] if k == 13 else v)
    assert diff(b, wider).pairs[0].new_clusters == ((10, 11, 12, 13),)


def test_the_gate() -> None:
    a = plain(trained=4096)
    b = with_values(a, lambda k, v: v + 0.2 / 4096 if k == 20 else v)
    assert diff(a, b).exit_code == 1
    assert diff(a, b, fail_on=Severity.WARNING).exit_code == 1
    found = diff(a, b, fail_on=Severity.ERROR)
    assert (found.verdict, found.exit_code) == (Likeness.DIFFERENT, 0)
    assert diff(llama3(), plain(5e5), fail_on=Severity.ERROR).exit_code == 1


def test_nothing_to_compare_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 64}))
    llama = tmp_path / "llama.json"
    llama.write_text(json.dumps(LLAMA))
    found = ropeaudit.diff(llama, tmp_path / "config.json")
    assert (found.verdict, found.exit_code) == (Likeness.UNKNOWN, 3)
    assert "B gives nothing to compare" in found.undecided[0]
    assert ropeaudit.diff(llama, tmp_path / "config.json", allow_unknown=True).exit_code == 0


def test_one_unreadable_side(tmp_path: Path) -> None:
    llama = tmp_path / "llama.json"
    llama.write_text(json.dumps(LLAMA))
    for pair in ((llama, tmp_path / "absent"), (tmp_path / "absent", llama)):
        found = ropeaudit.diff(*pair, allow_unknown=True)
        assert (found.verdict, found.exit_code) == (Likeness.UNKNOWN, 2)
        assert {bool(found.a.schedules), bool(found.b.schedules)} == {True, False}


LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}


def test_code_that_nobody_knows_proves_nothing(tmp_path: Path) -> None:
    """Equal readings by common rules are no proof, unless the files say the same."""
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    own = LLAMA | {"model_type": "own_model", "auto_map": {"AutoModel": "m.M"}}
    a.write_text(json.dumps(own | {"quantization_config": {"head_dim": 4}}))
    b.write_text(json.dumps(own | {"_name_or_path": "x"}))
    assert ropeaudit.diff(a, b).verdict is Likeness.SAME
    b.write_text(json.dumps(own | {"my_rope_factor": 2}))
    found = ropeaudit.diff(a, b)
    assert (found.verdict, found.exit_code) == (Likeness.UNKNOWN, 3)
    assert "own_model" in found.undecided[0]
    b.write_text(json.dumps(LLAMA))
    assert ropeaudit.diff(a, b).verdict is Likeness.UNKNOWN
    b.write_text(json.dumps(own | {"rope_theta": 10000.0}))
    assert ropeaudit.diff(a, b).verdict is Likeness.DIFFERENT


def test_a_table_that_cannot_be_built_is_undecided(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.write_text(json.dumps(LLAMA))
    b.write_text(json.dumps(LLAMA | {"rope_scaling": {"rope_type": "ntk", "factor": 2.0}}))
    found = ropeaudit.diff(a, b)
    assert found.verdict is Likeness.UNKNOWN
    assert any("rope_type" in why for why in found.undecided)


@pytest.mark.parametrize(
    ("texts", "a", "b"),
    [
        ((), (), ()),
        (("x=1",), ("x=1",), ("x=1",)),
        (("a:x=1", "B: y=2"), ("x=1",), (" y=2",)),
        (('b:{"x": 1}',), (), ('{"x": 1}',)),
        (('{"a:b": 1}',), ('{"a:b": 1}',), ('{"a:b": 1}',)),
        (("x=a:1",), ("x=a:1",), ("x=a:1",)),
    ],
)
def test_overrides_by_side(texts: tuple[str, ...], a: tuple[str, ...], b: tuple[str, ...]) -> None:
    assert sided(texts) == (a, b)


def test_an_override_for_no_side(tmp_path: Path) -> None:
    with pytest.raises(ropeaudit.UsageError, match="write a: or b:"):
        sided(["c:rope_theta=1"])
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA))
    found = ropeaudit.diff(config, config, overrides=["b:rope_theta=1e4", "x=1"])
    assert found.overrides == (("x=1",), ("rope_theta=1e4", "x=1"))
    assert [x.name for x in found.pairs[0].lost] == ["base defaulted"]
    healed = ropeaudit.diff(config, config, overrides="rope_theta=1e6")
    assert healed.verdict is Likeness.SAME


def test_a_length_limit_is_a_length_to_judge_at(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA))
    found = ropeaudit.diff(config, config, overrides="b:max_model_len=2048", contexts=100)
    assert [p.context for p in found.pairs] == [100, 2048]


@pytest.mark.parametrize("ulp", [-1, True, 1.5, "4"])
def test_wrong_arguments(ulp: Any) -> None:
    with pytest.raises(ropeaudit.UsageError, match="whole number of steps"):
        ropeaudit.diff("a", "b", ulp=ulp)
    with pytest.raises(ropeaudit.UsageError, match="fail_on"):
        ropeaudit.diff("a", "b", fail_on="fatal")


def test_order_of_equal_schedules_with_other_layers() -> None:
    """Two equal records are two schedules."""
    one = replace(plain(), layer_type="x", layers=(0,))
    other = replace(plain(), layer_type="y", layers=(1,))
    assert len(compare(subject(one, other), subject(one, other)).pairs) == 2
