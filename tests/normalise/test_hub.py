"""A config on the hub is shown; nothing is there to write."""

from __future__ import annotations

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.normalise.run import normalise
from ropeaudit.normalise.write import write
from tests.sources.hub_server import Hub

pytest.importorskip("huggingface_hub")
TEXT = (
    b'{"model_type": "llama",\r\n "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e4}'
)


def test_a_repository_is_shown_and_not_written(hub: Hub) -> None:
    hub.repos["org/name"] = {"config.json": TEXT}
    found = normalise("hf:org/name")
    assert (found.status, found.file, found.target) == ("changed", None, "hf:org/name")
    assert found.before == TEXT.decode()
    assert '"rope_theta": 1e4' in found.after
    with pytest.raises(UsageError, match="no file that can be written"):
        write(found)
