"""Tables swapped in live models: against fresh models with another config, and always put back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.perplexity import _probe, evaluate, loading, patch
from ropeaudit.perplexity.loading import Loaded
from ropeaudit.perturb.variant import Variant, make
from ropeaudit.records import replace
from tests.perplexity import tiny
from tests.perplexity.swaps import (
    LENGTH,
    losses,
    require_equal,
    scores,
    state,
    swapped_scores,
)

torch = tiny.torch

LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}

EDITED: list[tuple[str, str, dict[str, Any], int]] = [
    ("llama", "base:777", {"rope_parameters": tiny.default(777.0)}, LENGTH),
    ("qwen2", "base:50000", {"rope_parameters": tiny.default(50000.0)}, LENGTH),
    ("tied", "base:12", {"rope_parameters": tiny.default(12.0)}, LENGTH),
    ("granite", "base:50", {"rope_parameters": tiny.default(50.0)}, LENGTH),
    ("cohere", "base:50", {"rope_parameters": tiny.default(50.0)}, LENGTH),
    ("gpt_neox", "base:50",
     {"rope_parameters": tiny.default(50.0) | {"partial_rotary_factor": 0.5}}, LENGTH),
    ("llama", "linear:factor=4",
     {"rope_parameters": LINEAR}, LENGTH),
    ("llama", "yarn:factor=4,original=64", {"rope_parameters": tiny.YARN}, LENGTH),
    ("phi3", "base:500", {"rope_parameters": tiny.LONGROPE | {"rope_theta": 500.0}}, LENGTH),
    ("phi3", "base:500", {"rope_parameters": tiny.LONGROPE | {"rope_theta": 500.0}}, 100),
    ("llama", "llama3:factor=8,original=64",
     {"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0,
                          "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                          "original_max_position_embeddings": 64}}, LENGTH),
    ("dynamic", "base:500", {"rope_parameters": tiny.DYNAMIC | {"rope_theta": 500.0}}, LENGTH),
    ("dynamic", "base:500", {"rope_parameters": tiny.DYNAMIC | {"rope_theta": 500.0}}, 100),
    ("dynamic", "linear:factor=4",
     {"rope_parameters": LINEAR}, 100),
    ("gemma3", "base:500@sliding_attention",
     {"rope_parameters": tiny.GEMMA3 | {"sliding_attention": tiny.default(500.0)}}, LENGTH),
    ("gemma3", "base:500@full_attention",
     {"rope_parameters": tiny.GEMMA3 | {"full_attention": tiny.default(500.0)}}, LENGTH),
    ("gemma3", "linear:factor=8@full_attention",
     {"rope_parameters": tiny.GEMMA3 | {"full_attention": {
         "rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}}}, LENGTH),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "recipe", "options", "length"), EDITED, ids=lambda v: v if isinstance(v, str) else ""
)
def test_equals_a_fresh_model_with_the_edited_config(
    kind: str, recipe: str, options: dict[str, Any], length: int
) -> None:
    made: Callable[..., Any] = tiny.KINDS[kind]
    model = made()
    loaded = loading.of_model(model, contexts=(length,))
    fresh = tiny.like(model, made, **options)
    wanted = losses(fresh, length)
    assert swapped_scores(loaded, recipe, length) == pytest.approx(wanted, rel=2e-5)
    assert losses(made(), length) != pytest.approx(wanted, rel=1e-3)


def test_longrope_lists_from_a_file(tmp_path: Any) -> None:
    """A model with one table becomes one with a short and a long list, chosen by length."""
    import json

    file = tmp_path / "lists.json"
    file.write_text(json.dumps(tiny.LONGROPE))
    model = tiny.llama()
    loaded = loading.of_model(model)
    fresh = tiny.like(model, tiny.llama, rope_parameters=tiny.LONGROPE)
    for length in (40, 64, 65, 100):
        got = swapped_scores(loaded, f"longrope:{file}", length)
        assert got == pytest.approx(losses(fresh, length), rel=2e-5), length


def test_one_window_after_another_of_other_length() -> None:
    """Each length gets its own table of dynamic scaling and longrope, in any order."""
    for kind in ("dynamic", "phi3"):
        model = tiny.KINDS[kind]()
        loaded = loading.of_model(model, contexts=(100, 120))
        ids = tiny.text(400)
        windows = [w for n in (100, 40, 120, 64, 65 if kind == "phi3" else 60)
                   for w in tiny.windows(n, 1)]  # fmt: skip
        with patch.swapped(loaded, make(loaded.schedules, "int4:affine")):
            together = [s.nll for s in evaluate.score(loaded, ids, windows)]
            apart = [next(evaluate.score(loaded, ids, [w])).nll for w in windows]
        assert together == apart
        assert together != [s.nll for s in evaluate.score(loaded, ids, windows)]


def test_a_length_that_the_variant_has_no_table_for() -> None:
    loaded = loading.of_model(tiny.dynamic(), contexts=(100,))
    with (
        patch.swapped(loaded, make(loaded.schedules, "int8:sym")),
        pytest.raises(UsageError, match="none for 90; load the model with this context length"),
    ):
        scores(loaded, 90)


def by_hand(models: Sequence[Any], ids: list[int]) -> float:
    """Loss of a Llama whose layer n turns with the table of ``models[n]``, layer by layer."""
    first = models[0].model
    tokens = torch.tensor([ids])
    positions = torch.arange(len(ids))[None]
    with torch.no_grad():
        states = first.embed_tokens(tokens)
        for n, model in enumerate(models):
            angles = model.model.rotary_emb(states, positions)
            states = first.layers[n](
                states, attention_mask=None, position_ids=positions, position_embeddings=angles
            )
        logits = models[0].lm_head(first.norm(states))[0]
    found = torch.nn.functional.cross_entropy(logits[:-1].double(), tokens[0, 1:], reduction="sum")
    return float(found)


@pytest.mark.parametrize("layers", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_tables_by_layer(layers: tuple[int, ...]) -> None:
    model = tiny.llama()
    other = tiny.like(model, tiny.llama, rope_parameters=tiny.YARN)  # another factor, too
    ids = tiny.text(LENGTH)
    wanted = by_hand([other if n in layers else model for n in range(3)], ids)
    assert by_hand([model] * 3, ids) == pytest.approx(math.fsum(
        tiny.plain(model, ids, tiny.windows(LENGTH, 1)[0])), rel=1e-5)  # fmt: skip
    loaded = loading.of_model(model)
    text = ",".join(map(str, layers))
    variant = make(loaded.schedules, f"yarn:factor=4,original=64@layers={text}")
    with patch.swapped(loaded, variant):
        (got,) = evaluate.score(loaded, ids, tiny.windows(LENGTH, 1))
    assert got.nll == pytest.approx(wanted, rel=2e-5)


def test_two_layers_with_two_tables() -> None:
    model = tiny.llama()
    low = tiny.like(model, tiny.llama, rope_parameters=tiny.default(20.0))
    high = tiny.like(model, tiny.llama, rope_parameters=tiny.default(3e6))
    ids = tiny.text(LENGTH)
    loaded = loading.of_model(model)
    with patch.swapped(loaded, make(loaded.schedules, "base:20@layers=0+base:3e6@layers=2")):
        (got,) = evaluate.score(loaded, ids, tiny.windows(LENGTH, 1))
    assert got.nll == pytest.approx(by_hand([low, model, high], ids), rel=2e-5)


def test_layers_of_one_type_of_gemma3() -> None:
    """Layers 0 and 2 slide: changing both by number equals changing their type."""
    loaded = loading.of_model(tiny.gemma3())
    by_type = swapped_scores(loaded, "int4:sym@sliding_attention")
    assert swapped_scores(loaded, "int4:sym@sliding_attention@layers=0,2") == by_type
    one = swapped_scores(loaded, "int4:sym@sliding_attention@layers=2")
    assert one != by_type
    assert one != scores(loaded)


def test_per_head_is_refused() -> None:
    loaded = loading.of_model(tiny.llama())
    with pytest.raises(UsageError, match="one table of frequencies for all heads"):
        make(loaded.schedules, "int8:sym@head=1")


def variant_of(loaded: Loaded, **changes: Any) -> Variant:
    variant = make(loaded.schedules, "int8:sym")
    return replace(variant, schedules=tuple(replace(s, **changes) for s in variant.schedules))


def test_variants_that_do_not_fit() -> None:
    loaded = loading.of_model(tiny.llama())
    cases = [
        (variant_of(loaded, inv_freq=(1.0, 0.1)), "has 2 channels and the model 4"),
        (variant_of(loaded, pairing="adjacent"), "changes the pairing"),
        (variant_of(loaded, softmax_scale=0.5), "scale of the softmax"),
        (make(loading.of_model(tiny.gemma3()).schedules, "int8:sym"), "does not compute with"),
    ]
    for variant, said in cases:
        with pytest.raises(UsageError, match=said), patch.swapped(loaded, variant):
            raise AssertionError("it was let in")


@settings(max_examples=15)
@given(
    table=st.lists(st.floats(2.0**-20, 4.0, width=32), min_size=4, max_size=4),
    scaling=st.floats(0.5, 2.0),
    layers=st.sets(st.integers(0, 2), min_size=1),
)
def test_any_table_is_what_the_layers_turn_with(
    table: list[float], scaling: float, layers: set[int]
) -> None:
    """Cosines by numpy's own formula in float64, for the layers that were meant and no other."""
    loaded = _SHARED
    base = loaded.schedules[0]
    made = replace(base, inv_freq=tuple(table), attention_scaling=scaling,
                   layers=tuple(sorted(layers)))  # fmt: skip
    rest = replace(base, layers=tuple(sorted({0, 1, 2} - layers)))
    parts = [s for s in (made, rest) if s.layers]
    identity = make(loaded.schedules, "identity")
    variant = replace(identity, base=(base,) * len(parts), schedules=tuple(parts))
    with patch.swapped(loaded, variant):
        (seen,) = _probe.run(loaded, (200,))
    positions = seen.positions[0].double()
    for n, (cos, sin) in seen.given.items():
        now = made if n in layers else base
        angles = positions[:, None] * torch.tensor(now.inv_freq, dtype=torch.float64)
        for got, wanted in ((cos, angles.cos()), (sin, angles.sin())):
            torch.testing.assert_close(
                got[0].double(), torch.cat((wanted, wanted), 1) * now.attention_scaling,
                rtol=0, atol=2e-4,
            )  # fmt: skip


_SHARED = loading.of_model(tiny.llama())


@pytest.mark.parametrize("recipe", ["int8:sym", "yarn:factor=4,original=64@layers=1"])
def test_weights_that_are_brought_in_by_hooks(recipe: str) -> None:
    """accelerate replaces every forward where a model does not lie on one device as a whole."""
    accelerate = pytest.importorskip("accelerate")
    wanted = swapped_scores(loading.of_model(tiny.llama()), recipe)
    model = accelerate.cpu_offload(tiny.llama(), execution_device=torch.device("cpu"))
    assert all(p.is_meta for p in model.parameters())
    loaded = loading.of_model(model)
    assert loaded.device == "cpu"
    before = state(model)
    assert swapped_scores(loaded, recipe) == pytest.approx(wanted, rel=1e-6)
    require_equal(before, state(model))
