"""Measure tensor summaries beside `hashlib.sha256` over the same bytes, in the same run.

Prints a table: for 256 MB tensors the ratio of throughputs (bar: at least 1 for float32 with two
threads), for small ones the time of one summary.
Run as `python tests/benchmarks/tensor_summary.py`.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tracediff.recording.summary import summarise_tensor

LARGE_BYTES = 1 << 28
REPEATS = 5
SMALL_SIZES = (16, 64, 100, 1024, 4096, 32768, 262144)
SMALL_SECONDS = 0.3


def best_seconds(*works: Callable[[], object]) -> list[float]:
    """Return the shortest time of each work; they take turns, so that noise hits all alike."""
    best = [float("inf")] * len(works)
    for _ in range(REPEATS):
        for index, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def microseconds(work: Callable[[], object]) -> float:
    """Return the shortest time of one call among bundles of calls."""
    work()
    calls, shortest, end = 20, float("inf"), time.perf_counter() + SMALL_SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            work()
        shortest = min(shortest, (time.perf_counter() - start) / calls)
    return shortest * 1e6


def large_tensors() -> dict[str, tuple[np.ndarray, str | None]]:
    """Return tensors of 256 MB: normal noise in several element types."""
    noise = np.random.default_rng(0).standard_normal(LARGE_BYTES // 4, np.float32)
    transposed = noise.reshape(8192, -1).T
    bits = noise.view(np.uint16)[1::2].copy()
    return {
        "float32": (noise, None),
        "float32, transposed": (transposed, None),
        "float64": (noise[: noise.size // 2].astype(np.float64), None),
        "bfloat16 (half the size)": (bits, "bfloat16"),
        "int8 (half the size)": (bits.view(np.int8), None),
    }


def main() -> None:
    """Print the table."""
    print(
        f"{'tensor':28} {'sha256':>9} {'1 thread':>9} {'2 threads':>9} {'throughput / sha256':>24}"
    )
    for name, (tensor, dtype) in large_tensors().items():
        content = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
        works = [
            lambda threads=threads, tensor=tensor, dtype=dtype: summarise_tensor(
                tensor, dtype=dtype, threads=threads
            )
            for threads in (1, 2)
        ]
        digest, one, two = best_seconds(lambda content=content: hashlib.sha256(content), *works)
        print(
            f"{name:28} {digest * 1e3:6.0f} ms {one * 1e3:6.0f} ms {two * 1e3:6.0f} ms "
            f"{digest / one:11.2f} {digest / two:12.2f}"
        )
    print()
    print(f"{'float32 elements':>28} {'sketch':>9} {'digest':>9}")
    for size in SMALL_SIZES:
        tensor = np.random.default_rng(0).standard_normal(size, np.float32)
        times = [
            microseconds(lambda level=level, tensor=tensor: summarise_tensor(tensor, level=level))
            for level in ("sketch", "digest")
        ]
        print(f"{size:28} {times[0]:6.0f} us {times[1]:6.0f} us")


if __name__ == "__main__":
    main()
