"""Spellings of position fields that readers and checks both have to know."""

from __future__ import annotations

BASES = (
    "rope_theta", "rotary_emb_base", "rope_embedding_base", "rotary_base", "rope_base",
    "rope_freq_base",
)  # fmt: skip
"""Keys that hold the base, the usual one first."""

FRACTIONS = frozenset(
    {
        "partial_rotary_factor", "rotary_pct", "rope_pct", "rope_percent", "rope_percentage",
        "rotary_emb_fraction",
    }
)  # fmt: skip
"""Keys that hold the rotated part of the head."""

WIDTHS = frozenset({"rotary_dim", "rotary_ndims", "qk_rope_head_dim"})
"""Keys that hold the rotated width itself."""
