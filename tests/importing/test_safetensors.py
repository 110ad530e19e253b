"""The safetensors format: read as the format's own library writes it, refused where it lies."""

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from tracediff.errors import StorageError, UsageError
from tracediff.importing.safetensors import read_safetensors
from tracediff.recording.summary import summarise_tensor

TENSORS = {
    "layer.10": np.arange(6, dtype=np.float32).reshape(2, 3),
    "layer.2": np.array([1.5, -2.0], np.float16),
    "brain": np.array([1.5, -2.0], ml_dtypes.bfloat16),
    "ids": np.array([[1, 2]], np.int64),
    "mask": np.array([True, False]),
    "empty": np.zeros((0, 3), np.float64),
    "scalar": np.array(3.0),
}


def test_what_the_library_wrote(tmp_path: Path) -> None:
    """Every tensor comes back with its bytes, in natural order of the names."""
    path = tmp_path / "x.safetensors"
    save_file(TENSORS, path)
    found = dict(read_safetensors(path))
    assert list(found) == ["brain", "empty", "ids", "layer.2", "layer.10", "mask", "scalar"]
    for name, array in TENSORS.items():
        own = summarise_tensor(np.asarray(found[name].array), dtype=found[name].dtype)
        assert own == summarise_tensor(array)


def made(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(content) if length is None else length
    path.write_bytes(size.to_bytes(8, "little") + content + data)
    return path


def entry(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


@pytest.mark.parametrize(
    ("header", "length", "message"),
    [
        pytest.param({}, 1 << 40, "its header would reach beyond its end", id="gigantic-header"),
        pytest.param(b"{", None, "its header is no JSON object", id="no-json"),
        pytest.param(b"[" * 10_000, None, "its header is no JSON object", id="depth-bomb"),
        pytest.param([], None, "its header is no JSON object", id="a-list"),
        pytest.param(b'{"a": 1, "a": 2}', None, "a name occurs twice", id="a-name-twice"),
        pytest.param({"a": 1}, None, "tensor 'a': expected an object", id="no-entry"),
        pytest.param(entry(dtype="F4"), None, "type 'F4' are not read", id="unknown-type"),
        pytest.param(entry(shape=[-2]), None, "lists of integers from 0", id="negative-extent"),
        pytest.param(entry(shape=[True]), None, "lists of integers from 0", id="extent-true"),
        pytest.param(entry(shape=[3]), None, "cannot hold [3] of float32", id="shape-too-large"),
        pytest.param(entry(data_offsets=[8, 16]), None, "bytes 8 to 16 of 8", id="beyond-the-end"),
        pytest.param(entry(shape=[1 << 62]), None, "cannot hold", id="gigantic-shape"),
    ],
)
def test_what_is_no_safetensors_file(
    header: Any, length: int | None, message: str, tmp_path: Path
) -> None:
    """The error names file and tensor; nothing is read from outside the file."""
    path = made(tmp_path / "x.safetensors", header, b"\0" * 8, length)
    with pytest.raises(UsageError) as caught:
        list(read_safetensors(path))
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """A missing file and a folder are storage errors."""
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(StorageError, match="cannot read"):
            list(read_safetensors(path))
