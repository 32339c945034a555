"""What llama.cpp's own converter writes for random configs, as a GGUF file. Opt-in.

Run it with a Python that has torch, gguf, safetensors and the transformers to be asked, with this
repository on PYTHONPATH and the sources of llama.cpp (``vendor/llama.cpp`` in the source package of
llama-cpp-python 0.3.36) unpacked somewhere:

    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36
    PYTHONPATH=. python tests/oracles/engines/llama_cpp.py SOURCES --random 400 --seed 1
    PYTHONPATH=. python tests/oracles/engines/llama_cpp.py SOURCES --write

The converter's classes read the config, write their keys and the factor tensors; weights and
vocabulary have no part in it, so none are made. The file is then read as any other, and its
schedules are laid beside what ``ropeaudit.readers.engines.llama_cpp`` says. ``--write`` keeps them
in ``fixtures/readers/converted.json``.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import logging
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from tests.converted import FIXTURE, RELEASES, Row, crc, disagreement, row
from tests.oracles.engines.converted_configs import drawn

COUNT, SEED = 256, 7


def converted(config: dict[str, Any], folder: Path) -> Path:
    """The file that the converter makes of ``config``; raises whatever it raises."""
    import gguf
    import torch
    from conversion import get_model_class
    from conversion.base import ModelBase, ModelType, get_model_architecture
    from safetensors.torch import save_file

    (folder / "config.json").write_text(json.dumps(config))
    # Qwen's newer classes count layers for predicting further tokens among the tensors.
    more = ["mtp.layers.0.fc"] if config["model_type"] in ("qwen3_next", "qwen3_5_text") else []
    names = ["lm_head.weight", *more]
    save_file({n: torch.zeros(1, 1) for n in names}, folder / "model.safetensors")
    values = ModelBase.load_hparams(folder, False)
    kind = get_model_class(get_model_architecture(values, ModelType.TEXT))
    target = folder / "out.gguf"
    model = kind(folder, gguf.LlamaFileType.ALL_F32, target, hparams=values)
    model = getattr(model, "impl", model)
    model.set_gguf_parameters()
    for name, tensor in model.generate_extra_tensors():
        model.gguf_writer.add_tensor(name, tensor.numpy())
    model.gguf_writer.write_header_to_file(path=target)
    model.gguf_writer.write_kv_data_to_file()
    model.gguf_writer.write_tensors_to_file()
    model.gguf_writer.close()
    return target


def measured(config: dict[str, Any]) -> tuple[Schedule, ...] | None:
    """Schedules of the converted file, None where the converter stops."""
    with tempfile.TemporaryDirectory() as folder:
        silence = io.StringIO()
        try:
            with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
                target = converted(config, Path(folder))
        except Exception:
            return None
        return resolve(str(target)).schedules


def rows(count: int, seed: int) -> Iterator[tuple[str, dict[str, Any], Row]]:
    for name, config in drawn(count, seed):
        yield name, config, row(measured(config))


def compare(release: str, count: int, seed: int) -> int:
    """The number of configs where the module says something else."""
    wrong = 0
    for name, config, found in rows(count, seed):
        said = disagreement(release, config, found)
        if said:
            wrong += 1
            print(f"{name}: {said}")
    print(f"{release}: {count - wrong} of {count} agree")
    return wrong


def write(release: str) -> None:
    old = json.loads(FIXTURE.read_text(encoding="utf-8")) if FIXTURE.exists() else {}
    old |= {"count": COUNT, "seed": SEED}
    old[release] = [[n, crc(c), found] for n, c, found in rows(COUNT, SEED)]
    lines = [f'"count": {COUNT}, "seed": {SEED}']
    for name in RELEASES:
        if name in old:
            body = ",\n".join(json.dumps(r, separators=(",", ":")) for r in old[name])
            lines.append(f'"{name}": [\n{body}\n]')
    FIXTURE.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", help="the folder vendor/llama.cpp")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    sys.path[:0] = [given.sources, f"{given.sources}/gguf-py"]
    transformers = importlib.import_module("transformers")
    transformers.logging.set_verbosity_error()
    logging.disable(logging.CRITICAL)
    release = RELEASES[0] if transformers.__version__.startswith("5.") else RELEASES[1]
    if given.write:
        write(release)
    sys.exit(compare(release, given.random, given.seed) > 0)


if __name__ == "__main__":
    main()
