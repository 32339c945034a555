"""A tiny random model in a folder, with a tokenizer of one character a token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ropeaudit.perplexity.records import Corpus
from tests.perplexity import tiny

tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

LETTERS = [chr(n) for n in range(33, 33 + tiny.VOCABULARY - 4)]


def tokenizer() -> Any:
    names = ["<pad>", "<s>", "</s>", " ", *LETTERS]
    vocabulary = {name: n for n, name in enumerate(names)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=" "))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("."), "isolated")
    made.decoder = tokenizers.decoders.Fuse()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


def saved(folder: Path, model: Any | None = None) -> str:
    """The path of a folder that transformers loads; a Llama unless ``model`` is given."""
    (model or tiny.llama()).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return str(folder)


def corpus(count: int) -> Corpus:
    """A text of ``count`` tokens."""
    from hashlib import sha256

    names = ["", "", "", " ", *LETTERS]
    text = "".join(names[n] for n in tiny.text(count))
    return Corpus(
        name="letters", text=text, sha256=sha256(text.encode()).hexdigest(), source="made up"
    )
