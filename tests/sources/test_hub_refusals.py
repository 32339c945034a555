"""What a hub refuses, breaks or does not hold: one sentence with what to do."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

import pytest

from ropeaudit.errors import (
    InvalidValue,
    MissingDependency,
    SourceError,
    TruncatedFile,
    UnrecognisedFormat,
)
from ropeaudit.sources import hub as source
from tests.sources.hub_models import CONFIG, SMALL, read
from tests.sources.hub_server import Hub

client = pytest.importorskip("huggingface_hub")


@pytest.mark.parametrize(
    ("files", "match"),
    [
        ({"README.md": b""}, "neither config.json, params.json nor safetensors"),
        ({"model-Q4.gguf": b"GGUF"}, "holds only GGUF files"),
    ],
)
def test_repositories_without_anything_to_read(hub: Hub, files: Any, match: str) -> None:
    hub.repos["org/name"] = files
    with pytest.raises(UnrecognisedFormat, match=match):
        read("hf:org/name")
    assert len(hub.served) == 1


@pytest.mark.parametrize(
    ("content", "kind", "match"),
    [
        (SMALL[:100], TruncatedFile, "its header alone needs"),
        (SMALL[:5], TruncatedFile, "3 bytes before its content does"),
        (b"", SourceError, "model.safetensors"),
        (struct.pack("<Q", 1 << 60) + b"{", InvalidValue, "claims a header of"),
        (SMALL[:-4], TruncatedFile, "model.safetensors"),
    ],
    ids=["header", "length", "empty", "absurd", "data"],
)
def test_broken_uploads(hub: Hub, content: bytes, kind: type[SourceError], match: str) -> None:
    hub.repos["org/name"] = {"model.safetensors": content}
    with pytest.raises(kind, match=match) as caught:
        read("hf:org/name")
    assert "\n" not in str(caught.value)


def test_a_broken_config_is_placed(hub: Hub) -> None:
    hub.repos["org/name"] = {"config.json": b'{"rope_theta": '}
    with pytest.raises(TruncatedFile, match=r"hf:org/name/config\.json"):
        read("hf:org/name")


def test_an_oversized_config_is_not_swallowed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_CONFIG_BYTES", 1000)
    hub.repos["org/name"] = {"config.json": b" " * 5_000}
    with pytest.raises(InvalidValue, match="more than 1000 bytes"):
        read("hf:org/name")


@pytest.mark.parametrize(
    ("target", "match"),
    [
        ("hf:no/such", "does not exist or is private; check the spelling"),
        ("hf:org/name@nowhere", "has no such revision"),
        ("hf:org/gated", "is gated; accept its terms"),
    ],
)
def test_refusals_say_what_to_do(hub: Hub, target: str, match: str) -> None:
    hub.repos["org/name"] = hub.repos["org/gated"] = {"config.json": b"{}"}
    hub.gated.add("org/gated")
    with pytest.raises(SourceError, match=match) as caught:
        read(target)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "match"), [(403, "HTTP 403"), (404, "HTTP 404"), (500, "HTTP 500")]
)
def test_other_answers_are_named(hub: Hub, status: int, match: str) -> None:
    hub.status = status
    with pytest.raises(SourceError, match=match):
        read("hf:org/name")


def test_a_busy_server_is_asked_again(hub: Hub) -> None:
    hub.repos["org/name"] = {"config.json": json.dumps(CONFIG).encode()}
    hub.fail_files = 1
    assert read("hf:org/name").document.data == CONFIG
    hub.fail_files = 100
    with pytest.raises(SourceError, match="HTTP 503"):
        read("hf:org/name")
    assert hub.fail_files >= 96


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html>",
        b"[1, 2]",
        b'{"siblings": 3}',
        b'{"id": "org/name", "siblings": [{"rfilename": 5}]}',
        b'{"id": "org/name", "sha": 5}',
    ],
)
def test_a_server_that_is_no_hub(hub: Hub, body: bytes) -> None:
    hub.body = body
    with pytest.raises(SourceError, match="check the network and HF_ENDPOINT"):
        read("hf:org/name")


def test_a_server_without_ranges_cannot_send_everything(hub: Hub) -> None:
    hub.ranges = False
    hub.repos["org/name"] = {"model.safetensors": SMALL}
    with pytest.raises(SourceError, match="only whole; download it"):
        read("hf:org/name")


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(SourceError, match="check the network and HF_ENDPOINT") as caught:
        read("hf:org/name")
    client.close_session()
    assert "\n" not in str(caught.value)


def test_offline_forbids_every_request(hub: Hub) -> None:
    with pytest.raises(SourceError, match="--offline forbids it"):
        source.read("hf:org/name", offline=True)
    assert hub.requests == []


@pytest.mark.parametrize(
    "target", ["hf:", "hf:name", "hf:a/b/c", "hf:a/b@", "hf:a/b@x y", "hf:a/\x1b[31m", "hf:a//b"]
)
def test_malformed_ids(target: str) -> None:
    with pytest.raises(SourceError, match="is not a hub id") as caught:
        read(target)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("target", ["hf:-a/b", "hf:a/b--c", "hf:a/b.git"])
def test_ids_that_only_the_client_refuses(hub: Hub, target: str) -> None:
    with pytest.raises(SourceError):
        read(target)


def test_without_the_client_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, *args: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("ropeaudit.sources._remote.import_module", absent)
    with pytest.raises(MissingDependency, match=r"pip install 'ropeaudit\[hub\]'"):
        read("hf:org/name")
