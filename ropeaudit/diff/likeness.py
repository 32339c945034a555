"""How alike two schedules or encodings are."""

from __future__ import annotations

from enum import StrEnum


class Likeness(StrEnum):
    """``same``: every bit of tables and scalings. ``equivalent``: within the tolerance."""

    SAME = "same"
    EQUIVALENT = "equivalent"
    DIFFERENT = "different"
    UNKNOWN = "unknown"
