"""Where the rows of a data set come from: how it is spelled, and what is known by name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ropeaudit.errors import UsageError, quoted
from ropeaudit.records import record, replace

PREFIX = "hf:"
FORM = "hf:org/name[@revision][:config][:split][:column]"
_REPO = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


@record(kw_only=True)
class Place:
    """``files``, a glob in the repository, stands in place of a config. ``repo`` is a folder where
    ``local`` is set. What is None is looked for."""

    repo: str
    local: bool = False
    revision: str | None = None
    config: str | None = None
    files: str | None = None
    split: str | None = None
    column: str | None = None
    about: str = ""

    def __str__(self) -> str:
        return PREFIX + quoted(self.repo)


PRESETS: Mapping[str, Place] = {
    "wikitext-2": Place(
        repo="Salesforce/wikitext",
        revision="b08601e04326c79dfdd32d625aee71d232d685c3",
        files="wikitext-2-raw-v1/test-*.parquet",
        split="test",
        column="text",
        about="WikiText-2, raw, test split (Merity et al. 2016, arXiv:1609.07843)",
    ),
    "c4": Place(
        repo="allenai/c4",
        revision="1588ec454efa1a09f29cd18ddd04fe05fc8653a2",
        files="en/c4-validation.*.json.gz",
        split="validation",
        column="text",
        about="C4, English, validation split (Raffel et al. 2020, arXiv:1910.10683)",
    ),
    "pg19": Place(
        repo="emozilla/pg19",
        revision="c021754c8e01c5b1cc83a1f549c1f97fbbb756b8",
        files="data/test-*.parquet",
        split="test",
        column="text",
        about="PG-19, books, test split (Rae et al. 2019, arXiv:1911.05507)",
    ),
}
"""Each pinned to a commit, and to the few files that hold the split."""


def parse(reference: str) -> Place:
    """The place that ``hf:...`` spells; raises UsageError for what is none."""
    body = reference.removeprefix(PREFIX)
    head, *rest = body.split(":")
    if len(rest) > 3:
        raise UsageError(f"{quoted(reference)} has more parts than {FORM}; leave some out")
    config, split, column = (*(part or None for part in rest), None, None, None)[:3]
    if head[:1] in (".", "/", "~"):
        return Place(repo=head, local=True, config=config, split=split, column=column)
    repo, at, revision = head.partition("@")
    if not _REPO.fullmatch(repo) or (at and not revision):
        raise UsageError(f"{quoted(reference)} is no data set; expected {FORM}, or hf:./folder")
    found = Place(repo=repo, revision=revision or None)
    return replace(found, config=config, split=split, column=column)
