"""The tensor files among the fixtures are what their script writes."""

from __future__ import annotations

from pathlib import Path

from tests.make_fixtures import FOLDER, NAME, tables, write


def test_committed_files_equal_what_the_script_writes(tmp_path: Path) -> None:
    write(tmp_path)
    written = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*.safetensors"))
    assert len(written) == len(tables())
    for path in written:
        assert (FOLDER / path).read_bytes() == (tmp_path / path).read_bytes(), path


def test_the_safetensors_library_reads_them(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    write(tmp_path)
    for name, (_, values) in tables().items():
        tensor = load_file(tmp_path / name / "model.safetensors")[NAME].double()
        assert [v if v == v else None for v in tensor.tolist()] == [
            v if v == v else None for v in values
        ]
