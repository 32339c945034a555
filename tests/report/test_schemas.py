"""The JSON outputs keep to their published schemas, and the schemas name every key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from ropeaudit.report import json_v1
from tests.report import canned

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


def _schema(name: str) -> Any:
    schema = json.loads((FOLDER / name).read_text())
    Draft202012Validator.check_schema(schema)
    return schema


def _closed(schema: Any) -> Any:
    """The schema with unknown keys forbidden, so that the test notices an undocumented one."""
    if isinstance(schema, list):
        return [_closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {k: _closed(v) for k, v in schema.items()}
    if "properties" in closed and closed.get("type") == "object":
        closed["additionalProperties"] = False
    return closed


def test_report_follows_its_schema() -> None:
    document = json.loads(json_v1.render(canned.report()))
    Draft202012Validator(_closed(_schema("report-1.json"))).validate(document)
    document["subjects"][0]["findings"][0]["severity"] = "fatal"
    with pytest.raises(ValidationError):
        Draft202012Validator(_schema("report-1.json")).validate(document)


def test_schedules_follow_their_schema() -> None:
    subjects = [s.subject for s in canned.report().subjects]
    document = json.loads(json_v1.render_schedules(subjects))
    Draft202012Validator(_closed(_schema("schedules-1.json"))).validate(document)
    document["subjects"][0]["schedules"][0]["inv_freq"][0] = "NaN"
    with pytest.raises(ValidationError):
        Draft202012Validator(_schema("schedules-1.json")).validate(document)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda p: p.name)
def test_references_lead_somewhere(path: Path) -> None:
    text = path.read_text()
    Draft202012Validator.check_schema(json.loads(text))
    defined = json.loads(text).get("$defs", {})
    used = set(re.findall(r'"\$ref": "#/\$defs/(\w+)"', text))
    assert used <= set(defined)
