"""Every fault in a generation is found at its event, in its section, with its cause."""

from typing import Any

import pytest

from tracediff.diff import diff_traces

faults = pytest.importorskip(
    "mutants.generation_faults", reason="needs transformers and torch (extra transformers)"
)

pytestmark = [
    pytest.mark.transformers,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, id=fault.name) for fault in faults.GENERATION_FAULTS]
)
def test_fault_is_found_where_it_is(fault: Any) -> None:
    """The first divergence is at the fault, and the cause is its kind."""
    run = fault.start()
    fault.change(run)
    found = diff_traces(faults.recorded(fault.start), run.record())
    assert found.first is not None, found.outcome
    assert found.cause is not None
    place = found.first.left or found.first.right
    assert place is not None
    reported = (place.component, place.event_type, place.logical_step, found.first.check)
    assert (*reported, found.cause.kind) == fault.expected
