"""The engine's bits, pinned: the same on every machine, with and without SIMD kernels."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracediff.engine
from tracediff.engine.elementwise import FloatArray
from tracediff.engine.exponential import exp, log, power
from tracediff.engine.ordered import cumulative, matmul, mean_over, mean_square_over, sum_over
from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.trigonometric import cos, cospi, sin, sinpi

# SHA-256, first 16 digits, of the little-endian results of `measure_digests`. Source: this engine
# on x86-64 with numpy 1.26.4 and 2.4.6, which agree; a machine that differs breaks its promise.
DIGESTS = {
    "exp": "f2bd0740d13b5dfd",
    "log": "67003a0c2271d471",
    "power": "9566b795250114e7",
    "sin": "fb8bdde755ea26b1",
    "cos": "851961d5ccda337b",
    "sinpi": "7df72d1d70f33c20",
    "cospi": "a2d00a4c969abce3",
    "normals": "c149b2ea9aa15094",
    "matmul": "c7166d6f80f69053",
    "matmul-float64": "ca2b0d84f301e0e6",
    "sum": "9ee1044ba34f0565",
    "cumulative": "1cf9b7e0e4e18dc9",
    "mean": "0c5c7b73c0462bad",
    "mean_square": "36dbafb77ae94547",
}


def measure_digests() -> dict[str, str]:
    """Evaluate everything on arguments made from Philox words by exact arithmetic."""
    words = PhiloxGenerator(8128).blocks(25_000).reshape(-1)
    small = (words.view(np.int32) * 2.0**-31).astype(np.float64)  # -1 to 1
    matrix = PhiloxGenerator(496).normals(64 * 300).reshape(64, 300)
    results = {
        "exp": exp(small * 700.0),
        "log": log(np.abs(small) * 2.0**100),
        "power": power(10_000.0, small),
        "sin": sin(small * 2.0**20),
        "cos": cos(small * 2.0**20),
        "sinpi": sinpi(small * 1024.0),
        "cospi": cospi(small * 1024.0),
        "normals": PhiloxGenerator(6).normals(100_000),
        "matmul": matmul(matrix, matrix.T),
        "matmul-float64": matmul(matrix.T.astype(np.float64), matrix.astype(np.float64)),
        "sum": sum_over(matrix),
        "cumulative": cumulative(matrix),
        "mean": mean_over(matrix, 0),
        "mean_square": mean_square_over(matrix),
    }
    return {name: digest(result) for name, result in results.items()}


def digest(array: FloatArray) -> str:
    little_endian = array.astype(array.dtype.newbyteorder("<"))
    return hashlib.sha256(little_endian.tobytes()).hexdigest()[:16]


def test_bits_are_pinned() -> None:
    """Every result has the bits that the engine promises on every machine."""
    assert measure_digests() == DIGESTS


def test_bits_without_simd() -> None:
    """The same bits in a process whose numpy uses none of its optional SIMD kernels."""
    features = find_simd_features()
    if not features:
        pytest.skip("numpy uses no optional SIMD kernels on this machine")
    environment = {
        **os.environ,
        "NPY_DISABLE_CPU_FEATURES": " ".join(features),
        "PYTHONPATH": str(Path(tracediff.engine.__file__).parents[2]),
    }
    program = (
        "import json, runpy, sys; module = runpy.run_path(sys.argv[1]); "
        "print(json.dumps([module['find_simd_features'](), module['measure_digests']()]))"
    )
    command = [sys.executable, "-c", program, __file__]
    child = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    still_on, digests = json.loads(child.stdout)
    if still_on:
        pytest.skip(f"numpy did not switch off {' '.join(still_on)}")
    assert digests == DIGESTS


def find_simd_features() -> list[str]:
    """Return the names of the optional SIMD feature sets that numpy found and may use."""
    configuration = np.show_config(mode="dicts")
    assert configuration is not None
    return list(configuration["SIMD Extensions"].get("found", []))
