"""Ctrl-C while further processes work: one line, exit status 2, and nobody left behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tracediff.workloads.run import golden_path


def wait_for_children(process: subprocess.Popen[bytes]) -> None:
    """Return when a process has started further ones."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and len(listed.read_text().split()) < 2:
        time.sleep(0.01)


def ends(group: int) -> bool:
    """Whether all processes of a group end; one that tidies up does so a moment later."""
    for _ in range(1000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def kill_twice(process: int, number: int) -> None:
    """Send a signal to a process, and another one while it puts things in order."""
    os.kill(process, number)
    time.sleep(0.05)
    os.kill(process, number)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's list of processes")
@pytest.mark.parametrize(
    ("number", "reach"),
    [
        pytest.param(signal.SIGINT, os.killpg, id="ctrl-c-reaches-all"),
        pytest.param(signal.SIGTERM, os.kill, id="end-reaches-the-first"),
        pytest.param(signal.SIGTERM, kill_twice, id="end-twice-as-timeout-does"),
    ],
)
@pytest.mark.parametrize("arguments", [["gate"], ["gate", "--update"]], ids=["gate", "update"])
def test_interrupted_with_processes(
    number: signal.Signals, reach: Callable[[int, int], None], arguments: list[str], tmp_path: Path
) -> None:
    """An interruption of the group, or of its first process, ends all of them in one line."""
    folder = tmp_path / "traces"
    shutil.copytree(golden_path("text-001").parent, folder)
    (folder / "text-001.jsonl").unlink()
    before = sorted(path.name for path in folder.iterdir())
    process = subprocess.Popen(
        [sys.executable, "-m", "tracediff", *arguments, "--jobs", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for_children(process)
    reach(process.pid, number)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (2, b"", b"tracediff: interrupted\n")
    assert sorted(path.name for path in folder.iterdir()) == before
    assert ends(process.pid)
