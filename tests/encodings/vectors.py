"""The published and recomputed numbers that the encodings have to reproduce."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).parents[2] / "fixtures" / "encodings" / "vectors.json"
VECTORS: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
