"""How a golden was recorded: read from its header, and told in a line."""

import pytest

from tracediff.gate.recipes import describe_recipe, is_covered
from tracediff.workloads.run import RunRequest

TOLD = {
    "plain": (RunRequest("text-001"), "text-001"),
    "overrides": (
        RunRequest("text-001", {"max_output_tokens": 3, "stop_sequences": ["。"], "seed": 1}),
        'text-001 (max_output_tokens=3, stop_sequences=["。"], seed=1)',
    ),
    "branch": (
        RunRequest("tool-001", {}, "extra-field", "blas", "full"),
        "tool-001 (injection extra-field, kernel blas, tensors full)",
    ),
    "long-value": (RunRequest("a", {"prompt": "x" * 61}), f"a (prompt={'x' * 60}…)"),
}


@pytest.mark.parametrize("case", TOLD)
def test_told_in_a_line(case: str) -> None:
    """The line names the fixture and all that is not usual."""
    recipe, told = TOLD[case]
    assert describe_recipe(recipe) == told


COVERED = {
    "same": (RunRequest("a"), True),
    "other-kernel-and-level": (RunRequest("a", {}, None, "blas", "full"), True),
    "other-fixture": (RunRequest("b"), False),
    "with-overrides": (RunRequest("a", {"seed": 1}), False),
    "with-injection": (RunRequest("a", {}, "rain"), False),
}


@pytest.mark.parametrize("case", COVERED)
def test_which_golden_will_do(case: str) -> None:
    """A fixture's own golden is one without overrides, of the same branch."""
    recorded, covered = COVERED[case]
    assert is_covered(RunRequest("a"), [recorded]) is covered
