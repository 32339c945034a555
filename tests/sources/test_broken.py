"""Every broken input is refused in one clear sentence, under the right name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import SourceError
from ropeaudit.sources.opening import open_target

BROKEN = Path(__file__).parents[2] / "fixtures" / "broken"
EXPECTED: dict[str, dict[str, Any]] = json.loads((BROKEN / "expected.json").read_text())


def test_every_broken_file_is_expected() -> None:
    assert {p.name for p in BROKEN.iterdir()} - {"expected.json"} == EXPECTED.keys()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_one_clear_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKEN)
    with pytest.raises(SourceError) as caught:
        open_target(name)
    message = str(caught.value)
    assert caught.value.kind == EXPECTED[name]["kind"], message
    for words in EXPECTED[name]["words"]:
        assert words in message
    assert name in message
    assert_readable(message)


def assert_readable(message: str) -> None:
    """One line, printable, short, and no bare exception text."""
    assert message.isprintable()
    assert len(message) < 600
    assert not re.search(r"Errno|Traceback|object at 0x|<class", message)


def test_nothing_broken_passes_and_the_others_are_still_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ropeaudit.audit import audit_targets
    from ropeaudit.findings import Verdict

    good = tmp_path / "config.json"
    good.write_text('{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}')
    monkeypatch.chdir(BROKEN)
    report = audit_targets([*EXPECTED, str(good)])
    assert [s.subject.target for s in report.subjects] == [*EXPECTED, str(good)]
    for subject in report.subjects[:-1]:
        assert subject.subject.error is not None
        assert subject.verdict is Verdict.UNKNOWN
    assert report.subjects[-1].subject.error is None
    assert report.subjects[-1].subject.schedules
