"""Encodings of a certificate: their entries are well formed; their numbers are not in there.

What is claimed of them is taken as stated, which a note says, until the target is named too.
"""

from __future__ import annotations

import re
from typing import Any

from ropeaudit.verifier.reading import counted, keyed, listed, one_of, refuse, same, worded

CLAIMS = ("skew", "distinct", "relative")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEYS = ("target", "name", "kind", "axes", "heads", "head_dim", "dtype", "parameters", "claims")
_STATUS = ("proved", "refuted", "undecided")


def check(given: Any, where: str = "/encodings") -> int:
    """How many encodings there are. Raises Refused for the first that is not as it should be."""
    seen = set()
    found = listed(given, where)
    for place, value in enumerate(found):
        at = f"{where}/{place}"
        entry = keyed(value, _KEYS, at)
        name = (worded(entry["target"], f"{at}/target"), worded(entry["name"], f"{at}/name"))
        if name in seen:
            raise refuse(f"{at}/name", "another name than the encodings before", entry["name"])
        seen.add(name)
        worded(entry["kind"], f"{at}/kind")
        worded(entry["dtype"], f"{at}/dtype")
        for axis, label in enumerate(listed(entry["axes"], f"{at}/axes")):
            worded(label, f"{at}/axes/{axis}")
        counted(entry["heads"], f"{at}/heads", 1)
        counted(entry["head_dim"], f"{at}/head_dim", 1)
        for number, parameter in enumerate(listed(entry["parameters"], f"{at}/parameters")):
            _parameter(parameter, f"{at}/parameters/{number}")
        _claims(entry["claims"], f"{at}/claims")
    return len(found)


def _parameter(given: Any, where: str) -> None:
    entry = keyed(given, ("name", "shape", "sha256"), where)
    worded(entry["name"], f"{where}/name")
    for axis, size in enumerate(listed(entry["shape"], f"{where}/shape")):
        counted(size, f"{where}/shape/{axis}")
    if not isinstance(entry["sha256"], str) or not _DIGEST.fullmatch(entry["sha256"]):
        raise refuse(f"{where}/sha256", "64 hexadecimal digits", entry["sha256"])


def _claims(given: Any, where: str) -> None:
    entries = listed(given, where)
    if len(entries) != len(CLAIMS):
        raise refuse(where, f"the claims {', '.join(CLAIMS)}", len(entries))
    for place, (value, name) in enumerate(zip(entries, CLAIMS, strict=True)):
        at = f"{where}/{place}"
        entry = keyed(value, ("claim", "status", "method", "evidence"), at)
        same(name, entry["claim"], f"{at}/claim")
        one_of(entry["status"], _STATUS, f"{at}/status")
        worded(entry["method"], f"{at}/method")
        if not isinstance(entry["evidence"], dict):
            raise refuse(f"{at}/evidence", "an object", entry["evidence"])
        if entry["status"] == "undecided":
            worded(entry["evidence"].get("reason"), f"{at}/evidence/reason")
