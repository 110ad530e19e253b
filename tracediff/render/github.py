"""Comparisons for a GitHub workflow: annotations on the goldens' lines, and a step summary.

Reads finished results. An annotation is a workflow command; the runner acts on every line that
looks like one, so nothing from a trace reaches the output but as escaped data within a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracediff.diff import TraceDiff
from tracediff.render.escape import LONGEST_MESSAGE, visible
from tracediff.render.markdown import fitted_report
from tracediff.render.one_line import describe_cause, describe_diff, next_command
from tracediff.render.pairs import Verdict, count_outcomes, path_of, verdict_of, with_problems
from tracediff.render.rows import counted
from tracediff.render.rule_texts import rule_of
from tracediff.render.workspace import Workspace, workspace_path

MOST_ANNOTATIONS: Final = 10
"""Errors of one step that GitHub shows; it drops the others without a word."""

LONGEST_SUMMARY: Final = 1 << 20
"""Bytes that GitHub accepts as the summary of one step."""

LONGEST_ANNOTATION: Final = 4_000

_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
"""What the runner decodes: github.com/actions/toolkit, packages/core/src/command.ts."""


def github_annotations(diffs: Sequence[TraceDiff], *, workspace: Workspace | None = None) -> str:
    """Return one error a line for each pair that does not pass; if all pass, a plain line.

    Of more than 10 the last one says which are left out. File names are those of `workspace`.
    """
    failed = [diff for diff in with_problems(diffs) if verdict_of(diff) is not Verdict.PASSED]
    if not failed:
        return f"tracediff: {counted(len(diffs), 'pair')}: {count_outcomes(diffs)}\n"
    shown = failed if len(failed) <= MOST_ANNOTATIONS else failed[: MOST_ANNOTATIONS - 1]
    lines = [_annotation(diff, workspace) for diff in shown]
    if len(shown) < len(failed):
        lines.append(_rest_annotation(failed[len(shown) :], workspace))
    return "".join(f"{line}\n" for line in lines)


def github_summary(diffs: Sequence[TraceDiff], *, title: str = "tracediff") -> str:
    """Return the Markdown for the file that `GITHUB_STEP_SUMMARY` names, at most 1 MiB of it."""
    return fitted_report(diffs, title=title, limit=LONGEST_SUMMARY, size=_bytes)


def _annotation(diff: TraceDiff, workspace: Workspace | None) -> str:
    properties = {}
    path = path_of(diff)
    if path is not None:
        properties["file"] = workspace_path(path, workspace)
        if diff.line is not None and path == diff.left:
            properties["line"] = str(diff.line)
    properties["title"] = f"tracediff: {rule_of(diff)}"
    command = next_command(diff)
    lines = [describe_diff(diff), describe_cause(diff), f"next: {command}" if command else ""]
    return _error(properties, [visible(line, LONGEST_ANNOTATION) for line in lines if line])


def _rest_annotation(diffs: Sequence[TraceDiff], workspace: Workspace | None) -> str:
    paths = [path for path in map(path_of, diffs) if path is not None]
    names = ", ".join(workspace_path(path, workspace) for path in paths)
    lines = [
        f"{counted(len(diffs), 'more pair')} ({count_outcomes(diffs)}) without an annotation, "
        f"as GitHub shows {MOST_ANNOTATIONS} a step; the summary of the step lists them",
        visible(names, LONGEST_ANNOTATION),
    ]
    return _error({"title": "tracediff: more"}, lines)


def _error(properties: dict[str, str], lines: Sequence[str]) -> str:
    """Return a workflow command; the lines are printable text."""
    stated = ",".join(
        f"{key}={visible(value.translate(_PROPERTY), LONGEST_MESSAGE)}"
        for key, value in properties.items()
    )
    data = "\n".join(lines).translate(_DATA)
    return f"::error {stated}::{data}"


def _bytes(text: str) -> int:
    return len(text.encode())
