"""A verified certificate is true of its own schedules; with a target, of the target's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.certify import certify, check
from ropeaudit.errors import SourceError, UsageError
from ropeaudit.schedule.float32 import f32, ordinal
from tests.verifier.certificates import config, hashed, plain

Json = Any
LONG = ("dynamic", {"contexts": (8192,)})


def target(folder: Path, name: str = "default", **changes: Json) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(config(name) | changes))
    return str(path)


def document(path: str, **options: Json) -> dict[str, Json]:
    return plain(certify([path], **options).document)


def refused(forged: dict[str, Json], path: str, **options: Json) -> str:
    """Why a certificate that verifies by itself is not one of ``path``."""
    text = hashed(forged)
    assert check(text, []).kind == "verified", check(text, [])
    result = check(text, [path], **options)
    assert result.kind == "refused"
    return result.message


def swapped(own: dict[str, Json], other: dict[str, Json]) -> dict[str, Json]:
    """The digests of one certificate over the schedules and claims of another."""
    name = own["schedules"][0]["target"]
    body = {key: other[key] for key in ("schedules", "claims")}
    return own | json.loads(json.dumps(body).replace(other["inputs"][0]["target"], name))


@pytest.mark.parametrize("name", ["default", "yarn", "yarn_logarithms", "llama3", "longrope"])
def test_a_certificate_is_about_its_target(name: str, tmp_path: Path) -> None:
    path = target(tmp_path, name)
    alone = check(json.dumps(document(path)), [])
    assert "form allows 8 ulp" in alone.notes
    result = check(json.dumps(document(path)), [path])
    assert (result.kind, result.notes) == ("verified", ())
    assert "same files and gives the same schedules" in result.message
    assert (result.proved, result.refuted) == (alone.proved, alone.refuted)


@pytest.mark.parametrize(
    ("other", "changes", "said"),
    [
        ("default", {"rope_theta": 500.0}, "its rope_theta is 500, and the target's 10000"),
        ("linear", {}, "its law is linear, and the target's default"),
        ("default", {"head_dim": 16}, "its rotary_dim is 16, and the target's 8"),
        ("longrope", {}, "it has a schedule text/short, which the target does not give"),
    ],
)
def test_a_true_certificate_of_another_schedule_is_refused(
    other: str, changes: Json, said: str, tmp_path: Path
) -> None:
    """With the digests of the target's own files over it."""
    path = target(tmp_path)
    (tmp_path / "other").mkdir()
    theirs = document(target(tmp_path / "other", other, **changes))
    assert said in refused(swapped(document(path), theirs), path)


def hide_form(own: dict[str, Json]) -> dict[str, Json]:
    """No form, and so nothing refuted: every claim about it is undecided."""
    why = "Nobody knows."
    for schedule in own["schedules"]:
        schedule.update(form=None, why_not=why)
    for claim in own["claims"]:
        if claim["claim"] in ("form", "distinct", "relations", "geometric", "aliasing"):
            claim.update(
                status="undecided",
                method="Nothing states a closed form.",
                evidence={"reason": why},
            )
    return own


def test_a_form_that_is_hidden_is_missed(tmp_path: Path) -> None:
    path = target(tmp_path, "base_1")
    hidden = hide_form(document(path))
    assert "schedules without a closed form: 1 of 1" in check(hashed(hidden), []).notes
    said = refused(hidden, path)
    assert "the target's has a closed form and it has none" in said


def test_channels_dealt_to_coordinates_hide_no_duplicates(tmp_path: Path) -> None:
    """By itself a certificate is believed about coordinates; beside its model it is not."""
    path = target(tmp_path, "base_1")
    own = document(path)
    assert {c["status"] for c in own["claims"] if c["claim"] == "distinct"} == {"refuted"}
    own["schedules"][0]["groups"] = [[k] for k in range(4)]
    one = {"coefficient": "1", "factors": []}
    changed: dict[str, Json] = {"distinct": {"channels": 4}, "aliasing": {"channels": 4}}
    for claim in own["claims"]:
        name = claim["claim"]
        if name.startswith("distinct:"):
            claim.update(status="proved", evidence={"max_cluster": 1, "clusters": []})
        elif name in changed:
            claim.update(status="proved", evidence=changed[name])
        elif name == "geometric":
            claim.update(evidence={"ratio": [None] * 4})
        if name == "distinct":
            claim["method"] = (
                "Strict monotonicity: taken by size, from each channel to the next a coefficient "
                "or a power rises and none falls."
            )
    assert one == own["schedules"][0]["form"]["terms"][0]
    notes = check(hashed(own), []).notes
    assert "schedules whose channels are dealt to several coordinates: 1 of 1" in notes
    assert "its coordinates (groups) are not the target's" in refused(own, path)


def test_schedules_left_out_are_missed(tmp_path: Path) -> None:
    path = target(tmp_path, "longrope")
    own = document(path)
    for key, name in (("schedules", "name"), ("claims", "schedule")):
        own[key] = [entry for entry in own[key] if entry[name] == "text/short"]
    assert "it lacks the schedule text/long, which the target gives" in refused(own, path)
    own["schedules"], own["claims"] = [], []
    assert "it lacks the schedule text/short" in refused(own, path)
    notes = check(hashed(own), []).notes
    assert notes[0] == "the certificate is about no schedule and claims nothing"


def test_a_place_that_does_not_hold_the_number_is_no_source(tmp_path: Path) -> None:
    path = target(tmp_path)
    own = document(path)
    own["schedules"][0]["form"]["sources"]["rope_theta"]["pointer"] = "/hidden_size"
    assert "its parameters from other places" in refused(own, path)


def test_a_wider_tolerance_is_named_and_is_the_certificates_own(tmp_path: Path) -> None:
    path = target(tmp_path)
    text = json.dumps(document(path, ulp=1000))
    assert "form allows 1000 ulp" in check(text, []).notes
    assert check(text, [path]).kind == "verified"


def test_libraries_may_differ_by_a_step_and_no_more(tmp_path: Path) -> None:
    """Not in a stored table, which is what the file holds."""
    path = target(tmp_path)
    own = document(path)
    held = float.fromhex("0x1.99999ap-4")
    assert f32(0.1) == held
    for steps, kind in ((1, "verified"), (2, "refused")):
        value = held + steps * 2.0**-27
        assert ordinal(value) - ordinal(held) == steps
        table = [*own["schedules"][0]["table"]]
        assert table[1] == "13421773/134217728"
        text = certify_with(own, [table[0], str(int(value * 2**27)) + "/134217728", *table[2:]])
        assert check(text, [path]).kind == kind, steps


def certify_with(own: dict[str, Json], table: list[str]) -> str:
    """A true certificate of ``own``'s schedule around another table."""
    from fractions import Fraction

    from ropeaudit.proofs._claims import claims, selected
    from ropeaudit.proofs.certificate import Part, assemble
    from ropeaudit.proofs.stated import exhibits
    from ropeaudit.records import replace
    from ropeaudit.resolve import resolve

    name = own["schedules"][0]["target"]
    subject = resolve(name, offline=True)
    (exhibit,) = exhibits(subject)
    values = tuple(float(Fraction(v)) for v in table)
    exhibit = replace(exhibit, schedule=replace(exhibit.schedule, inv_freq=values), memo={})
    made = tuple(replace(c, target=name) for c in claims(exhibit, selected()))
    part = Part(subject=subject, exhibits=(exhibit,), claims=made)
    document = plain(assemble([part], own["inputs"]).document)
    document["schedules"][0]["form"]["sources"] = own["schedules"][0]["form"]["sources"]
    return hashed(document)


def test_what_the_engine_was_told_is_told_again(tmp_path: Path) -> None:
    name, options = LONG
    path = target(tmp_path, name)
    text = json.dumps(document(path, **options))
    result = check(text, [path])
    assert result.kind == "refused"
    assert "compared with the same ones" in result.message
    assert check(text, [path], **options).kind == "verified"
    changed = {"overrides": ("rope_theta=500",)}
    text = json.dumps(document(path, **changed))
    assert check(text, [path]).kind == "refused"
    assert check(text, [path], **changed).kind == "verified"


def test_of_targets_whose_files_are_named_alike_the_one_with_these_files(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        paths.append(target(tmp_path / name, rope_theta={"a": 100, "b": 200, "c": 200}[name]))
    text = json.dumps(plain(certify(paths[:2]).document))
    assert check(text, [paths[2]]).kind == "verified"
    target(tmp_path / "c", rope_theta=300)
    assert "has sha256" in check(text, [paths[2]]).message


def test_targets_that_cannot_be_compared(tmp_path: Path) -> None:
    path = target(tmp_path)
    text = json.dumps(document(path))
    with pytest.raises(SourceError, match="does not exist"):
        check(text, [str(tmp_path / "nothing.json")])
    with pytest.raises(UsageError):
        check(text, [path], overrides=("rope_theta",))
    assert check("{}", [path]).kind == "unreadable"
    alien = tmp_path / "bert.json"
    alien.write_text('{"model_type": "bert", "hidden_size": 64, "num_attention_heads": 4}')
    assert check(text, [str(alien)]).kind == "refused"
