"""One event in full, as a narrow terminal shows it."""

from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tracediff.events import Event
from tracediff.recording.recordable import Draw, Tensor
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import MemorySink
from tracediff.render.event_text import print_event
from tracediff.render.rows import print_indented, print_row


def record(**sections: Any) -> Event:
    sink = MemorySink()
    with Recorder(sink) as recorder:
        recorder.event("root", "started")
        recorder.event("loop", "step", **sections)
    return sink.trace("test").events[1]


def shown(event: Event, width: int = 80) -> str:
    output = StringIO()
    print_event(event, Console(file=output, width=width))
    return output.getvalue()


def test_tensors() -> None:
    """A tensor is one line of what it is, and indented ones of what it holds."""
    array = np.array([1 / 3, -0.0, np.inf, *range(6, 12)], np.float32)
    tensor = Tensor(array, {"layer": 2, "positions": [0, 8]})
    lines = shown(record(outputs={"x": tensor})).splitlines()
    start = lines.index("outputs")
    assert lines[start + 1] == "  x float32 [9] layer 2, positions [0, 8]"
    assert lines[start + 2].startswith("      b3:")
    assert lines[start + 3].startswith("      min 0 max 11 mean 6.41667 l2 ")
    assert lines[start + 3].endswith(" pos_inf 1 neg_zero 1")
    assert lines[start + 4] == "      values 0.333333, -0, Infinity, 6, 7, 8, 9, 10, …"


def test_draws() -> None:
    """A draw from a generator is one `key: value` a line."""
    draw = Draw("noise", "Philox4x32-10", 0, 1, 4, (7, 0), (2, 2), "box-muller-v1")
    text = shown(record(rng=[draw]))
    assert (
        "rng\n"
        '  generator: "noise"\n'
        '    algorithm: "Philox4x32-10"\n'
        "    key: [7, 0]\n"
        "    counter_before: 0\n"
        "    counter_after: 1\n"
        "    draws: count 4, shape [2, 2]\n"
        '    transform: "box-muller-v1"\n'
    ) in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_fit_and_words_stay_whole(width: int) -> None:
    """Long content wraps at words, loses none of them, and leaves no blanks at line ends."""
    event = record(
        state={"ids": list(range(1000, 1300)), "text": " ".join(["word"] * 200)},
        inputs={"x": Tensor(np.arange(64.0) / 7, {"positions": list(range(40))})},
    )
    text = shown(event, width)
    for line in text.splitlines():
        assert cell_len(line) <= width
        assert not line.endswith(" ")
    words = text.replace('"', "").split()
    assert words.count("word") == 200
    for number in range(1000, 1300):
        assert f"{number}," in words or f"{number}]" in words or f"[{number}," in words


@pytest.mark.parametrize("text", ["", "one", "one two three four five six seven eight nine ten"])
@pytest.mark.parametrize("indent", [0, 2, 6])
def test_indented(indent: int, text: str) -> None:
    """The first line has an indent of its own, and every word is there once."""
    output = StringIO()
    print_indented(Console(file=output, width=30), Text(text, "bold"), indent, 6)
    lines = output.getvalue().splitlines()
    assert " ".join(output.getvalue().split()) == text
    assert all(cell_len(line) <= 30 and line == line.rstrip() for line in lines)
    assert not text or lines[0].startswith(" " * indent + "one")
    assert all(line.startswith(" " * 6) for line in lines[1:])


def test_rows_end_without_blanks() -> None:
    """Neither an empty text nor a wrapped one leaves blanks at a line's end."""
    output = StringIO()
    console = Console(file=output, width=40)
    for text in ("", "a few words that do not fit in one line of this terminal"):
        print_row(console, "label", text)
    assert all(line == line.rstrip() for line in output.getvalue().splitlines())
