"""Workflow commands as GitHub's runner reads them, and the summary of a step."""

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import pytest
from compared import DIFFS, HOSTILE, diff_of, golden, lines_of

from tracediff.comparison import diff_files, with_line
from tracediff.diff import Outcome, TraceDiff
from tracediff.render.github import LONGEST_SUMMARY, github_annotations, github_summary
from tracediff.render.pairs import Verdict, verdict_of
from tracediff.render.workspace import Workspace
from tracediff.workloads.run import run_fixture


@dataclass(frozen=True, slots=True)
class Command:
    """A workflow command as the runner takes it apart."""

    name: str
    properties: dict[str, str]
    data: str


def read_command(line: str) -> Command:
    """Take a line apart as `ActionCommand.TryParseV2` of github.com/actions/runner does.

    The line starts with `::`; the next `::` ends the properties; `%25` is decoded last.
    """
    assert line.startswith("::")
    head, data = line[2:].split("::", 1)
    name, _, listed = head.partition(" ")
    properties = dict(entry.split("=", 1) for entry in listed.split(","))
    decoded = {key: decode(value, {"%3A": ":", "%2C": ","}) for key, value in properties.items()}
    return Command(name, decoded, decode(data, {}))


def decode(text: str, further: dict[str, str]) -> str:
    for code, character in {"%0D": "\r", "%0A": "\n", **further, "%25": "%"}.items():
        text = text.replace(code, character)
    return text


def commands(*diffs: TraceDiff, workspace: Workspace | None = None) -> list[Command]:
    text = github_annotations(diffs, workspace=workspace)
    return [read_command(line) for line in text.splitlines() if line.startswith("::")]


@pytest.mark.parametrize("case", DIFFS)
def test_one_error_for_each_pair_that_does_not_pass(case: str) -> None:
    """Divergence and trouble are errors, named by their rule; what passes is silent."""
    found = commands(diff_of(case))
    if verdict_of(diff_of(case)) is Verdict.PASSED:
        assert found == []
        return
    (command,) = found
    assert command.name == "error"
    assert command.properties["title"] == f"tracediff: {DIFFS[case][2]}"
    assert set(command.properties) <= {"file", "line", "title"}


def test_a_pass_is_a_plain_line_with_the_counts() -> None:
    """A log shows that something was compared, without an annotation."""
    diffs = [diff_of(name) for name in ("equal", "equal", "within-tolerance")]
    assert github_annotations(diffs) == ("tracediff: 3 pairs: 1 equal within tolerance, 2 equal\n")


def test_what_an_annotation_says() -> None:
    """Place, cause, and what to run next, each on a line of its own."""
    (command,) = commands(replace(diff_of("lone-event"), line=16))
    assert command == Command(
        "error",
        {"file": "traces/golden.jsonl", "line": "16", "title": "tracediff: stop-rule"},
        "e15 scheduler decode.started, step 3: only left has this event\n"
        "stop-rule: one side stops where the other goes on: left ends by eos, right by max_tokens\n"
        "next: tracediff show traces/golden.jsonl --event e15",
    )


def test_line_of_a_real_file(tmp_path: Path) -> None:
    """The annotation is at the line of the golden that holds the event, from the workspace."""
    paths = [tmp_path / name for name in ("golden.jsonl", "new.jsonl")]
    traces = golden(), run_fixture("text-001", {"max_output_tokens": 3})
    for path, trace in zip(paths, traces, strict=True):
        path.write_bytes(lines_of(trace))
    found = with_line(diff_files(*paths))
    (command,) = commands(found, workspace=Workspace(tmp_path, tmp_path))
    assert command.properties["file"] == "golden.jsonl"
    line = paths[0].read_text("utf-8").splitlines()[int(command.properties["line"]) - 1]
    assert '"event_id":"e15"' in line


PATHS = {
    "plain": ("traces/a.jsonl", "traces/a.jsonl"),
    "separators": ("a,b:c=d%.jsonl", "a,b:c=d%.jsonl"),
    "ends-the-command": ("a::b.jsonl", "a::b.jsonl"),
    "encoded": ("a%0Ab.jsonl", "a%0Ab.jsonl"),
    "line-feed": ("a\nb.jsonl", "a\nb.jsonl"),
    "escape": ("a\x1b[1mb.jsonl", "a\\x1b[1mb.jsonl"),
    "in-the-workspace": ("/repo/traces/a.jsonl", "traces/a.jsonl"),
}


@pytest.mark.parametrize("case", PATHS)
def test_file_names_arrive(case: str) -> None:
    """The runner gets the file's name back, whatever is in it."""
    path, expected = PATHS[case]
    diff = TraceDiff(Outcome.DIVERGED, path, "b", message="x")
    root = PurePosixPath("/repo")
    (command,) = commands(diff, workspace=Workspace(root, root))
    assert command.properties["file"] == expected


@pytest.mark.parametrize("message", ["%", "%25", "%0A", "a\r\nb", "::error::x", HOSTILE])
def test_messages_arrive(message: str) -> None:
    """Data is shown as it is, control characters visibly, and starts no other command."""
    text = github_annotations([TraceDiff(Outcome.DIVERGED, "a", "b", message=message)])
    assert text.count("\n") == 1
    data = read_command(text.rstrip("\n")).data
    assert data.isprintable()
    assert data.startswith(message[0] if message[0].isprintable() else "\\x")
    assert ("%25" in data) == ("%25" in message)


@pytest.mark.parametrize(
    ("count", "annotations", "left_out"),
    [
        pytest.param(10, 10, 0, id="as-many-as-are-shown"),
        pytest.param(11, 10, 2, id="one-more"),
        pytest.param(300, 10, 291, id="many"),
    ],
)
def test_what_github_would_drop_is_said(count: int, annotations: int, left_out: int) -> None:
    """Of more than 10 pairs the last annotation counts and names those without one."""
    diffs = [replace(diff_of("text"), left=f"traces/{index}.jsonl") for index in range(count)]
    found = commands(*diffs)
    assert len(found) == annotations
    said = found[-1].data.startswith(f"{left_out} more pairs ({left_out} diverged)")
    assert said == (left_out > 0)
    assert ("traces/9.jsonl, traces/10.jsonl" in found[-1].data) == (left_out > 0)


def test_summary_is_cut_at_a_pair() -> None:
    """A summary of very many pairs ends within 1 MiB with a sentence on what is left out."""
    diffs = [replace(diff_of("hostile-value"), left=f"traces/{i}.jsonl") for i in range(3_000)]
    summary = github_summary(diffs)
    assert LONGEST_SUMMARY // 2 < len(summary.encode()) <= LONGEST_SUMMARY
    last = summary.rstrip().rpartition("\n")[2]
    assert last.startswith("*")
    assert "not told in full, for lack of room" in last
