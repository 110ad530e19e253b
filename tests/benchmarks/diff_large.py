"""`tracediff diff` on large traces against its peers.

Run as `python tests/benchmarks/diff_large.py`.
Writes traces of `--megabytes` (default 1000) into a temporary folder and prints, from one run,
whole-process seconds, the ratio to the peer of each row, and the peak memory. Peers are `cmp`,
`diff -q` and bare `orjson.loads` of every line of both files. Not a test.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

SKETCHES = 997
TRACEDIFF = [sys.executable, "-m", "tracediff", "diff"]
BARE = "import orjson,sys\nfor p in sys.argv[1:]:\n for l in open(p,'rb'): orjson.loads(l)"
FANS = 1_000_000


def main() -> None:
    """Write the files, time everything, print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write_sketched(folder / "base.jsonl", megabytes * 10**6, noise=False)
        shutil.copy(folder / "base.jsonl", folder / "same.jsonl")
        write_sketched(folder / "noise.jsonl", megabytes * 10**6, noise=True)
        change_last(folder / "base.jsonl", folder / "last.jsonl")
        write_fan(folder / "fan.jsonl", FANS, backwards=False)
        write_fan(folder / "naf.jsonl", FANS, backwards=True)
        write_calls(folder / "calls.jsonl", None)
        write_calls(folder / "llacs.jsonl", 14_000)
        size = (folder / "base.jsonl").stat().st_size
        title = f"{size / 1e6:.0f} MB, {count} events with a sketch each"
        table = Table("files", "seconds", "MB", "peer", "seconds", "ratio", "bar", title=title)
        for row in rows():
            table.add_row(*measure(folder, *row))
    Console(width=100).print(table)


def rows() -> Iterator[tuple[str, str, list[str], str, str]]:
    """Yield left file, right file, the peer's command, its name and the bar."""
    bare = [sys.executable, "-c", BARE]
    yield "base.jsonl", "same.jsonl", ["cmp"], "cmp", "1.5"
    yield "base.jsonl", "same.jsonl", ["diff", "-q"], "diff -q", ""
    yield "base.jsonl", "last.jsonl", ["cmp"], "cmp", "1.7"
    yield "base.jsonl", "noise.jsonl", bare, "orjson.loads", "2"
    yield "fan.jsonl", "naf.jsonl", bare, "orjson.loads", "4"
    yield "calls.jsonl", "llacs.jsonl", bare, "orjson.loads", "0.4 s"


def measure(
    folder: Path, left: str, right: str, peer: list[str], peer_name: str, bar: str
) -> list[str]:
    """Return one row: the best of three runs of each."""
    files = [str(folder / left), str(folder / right)]
    mine = min(run([*TRACEDIFF, *files]) for _ in range(3))
    other = min(run([*peer, *files]) for _ in range(3))
    return [
        f"{left} {right}",
        f"{mine[0]:.2f}",
        f"{mine[1]:.0f}",
        peer_name,
        f"{other[0]:.2f}",
        f"{mine[0] / other[0]:.2f}",
        bar,
    ]


def run(command: list[str]) -> tuple[float, float]:
    """Return seconds and peak megabytes of a whole process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def write_lines(path: Path, events: Iterator[dict[str, Any]]) -> int:
    """Write events until there are no more; return how many."""
    count = 0
    with path.open("wb") as stream:
        for found in events:
            stream.write(orjson.dumps(found) + b"\n")
            count += 1
    return count


def event(
    number: int, parent: int | None, payload: dict[str, Any], **fields: Any
) -> dict[str, Any]:
    """Return one event as a line holds it."""
    if number == 0:
        payload = {"trace": {"format": "tracediff-trace/1", "kind": "generic"}, **payload}
    return {
        "trace_id": "large",
        "event_id": f"e{number}",
        "parent_event_id": None if parent is None else f"e{parent}",
        "component": "model",
        "event_type": "layer",
        "logical_step": number,
        "payload": payload,
        **fields,
    }


def write_sketched(path: Path, size: int, *, noise: bool) -> int:
    """Write a chain of events with one sketched tensor each; noise changes every digest."""
    random = np.random.default_rng(1)
    sketches = (random.standard_normal((SKETCHES, 64)) * 5.6).astype(np.float32)
    if noise:
        sketches += np.float32(2e-6) * random.standard_normal((SKETCHES, 64)).astype(np.float32)
    spelled = [
        orjson.loads(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)) for row in sketches
    ]

    def events() -> Iterator[dict[str, Any]]:
        count = size // 1030
        for number in range(count):
            record = {
                "name": "x",
                "dtype": "float32",
                "shape": [64, 32],
                "logical": {"layer": number % 7},
                "digest": f"b3:{number + noise * 10**9:032x}",
                "stats": {"finite": 2048, "min": -3.5, "max": 3.25, "mean": 0.001, "l2": 45.25},
                "sketch": spelled[number % SKETCHES],
            }
            payload: dict[str, Any] = {"state": {"step": number}, "outputs": [record]}
            if number == count - 1:
                payload["end"] = {"events": count}
            yield event(number, number - 1 if number else None, payload)

    return write_lines(path, events())


def change_last(source: Path, target: Path) -> None:
    """Copy a trace and change one number in its last event."""
    shutil.copy(source, target)
    with target.open("r+b") as stream:
        stream.seek(-2000, os.SEEK_END)
        start = stream.tell()
        tail = stream.read()
        place = tail.rindex(b'"layer":') + len(b'"layer":')
        stream.seek(start + place)
        stream.write(b"9")


def write_fan(path: Path, count: int, *, backwards: bool) -> None:
    """Write many children of one root, in one order or the other."""
    order = range(count - 2, 0, -1) if backwards else range(1, count - 1)

    def events() -> Iterator[dict[str, Any]]:
        yield event(0, None, {"state": {"n": 0}})
        for number in order:
            yield event(number, 0, {"choice": {"token_id": number % 50_000}})
        yield event(count - 1, 0, {"choice": {"status": "FINISHED"}, "end": {"events": count}})

    write_lines(path, events())


def write_calls(path: Path, changed: int | None) -> None:
    """Write 20,000 tool-call events, one of them with another argument."""
    count = 20_000

    def events() -> Iterator[dict[str, Any]]:
        for number in range(count):
            arguments = {"city": f"city-{number}", "days": 3 + (number == changed)}
            payload: dict[str, Any] = {
                "state": {"status": "EXECUTING"},
                "choice": {"tool": "weather.forecast", "arguments": arguments},
                "ids": {"call": f"call-{number}"},
            }
            if number == count - 1:
                payload["end"] = {"events": count}
            yield event(number, number - 1 if number else None, payload, event_type="tool.called")

    write_lines(path, events())


if __name__ == "__main__":
    main()
