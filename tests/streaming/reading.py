"""Reads captures in tests, into an assembly or into a trace."""

from collections.abc import Iterable
from pathlib import Path

from tracediff.events import Trace
from tracediff.recording.sinks import MemorySink
from tracediff.storage import TraceWriter
from tracediff.streaming.record import Recorded, record_capture
from tracediff.streaming.request import RequestFacts, read_request, unknown_request


def pieces_of(raw: bytes, size: int | None) -> Iterable[bytes]:
    """Return `raw` in pieces."""
    size = size or max(len(raw), 1)
    return [raw[start : start + size] for start in range(0, len(raw), size)]


def facts_of(api: str, request: bytes | None) -> RequestFacts:
    """Return the facts of a request, or of none."""
    return unknown_request(api) if request is None else read_request(request, api)


def recorded(
    raw: bytes, api: str = "openai-chat", *, size: int | None = None, request: bytes | None = None
) -> Recorded:
    """Read a capture and drop its trace."""
    return record_capture(pieces_of(raw, size), MemorySink(), facts_of(api, request), api)


def traced(
    raw: bytes, api: str = "openai-chat", *, size: int | None = None, request: bytes | None = None
) -> Trace:
    """Read a capture that is whole into a trace."""
    sink = MemorySink()
    found = record_capture(pieces_of(raw, size), sink, facts_of(api, request), api)
    assert found.incomplete is None, found.incomplete
    return sink.trace("capture")


def written(raw: bytes, path: Path, api: str = "openai-chat") -> Recorded:
    """Read a capture into a trace file."""
    return record_capture([raw], TraceWriter(path), unknown_request(api), api)
