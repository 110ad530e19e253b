"""Puts reading and telling together: an answer's bytes become a trace.

Knows the readers and the layers. Must not know files, sockets or the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from tracediff.errors import IllegalState
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import EventSink
from tracediff.streaming.answer import AnswerReader, Frame
from tracediff.streaming.assembly import Assembly, Delta
from tracediff.streaming.body import BodyReader, form_of
from tracediff.streaming.capture import CaptureReader
from tracediff.streaming.dialects import new_dialect
from tracediff.streaming.ending import Incomplete
from tracediff.streaming.http_head import Head
from tracediff.streaming.layers import LayerRecorder
from tracediff.streaming.message import judge_calls
from tracediff.streaming.request import RequestFacts
from tracediff.streaming.secret import HeldBack

KIND = "stream"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded answer; `incomplete` says where it broke off, None where it is whole.

    `given_up` is why a transient error was not tried again, "" where there was none.
    """

    assembly: Assembly
    request: RequestFacts
    incomplete: Incomplete | None
    given_up: str = ""


class AnswerRecording:
    """Records one answer into a sink.

    `request` and `attempt` of `layers` come first, then `open_body` and what it reads, then
    `close`. Used as a context manager: leaving the block by an exception, or with an answer that is
    not whole, leaves an incomplete trace. `secret` is left out of everything.
    """

    def __init__(
        self, sink: EventSink, request: RequestFacts, api: str, *, secret: str = ""
    ) -> None:
        self.api = api
        self._request = request
        self._dialect = new_dialect(api)
        self._secret = secret
        self._recorder = Recorder(sink, kind=KIND, trace_id=f"trace-{api}")
        self.layers = LayerRecorder(self._recorder, request)
        self._held = HeldBack(secret, self.layers.delta) if secret else None
        self.assembly = Assembly(self._on_delta, self._on_identified, secret=secret)
        self._answer: AnswerReader | None = None

    def __enter__(self) -> AnswerRecording:
        self.layers.request()
        return self

    def __exit__(self, *error: object) -> None:
        self._recorder.abandon()

    def open_body(self, head: Head | None, start: int = 0, *, framed: bool = True) -> BodyReader:
        """Record the head and return the reader of its body."""
        if self._answer is not None:
            raise IllegalState("this answer has a body already")
        if head is not None:
            self.layers.head(head)
        self._answer = AnswerReader(
            self._dialect,
            self.assembly,
            form=form_of(head),
            fronted=head is not None,
            secret=self._secret,
            on_frame=self._on_frame,
        )
        on_chunk = self.layers.chunk
        return BodyReader(head, self._answer, start=start, framed=framed, on_chunk=on_chunk)

    def close(self, incomplete: Incomplete | None) -> Recorded:
        """Record what the answer came to, or where it broke off; return it."""
        if self._held is not None:
            self._held.flush()
        if incomplete is None and self._answer is not None:
            judge_calls(self.assembly)
            self.layers.complete(self.assembly, self._answer.comments, self._answer.pings)
            self._recorder.close()
        else:
            incomplete = incomplete or Incomplete("nothing was received", 0, 0)
            self.layers.interrupted(self.assembly, incomplete)
            self._recorder.abandon()
        return Recorded(self.assembly, self._request, incomplete)

    def _on_delta(self, delta: Delta) -> None:
        (self.layers if self._held is None else self._held).delta(delta)

    def _on_frame(self, frame: Frame) -> None:
        self._tell(partial(self.layers.frame, frame))

    def _on_identified(self, model: str, response_id: str) -> None:
        self._tell(partial(self.layers.identified, model, response_id))

    def _tell(self, call: Callable[[], None]) -> None:
        if self._held is None:
            call()
        else:
            self._held.tell(call)


def record_capture(
    pieces: Iterable[bytes], sink: EventSink, request: RequestFacts, api: str
) -> Recorded:
    """Record the answer that a capture holds; whatever its bytes are, they do not make this raise.

    A trace of an answer that is not whole has no end, and so reads as incomplete.
    """
    with AnswerRecording(sink, request, api) as recording:
        capture = CaptureReader(recording.open_body)
        for piece in pieces:
            capture.feed(piece)
        return recording.close(capture.close())
