"""Log-probabilities as the two APIs of OpenAI spell them, in the form that events list them.

Knows one token's entry. Must not know where lists of them stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracediff.streaming.payload import spell_json

_KNOWN: Final = frozenset({"token", "logprob", "bytes", "top_logprobs"})


def read_tokens(listed: Any) -> list[Any] | None:
    """Return the tokens of a list, each with its and its rivals' log-probabilities.

    None for what is no list of tokens. Bytes are kept where they are not those of the token.
    """
    if not isinstance(listed, list) or not all(isinstance(token, dict) for token in listed):
        return None
    return [_token(token) for token in listed]


def _token(token: Mapping[str, Any]) -> dict[str, Any]:
    rivals = (token, *(token.get("top_logprobs") or ()))
    found: dict[str, Any] = {
        "token": _plain(token.get("token")),
        "top": [[_plain(rival.get("token")), _plain(rival.get("logprob"))] for rival in rivals],
    }
    own = token.get("bytes")
    if own is not None and own != _bytes_of(found["token"]):
        found["bytes"] = spell_json(own)
    rest = {key: value for key, value in token.items() if key not in _KNOWN}
    if rest:
        found["rest"] = spell_json(rest)
    return found


def _bytes_of(token: Any) -> list[int]:
    return list(token.encode(errors="surrogatepass")) if isinstance(token, str) else []


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | float | int) else spell_json(value)
