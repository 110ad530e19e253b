"""Whole processes against plain Python: run as `python tests/benchmarks/processes.py`.

Prints medians of alternating runs, and the ratio to the peer named in each row. Not a test: a
machine under load gives other numbers.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

REPEATS = 15
TRACEDIFF = [sys.executable, "-m", "tracediff"]
PASS = [sys.executable, "-c", "pass"]
NUMPY = [sys.executable, "-c", "import numpy"]


def main() -> None:
    """Measure and print."""
    table = Table("command", "median", "peer", "median", "ratio", "bar")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for output in ("a.jsonl", "b.jsonl"):
            subprocess.run([*TRACEDIFF, "run", "text-001", "-o", output], cwd=folder, check=True)
        blas = ["run", "text-001", "--kernel", "blas", "-o", "blas.jsonl"]
        subprocess.run([*TRACEDIFF, *blas], cwd=folder, check=True)
        rows = [
            (["--version"], PASS, "python -c pass", "6 x"),
            (["--help"], PASS, "python -c pass", ""),
            (["run", "text-001", "-o", "c.jsonl"], PASS, "python -c pass", "0.6 s"),
            (["diff", "a.jsonl", "b.jsonl"], NUMPY, "import numpy", "3 x"),
            (["diff", "a.jsonl", "blas.jsonl"], NUMPY, "import numpy", "3 x"),
            (["check", "a.jsonl"], NUMPY, "import numpy", ""),
        ]
        for arguments, peer, peer_name, bar in rows:
            mine, other = measure([*TRACEDIFF, *arguments], peer, folder)
            table.add_row(
                f"tracediff {' '.join(arguments)}",
                f"{mine * 1e3:.0f} ms",
                peer_name,
                f"{other * 1e3:.0f} ms",
                f"{mine / other:.2f} x",
                bar,
            )
    Console().print(table)


def measure(command: list[str], peer: list[str], folder: Path) -> tuple[float, float]:
    """Return the median seconds of both commands, run in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        for kept, run in zip(times, (command, peer), strict=True):
            start = time.perf_counter()
            subprocess.run(run, cwd=folder, check=False, capture_output=True)
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


if __name__ == "__main__":
    main()
