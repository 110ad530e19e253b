"""Tensor levels: names, limits, and what is refused."""

import pytest

from tracediff.errors import UsageError
from tracediff.recording.levels import TensorLevel, parse_level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        pytest.param("digest", TensorLevel("digest", 0), id="digest"),
        pytest.param("sketch", TensorLevel("sketch", 64), id="sketch"),
        pytest.param("values", TensorLevel("values", 4096), id="values"),
        pytest.param("values=256", TensorLevel("values", 256), id="values-limit"),
        pytest.param("values=0", TensorLevel("values", 0), id="values-none"),
        pytest.param("full", TensorLevel("full", 64), id="full"),
    ],
)
def test_level_is_read_and_written(text: str, level: TensorLevel) -> None:
    """A level's name gives its limits, and the level prints as its name."""
    assert parse_level(text) == level
    assert str(level) == text


@pytest.mark.parametrize(
    "text",
    ["", "all", "Sketch", "values=", "values=-1", "values=1.5", "values=²", "values=٣", "full=3"],
)
def test_other_levels_are_refused(text: str) -> None:
    """The error repeats the text and names what is allowed."""
    with pytest.raises(UsageError, match="digest, sketch, values, full and values=N") as caught:
        parse_level(text)
    assert repr(text) in str(caught.value)
