"""A copy of a GGUF file whose weights are all float32, so that two engines use the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def float32_copy(gguf: Any, source: Path, path: Path) -> Path:
    """Writes ``path`` with every key and every tensor of ``source``, dequantised by ``gguf``."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, reader.get_field("general.architecture").contents())
    array = gguf.GGUFValueType.ARRAY
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        item = field.types[-1] if field.types[0] == array else None
        writer.add_key_value(name, field.contents(), field.types[0], sub_type=item)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, np.ascontiguousarray(values, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
