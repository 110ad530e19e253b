"""Killed, interrupted, or out of disk: never a file under the final name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tracediff.errors import IncompleteTrace, StorageError
from tracediff.events.event import Event
from tracediff.storage import TraceWriter, read_events

WRITE_FOREVER = """
import sys
from itertools import count
from tracediff.events import Event
from tracediff.storage import TraceWriter

with TraceWriter(sys.argv[1], environment={"test": True}) as writer:
    header = {"trace": {"format": "tracediff-trace/1", "kind": "loop"}}
    for number in count():
        parent = f"e{number - 1}" if number else None
        payload = header if number == 0 else {"state": {"filler": "x" * 100}}
        writer.write(Event("t", f"e{number}", parent, "loop", "step", number, payload))
        if number == 3000:
            print("running", flush=True)
"""

FILL_THE_DISK = """
import resource, signal, sys
from itertools import count
from tracediff.errors import StorageError
from tracediff.events import Event
from tracediff.storage import TraceWriter

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    with TraceWriter(sys.argv[1]) as writer:
        header = {"trace": {"format": "tracediff-trace/1", "kind": "loop"}}
        for number in range(int(sys.argv[2])):
            parent = f"e{number - 1}" if number else None
            payload = dict(header) if number == 0 else {"state": {"filler": "x" * 100}}
            if number == int(sys.argv[2]) - 1:
                payload["end"] = {"events": number + 1}
            writer.write(Event("t", f"e{number}", parent, "loop", "step", number, payload))
except StorageError as error:
    print(error)
"""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_a_killed_run_leaves_only_partials(tmp_path: Path, name: str, ending: str) -> None:
    """Whatever ends the process, the final name stays free and the partial is incomplete."""
    path = tmp_path / f"a{ending}"
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_FOREVER, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"running\n"
            child.send_signal(signal.Signals[name])
            child.communicate(timeout=60)
        finally:
            child.kill()  # one that did not end would fill the disk
    assert child.returncode != 0
    assert names(tmp_path) == {f"a{ending}.partial", "a.timing.jsonl.partial"}
    found = []
    with pytest.raises(IncompleteTrace, match="was not finished"):
        found.extend(located.event.event_id for located in read_events(f"{path}.partial"))
    if name == "SIGINT":  # it unwinds, so that all is flushed
        assert len(found) > 3000
    elif ending == ".jsonl":  # what was in the buffer is lost
        assert len(found) > 1000


@pytest.mark.parametrize(
    "events",
    [pytest.param(10_000, id="while writing"), pytest.param(900, id="in the last flush")],
)
def test_a_full_disk_is_one_clear_sentence(tmp_path: Path, events: int) -> None:
    """Where the system takes no more bytes, the trace does not get its name."""
    path = tmp_path / "a.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FILL_THE_DISK, str(path), str(events)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        f"cannot write {path}: the file would be larger than the system allows\n"
    )
    assert done.stderr == ""
    assert names(tmp_path) == {"a.jsonl.partial"}


def test_a_full_device_is_one_clear_sentence(tmp_path: Path, events: Sequence[Event]) -> None:
    """No space left, which Linux's /dev/full always says: the disk is full."""
    path = tmp_path / "a.jsonl"
    writer = TraceWriter(path)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._file._raw.fileno())
    os.close(full)
    for event in events:
        writer.write(event)
    with pytest.raises(StorageError) as caught:
        writer.finish()
    assert str(caught.value) == f"cannot write {path}: the disk is full"
    assert names(tmp_path) == {"a.jsonl.partial"}
