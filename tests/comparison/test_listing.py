"""What below a folder is a trace by its name, and what makes a folder impossible to list."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tracediff.comparison.listing import find_misnamed, find_traces
from tracediff.errors import TracediffError

NAMES = {
    "a.jsonl": "a",
    "a.jsonl.gz": "a",
    "a.jsonl.zst.partial": "a",
    "a.JSONL": "a",
    "a.jsonl.b.jsonl": "a.jsonl.b",
    "sub.jsonl.d/a.jsonl": "sub.jsonl.d/a",
    "a.partial": "a",
    "a.timing.jsonl": None,
    "a.timing.jsonl.partial": None,
    "a.tensors/b3.npy": None,
    "a.tensors/b3.npy.0a1b.partial": None,
    "a.json": None,
    "a": None,
}


@pytest.mark.parametrize("path", NAMES)
def test_names(path: str, tmp_path: Path) -> None:
    """Endings, in any case, make a name that of a trace; sidecars and tensors are none."""
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.touch()
    wanted = {} if NAMES[path] is None else {NAMES[path]: file}
    assert find_traces(tmp_path) == wanted


def link_to_itself(folder: Path) -> None:
    (folder / "sub").symlink_to(folder, target_is_directory=True)


def link_to_a_folder_above(folder: Path) -> None:
    (folder / "sub").symlink_to(folder.parent, target_is_directory=True)


def links_to_each_other(folder: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        (folder / name).mkdir()
        (folder / name / "link").symlink_to(folder / other, target_is_directory=True)


def link_to_nothing(folder: Path) -> None:
    (folder / "sub").symlink_to(folder / "absent")


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "link-to-itself": (link_to_itself, "a folder that it is in"),
    "link-to-a-folder-above": (link_to_a_folder_above, "a folder that it is in"),
    "links-to-each-other": (links_to_each_other, "a folder that it is in"),
    "link-to-nothing": (link_to_nothing, "leads nowhere"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_links_that_cannot_be_followed(case: str, tmp_path: Path) -> None:
    """A link that leads back or nowhere is an error, as nobody knows what is behind it."""
    make, reason = REFUSED[case]
    make(tmp_path)
    with pytest.raises(TracediffError, match=reason):
        find_traces(tmp_path)


def test_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that the system does not list is an error: it may hold traces."""
    closed = tmp_path / "closed"
    closed.mkdir()
    real = os.listdir

    def listdir(folder: Path) -> list[str]:
        # Permissions do not stop a superuser, who may be running this test.
        if Path(folder) == closed:
            raise PermissionError(13, "Permission denied")
        return list(real(folder))

    monkeypatch.setattr("os.listdir", listdir)
    with pytest.raises(TracediffError, match="closed: the folder cannot be listed"):
        find_traces(tmp_path)


def test_misnamed(tmp_path: Path) -> None:
    """Files that begin as a trace does are found under any name, also compressed."""
    start = b'{"trace_id":"t","event_id":"e00"'
    contents = {
        "a.jsonl": start,
        "plain": start,
        "spaced.json": b'{ "trace_id": "t"',
        "small.gz": gzip.compress(start),
        "b.timing.jsonl": start,
        "notes.txt": b"trace_id",
        "report.json": b'{"format": "tracediff-report/1"}',
        "torn.gz": gzip.compress(start)[:12],
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    found = [path.name for path in find_misnamed(tmp_path)]
    assert found == ["b.timing.jsonl", "plain", "small.gz", "spaced.json"]
