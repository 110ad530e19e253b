"""Ctrl-C at any moment: one line, exit status 2, and what it leaves is named."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# Strikes a process while it loads a module, or opens a file, of this name.
STRIKE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
name = sys.argv.pop(1)
def strike(event, arguments):
    if event in ("import", "open") and str(arguments[0]).endswith(name):
        print("struck", flush=True)
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(strike)
from tracediff.__main__ import main
main()
"""
MOMENTS = {
    "streams": "tracediff.cli.streams",
    "command-line-library": "typer",
    "command-line": "tracediff.cli.app",
    "console": "rich.console",
    "arrays": "numpy",
    "workload": "tracediff.workloads.text",
    "opening-the-trace": ".partial",
    "reading-the-trace": "a.jsonl",
    "reading-the-times": "a.timing.jsonl",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_interrupted_at(moment: str, tmp_path: Path) -> None:
    """Whatever is being done, an interruption is one line and exit status 2."""
    done = subprocess.run(
        [sys.executable, "-c", STRIKE, MOMENTS[moment], "run", "text-001", "-o", "a.jsonl"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.stdout.startswith(b"struck\n")
    assert (done.returncode, done.stderr) == (2, b"tracediff: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_names_what_it_leaves(number: signal.Signals, tmp_path: Path) -> None:
    """A run that was interrupted while it recorded says where the beginning of its trace is."""
    settings = ("max_output_tokens=1000", "minimum_output_tokens=900", "context_window=4096")
    options = [word for setting in settings for word in ("--set", setting)]
    output = ("--stream", "-o", "a.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-c", STRIKE, "no module", "run", "text-001", *options, *output],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(3)  # the first character of some hundreds has been made
    process.send_signal(number)
    _, messages = process.communicate()
    assert process.returncode == 2
    assert messages == (
        b"tracediff: interrupted; what was recorded until then is in a.jsonl.partial\n"
    )
    assert (tmp_path / "a.jsonl.partial").exists()
    assert not (tmp_path / "a.jsonl").exists()
