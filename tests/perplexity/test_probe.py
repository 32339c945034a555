"""A swap is shown to be taken up and undone: what comes back, what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.perplexity import _probe, loading, patch
from ropeaudit.perturb.variant import make
from tests.perplexity import tiny
from tests.perplexity.swaps import require_equal, scores, state, swapped_scores

torch = tiny.torch


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_identity_is_the_model_itself_and_everything_comes_back(kind: str) -> None:
    model = tiny.KINDS[kind]()
    loaded = loading.of_model(model, contexts=(100,))
    before, base = state(model), scores(loaded, 100)
    require_equal(before, state(model))
    for recipe in (
        "identity",
        "int8:sym",
        "noise:eps=1e-2,seed=1",
        "noise:eps=0.3,seed=1@layers=1",
    ):
        got = swapped_scores(loaded, recipe, 100)
        assert (got == base) is (recipe == "identity"), recipe
        require_equal(before, state(model))
        assert scores(loaded, 100) == base
    with patch.swapped(loaded, None):
        assert scores(loaded, 100) == base


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit, GeneratorExit])
@pytest.mark.parametrize("kind", ["llama", "dynamic", "phi3", "gemma3"])
def test_restores_whatever_is_raised(kind: str, error: type[BaseException]) -> None:
    model = tiny.KINDS[kind]()
    loaded = loading.of_model(model, contexts=(100,))
    before = state(model)
    with (
        pytest.raises(error),
        patch.swapped(loaded, make(loaded.schedules, "int4:sym@layers=0,2")),
    ):
        _run_and_raise(model, error)
    require_equal(before, state(model))


def _run_and_raise(model: Any, error: type[BaseException]) -> None:
    model(input_ids=torch.tensor([tiny.text(100)]))
    raise error


def test_restores_when_the_probe_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.llama()
    loaded = loading.of_model(model)
    before = state(model)
    monkeypatch.setattr(_probe, "require_taken_up", lambda *_: 1 / 0)
    with (
        pytest.raises(ZeroDivisionError),
        patch.swapped(loaded, make(loaded.schedules, "int4:sym")),
    ):
        pass
    require_equal(before, state(model))


def test_nested_swaps_come_back_one_by_one() -> None:
    loaded = loading.of_model(tiny.llama())
    base = scores(loaded)
    with patch.swapped(loaded, make(loaded.schedules, "int4:sym")):
        outer = scores(loaded)
        with patch.swapped(loaded, make(loaded.schedules, "base:50")):
            assert scores(loaded) not in (outer, base)
        assert scores(loaded) == outer
    assert scores(loaded) == base


class _Deaf(torch.nn.Module):
    """A rotary module that makes its table anew in every forward, as remote code may."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.register_buffer("inv_freq", inner.inv_freq.clone(), persistent=False)
        self.config, self.attention_scaling = inner.config, 1.0

    def forward(self, x: Any, position_ids: Any) -> Any:
        table = 10000.0 ** -(torch.arange(0, 8, 2).float() / 8)
        angles = position_ids[..., None].float() * table
        both = torch.cat((angles, angles), dim=-1)
        return both.cos().to(x.dtype), both.sin().to(x.dtype)


class _Half(_Deaf):
    """Computes its angles in the dtype of the hidden states."""

    def forward(self, x: Any, position_ids: Any) -> Any:
        angles = position_ids[..., None].to(x.dtype) * self.inv_freq.to(x.dtype)
        both = torch.cat((angles, angles), dim=-1)
        return both.cos(), both.sin()


def test_a_model_that_makes_its_table_elsewhere_is_refused() -> None:
    model = tiny.llama()
    model.model.rotary_emb = _Deaf(model.model.rotary_emb)
    loaded = loading.of_model(model)
    for recipe in ("base:50", "int4:sym@layers=1", "noise:eps=1e-2,seed=0"):
        with (
            pytest.raises(UsageError, match="does not compute with the tables that were put in"),
            patch.swapped(loaded, make(loaded.schedules, recipe)),
        ):
            raise AssertionError("the probe let it pass")


def test_logits_that_do_not_follow_are_refused() -> None:
    """Cosines are handed on as they should be, and the layers make no use of them."""
    model = tiny.llama()
    own = model.model.rotary_emb(torch.zeros(1), torch.arange(tiny.text.__defaults__[0] + 11)[None])
    for layer in model.model.layers:
        inner = layer.self_attn.forward

        def forward(*args: Any, inner: Any = inner, **kwargs: Any) -> Any:
            count = kwargs["position_embeddings"][0].shape[1]
            frozen = tuple(part[:, :count] for part in own)
            return inner(*args, **{**kwargs, "position_embeddings": frozen})

        layer.self_attn.forward = forward
    loaded = loading.of_model(model)
    with (
        pytest.raises(UsageError, match="the logits are the same as before"),
        patch.swapped(loaded, make(loaded.schedules, "base:50")),
    ):
        raise AssertionError("the probe let it pass")


def test_angles_in_half_precision_are_refused() -> None:
    model = tiny.llama()
    model.model.rotary_emb = _Half(model.model.rotary_emb)
    model = model.to(torch.bfloat16)
    loaded = loading.of_model(model)
    with (
        pytest.raises(UsageError, match="where float32 would be within"),
        patch.swapped(loaded, make(loaded.schedules, "int8:sym")),
    ):
        raise AssertionError("the probe let it pass")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["llama", "gemma3", "phi3", "dynamic", "gptj"])
def test_tables_stay_in_float32(kind: str, dtype: str) -> None:
    """Also where ``model.to`` has rounded the buffers; the cosines are rounded once, at the end."""
    exact = loading.of_model(tiny.KINDS[kind](), contexts=(100,))
    model = tiny.KINDS[kind]().to(getattr(torch, dtype))
    kept = ("inv_freq", "embed_positions")
    rotary = [m for m in model.modules() if any(n.endswith(kept) for n in m._buffers)]
    assert all(b.dtype != torch.float32 for m in rotary for b in m._buffers.values())
    loaded = loading.of_model(model, contexts=(100,))
    assert [s.inv_freq for s in loaded.schedules] == [s.inv_freq for s in exact.schedules]
    assert all(b.dtype == torch.float32 for m in rotary for b in m._buffers.values())
    with patch.swapped(loaded, make(loaded.schedules, "int8:sym")):
        assert all(b.dtype == torch.float32 for m in rotary for b in m._buffers.values())
        assert all(map(math.isfinite, scores(loaded, 100)))


KINDS = """
apertus arcee bitnet cohere2 cwm diffllama doge ernie4_5 exaone4 falcon falcon_h1 flex_olmo
gemma glm glm4 gpt_neox_japanese gpt_oss granite_swa granitemoe internlm3 jais2 jetmoe lfm2
llama4_text minimax_m2 ministral3 mistral mixtral modernbert-decoder moshi nanochat nemotron
olmo olmo2 olmo3 olmoe persimmon phi phimoe seed_oss smollm3 stablelm starcoder2 vaultgemma
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.split())
def test_other_models_of_transformers(kind: str) -> None:
    """Their configs' defaults, in small: a new table is taken up, and nothing stays behind."""
    kinds = tiny.transformers.CONFIG_MAPPING
    sizes = tiny.SIZES | {"hidden_size": 64, "intermediate_size": 64, "num_key_value_heads": 2}
    torch.manual_seed(0)
    config = kinds[kind](**sizes)
    model = tiny.transformers.AutoModelForCausalLM.from_config(config).eval()
    loaded = loading.of_model(model)
    before, base = state(model), scores(loaded)
    assert swapped_scores(loaded, "identity") == base
    assert swapped_scores(loaded, "base:777") != base
    if any(1 in (s.layers or ()) for s in loaded.schedules):
        assert swapped_scores(loaded, "int4:sym@layers=1") != base
    require_equal(before, state(model))
    assert scores(loaded) == base
