"""What configs state about their tables, in the numbers that the files spell."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.document import Document, parse
from ropeaudit.facts import Reading
from ropeaudit.proofs import form
from ropeaudit.proofs.interface import Exhibit, Status
from ropeaudit.proofs.stated import exhibits, sources
from ropeaudit.resolve import build, resolve
from ropeaudit.schedule.float32 import f32
from ropeaudit.schedule.subject import Subject
from tests.gguf_readings import SHAPE, llama3_factors
from tests.gguf_readings import reading as gguf
from tests.schedules import cast, llama3, plain, raw, stored, subject

F = Fraction


def of(text: str, name: str = "config.json", **overrides: Any) -> list[Exhibit]:
    document = parse(text, name)
    if overrides:
        document = document.with_overrides({f"/{k}": v for k, v in overrides.items()})
    kind = "hf-config" if name == "config.json" else "params-json"
    return exhibits(build(Reading(target="t", format=kind, document=document), (8192,)))


def config(body: str) -> str:
    return f'{{"model_type": "llama", "head_dim": 64, "max_position_embeddings": 4096, {body}}}'


def parameters(exhibit: Exhibit) -> dict[str, Any]:
    assert exhibit.form is not None, exhibit.why_not
    return dict(exhibit.form.parameters)


def test_numbers_are_what_the_text_spells() -> None:
    (found,) = of(config('"rope_theta": 1e6'))
    assert parameters(found) == {"rope_theta": F(10**6), "rotary_dim": 64}
    assert sources(found) == {
        "rope_theta": {"file": "config.json", "pointer": "/rope_theta", "text": "1e6"}
    }
    (finer,) = of(config('"rope_theta": 10000.100000000000000000001'))
    assert parameters(finer)["rope_theta"] == F("10000.100000000000000000001")
    (tenth,) = of(
        config('"rope_theta": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 1.1}')
    )
    assert parameters(tenth)["factor"] == F(11, 10)
    assert sources(tenth)["factor"]["pointer"] == "/rope_scaling/factor"


def test_defaults_and_overrides_are_shortest_decimals_without_a_source() -> None:
    (default,) = of(config('"hidden_size": 8'))
    assert parameters(default)["rope_theta"] == 10_000
    assert sources(default) == {}
    (set_,) = of(config('"rope_theta": 1e6'), rope_theta=10000.1)
    assert parameters(set_)["rope_theta"] == F("10000.1")
    assert sources(set_) == {}


@pytest.mark.parametrize("text", [
    "1" + "0" * 300, "0." + "0" * 30 + "1", "1000000." + "0" * 500, "1e6" + "",
    "0.000001e12", "100000000e-2",
])  # fmt: skip
def test_odd_spellings_of_a_base(text: str) -> None:
    """A base that float32 holds gives a form whatever its spelling; others stop the reader."""
    try:
        (found,) = of(config(f'"rope_theta": {text}'))
    except Exception as error:
        assert "rope_theta" in str(error)
        assert not 1e-38 < float(text) < 3e38
        return
    assert parameters(found)["rope_theta"] == F(text)
    assert form.prove(found).status is Status.PROVED or float(text) < 1


def test_a_text_too_long_is_no_exact_number() -> None:
    (found,) = of(config(f'"rope_theta": 1000000.{"0" * 500}'))
    assert parameters(found)["rope_theta"] == 10**6
    assert "rope_theta" not in sources(found)


def test_lists_are_spelled_number_by_number() -> None:
    short = [1.0, 1.1, 1.25, 2e0] * 8
    text = "[" + ", ".join(["1.0", "1.1", "1.25", "2e0"] * 8) + "]"
    scaling = (
        f'"rope_scaling": {{"type": "longrope", "short_factor": {text}, "long_factor": '
        f'{json.dumps([2 * v for v in short])}, "original_max_position_embeddings": 2048}}'
    )
    near, far = of(config(f'"rope_theta": 1e4, {scaling}'))
    assert parameters(near)["factors"][:4] == (F(1), F(11, 10), F(5, 4), F(2))
    assert parameters(far)["factors"][1] == F(11, 5)
    assert sources(near)["factors"] == {
        "file": "config.json", "pointer": "/rope_scaling/short_factor", "text": text,
    }  # fmt: skip
    assert sources(far)["factors"]["pointer"] == "/rope_scaling/long_factor"
    for exhibit in (near, far):
        assert form.prove(exhibit).status is Status.PROVED


def test_derived_numbers_are_exact() -> None:
    yarn = '"rope_theta": 1e4, "rope_scaling": {"type": "yarn", "factor": null, %s}'
    (found,) = of(config(yarn % '"original_max_position_embeddings": 1500'))
    assert parameters(found)["factor"] == F(4096, 1500)
    assert "factor" not in sources(found)
    dynamic = '"rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 2.5}'
    (grown,) = of(config(dynamic))
    assert grown.schedule.variant == "@8192"
    assert parameters(grown)["length"] == 8192
    assert parameters(grown)["max_position_embeddings"] == 4096
    assert form.prove(grown).status is Status.PROVED


def test_params_json_is_read_by_its_own_names() -> None:
    text = (
        '{"dim": 4096, "n_heads": 32, "head_dim": 128, "vocab_size": 32000, "rope_theta": 1e6,'
        '"yarn": {"factor": 16, "original_max_position_embeddings": 16384, "beta": 32, "alpha": 1}}'
    )
    (found,) = of(text, "params.json")
    assert parameters(found)["beta_fast"] == 32
    assert sources(found)["beta_fast"] == {
        "file": "params.json", "pointer": "/yarn/beta", "text": "32",
    }  # fmt: skip
    assert form.prove(found).status is Status.PROVED


# ---- GGUF ----------------------------------------------------------------------------------------


def from_gguf(keys: dict[str, Any], tensors: Any = None, name: str = "llama") -> list[Exhibit]:
    return exhibits(build(gguf(name, SHAPE | keys, tensors)))


def test_gguf_floats_count_as_they_are() -> None:
    (found,) = from_gguf({"rope.freq_base": f32(10000.1)})
    assert parameters(found)["rope_theta"] == F(f32(10000.1))
    place = sources(found)["rope_theta"]
    assert place["key"] == "llama.rope.freq_base"
    assert F(place["text"]) == F(f32(10000.1))
    claim = form.prove(found)
    assert claim.status is Status.PROVED
    assert claim.evidence["max_ulp"] <= 0.501


@pytest.mark.parametrize(("keys", "law"), [
    ({}, "default"),
    ({"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}, "linear"),
    ({"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
      "rope.scaling.original_context_length": 2048}, "yarn"),
])  # fmt: skip
def test_gguf_laws(keys: dict[str, Any], law: str) -> None:
    (found,) = from_gguf(keys)
    assert found.form is not None
    assert found.form.law == law
    claim = form.prove(found)
    assert claim.status is Status.PROVED
    assert claim.evidence["max_ulp"] <= 0.501


def test_gguf_factor_tensors_divide_channel_by_channel() -> None:
    divisors = llama3_factors(128, 10000.0, 8.0, 1.0, 4.0, 2048)
    (found,) = from_gguf({}, {"rope_freqs.weight": divisors})
    assert found.form is not None
    assert found.form.law == "longrope"
    assert parameters(found)["factors"] == tuple(F(f32(v)) for v in divisors)
    assert sources(found)["factors"]["tensor"] == "rope_freqs.weight"
    texts = json.loads(sources(found)["factors"]["text"], parse_float=F, parse_int=F)
    assert tuple(texts) == parameters(found)["factors"]
    assert form.prove(found).evidence["max_ulp"] <= 0.501
    (both,) = from_gguf(
        {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
        {"rope_freqs.weight": divisors},
    )
    assert parameters(both)["factors"] == tuple(4 * F(f32(v)) for v in divisors)
    assert "factors" not in sources(both)
    assert form.prove(both).status is Status.PROVED


def test_gguf_channels_that_stand_still_by_a_huge_divisor_keep_their_terms() -> None:
    (found,) = from_gguf({}, {"rope_freqs.weight": [1.0] * 32 + [1e30] * 32})
    assert found.schedule.static_channels == frozenset()
    assert form.prove(found).status is Status.PROVED


def test_a_gguf_mixture_has_no_law() -> None:
    ramped = {
        "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
        "rope.scaling.original_context_length": 2048,
    }  # fmt: skip
    (found,) = from_gguf(ramped, {"rope_freqs.weight": [2.0] * 64})
    assert found.form is None
    assert found.why_not is not None
    assert "mixes" in found.why_not
    assert form.prove(found).status is Status.UNDECIDED


# ---- stored tables -------------------------------------------------------------------------------


def beside(text: str, *held: Any) -> Subject:
    document = parse(text, "config.json")
    made = build(Reading(target="t", format="hf-config", document=document))
    return Subject(
        target="t", format="safetensors", schedules=(*made.schedules, *held), reading=made.reading
    )


def test_a_stored_table_is_held_against_its_config() -> None:
    table = plain(1e6, 64)
    *_, same = exhibits(beside(config('"rope_theta": 1e6'), stored(table)))
    assert same.schedule.variant == "stored"
    assert sources(same)["rope_theta"]["text"] == "1e6"
    assert form.prove(same).status is Status.PROVED
    narrow = cast(stored(table), "bfloat16")
    *_, rounded = exhibits(beside(config('"rope_theta": 1e6'), narrow))
    claim = form.prove(rounded)
    assert claim.status is Status.PROVED
    assert claim.evidence["max_ulp"] <= 0.5
    *_, other = exhibits(beside(config('"rope_theta": 1e11'), stored(table)))
    assert form.prove(other).status is Status.REFUTED


def test_a_stored_table_is_held_against_the_state_an_engine_starts_with() -> None:
    dynamic = config('"rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 4.0}')
    *_, fresh = exhibits(beside(dynamic, stored(plain(1e4, 64))))
    assert parameters(fresh)["length"] == 4096
    assert form.prove(fresh).status is Status.PROVED
    lists = {
        "type": "longrope", "short_factor": [1.0] * 32, "long_factor": [1.01] * 32,
        "original_max_position_embeddings": 2048,
    }  # fmt: skip
    longrope = config(f'"rope_theta": 1e4, "rope_scaling": {json.dumps(lists)}')
    near, far = exhibits(beside(longrope))
    for members in (near, far):
        *_, held = exhibits(beside(longrope, stored(members.schedule, layer_type=None)))
        assert parameters(held)["factors"] == (F(1),) * 32


def test_a_stored_table_takes_the_nearest_of_several_layer_types() -> None:
    text = json.dumps(
        {"model_type": "gemma3_text", "head_dim": 64, "num_hidden_layers": 6, "rope_theta": 1e6}
    )
    table = plain(1e6, 64)
    *_, full = exhibits(beside(text, stored(table, layer_type=None)))
    assert parameters(full)["rope_theta"] == 10**6
    *_, named = exhibits(beside(text, stored(table, layer_type="sliding_attention")))
    assert parameters(named)["rope_theta"] == 10**4
    assert form.prove(named).status is Status.REFUTED


def test_tables_without_a_form_say_why() -> None:
    (alone,) = exhibits(subject(raw([1.0, 0.5])))
    assert alone.form is None
    assert "config" in (alone.why_not or "")
    (learned,) = exhibits(subject(raw([1.0, 0.5], rope_type="learned")))
    assert "learned" in (learned.why_not or "").lower()
    *_, short = exhibits(beside(config('"rope_theta": 1e6'), stored(plain(1e6, 32))))
    assert short.why_not == "The table has 16 channels, and the config states 32."
    (by_hand,) = exhibits(subject(llama3()))
    assert by_hand.form is None


def test_an_unreadable_target_has_no_exhibits(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(config('"rope_theta": 1e400'), encoding="utf-8")
    found = resolve(str(path))
    assert found.error is not None
    assert exhibits(found) == []


def test_equal_betas_without_truncation_state_no_form() -> None:
    yarn = {
        "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024,
        "beta_fast": 2.0, "beta_slow": 2.0, "truncate": False,
    }  # fmt: skip
    (found,) = of(config(f'"rope_theta": 1e4, "rope_scaling": {json.dumps(yarn)}'))
    assert found.form is None
    assert found.why_not is not None
    assert found.why_not.startswith("No closed form is stated: yarn without truncate")


def test_schedules_stay_equal_and_alike_in_json_with_their_law() -> None:
    import pickle

    document = Document("config.json", {"model_type": "llama", "head_dim": 64, "rope_theta": 1e6})
    made = build(Reading(target="t", format="hf-config", document=document))
    copy = pickle.loads(pickle.dumps(made.schedules))
    assert copy == made.schedules
    assert copy[0].law == "default"
    assert copy[0].inputs == made.schedules[0].inputs
