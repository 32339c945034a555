"""The keys and factor tensors that llama.cpp's converter writes, as they are being collected.

``TextModel`` in ``conversion/base.py`` 1341-1543 (sources bundled with llama-cpp-python 0.3.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ropeaudit.errors import quoted, shown
from ropeaudit.facts import Json, Location, Reading, StoredTable
from ropeaudit.readers.engines._raw_keys import MAX_LAYERS, MAX_WIDTH
from ropeaudit.readers.engines.interface import Refuses
from ropeaudit.schedule.float32 import f32

ROPE_DICT = ("rope_parameters", "rope_scaling")

_BASES = (
    "global_rope_theta", "rope_global_theta", "rope_theta_global", "rope_theta", "rotary_emb_base"
)  # fmt: skip
_LOCAL_BASES = (
    "local_rope_theta", "rope_local_theta", "rope_theta_local", "swa_rope_theta",
    "rope_local_base_freq",
)  # fmt: skip
_PARTIALS = ("partial_rotary_factor", "rope_pct", "rope_percent")

_ROLES = {
    "rope_freqs": "rope_factors",
    "rope_factors_long": "rope_factors_long",
    "rope_factors_short": "rope_factors_short",
}


class Draft:
    """One file in the making.

    ``values``: the config as the converter holds it; ``rope``: its dict of rope parameters after
    what the top level adds (``base.py`` 1359-1377); ``keys``: metadata without the architecture's
    prefix.
    """

    def __init__(self, architecture: str, values: dict[str, Any]) -> None:
        self.architecture = architecture
        self.values = values
        self.keys: dict[str, Json] = {}
        self.tables: dict[str, tuple[float, ...]] = {}
        self.layers = self._count()
        self.rope = self._rope()

    def _count(self) -> int:
        found = self.first("n_layers", "num_hidden_layers", "n_layer", "num_layers")
        if type(found) is not int:
            raise Refuses("its converter finds no number of layers in the config")
        if not 0 <= found <= MAX_LAYERS:
            raise Refuses(f"its converter stops at {shown(found)} layers")
        return found

    def _rope(self) -> dict[str, Any]:
        scaling = self.values.get("rope_scaling")
        found = self.values.get("rope_parameters", scaling) or {}
        if not isinstance(found, dict):
            raise Refuses("its converter stops at rope parameters that are no object")
        rope: dict[str, Any] = dict(found)
        if "full_attention" in rope or "sliding_attention" in rope:
            return rope
        local = self.first(*_LOCAL_BASES)
        if local is not None:
            rope["sliding_attention"] = {"rope_theta": local}
        self._fill(rope, "rope_theta", self.first(*_BASES))
        self._fill(rope, "rope_type", rope.get("type"))
        self._fill(rope, "partial_rotary_factor", self.first(*_PARTIALS))
        original = self.first("original_max_position_embeddings")
        self._fill(rope, "original_max_position_embeddings", original)
        return rope

    @staticmethod
    def _fill(rope: dict[str, Any], key: str, value: Any) -> None:
        if key not in rope and value is not None:
            rope[key] = value

    def first(self, *keys: str) -> Any:
        """The value of the first key that is there, null included; None where none is."""
        return next((self.values[k] for k in keys if k in self.values), None)

    def need(self, *keys: str) -> Any:
        """As :meth:`first`; raises Refuses where the converter would stop."""
        found = self.first(*keys)
        if found is None:
            raise Refuses(f"its converter stops because {quoted(keys[0])} is missing")
        return found

    def whole(self, *keys: str) -> int:
        """A count that the converter calculates with."""
        found = self.need(*keys)
        if type(found) is not int:
            raise Refuses(f"its converter stops at {quoted(keys[0])}, which is no whole number")
        return found

    def width(self, *keys: str) -> int:
        """A count of dimensions, of a size that a tensor can have."""
        found = self.whole(*keys)
        if not 0 <= found <= MAX_WIDTH:
            raise Refuses(f"its converter stops at {quoted(keys[0])} {shown(found)}")
        return found

    def fraction(self, part: Any, width: int) -> int:
        """``part`` of ``width`` in whole dimensions; raises Refuses for no such fraction."""
        if isinstance(part, bool) or not isinstance(part, int | float):
            raise Refuses("its converter stops at a rotary fraction that is no number")
        if not abs(part) * width <= MAX_WIDTH:
            raise Refuses(f"its converter stops at the rotary fraction {shown(part)}")
        return int(part * width)

    def global_rope(self) -> dict[str, Any]:
        """The dict of full-attention layers, or the only one."""
        found = self.rope.get("full_attention", self.rope)
        if not isinstance(found, dict):
            raise Refuses("its converter stops at rope parameters that are no object")
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """A value of the rope dict."""
        return self.rope.get(key, default)

    def demand(self, rope: Mapping[str, Any], key: str) -> Any:
        """A value of ``rope`` without which the converter stops (KeyError)."""
        if key not in rope or rope[key] is None:
            raise Refuses(f"its converter stops because {quoted(key)} is missing")
        return rope[key]

    def put(self, name: str, value: Json) -> None:
        """A key under the architecture's prefix."""
        self.keys[name] = value

    def number(self, name: str, value: Any) -> None:
        """A float32 key, kept unrounded so that it can be told from another value of the config.

        Raises Refuses for what is no number.
        """
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refuses(f"its converter stops at {shown(value)}, which is no number")
        self.keys[name] = float(value)

    def table(self, name: str, values: Sequence[float]) -> None:
        self.tables[name] = tuple(f32(v) for v in values)

    def head(self) -> int:
        """head_dim, or else the even split."""
        own = self.values.get("head_dim")
        if own is not None:
            return self.width("head_dim")
        return self.even()

    def even(self) -> int:
        """hidden_size // num_attention_heads, whatever head_dim says."""
        return self.width("hidden_size", "n_embd") // self.heads()

    def heads(self) -> int:
        """Attention heads, at least one."""
        found = self.whole("num_attention_heads", "n_head", "n_heads")
        if found < 1:
            raise Refuses("its converter stops because there are no attention heads")
        return found

    def reading(self, file: str) -> Reading:
        """The file that would be written, as far as positions go."""
        prefix = self.architecture
        metadata = {"general.architecture": prefix}
        metadata.update({f"{prefix}.{k}": v for k, v in self.keys.items()})
        tables = tuple(
            StoredTable(
                name=f"{name}.weight",
                values=values,
                dtype="float32",
                shape=(len(values),),
                location=Location(file=file, tensor=f"{name}.weight"),
                role=_ROLES[name],
            )
            for name, values in self.tables.items()
        )
        return Reading(
            target=file,
            format="gguf",
            metadata=metadata,
            tables=tables,
            tensor_names=tuple(t.name for t in tables),
        )
