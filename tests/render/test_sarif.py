"""SARIF 2.1.0: valid by the published schema, stable rules and fingerprints, places, messages."""

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from compared import DIFFS, HOSTILE, diff_of, of_state
from jsonschema import Draft4Validator
from trace_building import chain, event

from tracediff.diff import Outcome, TraceDiff, diff_traces
from tracediff.diff.result import MISSING
from tracediff.events import Trace
from tracediff.render.pairs import Verdict, verdict_of
from tracediff.render.rule_texts import RULE_TEXTS
from tracediff.render.sarif import MOST_RESULTS, sarif_report
from tracediff.render.workspace import Workspace

SCHEMA_PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
"""Holds the published schema as lib/schemas/sarif-2.1.0-rtm.5.json; nothing of it is run."""

FINGERPRINTS = {"primaryLocationLineHash", "tracediff/divergence/v1"}


def run_of(*diffs: TraceDiff, workspace: Workspace | None = None) -> dict[str, Any]:
    log = json.loads(sarif_report(diffs, workspace=workspace))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def result_of(diff: TraceDiff) -> dict[str, Any]:
    (result,) = run_of(diff)["results"]
    assert isinstance(result, dict)
    return result


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Draft4Validator:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not there to fetch the published schema")
    folder = tmp_path_factory.mktemp("schema")
    done = subprocess.run(
        [npm, "pack", "--silent", SCHEMA_PACKAGE],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode != 0:
        pytest.skip(f"npm cannot fetch {SCHEMA_PACKAGE}: {done.stderr.strip()[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as package:
        member = package.extractfile("package/lib/schemas/sarif-2.1.0-rtm.5.json")
        assert member is not None
        return Draft4Validator(json.load(member))


@pytest.mark.registry
@pytest.mark.parametrize("case", DIFFS)
def test_valid_by_the_published_schema(validator: Draft4Validator, case: str) -> None:
    """Every comparison's log keeps the schema."""
    log = json.loads(sarif_report([diff_of(case), diff_of("text"), diff_of("equal")]))
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(log)] == []


@pytest.mark.registry
def test_valid_without_files(validator: Draft4Validator) -> None:
    """A log of nothing keeps the schema, and a broken one does not."""
    log = json.loads(sarif_report([]))
    assert list(validator.iter_errors(log)) == []
    assert list(validator.iter_errors({**log, "version": "2.2"})) != []


@pytest.mark.parametrize("case", DIFFS)
def test_what_a_result_must_have(case: str) -> None:
    """Rule, level, text, a file with a line, and fingerprints: what GitHub asks for.

    Source: docs.github.com, "SARIF support for code scanning", supported properties.
    """
    run = run_of(diff_of(case))
    if verdict_of(diff_of(case)) is Verdict.PASSED:
        assert run["results"] == []
        return
    (result,) = run["results"]
    assert result["ruleId"] == f"tracediff/{DIFFS[case][2]}"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] == "error"
    assert result["message"]["text"]
    (location,) = result["locations"]
    uri = location["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"(%[0-9A-F]{2}|[\w.~/-])+", uri, re.ASCII)
    assert location["physicalLocation"]["region"]["startLine"] >= 1
    assert ("logicalLocations" in location) == (diff_of(case).first is not None)
    assert set(result["partialFingerprints"]) == FINGERPRINTS


def test_rules_are_listed_once_in_order() -> None:
    """Each rule that is used has its entry, with the text that explains it."""
    names = ("text", "incomplete", "hostile-value", "tensor", "equal")
    run = run_of(*map(diff_of, names))
    rules = run["tool"]["driver"]["rules"]
    expected = ["constant-factor", "could-not-say-incomplete", "unknown"]
    assert [rule["id"] for rule in rules] == [f"tracediff/{name}" for name in expected]
    assert [rule["fullDescription"]["text"] for rule in rules] == [RULE_TEXTS[x] for x in expected]
    assert [result["ruleIndex"] for result in run["results"]] == [2, 1, 2, 0]


def test_place() -> None:
    """The line is the golden's, the event a logical location; names are from the workspace."""
    workspace = Workspace(PurePosixPath("/repo"), PurePosixPath("/repo/sub"))
    run = run_of(replace(diff_of("lone-event"), line=16), workspace=workspace)
    assert run["results"][0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "sub/traces/golden.jsonl"},
                "region": {"startLine": 16},
            },
            "logicalLocations": [
                {
                    "name": "e15",
                    "fullyQualifiedName": "scheduler / decode.started / step 3",
                    "kind": "event",
                }
            ],
        }
    ]


def test_a_missing_golden_is_placed_at_the_new_trace() -> None:
    """Where left has no file, its line is nobody's: the result stands at right's first line."""
    found = TraceDiff(Outcome.DIVERGED, MISSING, "runs/new.jsonl", message="no golden", line=7)
    place = result_of(found)["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "runs/new.jsonl"},
        "region": {"startLine": 1},
    }


@pytest.mark.parametrize(
    ("diffs", "successful", "results", "notes"),
    [
        pytest.param([], False, 0, ["there is no pair of traces to compare"], id="nothing"),
        pytest.param(["equal"], True, 0, [], id="equal"),
        pytest.param(["text"], True, 1, [], id="diverged"),
        pytest.param(["text", "incomplete"], True, 2, [], id="trouble-with-a-file"),
    ],
)
def test_execution(diffs: list[str], successful: bool, results: int, notes: list[str]) -> None:
    """Only trouble that is about no file makes the execution unsuccessful."""
    run = run_of(*map(diff_of, diffs))
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is successful
    assert len(run["results"]) == results
    assert [n["message"]["text"] for n in invocation["toolExecutionNotifications"]] == notes


def test_too_many_results_are_left_out_with_a_note() -> None:
    """GitHub shows 5,000 results; a notification counts the others."""
    diffs = [replace(diff_of("text"), left=f"{index}.jsonl") for index in range(MOST_RESULTS + 3)]
    run = run_of(*diffs)
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert len(run["results"]) == MOST_RESULTS
    assert note["message"]["text"] == f"3 of {MOST_RESULTS + 3} results are left out"
    prints = {r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]}
    assert len(prints) == MOST_RESULTS


def fingerprint(left: Trace, right: Trace, name: str = "golden.jsonl") -> str:
    found = diff_traces(Trace(left.events, name), Trace(right.events, "new.jsonl"))
    text = result_of(found)["partialFingerprints"]["primaryLocationLineHash"]
    assert isinstance(text, str)
    return text


def renumbered(value: str) -> Trace:
    """Return the trace of `of_state` with other ids and one event more in front."""
    return chain(
        event("e1", state={"n": 1}),
        event("e2", event_type="other", state={"n": 1}),
        event("e3", state={"value": value}),
    )


def elsewhere(value: str) -> Trace:
    return chain(event("root", state={"n": 1}), event("step", step=1, state={"value": value}))


PRINTS: dict[str, tuple[Callable[[], str], bool]] = {
    "again": (lambda: fingerprint(of_state("a"), of_state("b")), True),
    "other-values": (lambda: fingerprint(of_state("c"), of_state("d")), True),
    "other-ids": (lambda: fingerprint(renumbered("a"), renumbered("b")), True),
    "other-golden": (lambda: fingerprint(of_state("a"), of_state("b"), "x.jsonl"), False),
    "other-step": (lambda: fingerprint(elsewhere("a"), elsewhere("b")), False),
}


@pytest.mark.parametrize("case", PRINTS)
def test_fingerprints_tell_divergences_apart_and_nothing_else(case: str) -> None:
    """Values and ids may change, golden and place may not."""
    make, same = PRINTS[case]
    assert (make() == fingerprint(of_state("a"), of_state("b"))) is same


def test_messages_hold_no_placeholders_and_no_links() -> None:
    """Braces are doubled (SARIF 2.1.0, 3.11.5), and no bracket is followed by a parenthesis."""
    found = TraceDiff(Outcome.DIVERGED, "a", "b", message=HOSTILE)
    text = result_of(found)["message"]["text"]
    assert "{{0}} {{{{1}}}}" in text
    assert "](" not in text
    assert text.isprintable()


def test_written_to_a_file_it_is_utf_8(tmp_path: Path) -> None:
    """A hostile name leaves no lone surrogate in the log."""
    path = tmp_path / "report.sarif"
    path.write_text(sarif_report([diff_of("hostile")]), "utf-8")
    assert json.loads(path.read_bytes())["version"] == "2.1.0"
