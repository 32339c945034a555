"""Model files of mlx-lm whose rotary layers are not called like the others', one table each.

Each function answers to the ``kind`` of an entry in ``_mlx_families.json``; file names and lines
are 0.32.2's.
"""

from __future__ import annotations

from collections.abc import Callable

from ropeaudit.readers.engines import _mlx_layers
from ropeaudit.readers.engines import _mlx_ropes as ropes
from ropeaudit.readers.engines._mlx_models import Model, common
from ropeaudit.readers.engines._raw_keys import Raw, number, portion
from ropeaudit.readers.engines._raw_tables import Turn
from ropeaudit.readers.engines.interface import Refuses
from ropeaudit.records import replace


def truthy(model: Model, key: str = "rope_scaling") -> Raw | None:
    """The dict at ``key`` where it is not empty."""
    found = model.scaling(key)
    return found if found is not None and found.data else None


def dbrx(model: Model) -> list[Turn]:
    """dbrx.py 33, 43: the base stands in attn_config."""
    inner = model.raw.child("attn_config")
    if inner is None:
        raise Refuses("attn_config is null, where it looks for the base")
    return [model.turn(base=number(inner.need("rope_theta"), "rope_theta"))]


def bailing_moe(model: Model) -> list[Turn]:
    """bailing_moe.py 107-116: rotary_dim first."""
    turn, own = model.turn(), model.raw.get("rotary_dim")
    if own is None:
        rotary = portion(model.raw.get("partial_rotary_factor"), turn.head or 0)
    else:
        rotary = model.raw.width("rotary_dim")
    return [model.initialize(replace(turn, rotary=rotary), model.scaling())]


def _linear_by_type(model: Model, turn: Turn) -> Turn:
    """Linear scaling only, by the old spelling alone, and its factor must be a float."""
    scaling = truthy(model)
    if scaling is None:
        return turn
    if scaling.need("type") != "linear":
        return turn
    if not isinstance(scaling.need("factor"), float):
        raise Refuses("it accepts no factor that is written without a decimal point")
    return ropes.linear(turn, scaling)


def deepseek(model: Model) -> list[Turn]:
    """deepseek.py 69-77."""
    return [_linear_by_type(model, model.turn())]


def nemotron(model: Model) -> list[Turn]:
    """nemotron.py 33-45, 83-91."""
    scaling = truthy(model)
    if scaling is not None:
        scaling.need("factor")
        if ropes.rope_type(scaling) != "linear":
            raise Refuses("it supports linear scaling only")
    return [_linear_by_type(model, model.turn())]


def deepseek_v2(model: Model) -> list[Turn]:
    """deepseek_v2.py 178-199: always yarn, whatever the type says; a dict must be there."""
    scaling = model.scaling()
    if scaling is None:
        raise Refuses("it needs rope_scaling, which the file leaves empty or lacks")
    turn = ropes.yarn(model.turn(), scaling)
    return [replace(turn, softmax=ropes.softmax(scaling, plain_too=True))]


def glm_moe_dsa(model: Model) -> list[Turn]:
    """glm_moe_dsa.py, __post_init__: rope_parameters stand for both old fields."""
    inner = model.raw.child("rope_parameters")
    if inner is None:
        raise Refuses("rope_parameters is null, where it looks for the base")
    turn = model.turn(base=number(inner.need("rope_theta"), "rope_theta"))
    turn = model.initialize(turn, inner)
    return [replace(turn, softmax=ropes.softmax(inner, plain_too=True))]


def _mistral_parameters(model: Model) -> Raw:
    """rope_parameters with the two keys of Mistral's position scaling, which are indexed."""
    inner = model.raw.child("rope_parameters")
    if inner is None:
        raise Refuses("it needs rope_parameters, which the file lacks")
    inner.need("llama_4_scaling_beta")
    inner.need("original_max_position_embeddings")
    return inner


def ministral3(model: Model) -> list[Turn]:
    """ministral3.py 66-82: rope_parameters alone, with the keys of its position scaling."""
    inner = _mistral_parameters(model)
    turn = model.turn(base=number(inner.need("rope_theta"), "rope_theta"))
    return [model.initialize(turn, inner)]


def mistral4(model: Model) -> list[Turn]:
    """mistral4.py 55-64, 83, 118-127, 336: as Ministral 3, with a latent projection."""
    inner = _mistral_parameters(model)
    flag = model.raw.get("rope_interleave")
    adjacent = flag is None or bool(flag)
    turn = model.turn(
        base=inner.number("rope_theta", 100000.0), pairing="interleaved" if adjacent else "half"
    )
    turn = model.initialize(turn, inner)
    return [replace(turn, softmax=ropes.softmax(inner, plain_too=False))]


def qwen3(model: Model) -> list[Turn]:
    """qwen3.py 30-42: rope_parameters fill in where the old fields are empty."""
    raw, inner = model.raw, truthy(model, "rope_parameters")
    top, scaling = raw.get("rope_theta"), model.scaling()
    if inner is not None:
        top = inner.get("rope_theta") if top is None else top
        scaling = inner if scaling is None else scaling
    if top is None:
        raise Refuses("it finds no rope_theta")
    return [model.initialize(model.turn(base=number(top, "rope_theta")), scaling)]


def qwen3_5(model: Model) -> list[Turn]:
    """qwen3_5.py 56-86 with qwen3_next.py 106-114: rope_parameters where there are any."""
    raw, inner = model.raw, truthy(model, "rope_parameters")
    if inner is None and not raw.has("rope_parameters"):
        part, base, scaling = 0.25, 100000.0, None
    elif inner is None:
        part, base = raw.number("partial_rotary_factor"), raw.number("rope_theta")
        scaling = model.scaling()
    else:
        part = inner.number("partial_rotary_factor", 0.25)
        base, scaling = inner.number("rope_theta", 100000.0), inner
    turn = model.turn(base=base)
    rotary = portion(part, turn.head or 0)
    return [model.initialize(replace(turn, rotary=rotary), scaling)]


def granitemoehybrid(model: Model) -> list[Turn]:
    """granitemoehybrid.py 255-265: no scaling, and nothing at all under ``nope``."""
    return [] if model.raw.get("position_embedding_type", "rope") == "nope" else [model.turn()]


def olmo_hybrid(model: Model) -> list[Turn]:
    """olmo_hybrid.py, __post_init__ and 221: no scaling; a null base means no rotation."""
    inner = model.raw.child("rope_parameters")
    base = model.raw.get("rope_theta") if inner is None else inner.get("rope_theta", 10000.0)
    return [] if base is None else [model.turn(base=number(base, "rope_theta"))]


def minimax_m3(model: Model) -> list[Turn]:
    """minimax_m3_vl.py, TextArgs.__post_init__ and 215-222."""
    raw, inner = model.raw, truthy(model, "rope_parameters")
    base, part = raw.get("rope_theta"), raw.get("partial_rotary_factor")
    if inner is not None:
        base = inner.get("rope_theta", base)
        part = inner.get("partial_rotary_factor", part)
    head = raw.width("head_dim")
    rotary = portion(part, head) if raw.get("rotary_dim") is None else raw.width("rotary_dim")
    turn = Turn(
        base=number(base, "rope_theta"),
        rotary=rotary,
        head=head,
        declared=model.declared(),
        layers=model.layers(),
    )
    return [model.initialize(turn, model.scaling("rope_parameters"))]


def phi3(model: Model) -> list[Turn]:
    """phi3.py 33-44, 65-86: ``type`` must be there, and the original length is a top-level one."""
    turn, scaling = model.turn(), truthy(model)
    if scaling is None:
        return [turn]
    if not scaling.has("long_factor"):
        raise Refuses("its rope_scaling needs long_factor, which is missing")
    kind = scaling.need("type")
    if kind in ("longrope", "su"):
        original = model.raw.number("original_max_position_embeddings")
        if not scaling.has("short_factor"):
            raise Refuses("it needs short_factor, which is missing")
        return [ropes.su(turn, scaling.need("long_factor"), original, old=model.old)]
    # Any other type is switched off with a printed warning.
    return [_linear_by_type(model, turn)] if kind == "linear" else [turn]


def phimoe(model: Model) -> list[Turn]:
    """phimoe.py 49-63: any dict means the long list, with long_mscale where it is not 0."""
    scaling = model.scaling()
    turn = model.turn()
    if scaling is None:
        if model.old:
            raise Refuses("it needs rope_scaling, which the file leaves empty or lacks")
        return [turn]
    for key in ("short_factor", "short_mscale"):
        if not scaling.has(key):
            raise Refuses(f"it needs {key}, which is missing")
    original = model.raw.number("original_max_position_embeddings")
    factors, gain = scaling.need("long_factor"), scaling.need("long_mscale")
    attention = number(gain, "long_mscale") if gain else None
    return [ropes.su(turn, factors, original, old=model.old, attention=attention)]


def minicpm3(model: Model) -> list[Turn]:
    """minicpm3.py 86-96: the long list whatever the type says; a dict must be there."""
    scaling = model.scaling()
    if scaling is None:
        raise Refuses("it needs rope_scaling, which the file leaves empty or lacks")
    original = scaling.number("original_max_position_embeddings", 4096)
    factors = scaling.get("long_factor", 1.0)
    return [ropes.su(model.turn(), factors, original, old=model.old)]


def _alpha(turn: Turn, alpha: float) -> Turn:
    return replace(turn, law="ntk_alpha", kind="dynamic", scaling={"alpha": alpha})


def hunyuan(model: Model) -> list[Turn]:
    """hunyuan.py 33-41, 53-62, 100-104: the base grown by alpha, at every length."""
    scaling = truthy(model)
    if scaling is None:
        raise Refuses("it needs rope_scaling with alpha, which the file leaves empty or lacks")
    _require(scaling, "factor", "type")
    return [_alpha(model.turn(), number(scaling.need("alpha"), "alpha"))]


def hunyuan_dense(model: Model) -> list[Turn]:
    """hunyuan_v1_dense.py 28-36, 70, 87-94."""
    own = model.raw.get("head_dim")
    turn = model.turn()
    if own is not None:
        head = model.raw.width("head_dim")
        turn = replace(turn, rotary=head, head=head)
    scaling = truthy(model)
    if scaling is None:
        return [turn]
    _require(scaling, "alpha", "factor", "type")
    return [_alpha(turn, scaling.number("alpha"))]


def _require(scaling: Raw, *keys: str) -> None:
    missing = [key for key in keys if not scaling.has(key)]
    if missing:
        raise Refuses(f"its rope_scaling needs {' and '.join(missing)}, which is missing")


def internlm_old(model: Model) -> list[Turn]:
    """internlm2.py 47-83 and internlm3.py 45-80 of 0.28: positions are multiplied by ``scale``,
    which is 2 where no linear scaling is stated (a slip of that release), and the base grows
    beyond the declared length."""
    scaling, turn = model.scaling(), model.turn()
    spelled = "type" if model.name == "internlm2" else "rope_type"
    scale = 2.0
    if scaling is not None and scaling.need(spelled) == "linear":
        scale = 1 / number(scaling.need("factor"), "factor")
    return [replace(turn, law="linear", kind="linear", scaling={"factor": 1 / scale})]


def phi3small(model: Model) -> list[Turn]:
    """phi3small.py 80-85: positions multiplied by rope_position_scale."""
    turn, scale = model.turn(), model.raw.number("rope_position_scale")
    if scale == 1:
        return [turn]
    return [replace(turn, law="linear", scaling={"factor": 1 / scale})] if scale else []


def recurrent_gemma(model: Model) -> list[Turn]:
    """recurrent_gemma.py 239: half of the head, base 1e4 whatever the file says."""
    turn = model.turn(base=10000.0)
    return [replace(turn, rotary=(turn.head or 0) // 2)]


KINDS: dict[str, Callable[[Model], list[Turn]]] = {
    f.__name__: f
    for f in (
        dbrx, bailing_moe, deepseek, nemotron, deepseek_v2, glm_moe_dsa, ministral3, mistral4,
        qwen3, qwen3_5, granitemoehybrid, olmo_hybrid, minimax_m3, phi3, phimoe, minicpm3, hunyuan,
        hunyuan_dense, internlm_old, phi3small, recurrent_gemma,
    )
}  # fmt: skip


def turns(model: Model) -> list[Turn]:
    """Every table that the model's attention classes build."""
    kind = model.rope.get("kind")
    if kind is None:
        return common(model)
    return (KINDS.get(kind) or _mlx_layers.KINDS[kind])(model)
