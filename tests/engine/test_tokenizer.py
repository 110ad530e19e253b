"""The tokenizer: longest match, exact byte offsets, and control tokens that text cannot spell."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.engine.tokenizer import Segment, Tokenizer
from tracediff.errors import TokenizerError

PIECES = {
    0: "<pad>",
    1: "<bos>",
    2: "a",
    3: "ab",
    4: "abc",
    5: "c",
    6: "天",
    7: "天空",
    8: "🙂",
    9: "EOS",
    10: "<",
}
CONTROL = (0, 1, 9)


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer(PIECES, CONTROL)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("a", [2], id="one-piece"),
        pytest.param("abc", [4], id="longest-of-three"),
        pytest.param("abab", [3, 3], id="longest-again"),
        pytest.param("aabcc", [2, 4, 5], id="longest-in-the-middle"),
        pytest.param("天空天", [7, 6], id="multi-byte"),
        pytest.param("🙂天", [8, 6], id="outside-the-basic-plane"),
    ],
)
def test_longest_piece_wins(tokenizer: Tokenizer, text: str, ids: list[int]) -> None:
    """At every position the longest piece that fits is taken."""
    assert tokenizer.encode([Segment(text)]) == ids


@pytest.mark.parametrize(
    ("text", "offset", "rest"),
    [
        pytest.param("x", 0, "x", id="at-the-start"),
        pytest.param("abcx", 3, "x", id="after-ascii"),
        pytest.param("天空xa", 6, "xa", id="after-three-byte-characters"),
        pytest.param("🙂x", 4, "x", id="after-a-four-byte-character"),
        pytest.param("天é", 3, "é", id="unknown-multi-byte"),
        pytest.param("a\ud800", 1, "\ud800", id="lone-surrogate"),
        # Longest match takes "ab", and does not go back to "a" + "b…".
        pytest.param("abb", 2, "b", id="no-backtracking"),
    ],
)
def test_unknown_text_is_named_by_byte(
    tokenizer: Tokenizer, text: str, offset: int, rest: str
) -> None:
    """Text without a piece is an error that carries the byte offset in UTF-8."""
    with pytest.raises(TokenizerError, match=f"at byte {offset} of") as caught:
        tokenizer.encode([Segment(text)])
    assert (caught.value.text, caught.value.offset, caught.value.rest) == (text, offset, rest)


def test_offset_counts_within_its_segment(tokenizer: Tokenizer) -> None:
    """The offset is that within the segment, however long the segments before it are."""
    with pytest.raises(TokenizerError) as caught:
        tokenizer.encode([Segment("<bos>", is_control=True), Segment("天空"), Segment("ax")])
    assert caught.value.offset == 1


@pytest.mark.parametrize("spelling", [PIECES[token] for token in CONTROL])
def test_control_token_needs_a_control_segment(tokenizer: Tokenizer, spelling: str) -> None:
    """A control token's spelling is its id in a control segment and never in text."""
    (token,) = tokenizer.encode([Segment(spelling, is_control=True)])
    assert PIECES[token] == spelling
    with pytest.raises(TokenizerError):
        tokenizer.encode([Segment(f"a{spelling}")])


def test_ordinary_pieces_that_spell_a_control_token_stay_ordinary() -> None:
    """Text that can be covered by ordinary pieces is, though it spells a control token."""
    tokenizer = Tokenizer({1: "<bos>", 2: "<", 3: "bos", 4: ">"}, [1])
    assert tokenizer.encode([Segment("<bos>")]) == [2, 3, 4]
    assert tokenizer.encode([Segment("<bos>", is_control=True)]) == [1]


@pytest.mark.parametrize("text", ["a", "<bo", ""])
def test_control_segment_must_be_a_control_token(tokenizer: Tokenizer, text: str) -> None:
    """A control segment that is no control token is an error at its first byte."""
    with pytest.raises(TokenizerError) as caught:
        tokenizer.encode([Segment(text, is_control=True)])
    assert caught.value.offset == 0


@pytest.mark.parametrize("token", sorted(PIECES))
def test_decode_returns_the_spelling(tokenizer: Tokenizer, token: int) -> None:
    """Every id, control or not, decodes to its spelling."""
    assert tokenizer.decode(token) == PIECES[token]


@given(st.text(alphabet="abc天空🙂<>bosEOS", max_size=12))
def test_agrees_with_a_regular_expression(text: str) -> None:
    """Longest match is what an alternation of the pieces, longest first, finds."""
    ordinary = {piece: token for token, piece in PIECES.items() if token not in CONTROL}
    longest_first = sorted(ordinary, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    expected, end = [], 0
    while match := pattern.match(text, end):
        expected.append(ordinary[match[0]])
        end = match.end()
    tokenizer = Tokenizer(PIECES, CONTROL)
    if end == len(text):
        assert tokenizer.encode([Segment(text)]) == expected
        assert "".join(map(tokenizer.decode, expected)) == text
        return
    with pytest.raises(TokenizerError) as caught:
        tokenizer.encode([Segment(text)])
    assert caught.value.offset == len(text[:end].encode())
