"""A comparison in one line, and the command that tells more."""

import pytest
from compared import HOSTILE, compare, diff_of, of_state

from tracediff.diff import Outcome, TraceDiff
from tracediff.diff.result import MISSING
from tracediff.render.one_line import describe_cause, describe_diff, next_command

LINES = {
    "equal": "equal",
    "within-tolerance": "equal within tolerance",
    "text": 'step loop step, step 0: state.value: "a cat" -> "a dog"',
    "tensor": "step loop step, step 0: outputs: logits: values out of tolerance (3 of 3 elements)",
    "lone-event": "e15 scheduler decode.started, step 3: only left has this event",
    "lone-event-on-the-right": "e15 scheduler decode.started, step 3: only right has this event",
    "settings": "settings differ, and count: settings.seed: 1 -> 2",
    "unreadable": "traces/none.jsonl: there is no such file",
    "missing-counterpart": "there is no such trace",
}


@pytest.mark.parametrize("case", LINES)
def test_description(case: str) -> None:
    """The line says where the traces part and how, or why they were not compared."""
    assert describe_diff(diff_of(case)) == LINES[case]


COMMANDS = {
    "equal": None,
    "text": "tracediff show traces/golden.jsonl --event step",
    "lone-event-on-the-right": "tracediff show runs/new.jsonl --event e15",
    "incomplete": "tracediff check runs/new.jsonl",
    "incomparable": None,
    "unreadable": None,
    "missing-counterpart": None,
    "settings": None,
}


@pytest.mark.parametrize("case", COMMANDS)
def test_next_command(case: str) -> None:
    """What to run next names the file that has the event."""
    assert next_command(diff_of(case)) == COMMANDS[case]


@pytest.mark.parametrize(
    ("path", "argument"),
    [
        pytest.param("a b.jsonl", "'a b.jsonl'", id="space"),
        pytest.param("$(rm -r x).jsonl", "'$(rm -r x).jsonl'", id="substitution"),
        pytest.param("-o.jsonl", "./-o.jsonl", id="option"),
        pytest.param("a'b", "'a'\"'\"'b'", id="quote"),
    ],
)
def test_commands_are_safe_to_paste(path: str, argument: str) -> None:
    """A name is one argument, and no option."""
    found = TraceDiff(Outcome.CORRUPT, path, MISSING, message=f"{path}:3: torn")
    assert next_command(found) == f"tracediff check {argument}"


def test_cause() -> None:
    """Kind and explanation; nothing where no cause is known."""
    assert describe_cause(diff_of("tensor")).startswith("constant-factor: every element")
    assert describe_cause(diff_of("incomplete")) == ""


def test_lines_are_printable() -> None:
    """Control characters of a value are shown."""
    line = describe_diff(compare(of_state("x"), of_state(HOSTILE)))
    assert line.isprintable()
    assert "\\x1b[31m" in line
