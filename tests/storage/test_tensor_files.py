"""Full tensors as files: what is saved is loaded, and nothing else."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tracediff.errors import StorageError
from tracediff.events.event import Event
from tracediff.events.tensors import TensorRecord, tensor_to_json
from tracediff.events.trace import Trace
from tracediff.recording.summary import summarise_tensor
from tracediff.storage import TensorFolder, TraceWriter, read_trace, write_trace

HEX = "0123456789abcdef" * 2
DIGEST = f"b3:{HEX}"


def record(array: Any, dtype: str | None = None, file: str | None = f"{HEX}.npy") -> TensorRecord:
    # A digest of another kind: these tests are about files, not about what is hashed.
    return TensorRecord("x", dtype or array.dtype.name, array.shape, f"any:{HEX}", {}, file=file)


ARRAYS = [
    pytest.param(np.arange(6, dtype=np.float32).reshape(2, 3), "float32", id="float32"),
    pytest.param(np.arange(6).reshape(2, 3).T, "int64", id="transposed"),
    pytest.param(np.arange(12, dtype=np.int16)[::2], "int16", id="strided"),
    pytest.param(np.arange(4, dtype=">f8"), "float64", id="big-endian"),
    pytest.param(np.float64(4.2), "float64", id="0-d"),
    pytest.param(np.zeros((2, 0, 3), np.float16), "float16", id="empty"),
    pytest.param(np.array([True, False]), "bool", id="bool"),
    pytest.param(np.array([1 + 2j], np.complex64), "complex64", id="complex"),
    pytest.param(np.array([1, 2], ml_dtypes.bfloat16), "bfloat16", id="bfloat16"),
    pytest.param(np.array([1, 2], np.uint16), "bfloat16", id="bfloat16 as bits"),
    pytest.param(np.array([1, 2], ml_dtypes.float8_e4m3fn), "float8_e4m3fn", id="float8_e4m3fn"),
    pytest.param(np.array([1, 2], ml_dtypes.float8_e5m2), "float8_e5m2", id="float8_e5m2"),
]


@pytest.mark.parametrize(("array", "dtype"), ARRAYS)
def test_what_is_saved_is_loaded(tmp_path: Path, array: Any, dtype: str) -> None:
    """Shape, bits and C order; types that numpy lacks come as their bits."""
    folder = TensorFolder(tmp_path / "a.tensors")
    array = np.asarray(array)
    assert folder.save(DIGEST, array) == f"{HEX}.npy"
    loaded = folder.load(record(array, dtype))
    assert loaded is not None
    assert loaded.shape == array.shape
    assert loaded.flags.c_contiguous
    assert loaded.tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert isinstance(loaded, np.memmap) == (array.size > 0)
    with pytest.raises(ValueError, match="read-only"):
        loaded[...] = 0
    standard = np.load(tmp_path / "a.tensors" / f"{HEX}.npy", allow_pickle=False)
    assert standard.shape == array.shape


def test_a_tensor_is_saved_once(tmp_path: Path) -> None:
    """Equal digest, equal content: what is there is not written again, unless it is too short."""
    folder, array = TensorFolder(tmp_path), np.arange(4.0)
    path = tmp_path / folder.save(DIGEST, array)
    written = path.stat().st_ino
    folder.save(DIGEST, array)
    assert path.stat().st_ino == written
    path.write_bytes(b"")  # as a crash of the machine can leave it
    folder.save(DIGEST, array)
    assert list(tmp_path.iterdir()) == [path]
    assert np.array_equal(np.load(path), array)


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    """Where the folder cannot be made, the error names the file."""
    (tmp_path / "a.tensors").touch()
    with pytest.raises(StorageError, match="no folder"):
        TensorFolder(tmp_path / "a.tensors").save(DIGEST, np.zeros(1))
    assert list(tmp_path.iterdir()) == [tmp_path / "a.tensors"]


@pytest.mark.parametrize(
    "digest",
    [
        "",
        "b3:",
        "b3:00",
        f"b3:{HEX}0",
        f"b3:{HEX.upper()}",
        "b3:../../../../../../../etc/passwdxxxx",
    ],
)
def test_a_digest_is_32_hex_digits(tmp_path: Path, digest: str) -> None:
    """Nothing else becomes a file name."""
    with pytest.raises(StorageError, match="expected 32 hex digits"):
        TensorFolder(tmp_path).save(digest, np.zeros(1))


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array([object()]), id="objects"),
        pytest.param(np.array(["text"]), id="text"),
        pytest.param(np.zeros(1, [("a", "i4")]), id="records"),
        pytest.param(np.zeros(1, "M8[s]"), id="dates"),
    ],
)
def test_only_numbers_are_saved(tmp_path: Path, array: Any) -> None:
    """What would need a pickle, or has no name in a trace, is refused."""
    with pytest.raises(StorageError, match="not stored as files"):
        TensorFolder(tmp_path).save(DIGEST, array)


@pytest.mark.parametrize("file", [None, f"{HEX}.npy"], ids=["no file", "a file that is not there"])
def test_what_is_missing_is_none(tmp_path: Path, file: str | None) -> None:
    """A trace without its folder is still a trace."""
    assert TensorFolder(tmp_path / "none").load(record(np.zeros(1), file=file)) is None


@pytest.mark.parametrize(
    "file",
    [
        f"../{HEX}.npy",
        f"/tmp/{HEX}.npy",
        f"{HEX}.npy/",
        f"{HEX}.npy\n",
        f"{HEX}.npz",
        f"{HEX}0.npy",
        "passwd",
        "..",
        "",
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, file: str) -> None:
    """A name that is no digest is not even looked for."""
    with pytest.raises(StorageError, match="is no tensor file"):
        TensorFolder(tmp_path).load(record(np.zeros(1), file=file))


def saved(array: Any) -> Callable[[Path], object]:
    return lambda path: np.save(path, array)


@pytest.mark.parametrize(
    ("put", "dtype", "reason"),
    [
        pytest.param(
            saved(np.zeros(2, np.int32)), "float32", "int32, the trace says float32", id="dtype"
        ),
        pytest.param(
            saved(np.zeros(3, np.float32)), "float32", r"\[3\], the trace says \[2\]", id="shape"
        ),
        pytest.param(saved(np.zeros((2, 1), np.float32)), "float32", "has shape", id="rank"),
        pytest.param(saved(np.array([{}, 1], object)), "float32", "not a readable", id="objects"),
        pytest.param(saved(np.zeros(2)), "object", "not stored as files", id="type of the trace"),
        pytest.param(
            saved(np.zeros(2)), "float128", "not stored as files", id="machine's own type"
        ),
        pytest.param(lambda p: p.write_bytes(b""), "float32", "not a readable", id="empty file"),
        pytest.param(lambda p: p.write_bytes(b"\x93NUMPY"), "float32", "not a readable", id="torn"),
        pytest.param(
            lambda p: p.write_bytes(pickle.dumps([1, 2])), "float32", "not a readable", id="pickle"
        ),
        pytest.param(
            lambda p: (np.save(p, np.zeros(2, np.float32)), os.truncate(p, 130)),
            "float32",
            "not a readable",
            id="cut off",
        ),
        pytest.param(os.mkfifo, "float32", "no regular file", id="pipe"),
        pytest.param(lambda p: p.mkdir(), "float32", "no regular file", id="folder"),
        pytest.param(lambda p: p.symlink_to("/dev/zero"), "float32", "links are not", id="link"),
    ],
)
def test_a_file_that_is_not_the_recorded_tensor(
    tmp_path: Path, put: Callable[[Path], object], dtype: str, reason: str
) -> None:
    """One clear sentence names the file; nothing is unpickled, no link is followed."""
    path = tmp_path / f"{HEX}.npy"
    put(path)
    with pytest.raises(StorageError, match=reason):
        TensorFolder(tmp_path).load(record(np.zeros(2, np.float32), dtype))


def test_a_zip_archive_is_no_tensor(tmp_path: Path) -> None:
    """numpy opens archives too; one under a tensor's name is refused."""
    np.savez(tmp_path / "a.npz", x=np.zeros(2))
    (tmp_path / "a.npz").rename(tmp_path / f"{HEX}.npy")
    with pytest.raises(StorageError, match="not a readable"):
        TensorFolder(tmp_path).load(record(np.zeros(2)))


def test_a_trace_reaches_its_tensors(tmp_path: Path, events: Sequence[Event]) -> None:
    """The folder beside the trace belongs to it, and is copied with it."""
    array = np.array([-0.0, np.nan, 1.5], np.float32)
    with TraceWriter(tmp_path / "a.jsonl.gz") as writer:
        found = record(array, file=writer.write_tensor(DIGEST, array))
        kept = {**tensor_to_json(found), "stats": {"finite": 2, "nan": 1}}
        with_file = Event("t", "e1", "e0", "loop", "step", 1, {"outputs": [kept]})
        for event in events:
            writer.write(with_file if event.event_id == "e1" else event)
    trace = read_trace(tmp_path / "a.jsonl.gz")
    assert trace.tensors is not None
    assert np.array_equal(trace.tensors.load(found), array, equal_nan=True)
    (tmp_path / "copy").mkdir()
    write_trace(trace, tmp_path / "copy" / "b.jsonl")
    copy = read_trace(tmp_path / "copy" / "b.jsonl")
    assert copy.events == trace.events
    assert np.array_equal(copy.tensors.load(found), array, equal_nan=True)
    assert isinstance(copy, Trace)


def test_reading_a_trace_does_not_import_numpy(tmp_path: Path, events: Sequence[Event]) -> None:
    """Who reads no tensor does not pay for numpy, nor for jsonschema."""
    write_trace(events, tmp_path / "a.jsonl")
    code = (
        "import sys; from tracediff.storage import read_trace; read_trace(sys.argv[1]); "
        "print(sorted({'numpy', 'jsonschema', 'zstandard'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.jsonl")], capture_output=True, check=True
    )
    assert done.stdout == b"[]\n"


def test_content_is_what_was_recorded(tmp_path: Path) -> None:
    """A file whose content is not what its name says is refused, at any of its elements."""
    array = np.arange(5_000, dtype=np.float32)
    digest = summarise_tensor(array).digest
    folder = TensorFolder(tmp_path)
    name = folder.save(digest, array)
    found = TensorRecord("x", "float32", array.shape, digest, {}, file=name)
    loaded = folder.load(found)
    assert loaded is not None
    assert np.array_equal(loaded, array)
    array[4_321] += 1
    np.save(tmp_path / name, array)
    with pytest.raises(StorageError, match="its content is not what the trace recorded as x"):
        folder.load(found)
