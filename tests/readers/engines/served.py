"""Small configs for the tests of vLLM and SGLang, and their oracles as subprocesses."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from ropeaudit.document import parse
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers.engines.interface import Built, Engine, Request
from ropeaudit.readers.transformers import read
from ropeaudit.schedule.core import Schedule
from tests.oracles.engines import places

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 256,
    "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 4,
    "max_position_embeddings": 8192, "rope_theta": 500000.0,
}  # fmt: skip
LONGROPE = {
    "rope_type": "longrope", "short_factor": [1.0 + k / 64 for k in range(64)],
    "long_factor": [1.0 + k for k in range(64)], "original_max_position_embeddings": 2048,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}


def config(**changes: Any) -> dict[str, Any]:
    """A llama config of one table, 128 wide, with ``changes``; None takes a key away."""
    return {k: v for k, v in {**LLAMA, **changes}.items() if v is not None}


def build(
    engine: Engine, values: dict[str, Any], lengths: tuple[int, ...] = (), file: str = "config.json"
) -> Built:
    """What the newest release of ``engine`` builds from ``values``."""
    document = parse(json.dumps(values), file)
    reference = None
    if file == "config.json":
        try:
            reading = Reading(target=file, format="hf-config", document=document)
            reference = read(reading, lengths)
        except InvalidValue:
            reference = None
    request = Request(document=document, reference=reference, lengths=lengths)
    return engine.build(request, engine.RELEASES[0])


def only(built: Built) -> Schedule:
    """The one schedule of ``built``."""
    assert len(built.schedules) == 1
    return built.schedules[0]


def kinds(built: Built) -> set[str]:
    return {note.kind for note in built.notes}


def oracle(script: str, release: str) -> str:
    """What an oracle says about 200 random configs; skipped where its source is not here."""
    if why := places.absent(release):
        pytest.skip(why)
    command = [
        places.python(release), f"tests/oracles/engines/{script}", "--random", "200",
        "--seed", "9", "--source", str(places.source(release)),
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=places.ROOT, env=places.environment(release), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout
