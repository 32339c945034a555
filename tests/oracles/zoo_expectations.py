"""Write ``fixtures/zoo/index.json``: the schedules that real models mean, worked out by hand.

    python tests/oracles/zoo_expectations.py           # writes the file
    python tests/oracles/zoo_expectations.py --check   # fails if it would change

Nothing here imports the package: the data is ``zoo_table.py``, the arithmetic float64 closed forms
in ``zoo_forms.py``.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import zoo_table as table
from zoo_forms import longrope, plain, yarn
from zoo_remarks import REMARKS, STILL

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"


def expectations(configs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Model folder to its schedules; a string instead says why there are none."""
    deepseek_v4 = {}
    for name in (
        "deepseek-ai__DeepSeek-V4-Flash",
        "deepseek-ai__DeepSeek-V4-Pro",
        "sgl-project__DeepSeek-V4-Flash-FP8",
    ):
        config = configs[name]
        ratios = config["compress_ratios"][: config["num_hidden_layers"]]
        main = [i for i, r in enumerate(ratios) if r == 0]
        compress = [i for i, r in enumerate(ratios) if r != 0]
        deepseek_v4[name] = [
            plain(1e4, 64, "text/main", layers=main),
            yarn(1.6e5, 64, 16, 65536, name="text/compress", attention=1.0, layers=compress),
        ]
    stretched = math.sqrt(1 + math.log(32) / math.log(4096))
    lists = (
        "Shitao__OmniGen-v1",
        "microsoft__Phi-4-mini-reasoning",
        "microsoft__Phi-4-multimodal-instruct",
    )
    return {
        **table.PLAIN,
        **table.NEIGHBOURS,
        **table.PARTIAL,
        **table.STRETCHED,
        **{name: longrope(1e4, 96, configs[name], stretched) for name in lists},
        **table.LATENT,
        **deepseek_v4,
        **table.TWO_TABLES,
        **table.LAYERS_LEFT_OUT,
        **table.SEVERAL_PARTS,
        **table.GRIDS,
        **STILL,
    }


def index() -> dict[str, Any]:
    configs, sources = {}, json.loads((ZOO / "sources.json").read_text(encoding="utf-8"))
    for folder in sorted(p.parent for p in ZOO.glob("*/config.json")):
        configs[folder.name] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    expected = expectations(configs)
    missing = sorted(set(configs) ^ set(expected))
    if missing:
        raise SystemExit(f"no expectation, or no config: {missing}")
    models = {}
    for name in sorted(configs):
        found = expected[name]
        remark = REMARKS.get(name)
        models[name] = {
            "source": sources[name],
            **({"remark": remark} if remark else {}),
            "toy": bool(remark and remark.startswith("toy")),
            "schedules": [] if isinstance(found, str) else found,
            **({"no_rotary": found} if isinstance(found, str) else {}),
        }
    return {
        "about": "position fields of real models, and the schedules they mean",
        "models": models,
    }


def main() -> int:
    text = json.dumps(index(), indent=1, ensure_ascii=False) + "\n"
    target = ZOO / "index.json"
    if "--check" in sys.argv[1:]:
        same = target.read_text(encoding="utf-8") == text
        print("unchanged" if same else "index.json would change")
        return 0 if same else 1
    target.write_text(text, encoding="utf-8")
    print(f"{target}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
