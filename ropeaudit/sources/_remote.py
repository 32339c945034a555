"""A repository on a Hugging Face hub, seen through ``huggingface_hub``: lists, files, byte ranges.

The client finds the endpoint (``HF_ENDPOINT``), the token and the proxies. Bodies are streamed and
stopped at their limit, so a server that ignores a range request cannot send gigabytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ropeaudit.errors import (
    InvalidValue,
    MissingDependency,
    SourceError,
    TruncatedFile,
    quoted,
)
from ropeaudit.records import field, record

TIMEOUT = 20.0
"""Seconds without an answer before a request fails."""
RETRIES = 2
LOCAL_COPY = "or give a local copy"

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_CLIENT_ERRORS = ("HTTPError", "InvalidURL")


@record(frozen=False)
class Repository:
    """One revision, resolved to a commit. ``received`` counts body bytes by file name."""

    target: str
    repo: str
    commit: str
    files: frozenset[str]
    client: Any
    received: dict[str, int] = field(default_factory=dict)

    def whole(self, name: str, limit: int) -> bytes:
        """All of a file; raises InvalidValue above ``limit`` bytes."""
        with self._open(name, {}) as response:
            data = _up_to(response, limit + 1)
        self.received[name] = self.received.get(name, 0) + len(data)
        if len(data) > limit:
            raise InvalidValue(f"{self.place(name)} has more than {limit} bytes, expected a config")
        return data

    def range(self, name: str, offset: int, count: int) -> tuple[bytes, int]:
        """``count`` bytes from ``offset`` (fewer at the end of the file) and the file's size."""
        wanted = f"bytes={offset}-{offset + count - 1}"
        with self._open(name, {"Range": wanted, "Accept-Encoding": "identity"}) as response:
            match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if response.status_code != 206 or match is None or int(match[1]) != offset:
                raise SourceError(
                    f"the server sends {self.place(name)} only whole; download it and give the "
                    "local path"
                )
            data = _up_to(response, count)
        self.received[name] = self.received.get(name, 0) + len(data)
        return data, int(match[3])

    def place(self, name: str) -> str:
        return quoted(f"{self.target}/{name}", 160)

    @contextmanager
    def _open(self, name: str, headers: dict[str, str]) -> Iterator[Any]:
        client = self.client
        url = client.hf_hub_url(self.repo, name, revision=self.commit, endpoint=endpoint(client))
        with _explained(client, self.target, name):
            sent = {**client.utils.build_hf_headers(library_name="ropeaudit"), **headers}
            with client.utils.http_stream_backoff(
                "GET", url, headers=sent, timeout=TIMEOUT, max_retries=RETRIES, base_wait_time=0.5
            ) as response:
                if response.status_code >= 400:
                    response.read()
                client.utils.hf_raise_for_status(response)
                yield response


@record(frozen=False)
class RemoteFile:
    """A file of a repository as something to be read from any offset; ``path`` names it."""

    repository: Repository
    name: str
    path: str
    size: int = 0

    def read(self, offset: int, count: int) -> bytes:
        """Exactly ``count`` bytes; raises TruncatedFile where the file ends before."""
        if count <= 0:
            return b""
        data, self.size = self.repository.range(self.name, offset, count)
        if len(data) < count:
            raise TruncatedFile(
                f"{quoted(self.path)} ends {count - len(data)} bytes before its content does; "
                "the upload is incomplete",
                where=f"byte {offset + len(data)}",
            )
        return data


def connect(target: str, repo: str, revision: str | None) -> Repository:
    """Resolve ``revision`` (default: the main branch) and list the repository.

    Raises MissingDependency without the client, SourceError with one sentence for what a server,
    a network or a missing permission prevents.
    """
    client = _client()
    with _explained(client, target, None):
        api = client.HfApi(endpoint=endpoint(client), library_name="ropeaudit")
        info = api.model_info(repo, revision=revision, timeout=TIMEOUT)
        names = frozenset(s.rfilename for s in info.siblings or ())
        commit = info.sha or revision or "main"
        if not all(isinstance(text, str) for text in (commit, *names)):
            raise TypeError("its list of files holds something other than names")
    return Repository(target=target, repo=repo, commit=commit, files=names, client=client)


def endpoint(client: Any) -> str:
    """Where the hub is: ``HF_ENDPOINT`` as it is now, otherwise what the client was told."""
    return (os.environ.get("HF_ENDPOINT") or str(client.constants.ENDPOINT)).rstrip("/")


def _client() -> Any:
    try:
        client = import_module("huggingface_hub")
        for part in ("utils", "errors", "constants"):
            import_module(f"huggingface_hub.{part}")
    except ImportError:
        raise MissingDependency(
            "reading from a hub needs huggingface_hub: pip install 'ropeaudit[hub]'"
        ) from None
    return client


def _up_to(response: Any, limit: int) -> bytes:
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part[: limit - size])
        size += len(parts[-1])
        if size >= limit:
            break
    return b"".join(parts)


@contextmanager
def _explained(client: Any, target: str, name: str | None) -> Iterator[None]:
    """Turns what the client raises into one sentence with the next step."""
    errors = client.errors
    what = quoted(target if name is None else f"{target}/{name}", 160)
    try:
        yield
    except SourceError:
        raise
    except errors.OfflineModeIsEnabled:
        raise SourceError(
            f"{what} needs the network, and HF_HUB_OFFLINE forbids it; unset it, {LOCAL_COPY}"
        ) from None
    except errors.GatedRepoError:
        raise SourceError(
            f"{what} is gated; accept its terms on {endpoint(client)} and log in with "
            f"`hf auth login`, {LOCAL_COPY}"
        ) from None
    except errors.RepositoryNotFoundError:
        raise SourceError(
            f"{what} does not exist or is private; check the spelling, or log in with "
            "`hf auth login`"
        ) from None
    except errors.RevisionNotFoundError:
        raise SourceError(
            f"{what} has no such revision; name a branch, a tag or a commit behind the @"
        ) from None
    except errors.EntryNotFoundError:
        raise SourceError(
            f"{what} is listed but cannot be fetched; try again, {LOCAL_COPY}"
        ) from None
    except errors.HfHubHTTPError as error:
        raise _status(what, error) from None
    except errors.HFValidationError:
        raise SourceError(f"{what} is not a hub id, expected hf:org/name[@revision]") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise _no_hub(client, what, error) from None
    except Exception as error:
        # The transport's errors (httpx, httpx2) share no base with the client's own.
        if not any(k.__name__ in _CLIENT_ERRORS for k in type(error).__mro__):
            raise
        raise _no_hub(client, what, error) from None


def _status(what: str, error: Any) -> SourceError:
    code = getattr(getattr(error, "response", None), "status_code", 0)
    if code in (401, 403):
        return SourceError(
            f"the hub refuses {what} (HTTP {code}); renew the token with `hf auth login`, or "
            "unset HF_TOKEN"
        )
    if code == 429:
        return SourceError(f"the hub limits the rate of requests (HTTP 429) at {what}; wait")
    return SourceError(f"the hub answers HTTP {code} to {what}; try again, {LOCAL_COPY}")


def _no_hub(client: Any, what: str, error: Exception) -> SourceError:
    reason = quoted(str(error).strip().splitlines()[0] if str(error).strip() else type(error))
    return SourceError(
        f"{what} cannot be read from {quoted(endpoint(client))}: {reason}; check the network and "
        f"HF_ENDPOINT, {LOCAL_COPY}"
    )
