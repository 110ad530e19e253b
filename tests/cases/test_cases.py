"""Public reports in which somebody had to find where two runs part, each with its right answer."""

import zlib
from io import StringIO
from pathlib import Path

import pytest
from cases.case_files import FOLDER, case_files
from cases.verdicts import BROKEN, PARTED, SAME, UNREADABLE, Broken, Parted, Same, Unreadable
from mutants.mutant import found_at
from rich.console import Console

from tracediff.contracts import check_trace
from tracediff.diff import Outcome, TraceDiff, diff_traces
from tracediff.errors import CorruptTrace, IncompleteTrace, InvalidTrace, TraceError
from tracediff.render.terminal import print_diff
from tracediff.storage import read_trace

ERRORS = {
    Outcome.INVALID: InvalidTrace,
    Outcome.INCOMPLETE: IncompleteTrace,
    Outcome.CORRUPT: CorruptTrace,
}
CASES = 44
"""Cases of the collection: all of them concern comparing or validating."""


def path_of(case: str, name: str) -> Path:
    (found,) = (path for path in (FOLDER / case).iterdir() if path.name.split(".")[0] == name)
    return found


def compare(verdict: Parted | Same) -> TraceDiff:
    left, right = (
        read_trace(path_of(verdict.case, name)) for name in (verdict.left, verdict.right)
    )
    return diff_traces(left, right, verdict.options)


def printed(diff: TraceDiff) -> str:
    """Return the report for a terminal as one line, so that wrapping does not matter."""
    console = Console(file=StringIO(), width=200, no_color=True)
    print_diff(diff, console)
    assert isinstance(console.file, StringIO)
    return " ".join(console.file.getvalue().split())


def label(verdict: Parted | Same) -> str:
    views = "-".join((*verdict.options.views, verdict.options.level or "")).strip("-")
    nan = "" if verdict.options.nan_equal else "nan-differs"
    return "-".join(
        part for part in (verdict.case, verdict.left, verdict.right, views, nan) if part
    )


@pytest.mark.parametrize("verdict", PARTED, ids=label)
def test_parts_where_it_should(verdict: Parted) -> None:
    """The two runs part at the known event, section and field, for the known cause."""
    found = compare(verdict)
    assert found.outcome is Outcome.DIVERGED
    assert found_at(found) == (verdict.event, verdict.check, verdict.cause)
    assert found.first is not None
    assert found.first.difference.field.endswith(verdict.field)
    report = printed(found)
    assert [text for text in verdict.prints if text not in report] == []


@pytest.mark.parametrize("verdict", PARTED, ids=label)
def test_the_other_way_round(verdict: Parted) -> None:
    """The sides exchanged, the runs part at the same place."""
    left, right = (
        read_trace(path_of(verdict.case, name)) for name in (verdict.left, verdict.right)
    )
    one, two = (diff_traces(*pair, verdict.options) for pair in ((left, right), (right, left)))
    assert one.first is not None
    assert two.first is not None
    assert (one.outcome, one.first.check) == (two.outcome, two.first.check)
    assert (one.first.left, one.first.right) == (two.first.right, two.first.left)


@pytest.mark.parametrize("verdict", SAME, ids=label)
def test_is_the_same(verdict: Same) -> None:
    """The two runs are equal, and what was not looked at is printed."""
    found = compare(verdict)
    assert found.outcome is verdict.outcome, found.first
    report = printed(found)
    assert [text for text in verdict.prints if text not in report] == []


@pytest.mark.parametrize("verdict", BROKEN, ids=lambda verdict: f"{verdict.case}-{verdict.rule}")
def test_breaks_a_rule_alone(verdict: Broken) -> None:
    """One file breaks a rule without being compared; its counterpart keeps it."""

    def broken_at(name: str) -> list[str | None]:
        report = check_trace(read_trace(path_of(verdict.case, name)))
        return [
            found.event_id
            for found in report.violations
            if found.rule == verdict.rule and verdict.reason in found.reason
        ]

    assert broken_at(verdict.file)[:1] == [verdict.event]
    assert broken_at(verdict.kept_by) == []


@pytest.mark.parametrize(
    "verdict", UNREADABLE, ids=lambda verdict: f"{verdict.case}-{verdict.file}"
)
def test_is_no_trace(verdict: Unreadable) -> None:
    """The file is refused with its outcome, its line and the reason."""
    with pytest.raises(TraceError) as caught:
        read_trace(path_of(verdict.case, verdict.file))
    assert type(caught.value) is ERRORS[verdict.outcome]
    assert verdict.line in (None, caught.value.place.line)
    assert verdict.reason in caught.value.reason


def test_every_case_has_a_verdict() -> None:
    """No case is only stored."""
    told = {verdict.case for verdict in (*PARTED, *SAME, *BROKEN, *UNREADABLE)}
    stored = {path.parent.name for path, _ in case_files()}
    assert told == stored
    assert len(stored) == CASES


def test_files_are_what_the_tables_say() -> None:
    """The stored files and what they are written from have not drifted apart."""
    wanted = dict(case_files())
    assert set(FOLDER.glob("F[0-9]*/*")) == set(wanted)
    for path, content in wanted.items():
        assert unpacked(path, path.read_bytes()) == unpacked(path, content), path


def unpacked(path: Path, content: bytes) -> bytes:
    """Return the content of a gzip file as far as it goes: zlib versions pack differently."""
    if path.suffix != ".gz":
        return content
    found = b""
    while content:
        member = zlib.decompressobj(31)
        found += member.decompress(content)
        content = member.unused_data
    return found
