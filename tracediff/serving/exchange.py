"""One request and its reply: faults, recorder, decode off the event loop, one document or a stream.

Knows the order of things. Must not know shapes, bodies or how tokens are chosen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from threading import Event

from starlette.requests import Request
from starlette.responses import Response

from tracediff.engine.stopping import FinishReason
from tracediff.serving.event_stream import ConnectionLost, EventStream
from tracediff.serving.faults import Disturbance, FaultName, FaultPlan
from tracediff.serving.off_loop import OffLoop
from tracediff.serving.recordings import Recordings, name_request
from tracediff.serving.rejection import HttpError
from tracediff.serving.reply import ErrorShape, Reply
from tracediff.serving.server_sent_events import encode_document, split_inside_a_character
from tracediff.workloads.chat import Cut, Delta, Finished, Progress, Started, answer
from tracediff.workloads.chat_model import ChatModel
from tracediff.workloads.chat_request import ChatRequest, RequestRejected, record_rejection

FAULT_HEADER = "x-tracediff-fault"
PAUSE_SECONDS = 0.002
"""Between the two parts of a character, so that they travel apart."""


@dataclass(frozen=True, slots=True)
class Service:
    """What all requests share; once `closing` is set the server stops, and answers break off."""

    models: Mapping[str, ChatModel]
    recordings: Recordings
    plan: FaultPlan
    executor: Executor
    closing: Event


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request on its way: its number, its faults, and the shape of its errors."""

    service: Service
    http: Request
    number: int
    disturbance: Disturbance
    shape: ErrorShape

    @property
    def request_id(self) -> str:
        """The id that headers, trace and sidecar carry."""
        return name_request(self.number)

    @property
    def headers(self) -> dict[str, str]:
        """The request id by both vendors' names."""
        return {"x-request-id": self.request_id, "request-id": self.request_id}

    def document(self, content: Mapping[str, object], status: int = 200) -> Response:
        """Return a response of one JSON document."""
        return Response(
            encode_document(content), status, self.headers, media_type="application/json"
        )

    def error(self, error: HttpError) -> Response:
        """Return the response of an error."""
        response = self.document(self.shape(error, self.request_id), error.status)
        if error.retry_after_seconds is not None:
            response.headers["retry-after"] = str(error.retry_after_seconds)
        return response

    async def reject(self, error: HttpError) -> Response:
        """Record a request that gets no further than here; return the response."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.service.executor, self._record, error)
        return self.error(error)

    def _record(self, error: HttpError) -> None:
        with self.service.recordings.open(self.request_id, str(self.disturbance)) as recorder:
            record_rejection(recorder, error.status, error.field, error.code, error.message)


def begin(service: Service, http: Request, shape: ErrorShape) -> Exchange:
    """Return the exchange of a request that has arrived; raise UsageError for its fault header."""
    disturbance = service.plan.for_request(http.headers.get(FAULT_HEADER))
    return Exchange(service, http, service.recordings.next_number(), disturbance, shape)


def begin_undisturbed(service: Service, http: Request, shape: ErrorShape) -> Exchange:
    """Return the exchange of a request that is refused before faults are looked at."""
    return Exchange(service, http, service.recordings.next_number(), Disturbance(), shape)


async def respond(
    exchange: Exchange, model_name: str, request: ChatRequest, reply: Reply, *, stream: bool
) -> Response:
    """Return the response to a valid body."""
    refused = _strike(exchange) or _unknown_model(exchange, model_name)
    if refused is not None:
        return await exchange.reject(refused)
    service = exchange.service
    recorder = service.recordings.open(exchange.request_id, str(exchange.disturbance))
    model = service.models[model_name]
    cut = _cut(exchange.disturbance)
    steps = OffLoop(answer(request, model, recorder, exchange.request_id, cut), service.executor)
    try:
        started = await steps.next()
    except RequestRejected as rejected:
        return exchange.error(HttpError(400, str(rejected), rejected.code, rejected.field))
    assert isinstance(started, Started)
    if stream:
        return EventStream(_stream(exchange, started, steps, reply), exchange.headers)
    return await _document(exchange, started, steps, reply)


def _strike(exchange: Exchange) -> HttpError | None:
    if exchange.disturbance.has(FaultName.RATE_LIMIT):
        message = "rate limit reached; try again in 1 second"
        return HttpError(429, message, "rate_limit_exceeded", retry_after_seconds=1)
    if exchange.disturbance.has(FaultName.SERVER_ERROR):
        return HttpError(500, "the server had an error", "server_error")
    return None


def _unknown_model(exchange: Exchange, name: str) -> HttpError | None:
    models = exchange.service.models
    if name in models:
        return None
    message = f"there is no model {name!r:.80}; known are {', '.join(models)}"
    return HttpError(404, message, "model_not_found", "model")


def _cut(disturbance: Disturbance) -> Cut | None:
    if disturbance.has(FaultName.REFUSAL):
        return Cut(FinishReason.REFUSAL, 0)
    after = disturbance.after(FaultName.CONTENT_FILTER)
    return None if after is None else Cut(FinishReason.CONTENT_FILTER, after)


async def _document(
    exchange: Exchange, started: Started, steps: OffLoop[Progress], reply: Reply
) -> Response:
    deltas: list[Delta] = []
    finished: Finished | None = None
    try:
        while (item := await steps.next()) is not None:
            if isinstance(item, Delta):
                deltas.append(item)
            elif isinstance(item, Finished):
                finished = item
            if exchange.service.closing.is_set():
                return exchange.error(HttpError(503, "the server stops", "server_stops"))
            if await exchange.http.is_disconnected():
                return Response(status_code=499)
    finally:
        steps.abandon()
    assert finished is not None
    return exchange.document(reply.whole(started, deltas, finished))


async def _stream(
    exchange: Exchange, started: Started, steps: OffLoop[Progress], reply: Reply
) -> AsyncGenerator[bytes, None]:
    disturbance = exchange.disturbance
    error_after = disturbance.after(FaultName.ERROR_AFTER)
    drop_after = disturbance.after(FaultName.DROP_AFTER)
    deltas = 0
    try:
        for event in reply.opening(started):
            yield event
        while (item := await steps.next()) is not None:
            for event in _events(item, reply, disturbance):
                async for chunk in _chunks(event, disturbance):
                    yield chunk
            deltas += isinstance(item, Delta) and bool(item.text)
            stops = exchange.service.closing.is_set() and not isinstance(item, Finished)
            if stops or (drop_after is not None and deltas >= drop_after):
                raise ConnectionLost
            if error_after is not None and deltas >= error_after:
                for event in reply.failure():
                    yield event
                return
            if await exchange.http.is_disconnected():
                return
    finally:
        steps.abandon()


def _events(item: Progress, reply: Reply, disturbance: Disturbance) -> list[bytes]:
    if isinstance(item, Delta):
        return reply.delta(item)
    if not isinstance(item, Finished):
        return []
    finish = reply.finish(item)
    if disturbance.has(FaultName.DUPLICATE_FINISH):
        finish.append(finish[-1])
    if disturbance.has(FaultName.MISSING_TERMINATOR):
        return [*finish, *reply.terminator(item)[:-1]]
    return [*finish, *reply.terminator(item)]


async def _chunks(event: bytes, disturbance: Disturbance) -> AsyncGenerator[bytes, None]:
    if not disturbance.has(FaultName.SPLIT_UTF8):
        yield event
        return
    for part in split_inside_a_character(event):
        yield part
        await asyncio.sleep(PAUSE_SECONDS)
