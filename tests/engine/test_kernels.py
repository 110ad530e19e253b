"""The three numeric paths: one interface, each in its own type, all the same within rounding."""

from collections.abc import Callable

import numpy as np
import pytest

from tracediff.engine.kernels import KERNELS, Array, Kernel, find_kernel, record_float32
from tracediff.errors import UsageError

EVERY_KERNEL = [pytest.param(kernel, id=name) for name, kernel in KERNELS.items()]

# Bounds of the relative error against float64 mathematics: a few roundings of each type.
RTOL = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-14}


def draw(*shape: int, seed: int = 3) -> Array:
    """Draw float32 numbers, so that every path can load them exactly."""
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


def test_names_are_the_keys() -> None:
    """A kernel is found by the name that it carries itself, which is what a trace records."""
    assert {name: find_kernel(name).name for name in KERNELS} == {name: name for name in KERNELS}
    assert list(KERNELS) == ["ordered", "blas", "float64"]


@pytest.mark.parametrize("name", ["", "order", "BLAS", "float32"])
def test_unknown_kernel_is_refused(name: str) -> None:
    """An unknown name is an error that lists the known ones."""
    with pytest.raises(UsageError, match=f"unknown kernel '{name}'; known are ordered, blas, flo"):
        find_kernel(name)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_load_is_exact(kernel: Kernel) -> None:
    """Loading changes a float32 weight's type at most."""
    weight = draw(5, 7)
    loaded = kernel.load(weight)
    assert loaded.dtype == kernel.dtype
    np.testing.assert_array_equal(loaded, weight)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param((3, 4), (4, 5), id="matrices"),
        pytest.param((1, 2, 3, 4), (1, 2, 4, 6), id="batches-of-heads"),
        pytest.param((1, 3, 4), (4, 2), id="broadcast"),
        pytest.param((1, 8), (8, 20), id="one-row"),
    ],
)
def test_matmul(kernel: Kernel, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Products agree with float64 and keep the kernel's type."""
    a, b = draw(*left), draw(*right, seed=4)
    product = kernel.matmul(kernel.load(a), kernel.load(b))
    assert product.dtype == kernel.dtype
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(product, expected, rtol=0, atol=10 * RTOL[kernel.dtype])


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_total_keeps_the_last_axis(kernel: Kernel) -> None:
    """Sums go over the last axis, which stays with extent 1."""
    x = draw(2, 3, 50)
    total = kernel.total(kernel.load(x))
    assert (total.shape, total.dtype) == ((2, 3, 1), kernel.dtype)
    expected = x.astype(np.float64).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(total, expected, rtol=0, atol=50 * RTOL[kernel.dtype])


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@pytest.mark.parametrize("name", ["exp", "sin", "cos"])
def test_elementary_functions(kernel: Kernel, name: str) -> None:
    """Elementary functions agree with float64 and keep the kernel's type."""
    function: Callable[[Array], Array] = getattr(kernel, name)
    x = draw(4, 25) * 5
    result = function(kernel.load(x))
    assert result.dtype == kernel.dtype
    expected = getattr(np, name)(x.astype(np.float64))
    np.testing.assert_allclose(
        result, expected, rtol=RTOL[kernel.dtype], atol=RTOL[kernel.dtype] / 10
    )


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_exp_out_of_range(kernel: Kernel) -> None:
    """What is out of range becomes inf or 0 on every path, without a warning."""
    x = np.array([-np.inf, -2000.0, 0.0, 2000.0, np.inf], kernel.dtype)
    np.testing.assert_array_equal(kernel.exp(x), [0.0, 0.0, 1.0, np.inf, np.inf])


def test_ordered_sums_in_ascending_order() -> None:
    """Only the ordered path promises the bits of a scalar loop; here another order shows."""
    x = draw(1, 1000) * 1000
    total = np.float32(0)
    for value in x[0]:
        total = total + value
    backwards = np.float32(0)
    for value in x[0, ::-1]:
        backwards = backwards + value
    assert KERNELS["ordered"].total(x)[0, 0] == total != backwards


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_record_float32(kernel: Kernel) -> None:
    """What a trace keeps of any path is float32, rounded once."""
    third = np.ones(1, kernel.dtype) / kernel.dtype.type(3)
    recorded = record_float32(third)
    assert recorded.dtype == np.float32
    assert recorded[0] == np.float32(1) / np.float32(3)
