"""Comparisons of every kind for tests of report formats, each really made by the comparator."""

from collections.abc import Callable
from functools import cache
from io import BytesIO

import numpy as np
from trace_building import chain, event, tensor, trace

from tracediff.comparison import diff_files
from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.diff.result import MISSING
from tracediff.events import Event, Trace
from tracediff.storage import encode_event
from tracediff.workloads.run import run_fixture

HOSTILE = (
    "\x1b[31mred\x1b[0m \x07\x00\x08\r\n::error file=x::owned\n##[error]owned\n%0A::warning::owned"
    "]]>&lt;<script>alert(1)</script><img src=x onerror=alert(1)> `` ``` ```` | || \\| \\\\| "
    "@octocat @org/team #1 GH-1 owner/repo#2 [click](https://evil.example/) "
    "![p](//evil.example/p.png) https://evil.example www.evil.example me@evil.example "
    "$x$ :smile: **b** </code></pre></details>\n\n# heading\n\n{0} {{1}} "
    "\u202egnp\u2066 \ud83d \ufffe \u2028 <!-- "
)
"""Everything that some reader of some format acts on."""

MANY = 10_000
HUGE = 10_000_000


class NamedBytes(BytesIO):
    """A stream that says which file it is."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


def lines_of(found: Trace) -> bytes:
    return b"".join(encode_event(one).rstrip(b"\n") + b"\n" for one in found.events)


def named(found: Trace, name: str) -> Trace:
    return Trace(found.events, name, found.warnings, found.tensors)


def compare(left: Trace, right: Trace, options: DiffOptions | None = None) -> TraceDiff:
    return diff_traces(named(left, "traces/golden.jsonl"), named(right, "runs/new.jsonl"), options)


def golden() -> Trace:
    return run_fixture("text-001")


def of_tensor(values: list[float]) -> Trace:
    outputs = [tensor("logits", np.asarray(values, np.float32), level="values")]
    return chain(event("root", state={"n": 1}), event("step", outputs=outputs))


def of_state(value: object, **sections: object) -> Trace:
    return chain(event("root", state={"n": 1}), event("step", state={"value": value}, **sections))


def with_siblings(count: int) -> Trace:
    """Return a trace whose root has so many children, all of other types."""
    children = [event(f"child{i}", "root", f"type-{i}", choice={"n": i}) for i in range(count)]
    return trace([event("root", state={"n": 1}), *children])


def hostile_event(value: str) -> Trace:
    """Return a trace that is hostile in every place that is free text."""
    step = Event(
        "trace-test", value[:300], "root", value, value, 0, {"choice": {value[:300]: value}}
    )
    return trace([event("root", state={"n": 1}), step])


def cut_off() -> TraceDiff:
    whole = lines_of(golden())
    torn = NamedBytes("runs/new.jsonl", whole[: len(whole) // 2])
    return diff_files(NamedBytes("traces/golden.jsonl", whole), torn)


def hostile_message() -> TraceDiff:
    whole = lines_of(golden())
    return diff_files(NamedBytes("traces/golden.jsonl", whole), NamedBytes(HOSTILE, b"{}\n"))


DIFFS: dict[str, tuple[Callable[[], TraceDiff], Outcome, str]] = {
    "equal": (lambda: compare(golden(), golden()), Outcome.EQUAL, ""),
    "within-tolerance": (
        lambda: compare(golden(), run_fixture("text-001", kernel="blas")),
        Outcome.WITHIN_TOLERANCE,
        "",
    ),
    "text": (
        lambda: compare(of_state("a cat"), of_state("a dog")),
        Outcome.DIVERGED,
        "unknown",
    ),
    "tensor": (
        lambda: compare(of_tensor([1.0, 2.0, 3.0]), of_tensor([2.0, 4.0, 6.0])),
        Outcome.DIVERGED,
        "constant-factor",
    ),
    "lone-event": (
        lambda: compare(golden(), run_fixture("text-001", {"max_output_tokens": 3})),
        Outcome.DIVERGED,
        "stop-rule",
    ),
    "lone-event-on-the-right": (
        lambda: compare(run_fixture("text-001", {"max_output_tokens": 3}), golden()),
        Outcome.DIVERGED,
        "stop-rule",
    ),
    "settings": (
        lambda: compare(
            of_state(1, settings={"seed": 1}),
            of_state(1, settings={"seed": 2}),
            DiffOptions(strict_settings=True),
        ),
        Outcome.DIVERGED,
        "settings-differ",
    ),
    "incomparable": (
        lambda: compare(trace([event("a")], kind="text"), trace([event("a")], kind="image")),
        Outcome.INCOMPARABLE,
        "could-not-say-incomparable",
    ),
    "incomplete": (cut_off, Outcome.INCOMPLETE, "could-not-say-incomplete"),
    "unreadable": (
        lambda: diff_files("traces/none.jsonl", "runs/none.jsonl"),
        Outcome.UNREADABLE,
        "could-not-say-unreadable",
    ),
    "missing-counterpart": (
        lambda: TraceDiff(
            Outcome.DIVERGED, "traces/golden.jsonl", MISSING, message="there is no such trace"
        ),
        Outcome.DIVERGED,
        "missing-counterpart",
    ),
    "missing-golden": (
        lambda: TraceDiff(
            Outcome.DIVERGED, MISSING, "runs/new.jsonl", message="there is no such golden"
        ),
        Outcome.DIVERGED,
        "missing-counterpart",
    ),
    "unmatched": (
        lambda: compare(with_siblings(MANY), with_siblings(0)),
        Outcome.DIVERGED,
        "truncated",
    ),
    "hostile": (
        lambda: diff_traces(
            named(hostile_event(HOSTILE), f"traces/{HOSTILE}"),
            named(hostile_event(f"{HOSTILE}!"), f"runs/{HOSTILE}"),
        ),
        Outcome.DIVERGED,
        "replaced-event",
    ),
    "hostile-value": (
        lambda: compare(of_state({HOSTILE: HOSTILE}), of_state({HOSTILE: f"{HOSTILE}!"})),
        Outcome.DIVERGED,
        "unknown",
    ),
    "hostile-message": (hostile_message, Outcome.INVALID, "could-not-say-invalid"),
    "huge-string": (
        lambda: compare(of_state("`@a " * (HUGE // 4)), of_state("`@b " * (HUGE // 4))),
        Outcome.DIVERGED,
        "unknown",
    ),
}
"""Each kind of comparison with its outcome and the rule that it breaks."""


@cache
def diff_of(case: str) -> TraceDiff:
    """Return one of the comparisons, made once."""
    return DIFFS[case][0]()
