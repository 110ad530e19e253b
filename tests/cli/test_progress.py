"""The progress line: on a terminal only, late, and gone when the work is done."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import sys
from tracediff.cli.progress import show_progress
after, quiet = float(sys.argv[1]), sys.argv[2] == "quiet"
with show_progress("counting sheep", quiet=quiet, after=after) as tell:
    tell(3, 9)
    sys.stdin.readline()
print("done")
"""


def started(after: str, loudness: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the work with stderr on a terminal; return the process and the terminal's side."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, after, loudness],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    return process, ours


def rest_of(terminal: int) -> bytes:
    """Return what is printed on a terminal until nobody has it open."""
    pieces = []
    try:
        while piece := os.read(terminal, 4096):
            pieces.append(piece)
    except OSError:
        pass  # Linux reports the end of a terminal's other side so
    os.close(terminal)
    return b"".join(pieces)


def test_shown_and_removed() -> None:
    """The line says what is done and how much of it, and is wiped at the end."""
    process, terminal = started("0", "loud")
    shown = b""
    while b"3 of 9" not in shown:
        shown += os.read(terminal, 4096)
    assert b"counting sheep" in shown
    assert process.communicate(b"\n")[0] == b"done\n"
    rest = rest_of(terminal)
    assert rest.endswith(b"\x1b[2K")  # the last thing done is to erase the line
    assert b"\x1b[?25h" in rest  # and the cursor is back


@pytest.mark.parametrize(
    ("after", "loudness"),
    [pytest.param("0", "quiet", id="quiet"), pytest.param("3600", "loud", id="soon-done")],
)
def test_not_shown(after: str, loudness: str) -> None:
    """Nothing is shown if nobody wants it, nor of work that is soon done."""
    process, terminal = started(after, loudness)
    assert process.communicate(b"\n")[0] == b"done\n"
    assert rest_of(terminal) == b""


def test_never_in_pipes() -> None:
    """What is no terminal gets nothing, whatever colours are forced."""
    done = subprocess.run(
        [sys.executable, "-c", WORK, "0", "loud"],
        input=b"\n",
        capture_output=True,
        env={**os.environ, "FORCE_COLOR": "1"},
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"done\n", b"")


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        pytest.param(["run", "ddim-2d", "-q"], b"1.728590, -1.751795\n", id="run"),
        pytest.param(["check", "-q", "runs/ddim-2d.jsonl"], b"", id="check"),
    ],
)
def test_quiet_commands(arguments: list[str], out: bytes, tmp_path: Path) -> None:
    """With --quiet only the result is printed, and nothing of what holds."""
    command = [sys.executable, "-W", "error", "-m", "tracediff"]
    for words in (["run", "ddim-2d"], arguments):
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, out, b"")
