"""Body and head of a language model run apart, so that logits are made a few rows at a time.

The head is not rebuilt here: the model's own forward runs with its body replaced by the hidden
states at hand. Soft caps, logit scales, tied weights and whatever else a model does to its logits
are therefore its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ropeaudit.errors import RopeAuditError, UsageError, quoted

_TOLERANCE = 2e-2
"""Relative difference of logits between one forward and the two halves, in half precision."""


def body(model: Any) -> Any:
    """The part of ``model`` that ends in hidden states; raises UsageError where there is none."""
    found = model.base_model
    if found is model:  # the prefix names a part that this class does not have
        found = getattr(model, "model", model)
    if found is model or model.get_output_embeddings() is None:
        raise UsageError(
            f"{quoted(type(model).__name__)} has no head on top of a body, as a causal language "
            "model has; take a model with a language-model head"
        )
    return found


def entrance(model: Any) -> Any:
    """The device that token ids go to; weights that accelerate brings in may lie elsewhere."""
    import torch

    table = model.get_input_embeddings()
    where = getattr(getattr(table, "_hf_hook", None), "execution_device", None)
    return table.weight.device if where is None else torch.device(where)


def hidden(model: Any, ids: Any, **extra: Any) -> Any:
    """Output of the body for token ids [batch, length]; no key-value cache."""
    return body(model)(input_ids=ids, use_cache=False, return_dict=True, **extra)


@contextmanager
def head_of(model: Any, like: Any) -> Iterator[Any]:
    """A function from hidden states [rows, width] to logits [rows, vocabulary].

    ``like``: an output of the body, whose kind the stand-in gives back.
    """
    inner, kind = body(model), type(like)
    held: dict[str, Any] = {}
    before = inner.__dict__.get("forward")

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return kind(last_hidden_state=held["states"])

    def logits(states: Any) -> Any:
        held["states"] = states.unsqueeze(0)
        ids = states.new_zeros((1, states.shape[0]), dtype=int_type)
        found = model(input_ids=ids, use_cache=False, return_dict=True).logits
        return found[0]

    import torch

    int_type = torch.long
    inner.forward = stand_in
    try:
        yield logits
    finally:
        held.clear()
        if before is None:
            del inner.__dict__["forward"]
        else:
            inner.forward = before


def require(model: Any) -> None:
    """Raises UsageError unless body and head apart give the logits of the model's own forward."""
    import torch

    body(model)
    table = model.get_input_embeddings().weight
    ids = torch.arange(1, 9, device=entrance(model)).remainder(table.shape[0]).unsqueeze(0)
    try:
        with torch.inference_mode():
            whole = model(input_ids=ids, use_cache=False, return_dict=True).logits[0].float()
            output = hidden(model, ids)
            with head_of(model, output) as logits:
                apart = logits(output.last_hidden_state[0]).float()
    except RopeAuditError:
        raise
    except Exception as error:  # foreign code, which may raise anything
        said = quoted(" ".join(str(error).split()), 200)
        raise UsageError(
            f"{quoted(type(model).__name__)} cannot run eight tokens: {said}; check that its "
            "config and its weights belong together"
        ) from None
    scale = float(whole.abs().max())
    narrow = table.dtype != torch.float32
    allowed = (_TOLERANCE if narrow else 1e-4) * max(scale, 1e-6)
    if whole.isnan().any() or whole.shape != apart.shape:
        return  # NaN is said by the evaluation, with the layer
    if float((whole - apart).abs().max()) > allowed:
        raise UsageError(
            f"the logits of {quoted(type(model).__name__)} are not a function of its last hidden "
            "states alone, so they cannot be made in parts; this model cannot be measured"
        )
