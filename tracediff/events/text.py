"""How text that may not be valid Unicode is carried in JSON without losing a bit, and cut short.

Knows strings, bytes and the `{"b64": …}` form; must not know where they come from.
"""

from __future__ import annotations

import base64
from typing import Any


def text_to_json(text: str | bytes) -> str | dict[str, str]:
    """Return `text` as a string where it is valid Unicode, else as `{"b64": …}` of its bytes.

    Bytes are valid when they are UTF-8. A string with lone surrogates has no UTF-8; its bytes are
    those of the `surrogatepass` error handler, from which it comes back unchanged.
    """
    try:
        if isinstance(text, bytes):
            return text.decode()
        text.encode()
    except UnicodeError:
        raw = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
        return {"b64": base64.b64encode(raw).decode("ascii")}
    return str.__str__(text)  # of a subclass (numpy.str_) the plain string


def text_from_json(found: Any) -> str | bytes:
    """Return the text of `text_to_json`'s result.

    A string comes back as a string. Of `{"b64": …}`, what holds lone surrogates comes back as the
    string that has them, everything else as bytes. Raises ValueError for anything else.
    """
    if isinstance(found, str):
        return found
    if not isinstance(found, dict) or list(found) != ["b64"]:
        raise ValueError(f'expected text or {{"b64": …}}, found {found!r:.60}')
    try:
        raw = base64.b64decode(found["b64"], validate=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"not base64: {found['b64']!r:.60}") from error
    try:
        return raw.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return raw


def shorten(text: str, limit: int = 60) -> str:
    """Return `text`, cut where it is longer than a message should carry."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
