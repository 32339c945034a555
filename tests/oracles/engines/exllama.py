"""Rotary tables of ExLlamaV3 and ExLlamaV2 themselves, on a CPU. Opt-in, needs torch.

Their compiled extension, and packages that only a GPU can use, are replaced by names that do
nothing; configs, architectures and rope tables are plain Python and run as they are.

    pip download exllamav3==1.6.5 --no-deps && unzip exllamav3-1.6.5*.whl -d exllamav3-1.6
    pip download exllamav2==0.3.2 --no-deps && unzip exllamav2-0.3.2*.whl -d exllamav2-0.3
    PYTHONPATH=. python tests/oracles/engines/exllama.py exllamav3-1.6 --config config.json
    PYTHONPATH=. python tests/oracles/engines/exllama.py exllamav2-0.3 --random 400 --seed 1

With ``--config`` it prints what every layer of the model does, as JSON; with ``--random`` it draws
configs over the architectures that ``ropeaudit`` covers and compares.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.oracles.engines.random_rows import row, write
from tests.oracles.engines.stubs import Nothing, load
from tests.oracles.engines.tables import by_layer, differences

ANY: dict[type, Any] = {dict: {}, int: 64, float: 0.5, list: [1], str: "gelu", bool: False}
IMAGES = (
    "do_convert_rgb", "do_rescale", "do_normalize", "image_mean", "image_std", "resample",
    "rescale_factor", "max_soft_tokens", "patch_size", "pooling_kernel_size",
)  # fmt: skip
PREPROCESSOR = json.dumps(
    {
        "image_processor_type": "Gemma3ImageProcessor",
        "image_processor": dict.fromkeys(IMAGES, 1),
    }
)


def three(folder: Path) -> Any:
    """A function from a config to the layers of its ExLlamaV3 model."""
    *_, found, rope = load(
        "exllamav3",
        folder,
        "exllamav3_ext",
        ["model.config", "model.model", "architecture.architectures", "util.rope"],
    )

    _blind(found)

    def layers(config: dict[str, Any]) -> list[dict[str, Any] | None]:
        with tempfile.TemporaryDirectory() as place:
            Path(place, "config.json").write_text(json.dumps(config), encoding="utf-8")
            for name in ("preprocessor_config.json", "processor_config.json"):
                Path(place, name).write_text(PREPROCESSOR, encoding="utf-8")
            kinds = found.get_architectures()
            names = config["architectures"]
            assert len(names) == 1, "several architectures"
            assert names[0] in kinds, "unknown architecture"
            kind = kinds[names[0]]
            made = kind["config_class"](place)
            model = made.model_classes["text"](made)
        return [_three_layer(block, rope) for block in model.modules if hasattr(block, "attn")]

    return layers


def _lenient(given: Any, kind: Any, keys: Any, *rest: Any, **more: Any) -> Any:
    """``read_dict`` for vision towers and preprocessors: what is missing is made up."""
    whole = sys.modules["exllamav3.util.file"].read_dict  # type: ignore[attr-defined]
    try:
        return whole(given, kind, keys, *rest, **more)
    except ValueError:
        return ANY[kind]


def _blind(architectures: Any) -> None:
    """Vision towers are not read: their settings are many, and none bears on the text model."""
    for module in [m for k, m in sys.modules.items() if k.startswith("exllamav3.architecture.")]:
        for name in vars(module).copy():
            if name.startswith("read_") and ("vision" in name or name.endswith("_pp_config")):
                setattr(module, name, lambda *args, **kwargs: Nothing())
        if "read_dict" in vars(module):
            module.read_dict = _lenient  # type: ignore[attr-defined]
    base = sys.modules["exllamav3.model.config"].Config  # type: ignore[attr-defined]
    whole = base.read_cfg

    def read_cfg(self: Any, kind: Any, keys: Any, *default: Any) -> Any:
        named = [keys] if isinstance(keys, str) else keys
        if any(key.startswith("vision") for key in named) and kind in ANY:
            return ANY[kind]
        return whole(self, kind, keys, *default)

    base.read_cfg = read_cfg
    for entry in architectures.get_architectures().values():
        if hasattr(entry["config_class"], "_read_vision_config"):
            entry["config_class"]._read_vision_config = lambda self: setattr(
                self, "new_key_style", False
            )


def _three_layer(block: Any, rope: Any) -> dict[str, Any] | None:
    settings = getattr(block.attn, "rope_settings", None)
    if settings is None:
        return None
    made = rope.RoPE("cpu", settings)
    style = {1: "interleaved", 2: "half"}[int(settings.rope_style)]
    table = {
        "pairing": style,
        "inv_freq": made.inv_freq.float().tolist(),
        "attention_scaling": float(made.attn_factor),
    }
    nope = getattr(block.attn, "qk_nope_head_dim", None)
    if nope:
        width = nope + block.attn.qk_rope_head_dim
        table["softmax_scale"] = block.attn.sm_scale * math.sqrt(width)
    return table


def two(folder: Path) -> Any:
    """A function from a config to the layers of its ExLlamaV2 model (``model.py`` 105-127)."""
    config_module, rope = load("exllamav2", folder, "exllamav2_ext", ["config", "rope"])

    def layers(config: dict[str, Any]) -> list[dict[str, Any] | None]:
        with tempfile.TemporaryDirectory() as place:
            Path(place, "config.json").write_text(json.dumps(config), encoding="utf-8")
            made = config_module.ExLlamaV2Config()
            made.model_dir = place
            with contextlib.redirect_stdout(io.StringIO()):
                made.prepare(no_tensors=True)
        tables = [_two_table(made, rope, made.rotary_embedding_base, made.scale_pos_emb)]
        if made.rotary_embedding_base_alt:
            base, scale = made.rotary_embedding_base_alt, made.scale_pos_emb_alt
            tables.append(_two_table(made, rope, base, scale))
        return [tables[_index(made, i)] for i in range(made.num_hidden_layers)]

    return layers


def _index(made: Any, layer: int) -> int:
    """Which of the two bases a layer turns by (``model.py`` 111-115)."""
    period = made.sliding_window_pattern
    windowed = period > 1 and (layer + 1) % period != 0 and made.sliding_window
    return int(bool(made.arch.lm.alternating_swa and windowed and made.rotary_embedding_base_alt))


def _two_table(made: Any, rope: Any, base: float, scale: float | None) -> dict[str, Any]:
    table, factor = rope.get_rope_params("cpu", made, base)
    return {
        "pairing": {1: "interleaved", 2: "half"}[int(made.arch.lm.rope_style)],
        "inv_freq": (table.float() / (scale or 1.0)).tolist(),
        "attention_scaling": float(factor),
    }


def compare(config: dict[str, Any], release: str, layers: Any) -> tuple[str, str]:
    """(verdict, reason): same, both refuse, not covered, or how the two differ."""
    from ropeaudit.document import parse
    from ropeaudit.errors import InvalidValue
    from ropeaudit.readers.engines import exllamav2, exllamav3
    from ropeaudit.readers.engines.interface import NotCovered, Refuses, Request
    from ropeaudit.records import replace

    engine: Any = exllamav3 if release.startswith("exllamav3") else exllamav2
    document = parse(json.dumps(config), "config.json")
    ours: Any
    try:
        ours = engine.build(Request(document=document, reference=None), engine.RELEASES[0])
    except (Refuses, InvalidValue) as error:
        ours = str(error)
    except NotCovered as error:
        return "not covered", str(error)
    theirs: Any
    try:
        theirs = layers(json.loads(json.dumps(config)))
    except Exception as error:  # whatever stops the engine is its refusal
        theirs = f"{type(error).__name__}: {error}"
    if isinstance(ours, str) and isinstance(theirs, str):
        return "both refuse", f"{ours} | {theirs}"
    if isinstance(ours, str) or isinstance(theirs, str):
        return "one refuses", f"theirs: {theirs!s:.150} | ours: {ours!s:.150}"
    # The list of longrope that is in use stands first.
    used = [s for s in ours.schedules if s.variant in (None, _first(ours.schedules))]
    found = list(differences([replace(s, variant=None) for s in used], by_layer(theirs)))
    return ("differs", "; ".join(found[:3])) if found else ("same", "")


def _first(schedules: Any) -> str | None:
    return next((s.variant for s in schedules if s.variant), None)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("release", choices=("exllamav3-1.6", "exllamav2-0.3"))
    parser.add_argument("--folder", type=Path, help="unpacked wheel, default: the release's name")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--architecture", action="append")
    parser.add_argument("--golden", type=Path, help="a file for what the engine does with them")
    asked = parser.parse_args()
    folder = asked.folder or Path(asked.release)
    layers = (three if asked.release == "exllamav3-1.6" else two)(folder)
    if asked.config:
        print(json.dumps(layers(json.loads(asked.config.read_text(encoding="utf-8")))))
        return 0
    from tests.oracles.engines.exllama_configs import draw

    if asked.golden:
        rows = []
        for name, config in draw(asked.random, asked.seed, asked.release):
            found = None
            with contextlib.suppress(Exception):  # whatever stops the engine is its refusal
                found = layers(json.loads(json.dumps(config)))
            rows.append(row(name, config, found))
        write(asked.golden, asked.release, asked.seed, asked.random, rows)
        return 0
    verdicts: dict[str, int] = {}
    named: dict[str, set[str]] = {}
    for name, config in draw(asked.random, asked.seed, asked.release, asked.architecture):
        verdict, reason = compare(config, asked.release, layers)
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        named.setdefault(verdict, set()).add(name)
        if verdict in ("differs", "one refuses"):
            print(f"{verdict}: {name}: {reason}\n    {json.dumps(config)}")
    print(json.dumps(verdicts))
    only = sorted(named.get("both refuse", set()) - named.get("same", set()))
    print(f"architectures with a same: {len(named.get('same', ()))}; refused only: {only}")
    return 1 if verdicts.keys() & {"differs", "one refuses"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
