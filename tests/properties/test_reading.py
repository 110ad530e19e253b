"""What holds for every file: it is a trace, or it is refused with a reason."""

from contextlib import suppress
from io import BytesIO

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from properties.random_traces import traces
from text_runs import main_line

from tracediff.diff import Outcome, diff_traces
from tracediff.errors import StorageError, TraceError
from tracediff.events import Trace
from tracediff.storage import encode_event, read_trace

FAST = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
WHOLE = b"".join(encode_event(event).rstrip(b"\n") + b"\n" for event in main_line().events)


def stream(content: bytes) -> BytesIO:
    return BytesIO(content)


@given(st.binary(max_size=300))
@FAST
def test_random_bytes_are_refused(content: bytes) -> None:
    """Bytes that are no trace raise an error that says so, and nothing else."""
    with suppress(TraceError, StorageError):
        read_trace(stream(content))
        raise AssertionError("random bytes were read as a trace")


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
@FAST
def test_one_changed_byte(place: int, byte: int) -> None:
    """One changed byte of a real file is refused, or is a trace that can be compared."""
    changed = WHOLE[:place] + bytes([byte]) + WHOLE[place + 1 :]
    with suppress(TraceError, StorageError):
        found = read_trace(stream(changed))
        diff = diff_traces(main_line(), found)
        assert diff.outcome is not Outcome.INVALID


@given(st.integers(0, len(WHOLE) - 2))
@FAST
def test_a_cut_file_is_never_read(length: int) -> None:
    """The beginning of a file is no trace, wherever it is cut; without the last line end it is."""
    with suppress(TraceError, StorageError):
        read_trace(stream(WHOLE[:length]))
        raise AssertionError(f"the first {length} bytes were read as a trace")


@given(traces())
@FAST
def test_writing_and_reading_changes_nothing(found: Trace) -> None:
    """A trace is the same after it was written and read, and is written the same again."""
    lines = [encode_event(event).rstrip(b"\n") for event in found.events]
    again = read_trace(stream(b"".join(line + b"\n" for line in lines)))
    assert diff_traces(found, again).outcome is Outcome.EQUAL
    assert [encode_event(event).rstrip(b"\n") for event in again.events] == lines
