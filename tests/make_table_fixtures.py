"""Writes ``fixtures/rules`` for the rules that judge a table's own numbers (RA1.. and RA20.).

Run ``python -m tests.make_table_fixtures`` after a change here; a test holds the folder against it.
Every child of ``pass``, ``fail`` and ``unknown`` is one target. ``expect.json`` says more about a
child: the severity, words of the message, ``context`` lengths, ``override`` values.
"""

from __future__ import annotations

import json
import math
import shutil
import struct
from array import array
from pathlib import Path
from typing import Any

from ropeaudit.schedule.float32 import f32, f32s, round_to
from tests.schedules import llama3, plain, proportional, quantised, scaled, with_values, yarn

FOLDER = Path(__file__).parent.parent / "fixtures" / "rules"
Tree = dict[str, bytes]

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}
LLAMA_31 = LLAMA | {
    "max_position_embeddings": 131072,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
QWEN3 = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "head_dim": 128,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 36,
    "max_position_embeddings": 40960,
    "rope_theta": 1000000,
}
GEMMA_4 = {
    "model_type": "gemma4_text",
    "head_dim": 256,
    "global_head_dim": 512,
    "hidden_size": 2816,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "num_hidden_layers": 6,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
    "max_position_embeddings": 262144,
    "sliding_window": 1024,
    "rope_parameters": {
        "full_attention": {
            "rope_type": "proportional",
            "rope_theta": 1000000.0,
            "partial_rotary_factor": 0.25,
        },
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    },
}
QWEN2_VL = {
    "model_type": "qwen2_vl_text",
    "hidden_size": 1536,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "num_hidden_layers": 28,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
}


def phi3(entries: int) -> dict[str, Any]:
    """Phi-4-mini's widths (96 of 128 rotate) with factor lists of some length."""
    return {
        "model_type": "phi3",
        "hidden_size": 3072,
        "num_attention_heads": 24,
        "num_key_value_heads": 8,
        "num_hidden_layers": 32,
        "partial_rotary_factor": 0.75,
        "max_position_embeddings": 131072,
        "original_max_position_embeddings": 4096,
        "rope_theta": 10000.0,
        "rope_scaling": {
            "type": "longrope",
            "short_factor": [1.0] * entries,
            "long_factor": [round(1 + 63 * k / (entries - 1), 3) for k in range(entries)],
        },
    }


def sections(*widths: int) -> dict[str, Any]:
    return QWEN2_VL | {"rope_scaling": {"type": "mrope", "mrope_section": list(widths)}}


def table(values: Any) -> bytes:
    """A bare JSON list, one value a line."""
    return ("[\n" + ",\n".join(repr(float(v)) for v in values) + "\n]\n").encode()


def lines(values: Any) -> bytes:
    """Numbers in text, NaN included."""
    return "".join(f"{v!r}\n" for v in values).encode()


def config(values: dict[str, Any]) -> Tree:
    return {"config.json": json.dumps(values, indent=1).encode() + b"\n"}


def tensor(values: Any, name: str = "model.rotary_emb.inv_freq", dtype: str = "F32") -> Tree:
    """A safetensors file with one table, written by hand: length, header, values."""
    values = list(values)
    if dtype == "F32":
        data = array("f", values).tobytes()
    elif dtype == "F16":
        data = struct.pack(f"<{len(values)}e", *values)
    else:  # bfloat16 is the upper half of a float32
        data = b"".join(struct.pack("<f", round_to(v, "bfloat16"))[2:] for v in values)
    header = {name: {"dtype": dtype, "shape": [len(values)], "data_offsets": [0, len(data)]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return {"model.safetensors": struct.pack("<Q", len(text)) + text + data}


MILLION = plain(1e6, 128).inv_freq
NAN = (*MILLION[:6], math.nan, *MILLION[7:])
IMAGE = plain(1e4, 32).inv_freq


def moved(at: int, by: float) -> tuple[float, ...]:
    return with_values(plain(1e6), lambda k, v: v * by if k == at else v).inv_freq


def swapped(a: int, b: int) -> tuple[float, ...]:
    values = list(MILLION)
    values[a], values[b] = values[b], values[a]
    return tuple(values)


def ra101() -> dict[str, Tree | bytes]:
    int8, jitter = quantised(plain(1e6), 8, "sym").inv_freq, quantised(plain(1e6), 8, "sym")
    return {
        "pass/million.json": table(MILLION),
        "pass/log-int8.json": table(quantised(plain(1e6), 8, "log").inv_freq),
        "pass/jittered.json": table(with_values(jitter, lambda k, v: v + k * 1e-7).inv_freq),
        "pass/llama-3.1": config(LLAMA_31),
        "pass/phi-4-mini": config(phi3(48)),
        "pass/bfloat16": tensor(MILLION, dtype="BF16"),
        "fail/int8-symmetric.json": table(int8),
        "fail/int8-affine-256.json": table(quantised(plain(1e4, 256), 8, "affine").inv_freq),
        "fail/log-int4.json": table(quantised(plain(1e6), 4, "log").inv_freq),
        "fail/every-angle-twice.json": table(v for v in IMAGE for _ in range(2)),
        "fail/base-one": config(LLAMA | {"rope_theta": 1.0}),
        "fail/never-filled": config(QWEN3) | tensor([0.0] * 64),
        "fail/float16-of-5e8": tensor(plain(5e8, 128).inv_freq, dtype="F16"),
        "fail/gemma-4": config(GEMMA_4),
        "unknown/proportional.json": table(proportional().inv_freq),
        "unknown/two-ladders.json": table(IMAGE * 2),
        "unknown/not-a-number.txt": lines(NAN),
    }


EXPECT_101 = {
    "int8-symmetric.json": {"severity": "error", "contains": "38 of 64 channels"},
    "int8-affine-256.json": {"severity": "error", "contains": "42 of 128 channels"},
    "log-int4.json": {"severity": "error", "contains": "5 of 64 channels"},
    "every-angle-twice.json": {"severity": "error", "contains": "15 more such sets"},
    "base-one": {"severity": "error", "contains": "64 of 64"},
    "never-filled": {"severity": "error", "contains": "same frequency 0"},
    "float16-of-5e8": {"severity": "error", "contains": "8 of 64"},
    "gemma-4": {"severity": "info", "contains": "192 of 256 channels are 0 by design"},
    "proportional.json": {"contains": "config"},
}


def ra102() -> dict[str, Tree | bytes]:
    quantised_64 = quantised(plain(1e5, 64), 8, "sym")
    neighbour = list(MILLION)
    neighbour[11] = f32(neighbour[10] * (1 - 2**-24))
    return {
        "pass/million.json": table(MILLION),
        "pass/wide-512.json": table(plain(1e4, 512).inv_freq),
        "pass/int8-symmetric.json": table(quantised(plain(1e6), 8, "sym").inv_freq),
        "pass/bfloat16": tensor(plain(1e4, 512).inv_freq, dtype="BF16"),
        "pass/llama-3.1": config(LLAMA_31),
        "pass/phi-4-mini": config(phi3(48)),
        "pass/gemma-4": config(GEMMA_4),
        "fail/jittered.json": table(with_values(quantised_64, lambda k, v: v + k * 1e-7).inv_freq),
        "fail/one-step-apart.json": table(neighbour),
        "unknown/not-a-number.txt": lines(NAN),
    }


EXPECT_102 = {
    "jittered.json": {"severity": "warning", "contains": "Channels 13-15"},
    "one-step-apart.json": {"severity": "warning", "contains": "Channels 10-11"},
}


def ra103() -> dict[str, Tree | bytes]:
    turn = 2 * math.pi
    return {
        "pass/million.json": table(MILLION),
        "pass/fast-and-distinct.json": table([5.0, 4.0, 1.0, 0.5]),
        "pass/close-over-65536.json": table([turn + 0.7 + 1e-5, 1.0, 0.7]),
        "pass/llama-3.1": config(LLAMA_31),
        "fail/full-turn.json": table(f32s([turn + 0.7, 1.0, 0.7, 0.3])),
        "fail/mirrored.json": table(f32s([turn - 0.7, 1.0, 0.7, 0.3])),
        "fail/half-turn.json": table(f32s([math.pi, 1.0, 0.3, 0.1])),
        "fail/close-over-64.json": table([turn + 0.7 + 1e-5, 1.0, 0.7]),
        "unknown/close-over-nothing.json": table([turn + 0.7 + 1e-5, 1.0, 0.7]),
        "unknown/not-a-number.txt": lines(NAN),
    }


EXPECT_103 = {
    "full-turn.json": {"severity": "warning", "contains": "channels 0 and 2"},
    "mirrored.json": {"severity": "warning", "contains": "is 1 full turn."},
    "half-turn.json": {"severity": "warning", "contains": "1 times pi"},
    "close-over-64.json": {"context": [64]},
    "close-over-65536.json": {"context": [65536]},
}


def ra104() -> dict[str, Tree | bytes]:
    return {
        "pass/million.json": table(MILLION),
        "pass/gemma-4": config(GEMMA_4),
        "pass/int8-affine.json": table(quantised(plain(1e6), 8, "affine").inv_freq),
        "fail/int8-symmetric.json": table(quantised(plain(1e6), 8, "sym").inv_freq),
        "fail/lost-tail.json": table([*MILLION[:40], *[0.0] * 24]),
        "fail/never-filled": config(QWEN3) | tensor([0.0] * 64),
        "fail/half-lost": config(QWEN3) | tensor([*MILLION[:32], *[0.0] * 32]),
        "unknown/proportional.json": table(proportional().inv_freq),
        "unknown/half.json": table(proportional(128, 0.5).inv_freq),
    }


EXPECT_104 = {
    "int8-symmetric.json": {"severity": "error", "contains": "38 of 64"},
    "lost-tail.json": {"severity": "error", "contains": "channels 40-63"},
    "never-filled": {"severity": "error", "contains": "64 of 64"},
    "half-lost": {"severity": "error", "contains": "channels 32-63"},
}


def ra105() -> dict[str, Tree | bytes]:
    small = plain(1e4, 64).inv_freq
    qwen35 = plain(1e7, 64).inv_freq
    return {
        "pass/million.json": table(MILLION),
        "pass/linear-8.json": table(scaled("linear", 1e6, 256, scaling={"factor": 8}).inv_freq),
        "pass/gemma-4": config(GEMMA_4),
        "pass/bfloat16": tensor(MILLION, dtype="BF16"),
        "fail/not-a-number.txt": lines(NAN),
        "fail/minus-1e34.json": table([*qwen35[:6], -1.468446e34, *qwen35[7:]]),
        "fail/first-6e-18": tensor([6.93e-18, *small[1:]], name="rotary.inv_freq"),
        "fail/leftover": config(QWEN3) | tensor([0.5, 0.4, 22675456.0, *MILLION[3:]]),
        "fail/denormal.json": table([*small[:31], 1e-40]),
        "fail/float16": tensor(MILLION, dtype="F16"),
    }


EXPECT_105: dict[str, Any] = {
    "not-a-number.txt": {"severity": "error", "contains": "channel 6"},
    "minus-1e34.json": {"severity": "error", "contains": "negative"},
    "first-6e-18": {"severity": "error", "contains": "starts at 6.93e-18"},
    "leftover": {"severity": "error", "contains": "starts at 0.5, unscaled ones at 1"},
    "denormal.json": {"severity": "error", "contains": "channel 31"},
    "float16": {"severity": "warning", "contains": "19 of 64"},
    "no_unknown": "a value is a possible frequency or it is not",
}


def ra201() -> dict[str, Tree | bytes]:
    return {
        "pass/million.json": table(MILLION),
        "pass/int8-symmetric.json": table(quantised(plain(1e6), 8, "sym").inv_freq),
        "pass/gemma-4": config(GEMMA_4),
        "pass/llama-3.1": config(LLAMA_31),
        "pass/sections": config(sections(16, 24, 24)),
        "fail/swapped.json": table(swapped(4, 5)),
        "fail/reversed.json": table(MILLION[::-1]),
        "fail/other-layout": config(QWEN3) | tensor(MILLION[::2] + MILLION[1::2]),
        "unknown/two-ladders.json": table(IMAGE * 2),
        "unknown/not-a-number.txt": lines(NAN),
    }


EXPECT_201 = {
    "swapped.json": {"severity": "error", "contains": "channel 5"},
    "reversed.json": {"severity": "error", "contains": "reverse order"},
    "other-layout": {"severity": "error", "contains": "another order"},
}


def ra202() -> dict[str, Tree | bytes]:
    return {
        "pass/million.json": table(MILLION),
        "pass/linear-8.json": table(scaled("linear", 1e6, 256, scaling={"factor": 8}).inv_freq),
        "pass/bfloat16": tensor(MILLION, dtype="BF16"),
        "pass/gemma-4": config(GEMMA_4),
        "pass/sections": config(sections(16, 24, 24)),
        "fail/moved.json": table(moved(20, 1.05)),
        "fail/missing.json": table(MILLION[:10] + MILLION[11:]),
        "fail/llama-3.1": config(LLAMA_31),
        "fail/yarn-table.json": table(yarn().inv_freq),
        "unknown/three-values.json": table([1.0, 0.5, 0.1]),
        "unknown/not-a-number.txt": lines(NAN),
    }


EXPECT_202 = {
    "moved.json": {"severity": "warning", "contains": "2 log gaps"},
    "missing.json": {"severity": "warning", "contains": "channels 9-10"},
    "llama-3.1": {"severity": "info", "contains": "by design of 'llama3'"},
    "yarn-table.json": {"severity": "info"},
}


def ra203() -> dict[str, Tree | bytes]:
    return {
        "pass/million.json": table(MILLION),
        "pass/linear-8.json": table(scaled("linear", 1e6, 256, scaling={"factor": 8}).inv_freq),
        "pass/falcon3.json": table(plain(1000042, 256).inv_freq),
        "pass/proportional.json": table(proportional().inv_freq),
        "pass/bfloat16": tensor(MILLION, dtype="BF16"),
        "pass/llama-3.1": config(LLAMA_31),
        "pass/llama-3.1-stored": config(LLAMA_31) | tensor(llama3().inv_freq),
        "pass/gemma-4": config(GEMMA_4),
        "fail/moved.json": table(moved(20, 1.001)),
        "fail/swapped.json": table(swapped(4, 5)),
        "fail/int8-symmetric.json": table(quantised(plain(1e6), 8, "sym").inv_freq),
        "fail/llama3-table.json": table(llama3().inv_freq),
        "unknown/two-ladders.json": table(IMAGE * 2),
        "unknown/not-a-number.txt": lines(NAN),
    }


EXPECT_203 = {
    "moved.json": {"severity": "warning", "contains": "base 1000000, dimension 128"},
    "swapped.json": {"severity": "warning", "contains": "2 of 64 channels miss it"},
    "int8-symmetric.json": {"severity": "warning", "contains": "base 1000000"},
    "llama3-table.json": {"severity": "info", "contains": "divided by 8"},
}


def ra204() -> dict[str, Tree | bytes]:
    ntk = LLAMA | {"rope_scaling": {"rope_type": "ntk_yarn", "factor": 4.0}}
    return {
        "pass/phi-4-mini": config(phi3(48)),
        "pass/sections": config(sections(16, 24, 24)),
        "pass/stored": config(QWEN3) | tensor(MILLION),
        "pass/million.json": table(MILLION),
        "fail/factors-64": config(phi3(64)),
        "fail/sections-60": config(sections(16, 24, 20)),
        "fail/stored-32": config(LLAMA)
        | tensor(plain(5e5, 64).inv_freq, name="model.layers.9.self_attn.rotary_emb.inv_freq"),
        "unknown/law-not-known": config(ntk) | tensor(plain(5e5).inv_freq),
    }


EXPECT_204 = {
    "factors-64": {"severity": "error", "contains": "64"},
    "sections-60": {"severity": "error", "contains": "64"},
    "stored-32": {"severity": "error", "contains": "32 entries"},
}

RULES: dict[str, tuple[dict[str, Tree | bytes], dict[str, Any]]] = {
    "RA101": (ra101(), EXPECT_101),
    "RA102": (ra102(), EXPECT_102),
    "RA103": (ra103(), EXPECT_103),
    "RA104": (ra104(), EXPECT_104),
    "RA105": (ra105(), EXPECT_105),
    "RA201": (ra201(), EXPECT_201),
    "RA202": (ra202(), EXPECT_202),
    "RA203": (ra203(), EXPECT_203),
    "RA204": (ra204(), EXPECT_204),
}


def files() -> dict[str, bytes]:
    """Every file by its path below ``fixtures/rules``."""
    found: dict[str, bytes] = {}
    for rule, (children, expect) in RULES.items():
        for name, content in children.items():
            if isinstance(content, bytes):
                found[f"{rule}/{name}"] = content
            else:
                found.update({f"{rule}/{name}/{leaf}": data for leaf, data in content.items()})
        found[f"{rule}/expect.json"] = json.dumps(expect, indent=1).encode() + b"\n"
    return found


def main() -> None:
    for rule in RULES:
        shutil.rmtree(FOLDER / rule, ignore_errors=True)
    for name, data in files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
