"""Small pictures below a report: of pictures, of large tensors, and of nothing else."""

from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from trace_building import chain, event, tensor

from tracediff.diff import diff_traces
from tracediff.diff.panels import TensorPanel, tensor_panels
from tracediff.events import Trace
from tracediff.render.thumbnails import print_thumbnails


def of_array(name: str, array: Any) -> Trace:
    return chain(
        event("e0", state={"n": 1}), event("e1", outputs=[tensor(name, array, level="values=9999")])
    )


def panel_of(name: str, left: Any, right: Any) -> TensorPanel:
    """Return what there is to see of two arrays."""
    found = diff_traces(of_array(name, left), of_array(name, right))
    pair = next(pair for pair in found.neighbours if pair.divergence is not None)
    return tensor_panels(pair, None, None)[0]


def drawn(panel: TensorPanel, *, width: int = 80, coloured: bool = False) -> list[str]:
    written = StringIO()
    system = "truecolor" if coloured else None
    console = Console(file=written, width=width, color_system=system, force_terminal=coloured)
    print_thumbnails(panel, console)
    return written.getvalue().splitlines()


def one_bright(shape: tuple[int, ...], dtype: str) -> Any:
    array = np.zeros(shape, dtype)
    array.reshape(-1)[0] = 200
    return array


PANELS = {
    "picture": ("pixels_uint8", (8, 8, 3), "uint8", "pixels_uint8"),
    "one-of-a-batch": ("pixels_uint8", (2, 8, 8, 3), "uint8", "pixels_uint8 1 of 2"),
    "latent": ("latent", (3, 8, 8), "float32", "latent in false colours"),
    "matrix": ("logits", (8, 20), "float32", "errors of logits, 8 x 20"),
}


@pytest.mark.parametrize(("name", "shape", "dtype", "title"), PANELS.values(), ids=PANELS.keys())
def test_titles(name: str, shape: tuple[int, ...], dtype: str, title: str) -> None:
    """What is drawn is named, and no line is wider than the terminal."""
    panel = panel_of(name, np.zeros(shape, dtype), one_bright(shape, dtype))
    lines = drawn(panel)
    assert lines[1] == title
    assert max(map(len, lines)) <= 80


def test_the_error_is_where_it_is() -> None:
    """The bright spot of a heat map is at the element that differs."""
    panel = panel_of("logits", np.zeros((8, 20), "float32"), one_bright((8, 20), "float32"))
    first, *others = drawn(panel)[2:6]
    assert first[0] not in (" ", first[1])
    assert len({*first[1:], *"".join(others)}) == 1


def test_pictures_stand_side_by_side() -> None:
    """Left, right and the difference share lines; only right and the difference are bright."""
    shape = (8, 8, 3)
    panel = panel_of("pixels_uint8", np.zeros(shape, "uint8"), np.full(shape, 255, "uint8"))
    lines = drawn(panel)
    assert lines[2].split() == ["left", "right", "difference"]
    assert lines[3].startswith(" " * 10 + "@" * 8)


def test_small_tensors_have_no_picture() -> None:
    """Of a few numbers the report says everything in words."""
    assert drawn(panel_of("x", np.zeros(3, "float32"), np.ones(3, "float32"))) == []


def test_high_matrices_are_shrunk() -> None:
    """A heat map has some dozen lines at most."""
    panel = panel_of("x", np.zeros((900, 8), "float32"), np.ones((900, 8), "float32"))
    assert len(drawn(panel)) <= 20


def test_colours() -> None:
    """In a terminal with colours pixels are half blocks."""
    panel = panel_of("logits", np.zeros((8, 20), "float32"), one_bright((8, 20), "float32"))
    assert "▀" in "".join(drawn(panel, coloured=True))
