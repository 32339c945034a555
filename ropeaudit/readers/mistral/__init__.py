"""``params.json``: what Meta's and Mistral's own code builds from it.

One file name, two dialects, told apart by their keys. Neither states everything: Llama 1 and 2 have
no base, Llama 3.1 to 3.3 only a switch for their scaling. What is not in the file is a default fact
and, where it matters, an observation.

Sources: meta-llama/llama-models ``models/llama3/model.py`` and ``models/llama4/args.py``,
mistralai/mistral-inference ``rope.py`` and ``args.py``, vLLM ``transformers_utils/configs/
mistral.py``. Both houses rotate neighbouring channels of the weights as published (interleaved);
converters that permute q and k make it half. Tables are the same either way.
"""

from __future__ import annotations

from ropeaudit.document import escape
from ropeaudit.errors import closest, quoted
from ropeaudit.facts import Note, Oddity, Reading
from ropeaudit.readers.interface import Resolution
from ropeaudit.readers.mistral._fields import Fields
from ropeaudit.readers.mistral._text import text
from ropeaudit.readers.mistral._towers import audio, vision

NAME = "mistral"

_KNOWN = frozenset(
    {
        "rope_theta", "use_scaled_rope", "rope_scaling_factor", "rope_high_freq_factor", "yarn",
        "qk_rope_head_dim", "nope_layer_interval", "llama_4_scaling", "rope_interleave",
    }
)  # fmt: skip


def read(reading: Reading, lengths: tuple[int, ...]) -> Resolution:
    """Schedules of a ``params.json`` (``reading.document``), radians per position.

    ``lengths`` plays no part: no law of these files depends on the length. Raises InvalidValue with
    a JSON pointer for a value from which no table can be built.
    """
    if reading.document is None:
        return Resolution()
    file = Fields(reading.document)
    kind = file.data.get("model_type")
    model_type = kind if isinstance(kind, str) else None
    if kind == "mamba":
        message = "a Mamba model: it has no attention and rotates nothing"
        return Resolution(model_type="mamba", notes=(Note("no_rotary", message),))
    if "head_dim" not in file.data and not {"dim", "n_heads"} <= set(file.data):
        message = "neither head_dim nor dim and n_heads are stated, so no table can be derived"
        return Resolution(model_type=model_type, notes=(Note("insufficient", message),))
    schedules = [*text(file), *vision(file), *audio(file)]
    _unknown_keys(file)
    return Resolution(
        model_type=model_type,
        schedules=tuple(schedules),
        observations=tuple(file.observations),
        notes=tuple(file.notes),
    )


def _unknown_keys(file: Fields) -> None:
    """Names position keys that this format does not have, such as a pasted rope_scaling."""
    for key in file.data:
        if key in _KNOWN or not any(w in key.lower() for w in ("rope", "rotary", "yarn")):
            continue
        pointer = f"/{escape(key)}"
        meant = closest(key, _KNOWN, cutoff=0.85)
        if meant is not None and meant not in file.data:
            message = f"{quoted(key)} looks like {meant}, which the file does not have"
            file.observe(Oddity.KEY_MISSPELT, message, pointer, meant=meant)
        elif file.at(pointer) is not None:
            message = f"{quoted(key)} is no setting of params.json, and no engine reads it there"
            file.observe(Oddity.KEY_IGNORED, message, pointer)
