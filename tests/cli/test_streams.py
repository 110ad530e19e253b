"""Where output goes: closed pipes, full disks, closed streams, narrow encodings, colours."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]

TRACEDIFF = [sys.executable, "-W", "error", "-m", "tracediff"]
COMMANDS = {
    "diff": ["diff", "a.jsonl", "b.jsonl"],
    "diff-json": ["diff", "a.jsonl", "b.jsonl", "--json"],
    "show": ["show", "a.jsonl"],
    "check": ["check", "a.jsonl"],
    "list": ["list"],
    "run-stream": ["run", "text-001", "--stream"],
    "version": ["--version"],
    "help": ["--help"],
}


@pytest.fixture
def folder(tracediff: Command, tmp_path: Path) -> Path:
    """Return a folder with two equal traces."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    return tmp_path


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a terminal with colours and 80 columns, with changes."""
    return {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **changes}


def closed_pipe() -> int:
    """Return the writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("command", COMMANDS)
def test_closed_pipe(command: str, folder: Path) -> None:
    """A reader that has gone is no divergence: exit status 2, and nothing is said."""
    writing = closed_pipe()
    done = subprocess.run(
        [*TRACEDIFF, *COMMANDS[command]],
        cwd=folder,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"")


@pytest.mark.parametrize("arguments", [["dif"], ["diff", "--no"], ["show", "missing"]])
def test_closed_pipe_of_messages(arguments: list[str], tmp_path: Path) -> None:
    """A message that nobody reads changes no exit status."""
    writing = closed_pipe()
    done = subprocess.run(
        [*TRACEDIFF, *arguments], cwd=tmp_path, stdout=writing, stderr=writing, check=False
    )
    os.close(writing)
    assert done.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", COMMANDS)
def test_full_disk(command: str, folder: Path) -> None:
    """Output that the system refuses is one line on stderr."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*TRACEDIFF, *COMMANDS[command]],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"tracediff: cannot write the output: No space left on device\n"


@pytest.mark.parametrize(
    ("redirection", "arguments", "message"),
    [
        (">&-", "diff a.jsonl b.jsonl", "standard output is closed"),
        (">&-", "--version", "standard output is closed"),
        ("<&-", "check -", "- is standard input, and that is closed"),
        ("2>&-", "check missing.jsonl", ""),
    ],
)
def test_closed_streams(redirection: str, arguments: str, message: str, folder: Path) -> None:
    """A standard stream that is closed is said to be, as far as that can be said."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirection}', "sh", *TRACEDIFF, *arguments.split()],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "changes",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii:strict"},
    ],
    ids=["c-locale", "latin-1", "strict-ascii"],
)
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["run", "text-001", "--stream"], 0),
        (["show", "a.jsonl"], 0),
        (["check", "a.jsonl", "--json"], 0),
        (["run", "短"], 2),
    ],
    ids=["stream", "show", "json", "message"],
)
def test_narrow_encodings(
    changes: dict[str, str], arguments: list[str], status: int, folder: Path
) -> None:
    """What an encoding lacks is written as an escape."""
    done = subprocess.run(
        [*TRACEDIFF, *arguments],
        cwd=folder,
        env=environment(**changes),
        capture_output=True,
        check=False,
    )
    assert done.returncode == status
    assert b"internal error" not in done.stderr
    if arguments[0] == "run" and status == 0:
        assert done.stdout.startswith(rb"\u77ed\u6ce2")


COLOURS = {
    # environment, coloured in a pipe, coloured on a terminal
    "nothing-set": ({}, False, True),
    "forced": ({"FORCE_COLOR": "1"}, True, True),
    "force-0": ({"FORCE_COLOR": "0"}, False, True),
    "force-empty": ({"FORCE_COLOR": ""}, False, True),
    "none": ({"NO_COLOR": "1"}, False, False),
    "none-wins": ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
}


@pytest.mark.parametrize("arguments", [["check", "a.jsonl"], ["--help"], ["check", "--no"]])
@pytest.mark.parametrize("case", COLOURS)
def test_colours(case: str, arguments: list[str], folder: Path) -> None:
    """Escape sequences appear on terminals, where they are forced, and never with NO_COLOR."""
    changes, piped, on_terminal = COLOURS[case]
    done = subprocess.run(
        [*TRACEDIFF, *arguments],
        cwd=folder,
        env=environment(**changes),
        capture_output=True,
        check=False,
    )
    assert (b"\x1b" in done.stdout + done.stderr) is piped
    shown = run_on_terminal([*TRACEDIFF, *arguments], folder, environment(**changes))
    assert (b"\x1b" in shown) is on_terminal


def run_on_terminal(command: list[str], folder: Path, variables: dict[str, str]) -> bytes:
    """Return what a command prints on a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, cwd=folder, env=variables, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 4096):
            pieces.append(piece)
    except OSError:
        pass  # Linux reports the end of a terminal's other side so
    os.close(ours)
    process.wait()
    assert pieces
    return b"".join(pieces)
