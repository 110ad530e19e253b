"""The words of a comparison's report: plurals, what was tolerated, what could not be decided."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from trace_building import chain, event, tensor

from tracediff.diff import DiffOptions, TraceDiff, diff_traces
from tracediff.events import Trace
from tracediff.render.terminal import print_diffs

ONE_WAY = np.array([0.0, 1.0] * 50)
"""Read backwards it has other elements and the same statistics."""


def shown(*diffs: TraceDiff, width: int = 300) -> str:
    output = StringIO()
    print_diffs(diffs, Console(file=output, width=width))
    return output.getvalue()


def of_sections(**sections: Any) -> Trace:
    return chain(event("root", state={"n": 1}), event("step", **sections))


def of_array(array: Any, level: str = "sketch") -> Trace:
    return of_sections(outputs=[tensor("x", np.asarray(array), level=level)])


def of_tops(value: float) -> Trace:
    return of_sections(choice={"top": [[1, value], [2, 0.25]], "token_id": 1})


def with_followers(count: int, value: int) -> Trace:
    events = [event(f"step{index}", state={"n": value}) for index in range(count)]
    return chain(event("root", state={"n": 1}), *events)


REPORTS: dict[str, tuple[Callable[[], TraceDiff], str]] = {
    "state-differs": (
        lambda: diff_traces(of_sections(state={"n": 1}), of_sections(state={"n": 2})),
        "step 0: state differs\n",
    ),
    "outputs-differ": (lambda: diff_traces(of_array([1.0]), of_array([2.0])), ": outputs differ\n"),
    "one-follower": (
        lambda: diff_traces(with_followers(2, 1), with_followers(2, 2)),
        "1 event after it diverges too (1 in state)",
    ),
    "two-followers": (
        lambda: diff_traces(with_followers(3, 1), with_followers(3, 2)),
        "2 events after it diverge too (2 in state)",
    ),
    "undecidable": (
        lambda: diff_traces(of_array(ONE_WAY, "digest"), of_array(ONE_WAY[::-1], "digest")),
        "tensors: 1 undecidable\n",
    ),
    "undecidable-evidence": (
        lambda: diff_traces(of_array(ONE_WAY, "digest"), of_array(ONE_WAY[::-1], "digest")),
        "evidence   undecidable\n",
    ),
    "negative-zero": (
        lambda: diff_traces(of_array([0.0, 1.0]), of_array([-0.0, 1.0])),
        "tolerated    tensors with other bytes and no distance, such as -0.0 against 0.0\n",
    ),
    "top": (
        lambda: diff_traces(of_tops(0.5), of_tops(0.5 + 1e-9)),
        "tolerated    differing values in lists called `top`, all close enough\n",
    ),
    "strict-settings": (
        lambda: diff_traces(
            of_sections(state={"n": 1}, settings={"seed": 1}),
            of_sections(state={"n": 1}, settings={"seed": 2}),
            DiffOptions(strict_settings=True),
        ),
        "reason       settings differ, and --strict-settings counts them\n",
    ),
}


@pytest.mark.parametrize("case", REPORTS)
def test_words(case: str) -> None:
    """The report says it in words that fit."""
    compare, expected = REPORTS[case]
    text = shown(compare())
    assert expected in text
    assert "by none" not in text


def test_settings_that_count_are_shown_in_a_folder_too() -> None:
    """Of several pairs, one that diverges in settings alone is more than a headline."""
    equal = diff_traces(of_array([1.0]), of_array([1.0]))
    strict = REPORTS["strict-settings"][0]()
    text = shown(equal, strict)
    assert "settings.seed: 1 -> 2" in text
    assert "2 pairs: 1 equal, 1 diverged" in text


@pytest.mark.parametrize("section", ["settings", "context"])
def test_every_key_of_nested_settings_is_a_line(section: str) -> None:
    """As many as fit are shown with how many are left; --all lists them."""
    left, right = (of_sections(**{section: {"m": {str(n): v for n in range(10)}}}) for v in (1, 2))
    diff = diff_traces(left, right)
    text = shown(diff)
    assert f"{section}.m.7: 1 -> 2" in text
    assert f"{section}.m.8" not in text
    assert "and 2 more (--all lists them)" in text
    everything = StringIO()
    print_diffs((diff,), Console(file=everything, width=300), show_all=True)
    assert f"{section}.m.9: 1 -> 2" in everything.getvalue()
    assert "more" not in everything.getvalue()


def test_long_names_are_not_cut() -> None:
    """A path in the headline is printed whole."""
    name = "/".join(["folder"] * 60) + "/a.jsonl"
    left, right = of_array([1.0]), of_array([2.0])
    diff = diff_traces(Trace(left.events, name), Trace(right.events, "b"))
    text = shown(diff, width=1000)
    assert f"DIVERGED  {name} | b\n" in text
    assert f"tracediff show {name} --event" in text
