"""Files of tolerance rules: written, read back, refused where they say something else."""

import json
from typing import Any

import pytest

from tracediff.errors import UsageError
from tracediff.events import ToleranceRule
from tracediff.storage.tolerance_file import FiledRule, parse_tolerance_file, tolerance_file

RULES = (
    ToleranceRule("a", "exact"),
    ToleranceRule("b.*", "allclose", rtol=1e-5, atol=1e-4, rel_l2=2e-4),
    ToleranceRule("c", "ulp", ulps=3),
)


def test_what_was_written_is_read_back() -> None:
    """Rules keep their order and every number; what they rest on is for people."""
    content = tolerance_file([FiledRule(rule, "measured") for rule in RULES], 2.0, 3)
    assert parse_tolerance_file(content, "rules.json") == RULES


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"format": "other"}, "format: expected 'tracediff-tol", id="another-format"),
        pytest.param({"rules": None}, "rules: expected a list", id="no-list"),
        pytest.param({"rules": [{"match": "a"}]}, "rules[0].mode: the key", id="no-mode"),
        pytest.param({"rules": [{"match": "a", "mode": "x"}]}, "rules[0].mode", id="unknown-mode"),
        pytest.param({"rule": []}, "rule: unknown key", id="misspelt"),
    ],
)
def test_what_is_no_file_of_rules(change: dict[str, Any], message: str) -> None:
    """The error names the file and the field."""
    content = {"format": "tracediff-tolerances/1", "rules": [], **change}
    with pytest.raises(UsageError) as caught:
        parse_tolerance_file(json.dumps(content).encode(), "rules.json")
    assert f"rules.json: {message}" in str(caught.value)


def test_what_is_no_json() -> None:
    """A file of something else is named."""
    with pytest.raises(UsageError, match=r"rules\.json is no file of tolerance rules"):
        parse_tolerance_file(b"a -> b", "rules.json")
