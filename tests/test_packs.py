"""Rule packs: strict loading, no YAML traps, errors that say where."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit import packs
from ropeaudit.audit import bind
from ropeaudit.checks.interface import load, slugs
from ropeaudit.errors import PackError
from ropeaudit.findings import Severity
from ropeaudit.packs import Rule, load_pack, params_for, shipped
from ropeaudit.records import record


def write(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


RULE = "  - {id: X1, check: duplicate-frequency}\n"


@pytest.mark.parametrize("name", ["core", "deploy", "strict", "research"])
def test_shipped_packs_load_and_their_parameters_fit(name: str) -> None:
    pack = load_pack(name)
    assert len(bind([pack])) == len(pack.rules)
    assert pack.name == name
    assert len(pack.sha256) == 64
    for rule in pack.rules:
        assert rule.why, rule.id
        assert rule.fix, rule.id


def test_every_check_is_used_by_a_rule_and_ids_are_stable() -> None:
    rules = {r.id: r for name in shipped() for r in load_pack(name).rules}
    assert {r.check for r in rules.values()} == set(slugs())
    assert all(r.check == load(r.check).SLUG for r in rules.values())
    assert [i for i in sorted(rules) if not i.startswith("RA")] == []


def test_compiled_packs_are_up_to_date() -> None:
    assert dict(packs.compiled_packs()) == dict(packs._compiled())


def test_a_pack_extends_and_overrides(tmp_path: Path) -> None:
    text = (
        "name: mine\nextends: [core]\noverride:\n  RA301: {severity: warning}\n"
        "  near-duplicate: {enabled: false}\n"
    )
    rules = {r.id: r for r in load_pack(write(tmp_path, text)).rules}
    assert rules["RA301"].severity is Severity.WARNING
    assert "RA102" not in rules
    assert rules["RA101"].severity is Severity.ERROR


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules:\n" + RULE + "rules: []\n", "line 3.*stands twice"),
        ("rles:\n" + RULE, "did you mean rules"),
        ("rules:\n  - {id: X1, check: duplicate-frequencies}\n", "duplicate-frequency"),
        ("rules:\n  - {id: X1, check: alias, sverity: error}\n", "did you mean severity"),
        (
            "rules:\n  - {id: X1, check: alias, severity: fatal}\n",
            "expected error, warning or info",
        ),
        ("rules:\n" + RULE + RULE, "stands twice"),
        ("rules: 3\n", "expected a list"),
        ("rules: []\n", "holds no rules"),
        ("- 1\n- 2\n", "not a rule pack"),
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("a: [\n", "mine.yaml.*line"),
        ("extends: [nothing]\n", "nothing"),
        ("extends: [mine.yaml]\n", "circle"),
        ("override: {RA999: {severity: info}}\nrules:\n" + RULE, "RA999"),
        ("extends: [core]\noverride: {RA101: {enabled: off}}\n", "enabled is off, expected true"),
        ('rules:\n  - {id: "X\\e[31m", check: alias}\n', "printable"),
        ('rules:\n  - {id: X1, name: "\\u202e", check: alias}\n', "printable"),
        ('name: "\\a"\nrules:\n' + RULE, "printable"),
        ("version: " + "1" * 5000 + "\nrules:\n" + RULE, "at most 100"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PackError, match=words) as caught:
        load_pack(write(tmp_path, text))
    assert str(caught.value).isprintable()


def test_alias_bomb_is_refused_at_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    with pytest.raises(PackError):
        load_pack(write(tmp_path, "\n".join(lines)))


def test_unknown_pack_suggests_and_unreadable_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="did you mean core"):
        load_pack("cor")
    with pytest.raises(PackError, match="cannot read"):
        load_pack(str(tmp_path / "gone.yaml"))
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(PackError, match="UTF-8"):
        load_pack(str(tmp_path / "b.yaml"))


@record()
class _Params:
    count: int = 1
    limit: float = 0.5
    on: bool = True
    word: str = ""
    many: tuple[int, ...] = ()


def _bound(**values: object) -> _Params:
    rule = Rule(id="X", name="x", check="x", severity=Severity.INFO, with_=values)
    made = params_for(rule, SimpleNamespace(Params=_Params))  # type: ignore[arg-type]
    assert isinstance(made, _Params)
    return made


def test_numbers_are_what_their_text_says() -> None:
    # PyYAML alone reads 1e-6 as text, 017 as 15 and no as False.
    made = _bound(count="017", limit="1e-6", on="false", word="no", many=["1", "2"])
    assert made == _Params(17, 1e-6, False, "no", (1, 2))


@pytest.mark.parametrize(
    "values",
    [
        {"count": "1.5"},
        {"limit": "x"},
        {"limit": "nan"},
        {"on": "no"},
        {"many": "3"},
        {"cuont": "1"},
    ],
)
def test_parameters_of_the_wrong_type_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(PackError, match="rule X"):
        _bound(**values)


@given(st.binary(max_size=80) | st.text(alphabet="{}[]:,-&*!|> \nab\"'#", max_size=60))
def test_any_bytes_are_a_pack_or_a_pack_error(data: bytes | str) -> None:
    from ropeaudit._yaml import parse

    try:
        parse(data if isinstance(data, bytes) else data.encode(), "f")
    except PackError as error:
        assert "\n" not in str(error)
