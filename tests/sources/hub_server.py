"""A hub on loopback: the few endpoints that the real client asks, and a count of what it got."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """``repos`` maps ``org/name`` to files; the rest makes the server misbehave."""

    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    ranges: bool = True
    redirect: bool = False
    status: int | None = None
    fail_files: int = 0
    """How many requests for files are answered with 503 before the server recovers."""
    body: bytes | None = None
    url: str = ""
    served: list[tuple[str, int, int]] = field(default_factory=list)
    """Path, first byte and number of bytes of every body that was sent."""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def sent(self, name: str) -> list[tuple[int, int]]:
        return [(a, n) for path, a, n in self.served if path.endswith(f"/{name}")]


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """A client that stops reading early, as the reader of headers does, is no fault of ours."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"
    API = re.compile(r"/api/models/([^/]+/[^/]+)(?:/revision/([^/]+))?$")
    FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)$")
    CDN = re.compile(r"/cdn/([^/]+/[^/]+)/(.+)$")

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        hub.requests.append((path, dict(self.headers)))
        if hub.status is not None:
            self.answer(hub.status, b"no")
        elif hub.body is not None:
            self.answer(200, hub.body)
        elif match := self.API.match(path):
            self.info(match[1], match[2])
        elif match := self.FILE.match(path):
            self.resolve(match[1], match[2], match[3])
        elif match := self.CDN.match(path):
            self.content(hub.repos[match[1]][match[2]])
        else:
            self.answer(404, b"")

    def info(self, repo: str, revision: str | None) -> None:
        files = self.hub.repos.get(repo)
        if files is None:
            self.answer(401, b"", {"X-Error-Code": "RepoNotFound"})
        elif revision not in (None, "main", "v1", COMMIT):
            self.answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
        else:
            siblings = [{"rfilename": name} for name in files]
            found = {"id": repo, "modelId": repo, "sha": COMMIT, "siblings": siblings, "tags": []}
            self.answer(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    def resolve(self, repo: str, revision: str, name: str) -> None:
        content = self.hub.repos.get(repo, {}).get(name)
        if self.hub.fail_files > 0:
            self.hub.fail_files -= 1
            self.answer(503, b"busy")
        elif repo in self.hub.gated:
            self.answer(403, b"", {"X-Error-Code": "GatedRepo"})
        elif content is None or revision != COMMIT:
            self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        elif self.hub.redirect and name.endswith(".safetensors"):
            where = f"{self.hub.url}/cdn/{repo}/{name}"
            self.answer(302, b"", {"Location": where, "X-Linked-Size": str(len(content))})
        else:
            self.content(content)

    def content(self, content: bytes) -> None:
        headers = {
            "ETag": f'"{hashlib.sha1(content).hexdigest()}"',
            "X-Repo-Commit": COMMIT,
            "Accept-Ranges": "bytes",
        }
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted is None or not self.hub.ranges:
            self.answer(200, content, headers)
            return
        first, last = int(wanted[1]), min(int(wanted[2]), len(content) - 1)
        if first >= len(content):
            self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self.answer(206, content[first : last + 1], headers, first)

    def answer(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, first: int = 0
    ) -> None:
        self.hub.served.append((unquote(urlsplit(self.path).path), first, len(body)))
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
