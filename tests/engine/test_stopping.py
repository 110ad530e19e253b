"""Stop sequences across token borders, what is held back, and the words for how it ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.engine.stopping import ANTHROPIC_WORDS, OPENAI_WORDS, FinishReason, StopMatcher

# stop sequences, pieces, what each push returns, the matched sequence, what flush returns
CASES = [
    pytest.param([], ["a", "b"], ["a", "b"], None, "", id="no-sequences"),
    pytest.param(["x"], ["a", "b"], ["a", "b"], None, "", id="nothing-in-common"),
    pytest.param(["b"], ["a", "b"], ["a", ""], "b", "", id="a-whole-piece"),
    pytest.param(["b"], ["abc"], ["a"], "b", "", id="inside-a-piece"),
    pytest.param(["ab"], ["xa", "by"], ["x", ""], "ab", "", id="across-a-border"),
    pytest.param(["abcd"], ["a", "b", "c", "d"], [""] * 4, "abcd", "", id="across-three-borders"),
    # Field case F019: of "\nUser:" nothing may reach the client.
    pytest.param(
        ["\nUser:"], ["ok", "\nUser", ": hi"], ["ok", "", ""], "\nUser:", "", id="field-case"
    ),
    pytest.param(["光的"], ["短波蓝光", "的散射"], ["短波蓝", ""], "光的", "", id="multi-byte"),
    pytest.param(["ab"], ["a", "c"], ["", "ac"], None, "", id="false-start-is-returned"),
    pytest.param(["aab"], ["aa", "a", "b"], ["", "a", ""], "aab", "", id="start-within-a-start"),
    pytest.param(["ab"], ["xa"], ["x"], None, "a", id="held-back-at-the-end"),
    pytest.param(["abc"], ["ab"], [""], None, "ab", id="all-held-back-at-the-end"),
    pytest.param(["b", "a"], ["xab"], ["x"], "a", "", id="earliest-of-two"),
    pytest.param(["abc", "b"], ["abc"], ["a"], "b", "", id="complete-first-though-inside"),
    pytest.param(["bc", "abc"], ["abc"], [""], "abc", "", id="longest-of-those-that-end-together"),
    pytest.param(["ab", "abc"], ["abc"], [""], "ab", "", id="one-a-prefix-of-the-other"),
    pytest.param(["b"], ["ab", "cb"], ["a", ""], "b", "", id="nothing-after-the-match"),
    pytest.param(["a"], ["", "xa"], ["", "x"], "a", "", id="empty-piece"),
]


@pytest.mark.parametrize(("sequences", "pieces", "returned", "matched", "flushed"), CASES)
def test_matcher(
    sequences: list[str], pieces: list[str], returned: list[str], matched: str | None, flushed: str
) -> None:
    """Each push returns what is safe; flush returns the rest, once."""
    matcher = StopMatcher(sequences)
    assert [matcher.push(piece) for piece in pieces] == returned
    assert matcher.matched == matched
    assert matcher.flush() == flushed
    assert matcher.flush() == ""


def stop_slowly(text: str, sequences: list[str]) -> tuple[str, str | None]:
    """Return the text before the sequence that is complete first (the longest of several)."""
    for end in range(len(text) + 1):
        complete = [stop for stop in sequences if text[:end].endswith(stop)]
        if complete:
            longest = max(complete, key=len)
            return text[: end - len(longest)], longest
    return text, None


STOP = st.text("abc", min_size=1, max_size=4)


@given(st.lists(STOP, max_size=4), st.lists(st.text("abc", max_size=4), max_size=6))
def test_token_borders_do_not_matter(sequences: list[str], pieces: list[str]) -> None:
    """However the text is cut into pieces, the same is matched and the same text returned."""
    matcher = StopMatcher(sequences)
    returned = ""
    for piece in pieces:
        returned += matcher.push(piece)
        if matcher.matched:
            break
    returned += matcher.flush()
    assert (returned, matcher.matched) == stop_slowly("".join(pieces), sequences)


@given(st.lists(STOP, min_size=1, max_size=3), st.lists(st.text("abc", max_size=3), max_size=6))
def test_as_little_as_possible_is_held_back(sequences: list[str], pieces: list[str]) -> None:
    """What is held back is the start of a sequence; what was returned is no part of one."""
    matcher = StopMatcher(sequences)
    arrived = returned = ""
    for piece in pieces:
        arrived += piece
        returned += matcher.push(piece)
        if matcher.matched:
            return
        held = arrived[len(returned) :]
        assert arrived == returned + held
        assert not held or any(stop.startswith(held) for stop in sequences)


@pytest.mark.parametrize(
    ("reason", "openai", "anthropic"),
    [
        # Sources: OpenAI API reference, chat completion object, `finish_reason`; Anthropic API
        # reference, Messages, `stop_reason`.
        ("eos", "stop", "end_turn"),
        ("stop_sequence", "stop", "stop_sequence"),
        ("max_tokens", "length", "max_tokens"),
        ("context_window", "length", "model_context_window_exceeded"),
        ("tool_calls", "tool_calls", "tool_use"),
        ("refusal", "stop", "refusal"),
        ("content_filter", "content_filter", "refusal"),
        ("cancelled", None, None),
    ],
)
def test_words_of_other_interfaces(reason: str, openai: str | None, anthropic: str | None) -> None:
    """Each reason has its word in the OpenAI and the Anthropic interface."""
    found = FinishReason(reason)
    assert (OPENAI_WORDS[found], ANTHROPIC_WORDS[found]) == (openai, anthropic)


def test_every_reason_has_words() -> None:
    """No reason is left without a word."""
    assert set(OPENAI_WORDS) == set(ANTHROPIC_WORDS) == set(FinishReason)
