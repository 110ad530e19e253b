"""Where a key comes from: the environment, and nowhere else.

Knows names of variables and of HTTP fields. A key leaves this module in a field of the request
only; no message spells one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from tracediff.errors import UsageError

VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "openai-chat": "OPENAI_API_KEY",
        "openai-responses": "OPENAI_API_KEY",
        "anthropic-messages": "ANTHROPIC_API_KEY",
    }
)
ANTHROPIC_VERSION: Final = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Key:
    """A key, "" for none: servers on one's own machine need none. It does not show itself."""

    secret: str = field(default="", repr=False)


def find_key(api: str, name: str | None, environment: Mapping[str, str]) -> Key:
    """Return the key for an API from the variable `name`, or the API's usual one.

    Raises UsageError for a variable that was named and is not set, and for a key that no HTTP
    field can hold.
    """
    variable = name or VARIABLES[api]
    secret = environment.get(variable, "").strip()
    if name is not None and not secret:
        raise UsageError(f"the environment has no variable {name!r:.60}, or it is empty")
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UsageError(f"the key in {variable} holds characters that no key has")
    return Key(secret)


def key_fields(api: str, key: Key) -> dict[str, str]:
    """Return the HTTP fields that an API wants of a client with this key."""
    if api == "anthropic-messages":
        fields = {"anthropic-version": ANTHROPIC_VERSION}
        return fields | ({"x-api-key": key.secret} if key.secret else {})
    return {"authorization": f"Bearer {key.secret}"} if key.secret else {}
