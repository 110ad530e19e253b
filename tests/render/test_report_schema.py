"""The JSON report keeps its published schema, whatever the comparison found."""

import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from compared import diff_of
from jsonschema import Draft202012Validator
from trace_building import chain, event, tensor, trace

from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.events import Trace
from tracediff.render.data import diff_to_json, folder_to_json
from tracediff.render.pairs import problem
from tracediff.workloads.run import run_fixture

SCHEMA = json.loads((files("tracediff.render") / "report.schema.json").read_text("utf-8"))
FOLDER_SCHEMA = json.loads(
    (files("tracediff.render") / "folder_report.schema.json").read_text("utf-8")
)
VALIDATOR = Draft202012Validator(SCHEMA)


def golden() -> Trace:
    return run_fixture("text-001")


def with_tensor(array: Any, **options: Any) -> Trace:
    return chain(event("a", state={"n": 1}), event("b", outputs=[tensor("x", array, **options)]))


REPORTS: dict[str, tuple[Callable[[], TraceDiff], Outcome]] = {
    "equal": (lambda: diff_traces(golden(), golden()), Outcome.EQUAL),
    "within-tolerance": (
        lambda: diff_traces(golden(), run_fixture("text-001", kernel="blas")),
        Outcome.WITHIN_TOLERANCE,
    ),
    "stopped-early": (
        lambda: diff_traces(golden(), run_fixture("text-001", {"max_output_tokens": 2})),
        Outcome.DIVERGED,
    ),
    "sampled": (
        lambda: diff_traces(golden(), run_fixture("text-001", {"temperature": 0.7})),
        Outcome.DIVERGED,
    ),
    "values": (
        lambda: diff_traces(
            with_tensor(np.ones(3, np.float32)), with_tensor(np.zeros(3, np.float32))
        ),
        Outcome.DIVERGED,
    ),
    "booleans": (
        lambda: diff_traces(with_tensor(np.ones(3, bool)), with_tensor(np.zeros(3, bool))),
        Outcome.DIVERGED,
    ),
    "infinite-errors": (
        lambda: diff_traces(
            with_tensor(np.array([1e308, np.nan])), with_tensor(np.array([-1e308, np.inf]))
        ),
        Outcome.DIVERGED,
    ),
    "undecidable": (
        lambda: diff_traces(
            with_tensor(np.ones(99), level="digest"), with_tensor(np.zeros(99), level="digest")
        ),
        Outcome.DIVERGED,
    ),
    "surrogates": (
        lambda: diff_traces(
            chain(event("a", choice={"t": "\ud83d"})), chain(event("a", choice={"t": "\ud83e"}))
        ),
        Outcome.DIVERGED,
    ),
    "incomparable": (
        lambda: diff_traces(trace([event("a")], kind="text"), trace([event("a")], kind="image")),
        Outcome.INCOMPARABLE,
    ),
    "normalised": (
        lambda: diff_traces(golden(), golden(), DiffOptions(views=("joined-text",))),
        Outcome.EQUAL,
    ),
}


@pytest.mark.parametrize("case", REPORTS)
def test_reports_keep_the_schema(case: str) -> None:
    """Every outcome is a valid report."""
    make, outcome = REPORTS[case]
    found = make()
    assert found.outcome is outcome
    report = diff_to_json(found)
    errors = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(report)]
    assert errors == []


FOLDERS = {
    "equal": (["equal"], "equal", 0),
    "diverged": (["equal", "text"], "diverged", 0),
    "unused": (["unused"], "could not say", 1),
    "nothing": ([], "nothing compared", 1),
    "problem-handed-in": (["equal", "problem"], "could not say", 1),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folder_reports_keep_their_schema(case: str) -> None:
    """The report of several pairs says what all of them come to, and each is a valid report."""
    names, outcome, problems = FOLDERS[case]
    made = {
        "unused": replace(diff_of("equal"), unused_rules=("zzz",)),
        "problem": problem("nothing was there"),
    }
    report = folder_to_json([made.get(name) or diff_of(name) for name in names])
    assert list(Draft202012Validator(FOLDER_SCHEMA).iter_errors(report)) == []
    assert (report["outcome"], len(report["problems"])) == (outcome, problems)
    for pair in report["pairs"]:
        assert VALIDATOR.is_valid({"format": "tracediff-report/1", **pair})


def test_schema_is_a_schema() -> None:
    """The schema itself is valid, and says no to a report of another version."""
    Draft202012Validator.check_schema(SCHEMA)
    report = diff_to_json(diff_traces(golden(), golden()))
    assert not VALIDATOR.is_valid({**report, "format": "tracediff-report/2"})


def test_outcomes_are_all_listed() -> None:
    """Schema and code know the same outcome words."""
    assert SCHEMA["$defs"]["outcome"]["enum"] == [outcome.value for outcome in Outcome]
