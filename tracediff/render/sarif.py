"""Comparisons as a SARIF 2.1.0 log: a result for each pair that does not pass.

Reads finished results. Rules are the kinds of causes, places are lines of the goldens. What could
not be compared is a result too, as GitHub shows results and nothing else. It needs a file, though:
GitHub refuses a whole log for one result without; so what is about no file is a notification, and
the execution unsuccessful, by which GitHub keeps the alerts it has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from tracediff.diff import Divergence, TraceDiff
from tracediff.render.escape import visible, visible_value
from tracediff.render.one_line import describe_cause, describe_diff, next_command
from tracediff.render.pairs import Verdict, path_of, verdict_of, with_problems
from tracediff.render.rule_texts import RULE_TEXTS, rule_of
from tracediff.render.workspace import Workspace, workspace_uri

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
MOST_RESULTS: Final = 5_000
"""Results of one log that GitHub shows."""

LONGEST_TEXT: Final = 4_000

Json = dict[str, Any]


def sarif_report(diffs: Sequence[TraceDiff], *, workspace: Workspace | None = None) -> str:
    """Return a log with one run as JSON; file names are those of `workspace`."""
    failed = [diff for diff in with_problems(diffs) if verdict_of(diff) is not Verdict.PASSED]
    placed = [diff for diff in failed if path_of(diff) is not None]
    shown = placed[:MOST_RESULTS]
    rules = sorted({rule for diff in shown if (rule := rule_of(diff)) is not None})
    notes = [_notification(describe_diff(diff), "error") for diff in failed if not path_of(diff)]
    successful = not notes
    if len(shown) < len(placed):
        text = f"{len(placed) - len(shown)} of {len(placed)} results are left out"
        notes.append(_notification(text, "warning"))
    run = {
        "tool": {"driver": {"name": "tracediff", "rules": [_rule(rule) for rule in rules]}},
        "invocations": [
            {"executionSuccessful": successful, "toolExecutionNotifications": notes},
        ],
        "results": [_result(diff, rules, workspace) for diff in shown],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _rule(rule: str) -> Json:
    return {
        "id": f"tracediff/{rule}",
        "shortDescription": {"text": RULE_TEXTS[rule]},
        "fullDescription": {"text": RULE_TEXTS[rule]},
        "defaultConfiguration": {"level": "error"},
    }


def _notification(text: str, level: str) -> Json:
    return {"level": level, "message": {"text": _message(text)}}


def _result(diff: TraceDiff, rules: Sequence[str], workspace: Workspace | None) -> Json:
    rule, path = rule_of(diff), path_of(diff)
    assert rule is not None
    assert path is not None
    uri = workspace_uri(path, workspace)
    line = diff.line if diff.line is not None and path == diff.left else 1
    place: Json = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": line},  # GitHub wants one: the first line is the root event
        }
    }
    if diff.first is not None:
        place["logicalLocations"] = [_logical_location(diff.first)]
    command = next_command(diff)
    lines = [describe_diff(diff), describe_cause(diff), f"next: {command}" if command else ""]
    text = "\n".join(visible(line, LONGEST_TEXT) for line in lines if line)
    fingerprint = _fingerprint(rule, uri, diff.first)
    return {
        "ruleId": f"tracediff/{rule}",
        "ruleIndex": rules.index(rule),
        "level": "error",
        "message": {"text": _message(text)},
        "locations": [place],
        "partialFingerprints": {
            "primaryLocationLineHash": fingerprint,  # the one that GitHub goes by
            "tracediff/divergence/v1": fingerprint,
        },
    }


def _logical_location(first: Divergence) -> Json:
    place = first.left or first.right
    assert place is not None
    return {
        "name": visible(place.event_id),
        "fullyQualifiedName": " / ".join(_place_words(first)),
        "kind": "event",
    }


def _place_words(first: Divergence) -> list[str]:
    """Return where an event stands, without its id: ids shift when an event is added before it."""
    place = first.left or first.right
    assert place is not None
    lane = [] if place.lane is None else [visible_value(dict(place.lane))]
    return [
        visible(place.component),
        visible(place.event_type),
        f"step {place.logical_step}",
        *lane,
    ]


def _fingerprint(rule: str, uri: str, first: Divergence | None) -> str:
    words = [rule, uri]
    if first is not None:
        words += [*_place_words(first), first.check, visible(first.difference.field)]
    return sha256("\n".join(words).encode()).hexdigest()


def _message(text: str) -> str:
    """Return text without placeholders and links (SARIF 2.1.0, 3.11.5 and 3.11.6)."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")
