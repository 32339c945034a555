"""Data sets: the real client and ``datasets``, against a hub on loopback and against folders.

The hub's address is read when the client is imported, so each group of texts is loaded by a Python
of its own.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.perplexity.corpora import hf_dataset
from ropeaudit.perplexity.corpora._place import PRESETS
from tests.perplexity.dataset_hub import running

pytestmark = pytest.mark.slow

COMMIT = "0123456789abcdef0123456789abcdef01234567"
README = b"""---
configs:
- config_name: one
  data_files:
  - {split: train, path: one/train.jsonl}
  - {split: test, path: one/test.jsonl}
- config_name: two
  data_files:
  - {split: dev, path: one/train.jsonl}
  - {split: extra, path: one/test.jsonl}
- config_name: body
  data_files:
  - {split: train, path: body.jsonl}
---
"""
SCRIPT = """
import json, sys
from ropeaudit.errors import RopeAuditError
from ropeaudit.perplexity import corpora
for name in json.loads(sys.argv[1]):
    try:
        found = corpora.load(name, offline=sys.argv[2] == "offline")
        print(json.dumps([found.name, found.text, found.source]))
    except RopeAuditError as error:
        print(json.dumps([name, error.kind, str(error)]))
"""


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


PLAIN = {
    "README.md": README,
    "one/test.jsonl": lines(
        *({"text": t, "title": "t", "year": n} for n, t in enumerate(["ä", None, "", "b\n"]))
    ),
    "one/train.jsonl": lines({"text": "train", "title": "t", "year": 1}),
    "body.jsonl": lines({"body": "only", "year": 1}, {"body": "more", "year": 2}),
}


def parquet(*texts: str) -> bytes:
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": list(texts)}), out)
    return out.getvalue()


def repos() -> dict[str, tuple[str, dict[str, bytes]]]:
    """The real names of the presets' files, and one more repository."""
    files = {
        "wikitext-2": {
            "wikitext-2-raw-v1/test-00000-of-00001.parquet": parquet("", " = A = \n", " of a \n"),
            "wikitext-2-raw-v1/train-00000-of-00001.parquet": parquet("not this"),
        },
        "c4": {
            f"en/c4-validation.0000{n}-of-00008.json.gz": gzip.compress(lines({"text": f"c4 {n}"}))
            for n in (1, 0)
        }
        | {"en/c4-train.00000-of-01024.json.gz": b"not this"},
        "pg19": {"data/test-00000-of-00001-29a571947c0b5ccc.parquet": parquet("a book", "two")},
    }
    found = {PRESETS[n].repo: (str(PRESETS[n].revision), files[n]) for n in files}
    return found | {"org/plain": (COMMIT, PLAIN)}


def loaded(
    names: Sequence[str], home: Path, *, endpoint: str = "http://127.0.0.1:9", mode: str = "online"
) -> list[list[str]]:
    pytest.importorskip("datasets")
    env = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    env |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(list(names)), mode],
        env=env, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_presets_and_names_are_streamed_from_a_hub(tmp_path: Path) -> None:
    names = ["wikitext-2", "c4", "pg19", "hf:org/plain@main:one", "hf:org/plain:one::title"]
    with running(repos()) as endpoint:
        found = loaded(names, tmp_path, endpoint=endpoint)
    plain = f"hf:org/plain@{COMMIT}, config one, split test, column"
    assert [row[:2] for row in found] == [
        ["wikitext-2", "\n\n = A = \n\n\n of a \n"],
        ["c4", "c4 0\n\nc4 1"],
        ["pg19", "a book\n\ntwo"],
        ["hf:org/plain@main:one", "ä\n\n\n\nb\n"],
        ["hf:org/plain:one::title", "t\n\nt\n\nt\n\nt"],
    ]
    assert [row[2] for row in found[:3]] == [
        f"hf:{place.repo}@{place.revision}, {place.files}, split {place.split}, column text: "
        f"{rows} rows"
        for place, rows in zip(map(PRESETS.__getitem__, names[:3]), (3, 2, 2), strict=True)
    ]
    assert [row[2] for row in found[3:]] == [f"{plain} text: 3 rows", f"{plain} title: 4 rows"]


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    said = {
        "hf:org/nothing": ("unreadable", "hf:org/nothing does not exist or is private"),
        "hf:org/plain@v9": ("unreadable", "hf:org/plain has no revision v9; name a branch"),
        "hf:org/plain": ("usage", "['one', 'two', 'body']"),
        "hf:org/plain:three": ("usage", "'three' not found. Available: ['one', 'two', 'body']"),
        "hf:org/plain:one:tset": ("usage", "no split tset; did you mean test?; there are"),
        "hf:org/plain:two": ("usage", "has the splits dev, extra; name one: hf:org/name"),
        "hf:org/plain:one:test:txt": ("usage", "no column txt; did you mean text?"),
        "hf:org/plain:one:test:year": ("usage", "column year of hf:org/plain holds 0 in row 0"),
    }
    with running(repos()) as endpoint:
        found = loaded(list(said), tmp_path, endpoint=endpoint)
    for (kind, part), row in zip(said.values(), found, strict=True):
        assert row[1] == kind
        assert part in row[2]
        assert "\n" not in row[2]
    unreached = loaded(["hf:org/plain:one"], tmp_path)
    assert unreached[0][1] == "unreadable"
    assert "try again, or download it and give hf:./folder" in unreached[0][2]


def test_offline_reads_the_cache_and_says_what_to_fetch(tmp_path: Path) -> None:
    """The cache as the client lays it out, with a branch and with a pinned commit."""
    for repo, (commit, files) in repos().items():
        if repo == "emozilla/pg19":
            continue
        place = tmp_path / "hub" / f"datasets--{repo.replace('/', '--')}"
        for name, data in files.items():
            if repo == "allenai/c4" and "validation" in name:
                continue
            path = place / "snapshots" / commit / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (place / "refs").mkdir()
        (place / "refs" / "main").write_text(commit)
    names = ["wikitext-2", "hf:org/plain:one", "c4", "pg19"]
    wikitext, plain, c4, pg19 = loaded(names, tmp_path, mode="offline")
    assert wikitext[1] == "\n\n = A = \n\n\n of a \n"
    assert str(PRESETS["wikitext-2"].revision) in wikitext[2]
    assert plain[1:] == [
        "ä\n\n\n\nb\n",
        f"hf:org/plain@{COMMIT}, config one, split test, column text: 3 rows",
    ]
    assert "is on this machine only in part" in c4[2]
    assert "is not on this machine and the network is not to be used" in pg19[2]
    command = f"--repo-type dataset emozilla/pg19 --revision {PRESETS['pg19'].revision} --include"
    assert command in pg19[2]


def test_a_folder_is_read_like_a_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    for name, data in PLAIN.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    monkeypatch.setattr(hf_dataset, "ENOUGH", 1)
    found = hf_dataset.load(f"hf:{tmp_path}:body", offline=True)
    assert found.text == "only"
    assert found.source.endswith("column body: 1 rows, the first with 1 characters")
