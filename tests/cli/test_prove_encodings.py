"""``prove`` on learned encodings: pages, certificates, and what their check can and cannot say."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from ropeaudit.cli.app import run
from ropeaudit.verifier import verify
from ropeaudit.verifier.reading import canonical
from tests.encodings import layouts_ape, layouts_liere, layouts_rope_vit, make
from tests.report.test_schemas import _schema

Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ape = layouts_ape.sequential(layouts_ape.drawn(2, 8))
    make.write(Path("ape.safetensors"), ape)
    twins = np.zeros((1, 8, 8), dtype=np.float32)
    twins[0, [0, 2, 4, 6], [1, 3, 5, 7]] = [0.5, 0.25, 0.5, 0.125]
    make.write(Path("twins.safetensors"), layouts_ape.sequential(twins))
    dense = layouts_liere.initial(8, layers=1, heads=1)
    make.write(Path("liere.safetensors"), layouts_liere.checkpoint(dense))
    make.write(Path("mixed.safetensors"), layouts_rope_vit.deit(depth=2, heads=2))


def certificate(out: Out, *targets: str) -> tuple[str, Any]:
    run(["prove", *targets, "-f", "json"])
    text = out.readouterr().out
    return text, json.loads(text)


def test_pages_and_exit_codes(capsys: Out) -> None:
    assert run(["prove", "ape.safetensors", "mixed.safetensors"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(" PROVED  ape.safetensors  safetensors\n")
    assert "positional_encoder  ape-sequence, 2 heads of 8 channels in float32\n" in out
    assert "proved     distinct  in none of 2 groups do two planes turn alike\n" in out
    assert "2 targets · 6 claims: 6 proved" in out
    assert run(["prove", "twins.safetensors"]) == 1
    out = capsys.readouterr().out
    assert "2 planes turn alike: axis 0, layer 0, head 0: 1 frequency on 2 planes each" in out
    assert run(["prove", "liere.safetensors"]) == 3
    out = capsys.readouterr().out
    assert "refuted    relative  the generators of y and x do not commute (layer 0, head 0: " in out
    assert run(["prove", "liere.safetensors", "--require", "skew"]) == 0
    assert run(["prove", "liere.safetensors", "--require", "relative"]) == 1
    # Nothing that is required can be claimed of it.
    capsys.readouterr()
    assert run(["prove", "ape.safetensors", "--require", "geometric"]) == 3
    assert "nothing here has the required claim: geometric" in capsys.readouterr().out
    assert run(["prove", "ape.safetensors", "--require", "geometric", "-f", "markdown"]) == 3
    assert "nothing here has the required claim: geometric" in capsys.readouterr().out
    assert run(["prove", "ape.safetensors", "--require", "geometric,skew"]) == 0
    assert "nothing here has" not in capsys.readouterr().out
    capsys.readouterr()


def test_markdown(capsys: Out) -> None:
    assert run(["prove", "liere.safetensors", "-f", "markdown"]) == 3
    out = capsys.readouterr().out
    assert "**model.position\\_encoder** liere, 1 head of 64 channels in float32, axes y, x" in out
    assert "| relative | refuted | the generators of y and x do not commute" in out


def test_a_certificate_is_checked_with_its_target(capsys: Out) -> None:
    text, document = certificate(capsys, "ape.safetensors", "twins.safetensors")
    Draft202012Validator(_schema("certificate-1.json")).validate(document)
    assert [e["name"] for e in document["encodings"]] == ["positional_encoder"] * 2
    assert document["schedules"] == document["claims"] == []
    alone = verify(text)
    assert (alone.kind, alone.as_stated, alone.proved) == ("stated", 6, 0)
    assert alone.message == "digest verified; 6 claims about encodings are taken as stated"
    assert "claims about 2 encodings are taken as stated" in alone.notes[0]
    Path("c.json").write_text(text)
    capsys.readouterr()
    assert run(["prove", "--check", "c.json"]) == 3
    assert capsys.readouterr().out.startswith(
        " NOT VERIFIED  c.json\n    digest verified; 6 claims"
    )
    assert run(["prove", "--check", "c.json", "twins.safetensors", "-f", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    Draft202012Validator(_schema("verification-1.json")).validate(said)
    assert (said["result"], said["as_stated"]) == ("verified", 3)
    assert said["counts"] == {"proved": 2, "refuted": 1, "undecided": 0}
    assert run(["prove", "--check", "c.json", "ape.safetensors", "twins.safetensors"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "digest verified; 6 claims about encodings decided again: 5 proved, 1 refuted," in out
    assert "taken as stated" not in out
    assert "ape.safetensors has the same files and gives the same encodings" in out
    assert run(["prove", "--check", "c.json", "ape.safetensors"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "3 claims about encodings of other targets are taken as stated" in out
    document["encodings"][0]["parameters"][0]["sha256"] = "0" * 64
    Path("d.json").write_text(signed(document))
    assert run(["prove", "--check", "d.json", "ape.safetensors"]) == 1
    assert "its encoding positional_encoder is another one" in capsys.readouterr().out
    # Other numbers in a file of the same name and header.
    make.write(Path("ape.safetensors"), layouts_ape.sequential(layouts_ape.drawn(2, 8, seed=9)))
    assert run(["prove", "--check", "c.json", "ape.safetensors"]) == 1
    assert run(["prove", "--check", "c.json", "mixed.safetensors"]) == 1


def signed(document: Any) -> str:
    bare = {k: v for k, v in document.items() if k != "sha256"}
    return json.dumps({**bare, "sha256": sha256(canonical(bare)).hexdigest()})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), 3),
        (("heads",), 0),
        (("axes",), "p"),
        (("extra",), 1),
        (("parameters", 0, "sha256"), "00"),
        (("parameters", 0, "shape"), [-1]),
        (("claims",), []),
        (("claims", 0, "claim"), "distinct"),
        (("claims", 1, "status"), "sure"),
        (("claims", 1, "method"), ""),
        (("claims", 1, "evidence"), None),
    ],
)
def test_a_malformed_entry_is_refused(capsys: Out, path: tuple[Any, ...], value: Any) -> None:
    _, document = certificate(capsys, "ape.safetensors")
    node = document["encodings"][0]
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    assert verify(signed(document)).kind == "refused"


def test_a_claim_turned_round_is_refused_beside_the_target(capsys: Out) -> None:
    _, document = certificate(capsys, "twins.safetensors")
    claim = document["encodings"][0]["claims"][1]
    claim["status"], claim["evidence"] = "proved", {"groups": 1}
    Path("c.json").write_text(signed(document))
    assert run(["prove", "--check", "c.json"]) == 3  # as stated is not verified
    assert "taken as stated" in capsys.readouterr().out
    assert run(["prove", "--check", "c.json", "twins.safetensors"]) == 1
    assert "other claims hold: claims" in capsys.readouterr().out
    document["encodings"].append(document["encodings"][0])
    assert verify(signed(document)).kind == "refused"
