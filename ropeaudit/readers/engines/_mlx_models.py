"""How mlx-lm's model files call their rotary layers: what most of them have in common.

``_mlx_families.json`` holds one entry a model file (``mlx_lm/models/<name>.py``), made from the two
releases' sources: ``need`` and ``give`` are the arguments of its ``ModelArgs`` without and with a
default (those that matter here), ``outer`` the arguments around ``text_config``, ``since`` the
first release with the file. ``rope`` says how the attention class calls its rotary layer (null: not
looked at):

``d`` width: a field, ``a/b``, or ``head_dim?`` (the field, or hidden size by heads where it is
empty) · ``p`` the field with its rotated part · ``b`` field of the base, or the base · ``t``
adjacent pairs: true or a field · ``s`` field of the scaling dict · ``bp`` a base in rope_parameters
comes first · ``soft`` DeepSeek's factor on the logits · ``l`` which layers rotate (a function of
``_mlx_turning``) · ``n`` field with their number · ``kind`` a function of ``_mlx_special`` or
``_mlx_layers`` · ``check`` one of ``_mlx_checks`` · ``wrap`` the text model's file (``flat``: or
the whole config, ``fill``: its defaults) · ``still`` no rotary layer at all. Keys that end in 28
are 0.28's where it differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.facts import MAX_LENGTH
from ropeaudit.readers.engines import _mlx_ropes as ropes
from ropeaudit.readers.engines._mlx_turning import RULES
from ropeaudit.readers.engines._raw_keys import MAX_WIDTH, Raw, portion, whole
from ropeaudit.readers.engines._raw_tables import Turn
from ropeaudit.readers.engines.interface import Request
from ropeaudit.records import record, replace


@record(kw_only=True)
class Model:
    """One text model: ``raw`` with the defaults of its arguments, ``rope`` its entry's rule."""

    name: str
    raw: Raw
    rope: Mapping[str, Any]
    request: Request
    old: bool

    def width(self) -> int:
        """The width of the head, or of the part of it that has its own projection."""
        rule: str = self.rope.get("d", "hidden_size/num_attention_heads")
        first, chosen, rest = rule.partition("?")
        if chosen:
            own = self.raw.get(first)
            if own:
                return whole(own, first, MAX_WIDTH)
            rule = rest or "hidden_size/num_attention_heads"
        top, divided, bottom = rule.partition("/")
        if divided:
            return whole(self.raw.width(top) // self.raw.width(bottom), "head_dim", MAX_WIDTH)
        return self.raw.width(rule)

    def base(self) -> float:
        if self.rope.get("bp"):
            inner = self.raw.child("rope_parameters")
            if inner is not None and inner.has("rope_theta"):
                return inner.number("rope_theta")
        key = self.rope.get("b", "rope_theta")
        return self.raw.number(key) if isinstance(key, str) else float(key)

    def adjacent(self) -> bool:
        flag = self.rope.get("t", False)
        return bool(self.raw.get(flag)) if isinstance(flag, str) else bool(flag)

    def declared(self) -> int | None:
        value = self.raw.get("max_position_embeddings")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return int(value) if number and 1 <= value <= MAX_LENGTH else None

    def turn(self, **changes: Any) -> Turn:
        """The plain table that the entry describes."""
        head = self.width()
        key = self.rope.get("p")
        rotary = head if key is None else portion(self.raw.get(key), head, key)
        return replace(
            Turn(
                base=changes.pop("base") if "base" in changes else self.base(),
                rotary=whole(rotary, "the rotary width", MAX_WIDTH),
                head=None if self.rope.get("d") == "rotary_dim" else head,
                pairing="interleaved" if self.adjacent() else "half",
                declared=None if self.rope.get("unlimited") else self.declared(),
                layers=self.layers(),
            ),
            **changes,
        )

    def scaling(self, key: str = "rope_scaling") -> Raw | None:
        return self.raw.child(key)

    def initialize(self, turn: Turn, scaling: Raw | None) -> Turn:
        return ropes.initialize(turn, scaling, old=self.old)

    def count(self) -> int:
        return self.raw.layers(self.rope.get("n", "num_hidden_layers"))

    def layers(self) -> tuple[int, ...]:
        """Layers that rotate."""
        rule = self.rope.get("l")
        if rule is None:
            return tuple(range(self.count()))
        flags = RULES[rule](self.raw, self.count())
        return tuple(i for i, turns in enumerate(flags) if turns)


def common(model: Model) -> list[Turn]:
    """The table of a family whose attention class calls its rotary layer as its entry says."""
    turn = model.turn()
    key = model.rope.get("s")
    if key is None:
        return [turn]
    scaling = model.scaling(key)
    turn = model.initialize(turn, scaling)
    if "soft" in model.rope:
        turn = replace(turn, softmax=ropes.softmax(scaling, plain_too=True))
    return [turn]
