"""Findings speak in full sentences, whatever noticed them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ropeaudit.audit import audit_subject, bind, resolve
from ropeaudit.checks._words import sentence
from ropeaudit.findings import Severity
from ropeaudit.packs import load_pack, shipped

FIXTURES = Path(__file__).parents[2] / "fixtures"
RULES = bind(map(load_pack, shipped()))
TARGETS = sorted(
    {str(p.parent) for p in (FIXTURES / "rules").rglob("config.json")}
    | {str(p) for p in (FIXTURES / "rules").rglob("*.gguf")}
    | {str(p) for p in (FIXTURES / "zoo").iterdir() if p.is_dir()}
)
NAME = re.compile(
    r"[\w.-]*[_.\d\"/-]|"
    # keys and laws that are plain words
    r"(?:type|factor|truncate|alpha|beta|yarn|linear|dynamic|longrope)\b"
)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: str(Path(t).relative_to(FIXTURES)))
def test_messages_and_fixes_are_sentences(target: str) -> None:
    for found in audit_subject(resolve(target, contexts=(65536,)), RULES).findings:
        for text in (found.message, found.fix or "Nothing."):
            assert text.endswith("."), text
            assert text[0].isupper() or NAME.match(text), text
            assert not re.search(r"[a-z]\. (?!cpp)[a-z]", text), text


def test_a_factor_without_a_type_is_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    scaling = {"factor": 4.0, "beta_fast": 32}
    sizes = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32}
    path.write_text(json.dumps({**sizes, "rope_theta": 1e4, "rope_scaling": scaling}))
    found = audit_subject(resolve(str(path)), RULES).findings
    # That engines stop at it is information.
    grave = [f.rule for f in found if f.severity > Severity.INFO]
    assert [rule for rule in grave if rule.startswith("RA4")] == ["RA405"]


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("the tensor is there", "The tensor is there."),
        ("rope_theta is missing", "rope_theta is missing."),
        ("llama.cpp knows no key", "llama.cpp knows no key."),
        ("Two sentences. They end.", "Two sentences. They end."),
    ],
)
def test_a_clause_becomes_a_sentence(clause: str, said: str) -> None:
    assert sentence(clause) == said
