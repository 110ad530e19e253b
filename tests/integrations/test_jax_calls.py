"""Recording plain Python with arrays of JAX: element types, random keys, traced arrays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracediff import Recorder, Trace, diff_traces
from tracediff.errors import UsageError
from tracediff.integrations.python_calls import recorded, recorded_block
from tracediff.recording.sinks import MemorySink

jax = pytest.importorskip("jax", reason="needs jax")

pytestmark = pytest.mark.jax

Use = Callable[[Recorder], object]


def trace_of(use: Use) -> Trace:
    """Return what was recorded."""
    sink = MemorySink()
    with Recorder(sink) as recorder:
        use(recorder)
    return sink.trace("recorded")


def block_with(value: Any) -> Use:
    """Return a use of a recorder that records one value."""

    def use(recorder: Recorder) -> None:
        with recorded_block(recorder, "block", value=value) as block:
            block.give(given=value)

    return use


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float16", "bfloat16", "float8_e4m3fn", "int8", "uint32", "bool", "complex64"],
)
def test_element_types(dtype: str) -> None:
    """Numbers and element types are JAX's own."""
    array = jax.numpy.arange(6).reshape(2, 3).astype(dtype)
    (event,) = trace_of(block_with(array)).events
    (record,) = event.payload["inputs"]
    assert (record["dtype"], record["shape"]) == (dtype, [2, 3])
    plain = array.astype("complex64" if dtype == "complex64" else "float32")
    numbers = plain.view("float32") if dtype == "complex64" else plain
    assert [float(value) for value in record["values"]] == numbers.reshape(-1).tolist()
    assert event.payload["outputs"][0]["digest"] == record["digest"]


DATA = jax.numpy.arange(4, dtype="uint32")


@pytest.mark.parametrize(
    ("left", "right", "field"),
    [
        pytest.param(("key", 0), ("key", 0), None, id="same"),
        pytest.param(("key", 0), ("key", 1), "payload.inputs[value]", id="seed"),
        pytest.param(
            ("wrap_key_data", DATA[:2]),
            ("wrap_key_data", DATA, "rbg"),
            "payload.inputs[value].logical.generator",
            id="shape",
        ),
        pytest.param(
            ("wrap_key_data", DATA, "rbg"),
            ("wrap_key_data", DATA, "unsafe_rbg"),
            "payload.inputs[value].logical.generator",
            id="generator",
        ),
    ],
)
def test_random_keys(left: tuple[Any, ...], right: tuple[Any, ...], field: str | None) -> None:
    """A typed random key is its state and its generator, compared exactly."""
    traces = []
    for make, given, *impl in (left, right):
        options = {"impl": impl[0]} if impl else {}
        traces.append(trace_of(block_with(getattr(jax.random, make)(given, **options))))
    first = diff_traces(*traces).first
    assert (None if first is None else first.difference.field) == field


def test_compiled_function_is_recorded_from_outside(tmp_path: Path) -> None:
    """What `jax.jit` made is called as a whole; its arguments are read before they are donated."""

    def use(recorder: Recorder) -> None:
        add = recorded(recorder)(jax.jit(lambda x: x + 1, donate_argnums=0))
        add(jax.numpy.zeros(2))

    (event,) = trace_of(use).events
    assert event.payload["inputs"][0]["values"] == [0.0, 0.0]
    assert event.payload["outputs"][0]["values"] == [1.0, 1.0]


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap"])
def test_traced_array_is_refused(transform: str) -> None:
    """Inside of a transformation arrays have no numbers: the error says where to record."""

    def use(recorder: Recorder) -> None:
        @recorded(recorder)
        def square(x: Any) -> Any:
            return (x**2).sum()

        getattr(jax, transform)(square)(jax.numpy.ones(2))

    with pytest.raises(UsageError, match=r"array x: JAX traces it .* above @jax\.jit"):
        trace_of(use)


def test_values_inside_of_compiled_code_by_callback() -> None:
    """`jax.debug.callback` hands out what compiled code computes on its way."""

    def use(recorder: Recorder) -> None:
        @jax.jit
        def twice(x: Any) -> Any:
            half = x + 1
            jax.debug.callback(lambda y: recorder.event("half", "seen", outputs={"y": y}), half)
            return half * 2

        twice(jax.numpy.zeros(2))
        jax.effects_barrier()

    (event,) = trace_of(use).events
    assert event.payload["outputs"][0]["values"] == [1.0, 1.0]


def test_deleted_array_is_refused() -> None:
    """An array whose memory was given away is named."""
    array = jax.numpy.ones(2)
    array.delete()
    with pytest.raises(UsageError, match="cannot record the array value: Array has been deleted"):
        trace_of(block_with(array))


def test_shape_without_numbers_is_plain() -> None:
    """A `ShapeDtypeStruct` is its shape and the name of its element type."""
    described = jax.ShapeDtypeStruct((2, 3), "float32")
    (event,) = trace_of(block_with(described)).events
    assert event.payload["state"]["value.dtype"] == "float32"
