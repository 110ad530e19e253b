"""Text that is no valid Unicode survives being carried in JSON."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.events.text import shorten, text_from_json, text_to_json


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("Straße \U0001f642\n", "Straße \U0001f642\n", id="unicode"),
        pytest.param("Straße".encode(), "Straße", id="bytes that are UTF-8"),
        pytest.param("\ufffd", "\ufffd", id="a replacement character is a character"),
        # U+D83D in the form of UTF-8 is ED A0 BD (RFC 3629 forbids it, hence base64).
        pytest.param("\ud83d", {"b64": "7aC9"}, id="lone surrogate"),
        pytest.param(b"\xf0\x9f", {"b64": "8J8="}, id="half a character"),
        pytest.param(b"\xff\x00", {"b64": "/wA="}, id="no UTF-8 at all"),
    ],
)
def test_text_is_carried_as_text_or_base64(text: str | bytes, carried: object) -> None:
    """Valid Unicode is a string, everything else the base64 of its bytes."""
    assert text_to_json(text) == carried


@given(st.text(st.characters(exclude_categories=())))
def test_every_string_comes_back(text: str) -> None:
    """What a string is, surrogates included, is what comes back."""
    assert text_from_json(text_to_json(text)) == text


@given(st.binary())
def test_every_byte_comes_back(raw: bytes) -> None:
    """The bytes of what comes back are the bytes that went in."""
    back = text_from_json(text_to_json(raw))
    assert (back if isinstance(back, bytes) else back.encode(errors="surrogatepass")) == raw


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="null"),
        pytest.param(5, id="number"),
        pytest.param({}, id="no b64"),
        pytest.param({"b64": "7aC9", "more": 1}, id="further key"),
        pytest.param({"b64": 5}, id="b64 is no string"),
        pytest.param({"b64": "?"}, id="no base64"),
        pytest.param({"b64": "é"}, id="not even ASCII"),
    ],
)
def test_what_is_no_text_is_refused(found: object) -> None:
    """Anything but a string or one b64 is a ValueError."""
    with pytest.raises(ValueError, match=r"text or|not base64"):
        text_from_json(found)


def test_a_subclass_of_str_becomes_a_plain_string() -> None:
    """JSON writers refuse subclasses, numpy.str_ among them."""

    class Word(str):
        __slots__ = ()

    assert type(text_to_json(Word("x"))) is str


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 3, "")],
    ids=["as long as allowed", "longer", "empty"],
)
def test_long_text_is_cut(text: str, limit: int, shown: str) -> None:
    """A message never carries more than `limit` characters of an id."""
    assert shorten(text, limit) == shown
