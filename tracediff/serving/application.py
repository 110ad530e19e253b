"""The web application: routes, bodies, and what becomes of invalid ones.

Knows FastAPI. Must not know how an answer is made or recorded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tracediff.engine.kernels import find_kernel
from tracediff.errors import TracediffError, UsageError
from tracediff.serving.anthropic_body import MessageBody
from tracediff.serving.anthropic_reply import AnthropicReply, anthropic_error
from tracediff.serving.exchange import Service, begin, begin_undisturbed, respond
from tracediff.serving.faults import Fault, FaultPlan
from tracediff.serving.openai_body import ChatCompletionBody
from tracediff.serving.openai_reply import OpenaiReply, openai_error
from tracediff.serving.recordings import Recordings
from tracediff.serving.rejection import HttpError
from tracediff.serving.reply import ErrorShape
from tracediff.serving.server_sent_events import encode_document
from tracediff.workloads.chat_model import load_chat_model
from tracediff.workloads.environment import describe_environment

FIXTURES = ("text-001", "tool-001")
"""The fixtures whose models are served; the first one's is the default of examples."""

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
WORKERS = 8
LONGEST_FIELD = 200
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text}
    for status, text in (
        (400, "the model cannot take the request"),
        (404, "there is no such model"),
        (422, "the body is invalid"),
        (429, "a fault that was asked for"),
        (500, "a fault that was asked for, or a trace that cannot be written"),
    )
}


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What is served, what goes wrong on purpose, and where traces go."""

    record: Path | None = None
    tensors: str = "sketch"
    kernel: str = "ordered"
    faults: Sequence[Fault] = ()
    allow_faults: bool = False


def build_application(options: ServeOptions, closing: Event | None = None) -> FastAPI:
    """Return the application; raise StorageError or UsageError where it cannot work.

    Setting `closing` breaks off all answers that are under way, as the server stops.
    """
    closing = closing or Event()
    kernel = find_kernel(options.kernel)
    models = [load_chat_model(fixture, kernel) for fixture in FIXTURES]
    service = Service(
        {model.name: model for model in models},
        Recordings(options.record, options.tensors, kernel.name, describe_environment()),
        FaultPlan(options.faults, by_header=options.allow_faults),
        ThreadPoolExecutor(WORKERS, thread_name_prefix="decode"),
        closing,
    )

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        yield
        # What was abandoned is still to be recorded.
        service.executor.shutdown(wait=True)

    application = FastAPI(title="tracediff serve", lifespan=lifespan, docs_url=None, redoc_url=None)
    application.add_exception_handler(RequestValidationError, _Invalid(service))
    application.add_exception_handler(HTTPException, _http_error)
    application.add_exception_handler(UsageError, _Refused(service))
    application.add_exception_handler(TracediffError, _failure)
    application.add_exception_handler(Exception, _unexpected)
    _add_routes(application, service)
    return application


def _add_routes(application: FastAPI, service: Service) -> None:
    async def chat_completions(body: ChatCompletionBody, http: Request) -> Response:
        """Answer a conversation."""
        exchange = begin(service, http, openai_error)
        request = body.request()
        reply = OpenaiReply(
            exchange.number,
            body.model,
            request.tool,
            tells_usage=body.tells_usage,
            likelihoods=bool(body.logprobs),
        )
        return await respond(exchange, body.model, request, reply, stream=bool(body.stream))

    async def messages(body: MessageBody, http: Request) -> Response:
        """Answer a conversation."""
        exchange = begin(service, http, anthropic_error)
        request = body.request()
        reply = AnthropicReply(exchange.number, body.model, request.tool)
        return await respond(exchange, body.model, request, reply, stream=bool(body.stream))

    async def models() -> Response:
        """List the models."""
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "tracediff"}
            for name in service.models
        ]
        return JSONResponse({"object": "list", "data": listed})

    async def health() -> Response:
        """Say that the server is there."""
        return JSONResponse({"status": "ok"})

    for path, endpoint in ((CHAT, chat_completions), (MESSAGES, messages)):
        application.add_api_route(
            path, endpoint, methods=["POST"], response_model=None, responses=ERRORS
        )
    for path, reader in (("/v1/models", models), ("/healthz", health)):
        application.add_api_route(path, reader, methods=["GET"], response_model=None)


class _Invalid:
    """Answers an invalid body with 422 and the field's name, and records that it came."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, http: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found, field = _blame(error)
        reason = str(found["msg"]).removeprefix("Value error, ")
        message = f"{field}: {reason}" if field else reason
        exchange = begin_undisturbed(self._service, http, _shape(http))
        return await exchange.reject(HttpError(422, message, found["type"], field or None))


class _Refused:
    """Answers a request that asks for what is not to be had with 400, and records that it came."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, http: Request, error: Exception) -> Response:
        exchange = begin_undisturbed(self._service, http, _shape(http))
        return await exchange.reject(HttpError(400, str(error)))


def _blame(error: RequestValidationError) -> tuple[Mapping[str, Any], str]:
    """Return the error to tell, and its field.

    Of the first field's errors the one that lies deepest: where a field may be one of several
    things, that is about the thing that it is.
    """
    errors: Sequence[Mapping[str, Any]] = error.errors()
    same = [found for found in errors if found["loc"][:2] == errors[0]["loc"][:2]]
    fields = [_field(f["loc"], error.body, is_missing=f["type"] == "missing") for f in same]
    deepest = max(range(len(same)), key=lambda index: fields[index].count("."))
    return same[deepest], fields[deepest]


def _field(location: Sequence[int | str], body: Any, *, is_missing: bool) -> str:
    """Return the path of a field: what of the location is in the body.

    The rest are names that pydantic gives to alternatives, and last the key that is missing.
    """
    parts: list[str] = []
    place = body
    for part in location[1:]:
        is_key = isinstance(place, dict) and part in place
        is_index = isinstance(place, list) and isinstance(part, int) and part < len(place)
        if is_key or is_index:
            parts.append(str(part))
            place = place[part]
    if is_missing and len(location) > 1:
        parts.append(str(location[-1]))
    return ".".join(parts)[:LONGEST_FIELD]


def _shape(http: Request) -> ErrorShape:
    return anthropic_error if http.url.path.startswith(MESSAGES) else openai_error


async def _http_error(http: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _plain(http, HttpError(error.status_code, str(error.detail)))


async def _failure(http: Request, error: Exception) -> Response:
    return _plain(http, HttpError(500, str(error)))


async def _unexpected(http: Request, error: Exception) -> Response:
    # The reason goes to the server's own log, not to its clients.
    return _plain(http, HttpError(500, "the server has an error in itself"))


def _plain(http: Request, error: HttpError) -> Response:
    """Return an error that belongs to no numbered request."""
    document = encode_document(_shape(http)(error, ""))
    return Response(document, error.status, media_type="application/json")
