"""Normalisers: each hides one kind of difference, and says that it was applied."""

from typing import Any

import numpy as np
import pytest
from trace_building import chain, changed, event, tensor, trace

from tracediff.diff import DiffOptions, Outcome, diff_traces
from tracediff.events import Trace

X = np.array([1.0, 2.0], np.float32)


def streamed(*pieces: str, reason: str = "eos") -> Trace:
    """Return a request whose text comes in these pieces."""
    events = [event("r", state={"prompt": "p"})]
    events += [
        event(f"d{n}", "r", "stream.delta", step=n, choice={"sequence_no": n, "text": piece})
        for n, piece in enumerate(pieces)
    ]
    done = {"finish_reason": reason, "sequence_no": len(pieces)}
    return trace([*events, event("e", "r", "response.completed", choice=done)])


def diffed(left: Trace, right: Trace, **options: Any) -> Any:
    return diff_traces(left, right, DiffOptions(**options))


def test_joined_text_ignores_chunking() -> None:
    """The same text in other pieces is equal under the view, and only there."""
    left, right = streamed("ab", "c"), streamed("a", "", "bc")
    assert diffed(left, right).outcome is Outcome.DIVERGED
    found = diffed(left, right, views=("joined-text",))
    assert found.outcome is Outcome.EQUAL
    assert found.normalisers == ("view joined-text",)


def test_joined_text_still_compares_text() -> None:
    """Another text differs under the view too, and so does another finish reason."""
    views = ("joined-text",)
    found = diffed(streamed("ok"), streamed("ok", "\nUser"), views=views)
    assert found.outcome is Outcome.DIVERGED
    assert found.first.difference.left == "ok"
    assert found.first.difference.right == "ok\nUser"
    assert diffed(streamed("a"), streamed("a", reason="length"), views=views).first is not None


def test_unordered_siblings() -> None:
    """Siblings of one type in any order and at any step are one set under the view."""

    def parallel(*values: int) -> Trace:
        calls = [event(f"c{n}", "r", "call", step=n, choice={"v": v}) for n, v in enumerate(values)]
        return trace([event("r", state={"n": 1}), *calls])

    assert diffed(parallel(1, 2, 3), parallel(3, 1, 2)).outcome is Outcome.DIVERGED
    views = ("unordered-siblings",)
    assert diffed(parallel(1, 2, 3), parallel(3, 1, 2), views=views).outcome is Outcome.EQUAL
    assert diffed(parallel(1, 2, 3), parallel(3, 1, 1), views=views).outcome is Outcome.DIVERGED


def pair() -> tuple[Trace, Trace]:
    left = chain(
        event("a", state={"n": 0}),
        event("b", event_type="noisy", outputs=[tensor("x", X), tensor("y", X)]),
        event("c", event_type="last", choice={"v": 1}),
    )
    return left, changed(left, "b", outputs=[tensor("x", X), tensor("y", X * 2)])


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        pytest.param({"skip": ("noisy",)}, Outcome.EQUAL, id="skip-type"),
        pytest.param({"skip": ("tensor:y",)}, Outcome.EQUAL, id="skip-tensor"),
        pytest.param({"skip": ("tensor:x",)}, Outcome.DIVERGED, id="skip-other-tensor"),
        pytest.param({"only": ("last",)}, Outcome.EQUAL, id="only-type"),
        pytest.param({"only": ("no*",)}, Outcome.DIVERGED, id="only-glob"),
        pytest.param({"only": ("tensor:x",)}, Outcome.EQUAL, id="only-tensor"),
        pytest.param({"only": ("tensor:y",)}, Outcome.DIVERGED, id="only-that-tensor"),
    ],
)
def test_only_and_skip(options: dict[str, Any], outcome: Outcome) -> None:
    """Events and tensors are left out by glob, and the report says so."""
    found = diffed(*pair(), **options)
    assert found.outcome is outcome
    assert found.normalisers


def test_nothing_left_is_no_pass() -> None:
    """A view that leaves nothing to compare is no equality."""
    left = chain(event("a"), event("b", event_type="noisy", choice={"v": 1}))
    found = diffed(left, left, skip=("noisy",))
    assert found.outcome is Outcome.NOTHING_COMPARED


@pytest.mark.parametrize(
    "options", [{"only": ("lats",)}, {"skip": ("tensor:z",)}, {"skip": ("tensor:last",)}]
)
def test_globs_that_fit_nothing_are_told(options: dict[str, Any]) -> None:
    """A misspelt glob is reported, so that nobody believes that it did something."""
    found = diffed(*pair(), **options)
    assert found.unused_rules == tuple(glob for globs in options.values() for glob in globs)


def test_skipping_everything_compares_nothing() -> None:
    """Not even the root is left."""
    assert diffed(*pair(), skip=("*",)).outcome is Outcome.NOTHING_COMPARED
