"""The elementary functions against mpmath: float32 correctly rounded, float64 below 1 ULP."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from mpmath import libmp

from tracediff.engine.elementwise import FloatArray
from tracediff.engine.exponential import exp, log
from tracediff.engine.trigonometric import cos, cospi, sin, sinpi

Float64Array = npt.NDArray[np.float64]
Region = tuple[str, float, float, int]

ORACLE_BITS = 110


@dataclass(frozen=True, slots=True)
class Function:
    """A function, mpmath's name for it, and the regions its arguments are drawn from."""

    evaluate: Callable[[FloatArray], FloatArray]
    oracle: str
    float32_regions: tuple[Region, ...]
    float64_regions: tuple[Region, ...]


EXP = Function(
    exp,
    "mpf_exp",
    (
        ("uniform", -104.0, 89.0, 60_000),
        ("uniform", -1.0, 1.0, 20_000),
        ("octaves", -60, 6, 20_000),
    ),
    (("uniform", -708.0, 709.7, 20_000), ("octaves", -60, 9, 10_000)),
)
LOG = Function(
    log,
    "mpf_log",
    (("positive", -149, 127, 60_000), ("near one", -24, -1, 40_000)),
    (("positive", -1074, 1023, 20_000), ("near one", -52, -1, 10_000)),
)
RADIANS_FLOAT32: tuple[Region, ...] = (
    ("uniform", -1e5, 1e5, 50_000),
    ("uniform", -(2.0**20), 2.0**20, 20_000),
    ("octaves", -126, 20, 20_000),
    ("quarter turns", -600_000, 600_000, 10_000),
)
RADIANS_FLOAT64: tuple[Region, ...] = (
    ("uniform", -1e5, 1e5, 15_000),
    ("octaves", -500, 20, 10_000),
    ("quarter turns", -600_000, 600_000, 10_000),
)
HALF_TURNS_FLOAT32: tuple[Region, ...] = (
    ("uniform", -1.0, 1.0, 50_000),
    ("uniform", -1e3, 1e3, 30_000),
    ("octaves", -126, 26, 20_000),
)
HALF_TURNS_FLOAT64: tuple[Region, ...] = (
    ("uniform", -1.0, 1.0, 15_000),
    ("octaves", -500, 60, 15_000),
)
FUNCTIONS = {
    "exp": EXP,
    "log": LOG,
    "sin": Function(sin, "mpf_sin", RADIANS_FLOAT32, RADIANS_FLOAT64),
    "cos": Function(cos, "mpf_cos", RADIANS_FLOAT32, RADIANS_FLOAT64),
    "sinpi": Function(sinpi, "mpf_sin_pi", HALF_TURNS_FLOAT32, HALF_TURNS_FLOAT64),
    "cospi": Function(cospi, "mpf_cos_pi", HALF_TURNS_FLOAT32, HALF_TURNS_FLOAT64),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_results_are_correctly_rounded(name: str) -> None:
    """Of 100,000 float32 arguments, all but 10 give the float32 nearest to the true value."""
    function = FUNCTIONS[name]
    x = draw(function.float32_regions, np.dtype(np.float32))
    result = function.evaluate(x)
    expected = round_to_float32(*evaluate_oracle(function.oracle, x))
    distance = np.abs(order_of(result) - order_of(expected))
    assert x.size == 100_000
    assert np.count_nonzero(distance) < 10
    assert distance.max() <= 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64_results_are_near(name: str) -> None:
    """The largest error of a float64 result is below 0.9 units in its last place."""
    function = FUNCTIONS[name]
    x = draw(function.float64_regions, np.dtype(np.float64))
    result = function.evaluate(x)
    high, low = evaluate_oracle(function.oracle, x)
    error = ((high - result) + low) / np.spacing(np.abs(result))
    assert np.abs(error).max() < 0.9


def test_exp_underflows_gradually() -> None:
    """Subnormal float64 results of exp are at most one subnormal unit off."""
    x = np.linspace(-746.0, -708.0, 10_001)
    high, _ = evaluate_oracle("mpf_exp", x)
    assert np.abs(exp(x) - high).max() <= 2.0**-1074


def draw(regions: tuple[Region, ...], dtype: np.dtype[np.floating]) -> FloatArray:
    generator = np.random.Generator(np.random.PCG64(20240229))
    parts = [draw_region(generator, *region) for region in regions]
    return np.concatenate(parts).astype(dtype)


def draw_region(
    generator: np.random.Generator, kind: str, low: float, high: float, count: int
) -> Float64Array:
    """Draw `count` arguments; for octaves, positive and near one the bounds are powers of two."""
    numbers = generator.uniform(low, high, count)
    signs = generator.choice([-1.0, 1.0], count)
    match kind:
        case "uniform":
            return numbers
        case "octaves":
            return signs * 2.0**numbers
        case "positive":
            return 2.0**numbers
        case "near one":
            return 1.0 + signs * 2.0**numbers
        case "quarter turns":
            return np.rint(numbers) * (np.pi / 2)
    raise ValueError(kind)


def evaluate_oracle(name: str, x: FloatArray) -> tuple[Float64Array, Float64Array]:
    """Return mpmath's values as unevaluated sums of two float64, nearest first."""
    function = getattr(libmp, name)
    high, low = np.empty(x.size), np.empty(x.size)
    for i, argument in enumerate(x.tolist()):
        value = function(libmp.from_float(argument), ORACLE_BITS, "n")
        high[i] = libmp.to_float(value, rnd="n")
        low[i] = libmp.to_float(libmp.mpf_sub(value, libmp.from_float(high[i])))
    return high, low


def round_to_float32(high: Float64Array, low: Float64Array) -> npt.NDArray[np.float32]:
    """Round high + low once: first to odd in float64, which leaves no tie but a true one."""
    even = (high.view(np.int64) & 1) == 0
    toward = np.where(low > 0, np.inf, -np.inf)
    odd = np.where(even & (low != 0), np.nextafter(high, toward), high)
    with np.errstate(all="ignore"):
        return odd.astype(np.float32)


def order_of(x: FloatArray) -> npt.NDArray[np.int64]:
    """Return the place of each float32 among all float32 numbers, 0 for both zeros."""
    bits = x.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
