"""The APIs that are understood, by name and by the path of their URL.

Knows names. What an API's words mean is its own module's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from tracediff.errors import UsageError
from tracediff.streaming.anthropic_messages import AnthropicMessages
from tracediff.streaming.assembly import Assembly
from tracediff.streaming.openai_chat import OpenAiChat
from tracediff.streaming.openai_responses import OpenAiResponses


class Dialect(Protocol):
    """Translates the payloads of one API; a fresh one for every answer."""

    @property
    def name(self) -> str:
        """`openai-chat`, `openai-responses` or `anthropic-messages`."""

    @property
    def start(self) -> str:
        """What a stream begins with, as messages call it."""

    @property
    def names_events(self) -> bool:
        """Whether every event of a stream has a type of its own."""

    @property
    def terminator(self) -> str:
        """What a stream ends with, as messages call it."""

    def read(self, payload: Mapping[str, Any], event: str, assembly: Assembly) -> None:
        """Tell `assembly` what the payload of an event of type `event` says."""

    def read_whole(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        """Tell `assembly` what an answer that was not streamed says."""


DIALECTS: Final[Mapping[str, Callable[[], Dialect]]] = MappingProxyType(
    {
        "openai-chat": OpenAiChat,
        "openai-responses": OpenAiResponses,
        "anthropic-messages": AnthropicMessages,
    }
)
_PATHS: Final = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/messages": "anthropic-messages",
}


def new_dialect(api: str) -> Dialect:
    """Return a reader for the answers of an API; raise UsageError for a name that is not known."""
    if api not in DIALECTS:
        raise UsageError(f"there is no API {api!r}; known are {', '.join(DIALECTS)}")
    return DIALECTS[api]()


def guess_api(url: str) -> str | None:
    """Return the API that a URL's path belongs to, None where it does not say."""
    path = urlsplit(url).path.rstrip("/")
    return next((api for ending, api in _PATHS.items() if path.endswith(ending)), None)
