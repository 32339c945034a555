"""Random configs, old and new schema, against the config classes and modules of transformers.

A config that transformers refuses is no example. For the others every buffer is compared, and so
are the long list of longrope and dynamic scaling at twice the declared length.

Tolerance. Both sides work in float32 in the same order; they differ in the power function alone.
Where the plain table of the same base and width differs by ``d`` ulp at a channel, a law that
multiplies and divides can double that (a relative error counts twice as many ulp at the other end
of a binade) and round once more: ``2 d + 1``, and never less than 2. The blend of llama3 is
steeper: with ``s`` its weight and ``f`` its factor, ``theta' = theta ((1 - s) / f + s)`` has the
elasticity ``1 + (s + low / (high - low)) (1 - 1/f) / ((1 - s)/f + s)``, at most
``1 + (f - 1) high / (high - low)``, by which ``d`` is multiplied first.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers import transformers as reader
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.interface import geometric
from ropeaudit.schedule.float32 import ulp_distance

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

MODEL_TYPES = """
    llama qwen2 mistral gemma2 gemma3_text gemma4_text deepseek_v3 gpt_neox stablelm glm4
    phi phi3 gpt_oss qwen3_next qwen2_vl_text modernbert olmo3 minimax_m2 hunyuan_v1_dense
    cohere2 smollm3 mistral4 laguna bamba llama4_text
""".split()  # noqa: SIM905
TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3")

bases = st.one_of(
    st.sampled_from([10000, 1e4, 5e5, 1e6, 1000042.0, 3580165449.0]), st.floats(100, 1e8)
)
factors = st.one_of(st.sampled_from([2, 4.0, 8.0, 40]), st.floats(1.0, 64.0))


@st.composite
def rope_dicts(draw: st.DrawFn, channels: list[int]) -> dict[str, Any]:
    kind = draw(st.sampled_from(TYPES))
    found: dict[str, Any] = {draw(st.sampled_from(["rope_type", "rope_type", "type"])): kind}
    if kind in ("linear", "dynamic", "yarn", "llama3"):
        found["factor"] = draw(factors)
    if kind in ("yarn", "llama3", "longrope") and draw(st.booleans()):
        found["original_max_position_embeddings"] = draw(st.sampled_from([1024, 4096, 8192]))
    if kind == "llama3":
        found |= {"low_freq_factor": 1.0, "high_freq_factor": draw(st.sampled_from([4.0, 8.0]))}
    if kind == "longrope":
        n = draw(st.sampled_from(channels))
        some = st.lists(st.floats(1, 60), min_size=n, max_size=n)
        found |= {"short_factor": draw(some), "long_factor": draw(some)}
    if kind == "yarn":
        optional = {
            "truncate": st.booleans(),
            "beta_fast": st.sampled_from([16, 64.0]),
            "attention_factor": st.floats(0.5, 2.0),
            "mscale": st.just(1.0),
            "mscale_all_dim": st.sampled_from([0.707, 1.0]),
        }
        found |= draw(st.fixed_dictionaries({}, optional=optional))
    if draw(st.integers(0, 3)) == 0:
        found["partial_rotary_factor"] = draw(st.sampled_from([0.25, 0.5, 0.75]))
    return found


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    heads, width = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([16, 48, 64, 96, 128]))
    data: dict[str, Any] = {
        "model_type": draw(st.sampled_from(MODEL_TYPES)),
        "hidden_size": heads * width,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "num_hidden_layers": draw(st.sampled_from([2, 6])),
        "max_position_embeddings": draw(st.sampled_from([2048, 4096, 131072])),
    }
    if draw(st.booleans()):
        data["head_dim"] = width = draw(st.sampled_from([32, 64, 128]))
    rope = draw(rope_dicts([width // 2, 32, width // 4]))
    base_keys = ["rope_theta", "rope_theta", "rotary_emb_base", "global_rope_theta"]
    if draw(st.booleans()):
        data[draw(st.sampled_from(base_keys))] = draw(bases)
        data["rope_scaling"] = rope
    else:
        rope["rope_theta"] = draw(bases)
        if draw(st.booleans()):
            other = {"rope_type": "default", "rope_theta": draw(bases)}
            rope = {"full_attention": rope, "sliding_attention": other}
        data["rope_parameters"] = rope
    extra = {
        "partial_rotary_factor": st.sampled_from([0.25, 0.5]),
        "rotary_pct": st.just(0.5),
        "original_max_position_embeddings": st.sampled_from([2048, 4096]),
    }
    for key, values in extra.items():
        if draw(st.integers(0, 5)) == 0:
            data[key] = draw(values)
    return data


def rotary_class(config_class: Any) -> Any:
    name = config_class.__module__.replace("configuration_", "modeling_")
    module = importlib.import_module(name)
    return next(
        cls
        for found, cls in vars(module).items()
        if inspect.isclass(cls)
        and found.endswith("RotaryEmbedding")
        and cls.__init__.__annotations__.get("config") is config_class
    )


def engine(data: dict[str, Any]) -> tuple[Any, Any]:
    """The config and rotary module of transformers; raises whatever they raise."""
    config_class = CONFIG_MAPPING[data["model_type"]]
    fields = json.loads(json.dumps({k: v for k, v in data.items() if k != "model_type"}))
    config = config_class(**fields)
    return config, rotary_class(config_class)(config)


def allowed(schedule: Schedule, k: int, plain: list[float]) -> int:
    """Ulp that channel ``k`` may be off; ``plain`` is the engine's table without scaling."""
    assert schedule.rope_theta is not None
    step = ulp_distance(geometric(schedule.rope_theta, schedule.rotary_dim)[k], plain[k]) or 0
    steepest = 1.0
    if schedule.rope_type == "llama3":
        numbers = schedule.parameters
        high, low = numbers["high_freq_factor"], numbers["low_freq_factor"]
        steepest = 1 + (numbers["factor"] - 1) * high / (high - low)
    return max(2, math.ceil(2 * step * steepest) + 1)


def check(schedule: Schedule, values: list[float], scaling: float) -> None:
    assert len(schedule.inv_freq) == len(values)
    assert schedule.attention_scaling == pytest.approx(scaling, abs=1e-6)
    width = schedule.rotary_dim
    exponents = torch.arange(0, width, 2, dtype=torch.float) / width
    plain = (1.0 / schedule.rope_theta**exponents).tolist()
    for k, (ours, theirs) in enumerate(zip(schedule.inv_freq, values, strict=True)):
        distance = ulp_distance(ours, theirs)
        limit = 2 if schedule.rope_type == "proportional" else allowed(schedule, k, plain)
        assert distance is not None
        assert distance <= limit, (k, ours, theirs)


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(configs())
def test_random_configs_give_the_tables_of_the_engine(data: dict[str, Any]) -> None:
    try:
        config, module = engine(data)
    except Exception:  # a config that the engine refuses is no example
        assume(False)
    document = Document("config.json", data)
    found = reader.read(Reading(target="t", format="hf-config", document=document), ())
    buffers = {
        name.removesuffix("inv_freq").removesuffix("_") or None: buffer.tolist()
        for name, buffer in module.named_buffers(recurse=False)
        if name.endswith("inv_freq") and not name.endswith("original_inv_freq")
    }
    assert {s.layer_type for s in found.schedules} == set(buffers)
    for label, values in buffers.items():
        own = [s for s in found.schedules if s.layer_type == label]
        prefix = "" if label is None else f"{label}_"
        check(own[0], values, getattr(module, f"{prefix}attention_scaling", 1.0))
        longer(own, config, label)


def longer(own: list[Schedule], config: Any, label: str | None) -> None:
    """The second variant of laws that depend on the length."""
    kind = own[0].rope_type
    if kind not in ("dynamic", "longrope"):
        assert len(own) == 1
        return
    first, second = own
    if kind == "dynamic":
        assert (first.variant, second.variant) == (
            f"@{config.max_position_embeddings}",
            f"@{2 * config.max_position_embeddings}",
        )
        length = 2 * config.max_position_embeddings
    else:
        assert (first.variant, second.variant) == ("short", "long")
        length = int(second.parameters["original_max_position_embeddings"]) + 1
    values, scaling = ROPE_INIT_FUNCTIONS[kind](config, seq_len=length, layer_type=label)
    if kind == "dynamic":  # the base itself grew, so the plain table of that base is the measure
        grown = second.parameters["effective_rope_theta"]
        exponents = torch.arange(0, second.rotary_dim, 2, dtype=torch.float) / second.rotary_dim
        assert values.tolist() == pytest.approx((1.0 / grown**exponents).tolist(), rel=1e-6)
        assert second.inv_freq == pytest.approx(values.tolist(), rel=3e-7)
    else:
        check(second, values.tolist(), scaling)


def test_the_oracle_refuses_what_the_reader_refuses() -> None:
    """Both sides stop at a nested dict on a model with one schedule."""
    nested = {"full_attention": {"rope_type": "default", "rope_theta": 1e4}}
    data = {"model_type": "qwen2", "rope_parameters": nested}
    with pytest.raises(KeyError):
        engine(data)
    reading = Reading(target="t", format="hf-config", document=Document("config.json", data))
    with pytest.raises(InvalidValue, match="one schedule for all layers"):
        reader.read(reading, ())


@pytest.mark.parametrize("model_type", ["deepseek_v3", "deepseek_v2", "longcat_flash", "minicpm3"])
def test_the_softmax_factor_is_the_one_of_the_attention_module(model_type: str) -> None:
    rope = {"rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}
    data = {
        "model_type": model_type,
        "rope_scaling": {**rope, "mscale": 1.0, "mscale_all_dim": 0.707},
        "hidden_size": 128,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "num_hidden_layers": 1,
    }
    config_class = CONFIG_MAPPING[model_type]
    module = importlib.import_module(config_class.__module__.replace("configuration_", "modeling_"))
    attention = next(
        c
        for n, c in vars(module).items()
        if n.endswith(("Attention", "MLA")) and inspect.isclass(c)
    )
    config = config_class(**{k: v for k, v in data.items() if k != "model_type"})
    plain = (config.qk_nope_head_dim + config.qk_rope_head_dim) ** -0.5
    reading = Reading(target="t", format="hf-config", document=Document("config.json", data))
    (schedule,) = reader.read(reading, ()).schedules
    built = attention(config, layer_idx=0).scaling
    assert schedule.softmax_scale == pytest.approx(built / plain, rel=1e-9)
    assert schedule.softmax_scale > 1.5
