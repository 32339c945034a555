"""CPython's own language reference, as ``help()`` shows it: English text on nearly every machine.

The topics of ``pydoc_data.topics`` in the order of their names, with an empty line between two. It
differs a little from one CPython to the next, so figures name the version and the digest.
"""

from __future__ import annotations

import platform

from ropeaudit.errors import SourceError
from ropeaudit.perplexity.corpora.interface import corpus
from ropeaudit.perplexity.records import Corpus

_HELD_OUT = "pydoc_topics:held-out"

NAMES = {
    "pydoc_topics": "CPython's language reference, about 465 kB of English (the default)",
    _HELD_OUT: "its last tenth, which the model of --demo was not trained on",
}


def claims(reference: str) -> bool:
    return False


def load(reference: str, *, offline: bool) -> Corpus:
    """The reference or its last tenth; raises SourceError on a Python without it."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise SourceError(
            "this Python has no pydoc_data.topics, the text that is read by default; name a file "
            "or a folder of text with --corpus"
        ) from None
    text = "\n\n".join(topics[name] for name in sorted(topics))
    source = f"pydoc_data.topics of CPython {platform.python_version()}"
    if reference == _HELD_OUT:
        return corpus(reference, last_tenth(text), f"{source}, last tenth")
    return corpus(reference, text, source)


def last_tenth(text: str) -> str:
    """What follows nine tenths of the text's bytes, from the next whole character on."""
    data = text.encode()
    return data[len(data) - len(data) // 10 :].decode("utf-8", "ignore")
