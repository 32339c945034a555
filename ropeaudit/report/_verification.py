"""What verifying a certificate came to, for people and as ``ropeaudit/verification/1``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.proofs.interface import Status
from ropeaudit.report._terminal import Ink, View, safe
from ropeaudit.report.json_v1 import FORMAT, TOOL, page
from ropeaudit.report.markdown import code, text

if TYPE_CHECKING:
    from ropeaudit.verifier import Result

_INDENT = 4
_LABELS = {"stated": "NOT VERIFIED"}


def render_check(name: str, file: str, result: Result, view: View) -> str:
    """What verifying a certificate came to: ``verified``, ``stated``, ``refused`` or
    ``unreadable``."""
    if name in ("json", FORMAT):
        return page(
            {
                "schema": "ropeaudit/verification/1",
                "tool": TOOL,
                "certificate": file,
                "result": result.kind,
                "message": result.message,
                "counts": {s.value: getattr(result, s.value) for s in Status},
                "as_stated": result.as_stated,
                "notes": list(result.notes),
            }
        )
    if name == "markdown":
        notes = "".join(f"  - {text(note)}\n" for note in result.notes)
        return f"- **{result.kind}** {code(file)}: {text(result.message)}\n{notes}"
    ink = Ink(view)
    style = {"verified": "pass", "refused": "fail"}.get(result.kind, "none")
    ink.line(
        (f" {_LABELS.get(result.kind, result.kind.upper())} ", style), " ", (safe(file), "bold")
    )
    ink.paragraph(safe(result.message), indent=_INDENT)
    for note in result.notes:
        ink.paragraph(f"note: {safe(note)}", indent=_INDENT, style="dim")
    return ink.text()
