"""Ids become text piece by piece: whole characters, without stop sequences."""

import pytest

from tracediff.integrations.transformers_text import TextStream


class Bytes:
    """A tokenizer of which each id is a byte of UTF-8; 0 is special."""

    def decode(
        self, ids: list[int], *, skip_special_tokens: bool, clean_up_tokenization_spaces: bool
    ) -> str:
        assert not clean_up_tokenization_spaces
        kept = [token for token in ids if token or not skip_special_tokens]
        return bytes(kept).decode(errors="replace")

    def convert_ids_to_tokens(self, token: int) -> str:
        return chr(token)


@pytest.mark.parametrize(
    ("text", "stops", "pieces", "rest"),
    [
        pytest.param("ab", [], ["a", "b"], "", id="letters"),
        pytest.param("é!", [], ["", "é", "!"], "", id="two-bytes"),
        pytest.param("蓝", [], ["", "", "蓝"], "", id="three-bytes"),
        pytest.param("a\0b", [], ["a", "", "b"], "", id="special-id"),
        pytest.param("xabc", ["abd"], ["x", "", "", "abc"], "", id="no-stop-after-all"),
        pytest.param("xab", ["abd"], ["x", "", ""], "ab", id="held-back"),
        pytest.param("xabd", ["abd"], ["x", "", "", ""], "", id="stop"),
    ],
)
def test_pieces(text: str, stops: list[str], pieces: list[str], rest: str) -> None:
    """Each id gives the text that is whole with it; what was held back comes in the end."""
    stream = TextStream(Bytes(), stops)
    assert [stream.push(token) for token in text.encode()] == pieces
    assert stream.stop_sequence == ("abd" if text == "xabd" else None)
    assert stream.finish() == rest


def test_cut_character_is_returned() -> None:
    """Bytes that are no whole character in the end are spelled as such."""
    stream = TextStream(Bytes(), [])
    assert stream.push("é".encode()[0]) == ""
    assert stream.finish() == "\ufffd"


@pytest.mark.parametrize(("length", "count"), [(0, 0), (1, 1), (2, 2), (3, 4)])
def test_ids_within(length: int, count: int) -> None:
    """An id is returned, at least in part, where its text begins before the end."""
    stream = TextStream(Bytes(), [])
    for token in "abé".encode():
        stream.push(token)
    assert stream.count_within(length) == count


def test_without_tokenizer() -> None:
    """Without a tokenizer there is no text."""
    stream = TextStream(None, [])
    assert [stream.push(5), stream.finish(), stream.piece(5)] == ["", "", None]
