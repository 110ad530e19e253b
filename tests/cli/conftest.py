"""A way to run the command as a user does, in a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Done:
    """What a finished command left behind."""

    status: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def tracediff(tmp_path: Path) -> Command:
    """Return a function that runs `tracediff ARGUMENTS` in an empty folder, piped, 80 columns."""

    def run(*arguments: str, stdin: bytes = b"", **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "tracediff", *arguments],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80", **environment},
            input=stdin,
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
