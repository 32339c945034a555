"""Formats of stored tables, against numpy and torch bit for bit."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import torch

from ropeaudit.sources._floats import WIDTH, decode

TORCH = {
    "bfloat16": torch.bfloat16,
    "float8_e4m3": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
}


def same(ours: tuple[float, ...], theirs: list[float]) -> bool:
    return struct.pack(f"{len(ours)}d", *ours) == struct.pack(f"{len(theirs)}d", *theirs) or all(
        a == b or (a != a and b != b) for a, b in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize("dtype", ["float8_e4m3", "float8_e5m2"])
def test_every_code_of_eight_bits(dtype: str) -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    assert same(decode(bytes(range(256)), dtype), codes.view(TORCH[dtype]).double().tolist())


def test_every_code_of_sixteen_bits() -> None:
    codes = np.arange(1 << 16, dtype="<u2")
    with np.errstate(invalid="ignore"):
        half = codes.view("<f2").astype("f8").tolist()
    assert same(decode(codes.tobytes(), "float16"), half)
    brain = torch.from_numpy(codes.view("<i2").copy()).view(torch.bfloat16).double().tolist()
    assert same(decode(codes.tobytes(), "bfloat16"), brain)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders(dtype: str, order: str) -> None:
    values = np.array([1.0, -0.0, 1e-5, np.inf, np.nan], dtype=dtype)
    data = values.astype(f"{order}f{values.itemsize}").tobytes()
    assert same(decode(data, dtype, big=order == ">"), values.astype("f8").tolist())


def test_big_endian_bfloat16() -> None:
    assert decode(b"\x3f\x80\x00\x00", "bfloat16", big=True) == (1.0, 0.0)


def test_nothing_decodes_to_nothing() -> None:
    assert all(decode(b"", dtype) == () for dtype in WIDTH)


def test_an_unknown_format_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        decode(b"\0", "float4")
