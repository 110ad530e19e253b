"""Keys come from the environment, and show themselves nowhere."""

import pytest

from tracediff.client.keys import find_key, key_fields
from tracediff.errors import UsageError


@pytest.mark.parametrize(
    ("api", "name", "environment", "fields"),
    [
        pytest.param("openai-chat", None, {"OPENAI_API_KEY": "k"}, {"authorization": "Bearer k"},
                     id="chat"),
        pytest.param("openai-responses", None, {"OPENAI_API_KEY": "k"},
                     {"authorization": "Bearer k"}, id="responses"),
        pytest.param("anthropic-messages", None, {"ANTHROPIC_API_KEY": "k"},
                     {"x-api-key": "k", "anthropic-version": "2023-06-01"}, id="messages"),
        pytest.param("openai-chat", "MINE", {"MINE": " k\n", "OPENAI_API_KEY": "other"},
                     {"authorization": "Bearer k"}, id="named"),
        pytest.param("openai-chat", None, {"ANTHROPIC_API_KEY": "k"}, {}, id="no-key"),
    ],
)  # fmt: skip
def test_fields(
    api: str, name: str | None, environment: dict[str, str], fields: dict[str, str]
) -> None:
    """Every API gets its key in its own field."""
    assert key_fields(api, find_key(api, name, environment)) == fields


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        pytest.param("MINE", {}, id="not-set"),
        pytest.param("MINE", {"MINE": " "}, id="empty"),
        pytest.param(None, {"OPENAI_API_KEY": "secret\r\nx: y"}, id="two-lines"),
        pytest.param(None, {"OPENAI_API_KEY": "secret é"}, id="not-ascii"),
    ],
)
def test_errors_spell_no_key(name: str | None, environment: dict[str, str]) -> None:
    """A key that is missing or cannot be sent is an error that does not show it."""
    with pytest.raises(UsageError) as caught:
        find_key("openai-chat", name, environment)
    assert "secret" not in str(caught.value)


def test_a_key_does_not_show_itself() -> None:
    """What Python prints of a key is not the key."""
    assert "secret" not in repr(find_key("openai-chat", None, {"OPENAI_API_KEY": "secret"}))
