"""Compiled loops: every summary is the one that numpy makes, and nothing needs numba."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tracediff import Recorder
from tracediff.events.element_types import Array
from tracediff.recording.flat_tensor import BLOCK, SEGMENT
from tracediff.recording.kernels import load_kernels
from tracediff.recording.levels import TensorLevel, parse_level
from tracediff.recording.recordable import Snapshot
from tracediff.recording.scratch import Workspace
from tracediff.recording.sinks import MemorySink
from tracediff.recording.summaries import Held, summarise_all
from tracediff.recording.summary import TensorSummary, summarise_tensor

INSTALLED = importlib.util.find_spec("numba") is not None


def fast(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that compiles."""
    reason = "needs numba: pip install 'tracediff[fast]'"
    return pytest.mark.fast(pytest.mark.skipif(not INSTALLED, reason=reason)(test))


@pytest.fixture(scope="module")
def compiled() -> Workspace:
    """Return a workspace with compiled loops."""
    return workspace()


def workspace() -> Workspace:
    kernels = load_kernels()
    assert kernels is not None
    return Workspace(kernels)


def text(summary: TensorSummary) -> str:
    """Return what a trace holds: unlike ==, it tells 0.0 from -0.0, and orders of keys."""
    return json.dumps(asdict(summary))


def noise(size: int) -> Array:
    return np.random.default_rng(size).standard_normal(size, np.float32)


def scaled(size: int, factor: float) -> Array:
    """Return noise at one end of what float32 holds, all of it finite."""
    with np.errstate(over="ignore"):
        numbers = (noise(size).astype(np.float64) * factor).astype(np.float32)
    return np.nan_to_num(numbers)


def with_some(size: int, *odd: float) -> Array:
    """Return noise with odd numbers here and there."""
    numbers = noise(size)
    for index, value in enumerate(odd):
        numbers[index :: 7 * len(odd)] = value
    return numbers


def at_ends(size: int, first: float, middle: float, last: float) -> Array:
    """Return zeros but for three numbers."""
    numbers = np.zeros(size, np.float32)
    numbers[0], numbers[-1] = first, last
    numbers[size // 2] += np.float32(middle)
    return numbers


VALUES: dict[str, Callable[[int], Array]] = {
    "normal": noise,
    "negative": lambda size: -np.abs(noise(size)),
    "positive": lambda size: np.abs(noise(size)),
    "zeros": lambda size: np.zeros(size, np.float32),
    "negative-zeros": lambda size: np.full(size, -0.0, np.float32),
    "some-negative-zeros": lambda size: with_some(size, -0.0),
    "nan": lambda size: with_some(size, np.nan),
    "one-nan-at-the-end": lambda size: at_ends(size, 1.0, 2.0, np.nan),
    "all-nan": lambda size: np.full(size, np.nan, np.float32),
    "infinite": lambda size: with_some(size, np.inf, -np.inf),
    "all-infinite": lambda size: np.full(size, -np.inf, np.float32),
    "mixed": lambda size: with_some(size, np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, 3e38),
    "huge": lambda size: scaled(size, 1e38),
    "small": lambda size: scaled(size, 1e-16),
    "subnormal": lambda size: scaled(size, 1e-44),
    "constant": lambda size: np.full(size, 0.1, np.float32),
    "integers": lambda size: np.arange(size, dtype=np.float32) - size // 2,
    "cancelling": lambda size: (
        np.where(np.arange(size) % 2, 3e30, -3e30).astype("f4") + noise(size)
    ),
    # Sums whose last bit hangs on numbers that are far smaller.
    "half-way": lambda size: at_ends(size, 1.0, 0.0, 2.0**-53),
    "beyond-half-way": lambda size: at_ends(size, 1.0, 2.0**-120, 2.0**-53),
    "below-half-way": lambda size: at_ends(size, 1.0, -(2.0**-120), 2.0**-53),
}
SIZES = (
    *(1, 2, 3, 5, 63, 64, 65, 127, 255, 256, 257, 258, 259, 768, 1023, 1024, 1025, 2048, 4097),
    *(8191, 8192, 8193, 16383, 16384, 16385, 20_001, 32_767, 32_768, 32_769),
    3 * BLOCK + 5,
)


@fast
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("size", SIZES)
def test_alone_and_together(compiled: Workspace, size: int, values: str) -> None:
    """A tensor's summary is the same with compiled loops, by itself and among others."""
    array = VALUES[values](size)
    for level in ("digest", "sketch", "values=2", "values=9000"):
        expected = text(summarise_tensor(array, level=level))
        assert text(summarise_tensor(array, level=level, workspace=compiled)) == expected
        held = [Held(array, None, parse_level(level))] * 3
        assert [text(x) for x in summarise_all(held, compiled)] == [expected] * 3


@fast
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [10**6, SEGMENT + 2 * BLOCK + 7])
@pytest.mark.parametrize("values", ["normal", "mixed", "some-negative-zeros", "huge"])
def test_many_blocks(compiled: Workspace, values: str, size: int, threads: int) -> None:
    """Neither segments nor threads change a bit."""
    array = VALUES[values](size)
    array[:BLOCK] = 1.0
    expected = text(summarise_tensor(array))
    assert text(summarise_tensor(array, threads=threads, workspace=compiled)) == expected


def bits_of(array: Array) -> Array:
    return (array.view(np.uint32) >> 16).astype(np.uint16)


def unaligned(array: Array) -> Array:
    """Return a copy that begins at an odd address."""
    room = np.empty(array.nbytes + 1, np.uint8)[1:]
    room[...] = array.view(np.uint8)
    return room.view(array.dtype)


def read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array


KINDS: dict[str, tuple[Callable[[Array], Array], str | None]] = {
    "float16": (lambda x: x.astype("f2"), None),
    "bfloat16": (bits_of, "bfloat16"),
    "complex64": (lambda x: np.stack([x, x[::-1]], 1).view("c8"), None),
    "float64": (lambda x: x.astype("f8"), None),
    "int32": (lambda x: np.nan_to_num(x).clip(-9, 9).astype("i4"), None),
    "float8": (lambda x: bits_of(x).astype("u1"), "float8_e5m2"),
    "big-endian": (lambda x: x.astype(">f4"), None),
    "strided": (lambda x: np.repeat(x, 2)[::2], None),
    "unaligned": (unaligned, None),
    "read-only": (read_only, None),
    "0-d": (lambda x: x[-1:].reshape(()), None),
    "3-d": (lambda x: x.reshape(1, -1, 1), None),
    "empty": (lambda x: x[:0], None),
}


@fast
@pytest.mark.parametrize("values", ["normal", "mixed", "positive", "small", "some-negative-zeros"])
@pytest.mark.parametrize("size", [70, 1000, 5001, 2 * BLOCK + 3])
@pytest.mark.parametrize("kind", KINDS)
def test_types_and_layouts(compiled: Workspace, kind: str, size: int, values: str) -> None:
    """Whatever the loops cannot read is converted, or left to numpy."""
    convert, dtype = KINDS[kind]
    with np.errstate(over="ignore"):
        array = convert(VALUES[values](size))
    level = parse_level("values=0")
    expected = text(summarise_tensor(array, dtype=dtype, level=level))
    found = summarise_tensor(array, dtype=dtype, level=level, workspace=compiled)
    assert text(found) == expected
    together = summarise_all([Held(array, dtype, level)] * 3, compiled)
    assert [text(x) for x in together] == [expected] * 3


@fast
@given(
    array=npst.arrays(np.float32, st.integers(1, 300), elements=st.floats(width=32)),
    repeats=st.sampled_from([1, 1, 7, 300]),
    half=st.booleans(),
    level=st.sampled_from([TensorLevel("digest", 0), TensorLevel("sketch", 2)]),
)
def test_any_numbers(array: Array, repeats: int, half: bool, level: TensorLevel) -> None:
    """Whatever the numbers are, so for float16."""
    with np.errstate(over="ignore"):
        tensor = np.tile(array, repeats).astype("f2" if half else "f4")
    expected = text(summarise_tensor(tensor, level=level))
    assert text(summarise_tensor(tensor, level=level, workspace=workspace())) == expected


@fast
def test_signalling_nan_is_nan(compiled: Workspace) -> None:
    """Bits that raise a floating-point exception when converted pass without a warning."""
    for array in (np.full(70, 0x7F800001, "u4").view("f4"), np.full(70, 0x7C01, "u2").view("f2")):
        expected = summarise_tensor(array)
        assert summarise_tensor(array, workspace=compiled) == expected
        assert (
            summarise_all([Held(array, None, parse_level("sketch"))] * 3, compiled)[0] == expected
        )


@fast
def test_other_seeds(compiled: Workspace) -> None:
    """The loops take the signs of the seed that is asked for."""
    for array in (noise(1000), noise(3 * BLOCK)):
        found = [text(summarise_tensor(array, seed=s, workspace=compiled)) for s in (0, 7)]
        assert found == [text(summarise_tensor(array, seed=s)) for s in (0, 7)]
        assert found[0] != found[1]


@fast
def test_recorders_use_them() -> None:
    """A recorder with compiled loops, used by several threads, writes the same tensors."""
    arrays = [noise(size) for size in (50, 700, 700, 700, 9000, 2 * BLOCK)]
    found = []
    for kernels in (None, load_kernels()):
        sink = MemorySink()
        with Recorder(sink) as recorder:
            recorder.use_kernels(kernels)
            for array in arrays:
                outputs = {"now": array, "later": Snapshot(array)}
                thread = threading.Thread(
                    target=recorder.event, args=("a", "b"), kwargs={"outputs": outputs}
                )
                thread.start()
                thread.join()
        found.append([event.payload for event in sink.trace("run").events])
    assert found[0] == found[1]


@fast
def test_each_loop_is_compiled_once(compiled: Workspace) -> None:
    """Every kind of argument fits the one signature: nothing is compiled while tensors come."""
    for array in (noise(70), read_only(noise(70)), unaligned(noise(70)), noise(2 * BLOCK)):
        summarise_tensor(array, workspace=compiled)
    assert compiled.kernels is not None
    for loop in compiled.kernels:
        assert len(loop.signatures) == 1  # type: ignore[attr-defined]


def test_without_numba(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Where numba cannot be imported there are no compiled loops, and nothing is said about it."""
    monkeypatch.setitem(sys.modules, "numba", None)
    assert load_kernels.__wrapped__() is None
    assert capfd.readouterr() == ("", "")


RUN_WITHOUT_COMPILER = "from tracediff.recording.kernels import load_kernels; print(load_kernels())"
RUN_RECORDER = """
import sys, tracediff.recording.recorder, tracediff.recording.summaries
print("numba" in sys.modules or None)
"""


@fast
@pytest.mark.parametrize(
    ("program", "disabled"),
    [
        pytest.param(RUN_RECORDER, "0", id="imports-nothing"),
        pytest.param(RUN_WITHOUT_COMPILER, "1", id="compiler-switched-off"),
    ],
)
def test_other_processes(program: str, disabled: str) -> None:
    """Numba is loaded only on demand, and not used where it is told not to compile."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("None\n", "")
