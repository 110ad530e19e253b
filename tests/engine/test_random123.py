"""Long streams against Random123's own C++ headers, compiled here when they are installed."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tracediff.engine.boxmuller import u01, uneg11
from tracediff.engine.philox import PhiloxGenerator

HEADERS = Path("/usr/include/Random123")
SOURCE = Path(__file__).with_name("random123_oracle.cpp")
RECORD = np.dtype([("words", "u4", 4), ("u01", "f4", 4), ("uneg11", "f4", 4), ("normals", "f4", 4)])

STREAMS = [
    pytest.param(314159, 0, 262_144, id="million-words"),
    pytest.param(2**64 - 12345, 2**32 - 5000, 10_000, id="first-carry"),
    pytest.param(2**40 + 1, 2**64 - 5000, 10_000, id="second-carry"),
    pytest.param(0, 2**128 - 5000, 10_000, id="wraps"),
]


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None or not HEADERS.is_dir():
        pytest.skip("needs g++ and the Random123 headers (Debian: librandom123-dev)")
    program = tmp_path_factory.mktemp("random123") / "oracle"
    options = ["-std=c++11", "-O2", "-ffp-contract=off"]
    subprocess.run([compiler, *options, str(SOURCE), "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize(("seed", "counter", "blocks"), STREAMS)
def test_streams_are_random123s(oracle: Path, seed: int, counter: int, blocks: int) -> None:
    """Words and uniforms agree bit for bit; normals within 4e-6 of Random123's float32 ones."""
    expected = run_oracle(oracle, seed, counter, blocks)
    words = PhiloxGenerator(seed, counter).blocks(blocks)
    assert np.array_equal(words, expected["words"])
    assert np.array_equal(u01(words), expected["u01"])
    assert np.array_equal(uneg11(words), expected["uneg11"])
    uniforms = PhiloxGenerator(seed, counter).uniforms(4 * blocks)
    assert np.array_equal(uniforms.reshape(-1, 4), expected["u01"])
    normals = PhiloxGenerator(seed, counter).normals(4 * blocks).reshape(-1, 4)
    difference = np.abs(normals.astype(np.float64) - expected["normals"])
    assert difference.max() < 4e-6


def run_oracle(oracle: Path, seed: int, counter: int, blocks: int) -> np.ndarray:
    numbers = [seed & 0xFFFFFFFF, seed >> 32]
    numbers += [(counter >> shift) & 0xFFFFFFFF for shift in (0, 32, 64, 96)]
    command = [str(oracle), *map(str, numbers), str(blocks)]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    return np.frombuffer(output, RECORD)
