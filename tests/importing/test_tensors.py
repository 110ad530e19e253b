"""Files and folders of tensors as traces."""

import io
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tracediff.diff import Outcome, diff_traces
from tracediff.errors import StorageError, UsageError
from tracediff.importing.tensors import import_tensors
from tracediff.storage import read_trace

X = np.arange(6, dtype=np.float32).reshape(2, 3)

Make = Callable[[Path], object]


def filled(folder: Path, *, change: float = 0.0) -> Path:
    """Return a folder with tensors in every format, links out of it and a pickle."""
    (folder / "sub").mkdir(parents=True)
    np.save(folder / "step10.npy", X + np.float32(change))
    np.save(folder / "step2.npy", np.asfortranarray(X))
    np.savez(folder / "sub" / "b.npz", x=X, y=np.arange(3))
    save_file({"w": X}, folder / "model.safetensors")
    (folder / "old.pt").write_bytes(b"pickle")
    blobs = folder.with_name(f"{folder.name}-blobs")
    blobs.mkdir()
    np.save(blobs / "0.npy", X)
    (folder / "link.npy").symlink_to(blobs / "0.npy")
    (folder / "blobs").symlink_to(blobs)
    (folder / "loop.npy").symlink_to(folder / "loop.npy")
    (folder / "sub" / "up").symlink_to(folder)
    return folder


def test_a_folder(tmp_path: Path) -> None:
    """One event a tensor in natural order, named after file and entry, also through links."""
    found = import_tensors(filled(tmp_path / "a"), tmp_path / "a.jsonl")
    trace = read_trace(tmp_path / "a.jsonl")
    names = [event.event_type for event in trace.events[1:]]
    assert names == ["link", "model/w", "step2", "step10", "sub/b/x", "sub/b/y"]
    assert found.tensors == len(names)
    assert found.skipped == ("blobs", "loop.npy", "old.pt", "sub/up")
    digests = {
        event.event_type: event.payload["outputs"][0]["digest"] for event in trace.events[1:]
    }
    assert digests["step2"] == digests["step10"] == digests["model/w"]


def test_two_folders_compare_by_name(tmp_path: Path) -> None:
    """Equal folders are equal; a tensor that differs is named."""
    for name, change in (("a", 0.0), ("b", 0.0), ("c", 1.0)):
        import_tensors(filled(tmp_path / name, change=change), tmp_path / f"{name}.jsonl")
    traces = [read_trace(tmp_path / f"{name}.jsonl") for name in "abc"]
    assert diff_traces(traces[0], traces[1]).outcome is Outcome.EQUAL
    found = diff_traces(traces[0], traces[2])
    assert found.first is not None
    assert found.first.difference.field == "payload.outputs[step10]"
    assert len(found.frontier) == 1


@pytest.mark.parametrize(
    ("name", "write", "names"),
    [
        pytest.param("x.npy", lambda path: np.save(path, X), ["x"], id="npy"),
        pytest.param("x.npz", lambda path: np.savez(path, b=X, a=X), ["b", "a"], id="npz"),
        pytest.param(
            "x.npz", lambda path: np.savez_compressed(path, a=X), ["a"], id="npz-compressed"
        ),
        pytest.param(
            "x.safetensors", lambda path: save_file({"w": X}, path), ["w"], id="safetensors"
        ),
    ],
)
def test_single_files(name: str, write: Make, names: list[str], tmp_path: Path) -> None:
    """Names of a single file are those in it."""
    write(tmp_path / name)
    import_tensors(tmp_path / name, tmp_path / "x.jsonl", level="values")
    trace = read_trace(tmp_path / "x.jsonl")
    assert [event.event_type for event in trace.events[1:]] == names
    for event in trace.events[1:]:
        assert event.payload["outputs"][0]["values"] == X.reshape(-1).tolist()


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({"a.npz": lambda path: np.savez(path, b=X)}, id="npz"),
        pytest.param({"a.safetensors": lambda path: save_file({"b": X}, path)}, id="safetensors"),
        pytest.param(
            {"a/b.NPY": lambda path: path.write_bytes(npy(FLOATS, b"\0" * 8))}, id="another-case"
        ),
    ],
)
def test_two_files_whose_tensors_share_a_name(others: dict[str, Make], tmp_path: Path) -> None:
    """Neither is left out: the error names both."""
    folder = tmp_path / "run"
    (folder / "a").mkdir(parents=True)
    np.save(folder / "a" / "b.npy", X)
    for name, write in others.items():
        write(folder / name)
        with pytest.raises(UsageError, match="would be called 'a/b'") as caught:
            import_tensors(folder, tmp_path / "x.jsonl")
        assert str(folder / name) in str(caught.value)
        assert str(folder / "a" / "b.npy") in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def npy(header: str, data: bytes = b"") -> bytes:
    """Return a .npy file of version 1.0 with this header."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([object()], dtype=object), allow_pickle=True)
    return stream.getvalue()


def archive(*entries: tuple[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as written, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that occurs twice is what a test is about
        for name, content in entries:
            written.writestr(name, content)
    return stream.getvalue()


FLOATS = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"
HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("x.npy", b"", "it is no .npy array", id="empty-file"),
        pytest.param("x.npy", b"\x93NUMPY\x09\x00", "version 9.0", id="unknown-version"),
        pytest.param("x.npy", npy("os.system('x')"), "it is no .npy array", id="code-for-a-header"),
        pytest.param("x.npy", npy(FLOATS, b"\0" * 4), "promises 8 bytes", id="too-short"),
        pytest.param("x.npy", npy(FLOATS, b"\0" * 12), "promises 8 bytes", id="too-long"),
        pytest.param("x.npy", npy(HUGE), "promises 4000000000000 bytes", id="gigantic-shape"),
        pytest.param("x.npy", pickled(), "Python objects (a pickle)", id="pickle"),
        pytest.param("x.npz", b"PK", "is no .npz archive", id="no-archive"),
        pytest.param("x.npz", archive(("a.npy", pickled())), "entry 'a.npy': it", id="npz-pickle"),
        pytest.param(
            "x.npz",
            archive(("a.npy", npy(FLOATS, b"\0" * 8)), ("a.npy", npy(FLOATS, b"\0" * 8))),
            "the name occurs twice",
            id="npz-a-name-twice",
        ),
        pytest.param("x.pt", b"", "is a pickle, which can run any program", id="torch-pickle"),
        pytest.param("x.csv", b"", "expected a folder or a name in", id="another-ending"),
    ],
)
def test_files_that_are_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    """The error names file and entry, and no trace is left, finished or not."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        import_tensors(path, tmp_path / "x.jsonl")
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_nothing_to_import(tmp_path: Path) -> None:
    """A folder without tensors and a path that is not there are errors."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no tensor"):
        import_tensors(tmp_path / "empty", tmp_path / "x.jsonl")
    with pytest.raises(StorageError, match="cannot read"):
        import_tensors(tmp_path / "missing", tmp_path / "x.jsonl")
