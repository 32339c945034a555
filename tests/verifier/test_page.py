"""docs/certificates.md and the verifier say the same, and the verifier stands alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from ropeaudit.verifier import claims, engine, formats, laws, methods

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")


def rows(section: str) -> list[list[str]]:
    """The cells of the first table behind a heading or sentence, without its head."""
    lines = PAGE[PAGE.index(section) :].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    table = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def test_every_method_is_on_the_page() -> None:
    sentences = set(methods._METHODS.values()) | {
        *(methods.NO_FORM, methods.NOT_NARROW, methods.NO_THEOREM, methods.NO_PARAMETERS),
        *(methods.ROUNDED, methods.PSLQ, methods.SAME_FORM, methods._RECOVERY),
        *(methods.MONOTONE, methods.NO_RISE),
    }
    assert {row[2] for row in rows("### Methods")} == sentences


def test_every_law_is_on_the_page_with_its_parameters() -> None:
    described: dict[str, set[str]] = {}
    for name, parameters, _ in rows("The laws, with"):
        found = {p.strip() for p in parameters.replace("+", "").split(",")}
        extra = {"rope_theta", "rotary_dim"} if parameters.startswith("+") else set()
        described[name.strip("`")] = found | extra
    assert described == {law: set(names) for law, names in laws.PARAMETERS.items()}


def test_recovery_knows_the_laws_of_the_page() -> None:
    described = {name.strip("`"): given for name, given in rows("### Recovery")}
    assert set(described) == set(engine.ENGINES)
    for name, (_, keys) in engine.ENGINES.items():
        told = described[name].partition("(")[0]
        assert {k.strip() for k in told.split(",")} - {"none"} == set(keys)


def test_claims_stand_in_the_order_of_the_page() -> None:
    text = PAGE[PAGE.index("for each schedule they are") :]
    places = [text.index(f"`{name}`") for name in (*claims.CLAIMS, claims.CANDIDATES)]
    assert places == sorted(places)
    assert all(f"`{dtype}`" in PAGE for dtype in formats.FORMATS)


def test_the_verifier_imports_nothing_but_itself_and_the_standard_library() -> None:
    folder = ROOT / "ropeaudit" / "verifier"
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                modules = [node.module or ""]
            for module in modules:
                own = module.startswith("ropeaudit.verifier")
                assert own or module.split(".")[0] in sys.stdlib_module_names, (path, module)
