"""Measure the server: run as `python tests/benchmarks/serve.py [SECONDS]` (default 30).

Fifty streams at a time over loopback, each with a request of its own; every trace is read again
and held against what its client got (bars: none mixed up, none lost, memory flat). Then the time
to the first token of text-001's question, one request at a time, after warm-up (bar: at most 50
ms). Not a test: a machine under load gives other numbers. Needs the extra serve.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from local_server import CHAT, QUESTION, chat, serving

from tracediff.contracts import check_trace
from tracediff.storage import read_trace

STREAMS = 50
WARM_UPS, SAMPLES = 20, 100
QUESTIONS = (QUESTION, "天空是蓝色", "大气为什么是蓝色？", "天空")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client saw of one request."""

    request_id: str
    seed: int
    text: str
    first_token_seconds: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=30.0)
    seconds = parser.parse_args().seconds
    table = Table("measured", "value", "bar")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(record=folder) as address:
            seen, memory = load(address, seconds)
            latencies = [ask(address, 0, QUESTION).first_token_seconds for _ in range(WARM_UPS)]
            latencies = [ask(address, 0, QUESTION).first_token_seconds for _ in range(SAMPLES)]
        mixed, lost, broken = hold_against_traces(folder, seen)
    latencies.sort()
    loaded = sorted(found.first_token_seconds for found in seen)
    table.add_row(f"requests in {seconds:g} s, {STREAMS} streams at a time", str(len(seen)), "")
    table.add_row("traces mixed up", str(mixed), "0")
    table.add_row("traces lost", str(lost), "0")
    table.add_row("traces that break their contract", str(broken), "0")
    table.add_row("resident memory, first and last third", " -> ".join(memory), "flat")
    table.add_row("time to first token under load, median", f"{median(loaded) * 1e3:.1f} ms", "")
    table.add_row("time to first token, median", f"{median(latencies) * 1e3:.1f} ms", "50 ms")
    worst = latencies[int(len(latencies) * 0.99)]
    table.add_row("time to first token, 99th percentile", f"{worst * 1e3:.1f} ms", "")
    Console(width=100).print(table)


def load(address: str, seconds: float) -> tuple[list[Seen], list[str]]:
    """Ask from many threads at once; return what they saw, and the memory early and late."""
    numbers, until = count(1), time.monotonic() + seconds
    samples: list[int] = []

    def sample() -> None:
        while time.monotonic() < until:
            samples.append(resident_kilobytes())
            time.sleep(0.25)

    def client(_: int) -> list[Seen]:
        found = []
        while time.monotonic() < until:
            number = next(numbers)
            found.append(ask(address, number, QUESTIONS[number % len(QUESTIONS)]))
        return found

    sampler = threading.Thread(target=sample)
    sampler.start()
    with ThreadPoolExecutor(STREAMS) as executor:
        seen = [found for part in executor.map(client, range(STREAMS)) for found in part]
    sampler.join()
    third = max(len(samples) // 3, 1)
    # The first samples hold what is loaded once.
    early, late = samples[third : 2 * third] or samples, samples[-third:]
    return seen, [f"{median(part) / 1024:.1f} MiB" for part in (early, late)]


def ask(address: str, seed: int, question: str) -> Seen:
    """Ask one question with a seed of its own; return what came back."""
    place = urlsplit(address)
    connection = HTTPConnection(str(place.hostname), place.port, timeout=120)
    body = chat(question, stream=True, seed=seed)
    start = time.perf_counter()
    connection.request("POST", CHAT, json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    first, texts = 0.0, []
    for event in events(response):
        text = event["choices"][0]["delta"].get("content")
        if text and not any(texts):
            first = time.perf_counter() - start
        texts.append(text or "")
    connection.close()
    return Seen(str(response.headers["x-request-id"]), seed, "".join(texts), first)


def events(response: Any) -> Iterator[Any]:
    """Yield the documents of a stream as they arrive."""
    for line in response:
        if line.startswith(b"data: {"):
            yield json.loads(line.removeprefix(b"data: "))


def hold_against_traces(folder: Path, seen: list[Seen]) -> tuple[int, int, int]:
    """Return how many traces tell another story than their client, are missing, or are broken."""
    mixed = lost = broken = 0
    for found in seen:
        path = folder / f"{found.request_id}.jsonl"
        if not path.exists():
            lost += 1
            continue
        trace = read_trace(path)
        (told,) = (e for e in trace.events if e.event_type == "response.completed")
        settings = trace.root.payload["settings"]
        agrees = (settings["seed"], told.payload["choice"]["text"]) == (found.seed, found.text)
        mixed += not agrees
        broken += bool(check_trace(trace).violations)
    return mixed, lost, broken


def resident_kilobytes() -> int:
    """Return this process's resident memory; the server runs in it."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


if __name__ == "__main__":
    main()
