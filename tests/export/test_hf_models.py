"""transformers loads written folders: buffers, attention and logits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.export.interface import Written
from ropeaudit.export.writing import write
from ropeaudit.perturb.variant import Variant
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32
from tests.export.configs import LLAMA3, YARN
from tests.export.variants import same_shape, variant
from tests.live_models import SIZES, gemma3, llama, phi3

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def qwen2() -> Any:
    small = {k: v for k, v in SIZES.items() if k != "head_dim"}
    return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**small))


def neox() -> Any:
    small = {k: v for k, v in SIZES.items() if k not in ("head_dim", "num_key_value_heads")}
    return transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**small, rotary_pct=0.25))


def llama3() -> Any:
    return llama(rope_parameters=LLAMA3 | {"rope_theta": 500000.0})


def deepseek() -> Any:
    """Multi-head latent attention with yarn: an own scale on the logits."""
    small = {k: v for k, v in SIZES.items() if k not in ("head_dim", "num_key_value_heads")}
    widths = {"qk_rope_head_dim": 64, "qk_nope_head_dim": 16, "v_head_dim": 16}
    ranks = {"q_lora_rank": 32, "kv_lora_rank": 32, "first_k_dense_replace": 2}
    return transformers.DeepseekV3ForCausalLM(
        transformers.DeepseekV3Config(
            **small | {"max_position_embeddings": 163840},
            **widths,
            **ranks,
            rope_parameters=YARN | {"rope_theta": 10000.0},
        )
    )


def yarn() -> Any:
    rope = YARN | {"rope_theta": 1e6, "factor": 4.0, "mscale": 0.5, "mscale_all_dim": 0.25}
    return llama(rope_parameters=rope, max_position_embeddings=16384)


MODELS: dict[str, Callable[[], Any]] = {
    "llama": llama,
    "llama3": llama3,
    "qwen2": qwen2,
    "gemma3": gemma3,
    "phi3": phi3,
    "neox": neox,
    "deepseek": deepseek,
    "yarn": yarn,
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A saved model of random weights, made once a module."""
    root, held = tmp_path_factory.mktemp("models"), {}

    def save(name: str) -> Path:
        if name not in held:
            torch.manual_seed(0)
            # Sharper attention than a fresh model has, so that positions matter.
            model = MODELS[name]()
            with torch.no_grad():
                for key, weight in model.named_parameters():
                    if any(part in key for part in ("q_", "k_", "qkv", "query_key")):
                        weight.mul_(4)
            model.save_pretrained(root / name)
            held[name] = root / name
        return held[name]

    return save


@pytest.fixture(scope="module")
def original(saved: Callable[[str], Path]) -> Callable[[str], Any]:
    """The logits of a saved model, computed once a module."""
    held: dict[str, Any] = {}

    def logits_of(name: str) -> Any:
        if name not in held:
            held[name] = logits(load(saved(name)))
        return held[name]

    return logits_of


def load(path: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(path).eval()


def logits(model: Any, length: int = 48) -> Any:
    with torch.no_grad():
        return model((torch.arange(length)[None] * 7) % 61).logits


def export(source: Path, recipe: str, out: Path) -> tuple[Variant, Written]:
    subject, made = variant(source, recipe)
    return made, write(made, f"hf={out}", source=subject)


def buffers(model: Any) -> dict[str | None, tuple[float, ...]]:
    """The rotary tables of a loaded model by layer type."""
    found = {}
    for name, buffer in model.named_buffers():
        leaf = name.rpartition(".")[2]
        if leaf.endswith("inv_freq") and "original" not in leaf:
            found[leaf.removesuffix("inv_freq").removesuffix("_") or None] = tuple(buffer.tolist())
    return found


def scaling(model: Any, layer_type: str | None) -> float:
    own = model.base_model.rotary_emb
    name = "attention_scaling" if layer_type is None else f"{layer_type}_attention_scaling"
    found: float = getattr(own, name)
    return found


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        *((name, "int8:sym") for name in MODELS),
        *((name, "int4:affine") for name in ("llama", "gemma3")),  # over base 1
        *((name, "noise:eps=0.1,seed=1") for name in ("phi3", "neox", "deepseek")),
    ],
)
def test_the_loaded_model_turns_by_the_wanted_table(
    saved: Callable[[str], Path],
    original: Callable[[str], Any],
    tmp_path: Path,
    name: str,
    recipe: str,
) -> None:
    made, written = export(saved(name), recipe, tmp_path / "out")
    model = load(tmp_path / "out")
    held = buffers(model)
    short = [s for s in made.schedules if s.variant != "long"]
    assert set(held) == {s.layer_type for s in short}
    for wanted in short:
        same_shape(wanted, held[wanted.layer_type])
        assert scaling(model, wanted.layer_type) == pytest.approx(wanted.attention_scaling)
    before, after = original(name), logits(model)
    assert torch.isfinite(after).all()
    assert (after - before).abs().max() > 1e-4 * before.abs().max()
    assert written.max_ulp <= 2


@pytest.mark.parametrize("name", ["llama", "llama3", "phi3", "deepseek", "gemma3"])
def test_identity_gives_the_same_logits(
    saved: Callable[[str], Path], original: Callable[[str], Any], tmp_path: Path, name: str
) -> None:
    export(saved(name), "identity", tmp_path / "out")
    assert torch.equal(original(name), logits(load(tmp_path / "out")))


@pytest.mark.parametrize("name", MODELS)
def test_nothing_but_the_table_changes(
    saved: Callable[[str], Path], original: Callable[[str], Any], tmp_path: Path, name: str
) -> None:
    """A table that moves by one float32 step a channel goes through factors, and all else stays.

    Attention scaling and DeepSeek's softmax scale would change the logits far more.
    """
    subject, made = variant(saved(name), "identity")
    moved = replace(made, schedules=tuple(map(_nudge, made.schedules)))
    write(moved, f"hf={tmp_path / 'out'}", source=subject)
    config = (tmp_path / "out" / "config.json").read_text()
    assert "longrope" in config
    before, after = original(name), logits(load(tmp_path / "out"))
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, before, rtol=0, atol=2e-4 * float(before.abs().max()))


def _nudge(schedule: Schedule) -> Schedule:
    return replace(schedule, inv_freq=tuple(f32(v * (1 + 2e-7)) for v in schedule.inv_freq))


def test_phi3_changes_to_its_long_table(saved: Callable[[str], Path], tmp_path: Path) -> None:
    made, _ = export(saved("phi3"), "noise:eps=0.1,seed=1", tmp_path / "out")
    model = load(tmp_path / "out")
    logits(model, 100)
    long = next(s for s in made.schedules if s.variant == "long")
    same_shape(long, buffers(model)[None])


def test_deepseeks_logits_keep_their_scale(saved: Callable[[str], Path], tmp_path: Path) -> None:
    source = saved("deepseek")
    export(source, "int8:sym", tmp_path / "out")
    before, after = (load(p).model.layers[0].self_attn.scaling for p in (source, tmp_path / "out"))
    assert after == pytest.approx(before)
    assert before > 1.5 * 80**-0.5, "the model has a scale of its own to lose"


@pytest.mark.parametrize("name", ["llama3", "yarn", "neox", "gemma3"])
def test_vllms_formula_gives_the_same_table(
    saved: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    """vLLM reads the standardised dict: factors over the base, scaling from the two mscales."""
    made, _ = export(saved(name), "int8:sym", tmp_path / "out")
    config = transformers.AutoConfig.from_pretrained(tmp_path / "out")
    for wanted in made.schedules:
        rope = config.rope_parameters
        rope = rope if wanted.layer_type is None else rope[wanted.layer_type]
        dim = int(wanted.head_dim * rope.get("partial_rotary_factor", 1.0))
        exponents = torch.arange(0, dim, 2, dtype=torch.float) / dim
        for part in ("short", "long"):
            factors = torch.tensor(rope[f"{part}_factor"], dtype=torch.float32)
            table = 1.0 / (factors * (rope["rope_theta"] ** exponents))
            same_shape(wanted, tuple(table.tolist()))
            assert rope[f"{part}_mscale"] == pytest.approx(wanted.attention_scaling)
        # Without mscales it would derive its scaling from this ratio.
        assert rope["original_max_position_embeddings"] == config.max_position_embeddings


def _old(source: Path, out: Path) -> Path:
    """The model with a config in the schema of transformers 4.x."""
    config = json.loads((source / "config.json").read_text())
    rope = config.pop("rope_parameters")
    if "sliding_attention" in rope:
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    config["rope_theta"] = rope.pop("rope_theta")
    if "original_max_position_embeddings" in rope:
        config["original_max_position_embeddings"] = rope.pop("original_max_position_embeddings")
    if rope["rope_type"] == "longrope":
        rope["type"] = rope.pop("rope_type")
    config["rope_scaling"] = None if rope.get("rope_type") == "default" else rope
    out.mkdir()
    (out / "config.json").write_text(json.dumps(config))
    (out / "model.safetensors").symlink_to(source / "model.safetensors")
    return out


@pytest.mark.parametrize(
    ("name", "recipe", "schema"),
    [
        ("llama", "int8:sym", "rope_scaling"),
        ("phi3", "noise:eps=0.1,seed=1", "rope_scaling"),
        ("gemma3", "int8:sym@full_attention", "rope_scaling"),
        ("gemma3", "int8:sym", "rope_parameters"),
    ],
)
def test_the_old_schema_loads_too(
    saved: Callable[[str], Path], tmp_path: Path, name: str, recipe: str, schema: str
) -> None:
    source = saved(name)
    made, _ = export(_old(source, tmp_path / "old"), recipe, tmp_path / "out")
    assert schema in json.loads((tmp_path / "out" / "config.json").read_text())
    model = load(tmp_path / "out")
    held = buffers(model)
    for wanted in made.schedules:
        if wanted.variant != "long":
            same_shape(wanted, held[wanted.layer_type])
    export(source, recipe, tmp_path / "new")
    assert torch.equal(logits(model), logits(load(tmp_path / "new")))
