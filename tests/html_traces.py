"""Comparisons that HTML reports are tested with: harmless ones, hostile ones, large ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from trace_building import chain, event, tensor

from tracediff.comparison import SideBySide, pair_up
from tracediff.diff import DiffOptions, Outcome, TraceDiff
from tracediff.events import Trace

EVIL = (
    "</script><script>document.title='owned';alert(1)</script>"
    "<img src=x onerror=alert(2)><!--\x1b[31m\u202e\u2028\x00\ud800'\"&amp;"
)
HARMLESS = "x" * len(EVIL)
LONG = 10_000_000


def text_trace(word: str, value: int, **sections: Any) -> Trace:
    """Return three events with a word wherever a trace has room for one."""
    return chain(
        event(f"root-{word}", state={"n": 1}),
        event(
            f"middle-{word}",
            None,
            f"type-{word}",
            component=f"component-{word}",
            lane={f"lane-{word}": word},
            state={f"key-{word}": word, "__proto__": {"polluted": value}, "n": value},
            choice={"text": f"{word}{value}", "token_id": value},
            note={"remark": word},
            **{f"x-{word}": word},
            **sections,
        ),
        event(f"last-{word}", None, "ending", state={"n": value}),
        name=f"{word}.jsonl",
    )


def compared_words(word: str) -> SideBySide:
    """Return a comparison in which everything that a trace can spell is one word."""
    return pair_up(text_trace(word, 1), text_trace(word, 2))


def with_state(value: Any) -> Trace:
    """Return two events, the second with one value in its state."""
    return chain(event("root", state={"n": 1}), event("step", state={"n": value}))


def with_tensor(array: Any, level: str = "values=4096") -> Trace:
    """Return two events, the second with one tensor."""
    outputs = [tensor("x", np.asarray(array), level=level)]
    return chain(event("root", state={"n": 1}), event("step", outputs=outputs))


def long_chain(count: int, *, changed: int | None = None) -> Trace:
    """Return a chain of events, one of them with another token."""
    events = [
        event(f"e{n}", None, "step", step=n, choice={"token_id": -1 if n == changed else n})
        for n in range(count)
    ]
    return chain(*events)


def unmatched(count: int) -> SideBySide:
    """Return a comparison of which almost all events are on one side only."""
    sides = [
        chain(
            event("root", state={"n": 1}),
            *(event(f"{s}{n}", None, f"{s}{n}") for n in range(count)),
        )
        for s in "ab"
    ]
    return pair_up(*sides)


def outcomes() -> dict[str, SideBySide]:
    """Return a comparison of each outcome that a report can be about."""
    one, other = with_state(1), with_state(2)
    near = with_tensor([1.0, 2.0]), with_tensor([1.0, 2.0 + 1e-9])
    settings = [chain(event("root", state={"n": 1}, settings={"seed": seed})) for seed in (1, 2)]
    bare = chain(event("root"))
    image = chain(event("root", state={"n": 1}), kind="image")
    unreadable = TraceDiff(Outcome.UNREADABLE, "a.jsonl", "b.jsonl", message="no such file")
    return {
        "equal": pair_up(one, one),
        "within": pair_up(*near),
        "diverged": pair_up(one, other),
        "tensor": pair_up(with_tensor(np.arange(24.0)), with_tensor(np.arange(24.0) ** 2)),
        "undecidable": pair_up(
            with_tensor(np.zeros(100), "digest"), with_tensor(np.ones(100), "digest")
        ),
        "extra-event": pair_up(one, chain(*one.events, event("third", state={"n": 3}))),
        "settings": pair_up(*settings, DiffOptions(strict_settings=True)),
        "view": pair_up(one, other, DiffOptions(skip=("nothing",), views=("joined-text",))),
        "nothing": pair_up(bare, bare),
        "incomparable": pair_up(one, image),
        "unreadable": SideBySide(unreadable),
        "many-origins": pair_up(with_fan(1), with_fan(2)),
    }


def with_fan(value: int) -> Trace:
    """Return a root with twenty children, each with one value in its state."""
    from trace_building import trace

    children = [event(f"c{n}", "root", "step", step=n, state={"n": value}) for n in range(20)]
    return trace([event("root", state={"n": 1}), *children])
