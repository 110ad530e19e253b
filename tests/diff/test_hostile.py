"""Traces made to be slow or to make a mess of the report: bounded work, one screen, safe text."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from trace_building import chain, event, trace

from tracediff.diff import Outcome, TraceDiff, diff_traces
from tracediff.diff import fingerprints as fingerprints_module
from tracediff.diff import siblings as siblings_module
from tracediff.diff.align import align
from tracediff.diff.resync import Pool
from tracediff.events import Event, Trace
from tracediff.render.terminal import print_diff
from tracediff.storage.exact_json import MAX_DEPTH

SCREEN = 40
"""Lines that a report may have without `show_all`."""

ROOT = event("r", state={"n": 0})


def report(diff: TraceDiff) -> list[str]:
    """Return the lines of a report for a terminal of 80 columns."""
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    print_diff(diff, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@contextmanager
def counted(owner: Any, name: str) -> Iterator[list[int]]:
    """Count the calls of a function while the block runs."""
    calls = [0]
    original = getattr(owner, name)

    def count(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        return original(*args, **options)

    with pytest.MonkeyPatch.context() as patcher:
        patcher.setattr(owner, name, count)
        yield calls


def fan(count: int, prefix: str, **sections: Any) -> Trace:
    return trace([ROOT, *(event(f"{prefix}{n}", "r", **sections) for n in range(count))])


def stretch(count: int, prefix: str, kind: str = "step") -> Trace:
    return chain(ROOT, *(event(f"{prefix}{n}", event_type=kind) for n in range(count)))


UNMATCHED: dict[str, Callable[[], tuple[Trace, Trace]]] = {
    "siblings-only-right": lambda: (fan(1, "l"), fan(10_001, "r")),
    "other-types-in-a-fan": lambda: (
        fan(10_000, "l", choice={"v": 1}),
        trace([ROOT, *(event(f"r{n}", "r", f"other-{n}") for n in range(10_000))]),
    ),
    "other-types-in-a-chain": lambda: (
        chain(ROOT, *(event(f"l{n}", event_type=f"left-{n}") for n in range(10_000))),
        chain(ROOT, *(event(f"r{n}", event_type=f"right-{n}") for n in range(10_000))),
    ),
    "all-diverge": lambda: (
        trace([ROOT, *(event(f"l{n}", "r", step=n, choice={"v": 1}) for n in range(1, 10_000))]),
        trace([ROOT, *(event(f"r{n}", "r", step=n, choice={"v": 2}) for n in range(1, 10_000))]),
    ),
    "many-settings": lambda: (
        trace([event("r", state={"n": 0}, settings={f"s{n}": n for n in range(1000)})]),
        trace([event("r", state={"n": 0}, settings={f"s{n}": -n for n in range(1000)})]),
    ),
    "many-conditions": lambda: (
        trace([event("r", state={"n": 0}, context={f"s{n}": n for n in range(1000)})]),
        trace([event("r", state={"n": 0}, context={f"s{n}": -n for n in range(1000)})]),
    ),
}


@pytest.mark.parametrize("case", UNMATCHED)
def test_report_stays_one_screen(case: str) -> None:
    """However much differs, the report fits a screen and says how much it leaves out."""
    left, right = UNMATCHED[case]()
    lines = report(diff_traces(left, right))
    assert len(lines) <= SCREEN, lines


HUGE = "x" * 10_000_000
NASTY = {
    "huge-string": (HUGE, HUGE + "y"),
    "terminal-escapes": ("\x1b[31mred\x1b[0m \x07 \x9b2J", "\x1b]0;title\x07"),
    "rich-markup": ("[bold red]loud[/] [link=file:///]x[/link] :smile:", "[/nothing]"),
    "bidirectional": ("a\u202eb\u2066c", "a\u200bb"),
    "lone-surrogate": ("\ud83d", "\udc00"),
    "line-ends": ("a\nb\r\nc\u2028d\u0085e", "a\n\n\n\n\nb"),
}


@pytest.mark.parametrize("case", NASTY)
def test_text_is_shown_and_not_obeyed(case: str) -> None:
    """Text from a trace is escaped and cut, wherever it stands."""
    mine, other = NASTY[case]

    def side(text: str) -> Trace:
        return chain(
            event(
                "e0",
                state={"n": 0},
                settings={"note": text, text[:40]: 1},
                context={text[:40]: text},
            ),
            Event(
                "trace-test", text[:40], None, text[:40], text[:40], 0, {"choice": {"text": text}}
            ),
            name=text[:40],
        )

    lines = report(diff_traces(side(mine), side(other)))
    text = "\n".join(lines)
    assert len(lines) <= SCREEN
    assert sum(map(len, lines)) < 10_000
    assert not any(ord(x) < 32 or 0x7F <= ord(x) < 0xA0 for x in text.replace("\n", ""))
    assert not any(x in text for x in "\u202e\u2066\u200b\u2028\ud83d\udc00")
    if case == "rich-markup":
        assert "[bold red]loud[/]" in text


def nested(depth: int, leaf: Any) -> Any:
    value = leaf
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


@pytest.mark.parametrize("depth", [MAX_DEPTH - 4, 3 * MAX_DEPTH])
def test_deep_values(depth: int) -> None:
    """Values as deep as a file may hold are compared down to the leaf."""
    left, right = (trace([event("r", state={"v": nested(depth, leaf)})]) for leaf in (1, 2))
    found = diff_traces(left, right)
    assert found.outcome is Outcome.DIVERGED
    assert found.first is not None
    assert (found.first.difference.left, found.first.difference.right) == (1, 2)
    assert len(report(found)) <= SCREEN


SLOW: dict[str, tuple[Callable[[], Trace], Callable[[], Trace]]] = {
    "siblings-of-one-key": (lambda: fan(100_000, "l"), lambda: fan(99_000, "r")),
    "siblings-of-one-key-all-different": (
        lambda: trace([ROOT, *(event(f"l{n}", "r", state={"v": n}) for n in range(5_000))]),
        lambda: trace([ROOT, *(event(f"r{n}", "r", state={"v": -n}) for n in range(4_900))]),
    ),
    "siblings-of-two-kinds": (
        lambda: trace([ROOT, *(event(f"l{n}", "r", "xy"[n % 2]) for n in range(5_000))]),
        lambda: trace([ROOT, *(event(f"r{n}", "r", "xxy"[n % 3]) for n in range(5_000))]),
    ),
    "chain-of-one-key": (lambda: stretch(20_000, "l"), lambda: stretch(19_000, "r")),
    "chain-of-one-key-all-different": (
        lambda: chain(ROOT, *(event(f"l{n}", state={"v": n}) for n in range(5_000))),
        lambda: chain(ROOT, *(event(f"r{n}", state={"v": -n}) for n in range(5_000))),
    ),
    "chain-with-a-gap-everywhere": (
        lambda: chain(ROOT, *(event(f"l{n}", state={"v": n}) for n in range(3_000))),
        lambda: chain(ROOT, *(event(f"r{n}", state={"v": n}) for n in range(3_000) if n % 3)),
    ),
    "comb": (
        lambda: comb(5_000, "u"),
        lambda: trace([ROOT, *(event(f"t{n}", "r", f"tooth-{n}") for n in range(5_000))]),
    ),
    "types-reversed": (
        lambda: chain(ROOT, *(event(f"l{n}", event_type=f"t{n}") for n in range(2_000))),
        lambda: chain(ROOT, *(event(f"r{n}", event_type=f"t{n}") for n in reversed(range(2_000)))),
    ),
}


def comb(count: int, back: str) -> Trace:
    """Return a chain that only one side has, each link with a tooth that both have."""
    events = [ROOT]
    for n in range(count):
        parent = f"b{n - 1}" if n else "r"
        events.append(event(f"b{n}", parent, f"{back}-{n}"))
        events.append(event(f"t{n}", f"b{n}", f"tooth-{n}"))
    return trace(events)


@pytest.mark.parametrize("case", SLOW)
def test_work_is_bounded(case: str) -> None:
    """Traces made to be slow take a bounded number of steps for each of their events."""
    left, right = (make() for make in SLOW[case])
    events = len(left.events) + len(right.events)
    with (
        counted(fingerprints_module, "_digest") as digests,
        counted(siblings_module, "type_key") as keys,
        counted(Pool, "withdraw") as withdrawn,
    ):
        pairs = align(left, right).pairs
    assert digests[0] <= 8 * events
    assert keys[0] <= 40 * events
    assert withdrawn[0] <= 2 * events
    assert sum(pair.left >= 0 for pair in pairs) == len(left.events)
    assert sum(pair.right >= 0 for pair in pairs) == len(right.events)
