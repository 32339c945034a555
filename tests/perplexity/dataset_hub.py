"""A hub of data sets on loopback: the endpoints that the real client and ``datasets`` ask."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = r"([^/]+/[^/]+)"


class Handler(BaseHTTPRequestHandler):
    """``repos``: name -> (commit, files)."""

    repos: dict[str, tuple[str, dict[str, bytes]]]
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if match := re.fullmatch(rf"/api/datasets/{NAME}(?:/revision/([^/]+))?", path):
            self.about(match[1], match[2])
        elif match := re.fullmatch(rf"/api/datasets/{NAME}/tree/[^/]+(?:/(.*))?", path):
            self.tree(match[1], match[2] or "")
        elif match := re.fullmatch(rf"/datasets/{NAME}/resolve/([^/]+)/(.+)", path):
            self.file(match[1], match[3])
        else:
            self.answer(404, b"")

    do_HEAD = do_GET

    def about(self, repo: str, revision: str | None) -> None:
        if repo not in self.repos:
            self.answer(404, b"", {"X-Error-Code": "RepoNotFound"})
            return
        commit, files = self.repos[repo]
        if revision not in (None, "main", commit):
            self.answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
            return
        siblings = [{"rfilename": name} for name in files]
        self.json({"id": repo, "sha": commit, "siblings": siblings, "tags": []})

    def tree(self, repo: str, under: str) -> None:
        """What lies directly in a folder."""
        start = f"{under}/" if under else ""
        found = {}
        for name, data in self.repos[repo][1].items():
            if not name.startswith(start):
                continue
            first, deeper, _ = name[len(start) :].partition("/")
            kind = "directory" if deeper else "file"
            size = 0 if deeper else len(data)
            found[first] = {"type": kind, "path": start + first, "size": size, "oid": "0" * 40}
        self.json(list(found.values()))

    def file(self, repo: str, name: str) -> None:
        commit, files = self.repos[repo]
        data = files.get(name)
        if data is None:
            self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        headers = {"ETag": f'"{sha1(data).hexdigest()}"', "X-Repo-Commit": commit}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            self.answer(200, data, headers)
            return
        low, high = int(wanted[1]), min(int(wanted[2] or len(data)), len(data) - 1)
        headers["Content-Range"] = f"bytes {low}-{high}/{len(data)}"
        self.answer(206, data[low : high + 1], headers)

    def json(self, value: Any) -> None:
        self.answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def running(repos: dict[str, tuple[str, dict[str, bytes]]]) -> Iterator[str]:
    """The address of a hub that serves ``repos``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("H", (Handler,), {"repos": repos}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
