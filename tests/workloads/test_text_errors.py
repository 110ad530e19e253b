"""What text-001 refuses: unknown names, values out of range, prompts that do not fit."""

from typing import Any

import numpy as np
import pytest

from tracediff.errors import TokenizerError, UsageError
from tracediff.recording.sinks import MemorySink
from tracediff.workloads.run import RunRequest, record_fixture, run_fixture
from tracediff.workloads.text_settings import SETTINGS

# setting, refused values, what the message says is allowed
BAD_VALUES: list[tuple[str, list[Any], str]] = [
    ("prompt", ["", 5, None, ["天空"]], "a non-empty string"),
    ("minimum_output_tokens", [-1, 1001, 1.0, "1", True, None], "an integer from 0 to 1000"),
    ("max_output_tokens", [0, -1, 1001, 2.5, "3", False], "an integer from 1 to 1000"),
    ("stop_sequences", ["。", [""], [1], None, {"。": 1}, {"。"}], "a JSON list of non-empty str"),
    ("context_window", [0, 4097, 64.0, [64]], "an integer from 1 to 4096"),
    ("grammar", ["大气", [""], [None], 1], "a JSON list of non-empty strings"),
    ("repetition_penalty", [0, -1, 0.009, 101, "2", True], "a number from 0.01 to 100"),
    (
        "temperature",
        [-0.1, 1e-7, 100.1, "1", True, float("nan"), float("inf"), 10**400],
        "0, or a number from 1e-06 to 100",
    ),
    ("top_k", [-1, 1001, 2.0, "all", np.int64(3)], "an integer from 0 to 1000"),
    ("top_p", [0, 0.0, -1, 1.1, "1", float("nan")], "a number above 0 to 1"),
    ("seed", [-1, 2**64, 1.0, "1"], f"an integer from 0 to {2**64 - 1}"),
    ("kv_cache", [0, 1, "false", None], "true or false"),
]


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [(name, value, allowed) for name, values, allowed in BAD_VALUES for value in values],
)
def test_bad_value(name: str, value: Any, allowed: str) -> None:
    """A value out of range is an error that names the setting and what is allowed."""
    with pytest.raises(UsageError) as caught:
        run_fixture("text-001", {name: value})
    message = str(caught.value)
    assert message.startswith(f"text-001: {name}=")
    assert f"is not allowed; {allowed}" in message


def test_every_setting_has_bad_values() -> None:
    """The table above covers all settings, and a definition's settings are all of them."""
    assert [name for name, _, _ in BAD_VALUES] == [setting.name for setting in SETTINGS]
    assert list(run_fixture("text-001").root.payload["settings"]) == [
        setting.name for setting in SETTINGS if setting.name != "prompt"
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            {"overrides": {"max_output_token": 3}},
            "text-001 has no setting 'max_output_token'; did you mean max_output_tokens",
            id="override",
        ),
        pytest.param(
            {"overrides": {"xyz": 3}},
            "text-001 has no setting 'xyz'; known are prompt, minimum_output_tokens",
            id="override-unlike-any",
        ),
        pytest.param(
            {"fixture": "text-01"},
            r"there is no fixture 'text-01'; did you mean text-001",
            id="fixture",
        ),
        pytest.param(
            {"injection": "timeout"},
            "text-001 has no injection 'timeout'; known are none",
            id="injection",
        ),
        pytest.param(
            {"kernel": "orderd"},
            "unknown kernel 'orderd'; .*known are ordered, blas, float64",
            id="kernel",
        ),
        pytest.param(
            {"tensors": "all"}, "unknown tensor level 'all'; allowed are digest", id="tensors"
        ),
    ],
)
def test_unknown_name(arguments: dict[str, Any], message: str) -> None:
    """An unknown name is an error that lists near matches or all known ones."""
    with pytest.raises(UsageError, match=message):
        run_fixture(**{"fixture": "text-001", **arguments})


@pytest.mark.parametrize("window", [1, 11])
def test_prompt_longer_than_the_window(window: int) -> None:
    """A window that cannot hold the prompt is an error that says how large it must be."""
    with pytest.raises(UsageError, match=f"12 tokens, context_window={window} .* from 12"):
        run_fixture("text-001", {"context_window": window})


@pytest.mark.parametrize(
    ("prompt", "offset", "rest"),
    [
        pytest.param("天空X", 6, "X", id="unknown-character"),
        pytest.param("天空<bos>", 6, "<bos>", id="control-token"),
        pytest.param("</user>", 0, "</user>", id="control-token-that-ends-the-text"),
        pytest.param("是EOS", 3, "EOS", id="end-token"),
        pytest.param("reserved", 0, "reserved", id="reserved-token"),
        pytest.param("蓝色\ud800", 6, "\ud800", id="lone-surrogate"),
        pytest.param("天空 ", 6, " ", id="space"),
    ],
)
def test_prompt_outside_the_vocabulary(prompt: str, offset: int, rest: str) -> None:
    """Text without a piece is an error with its byte offset; control tokens are never text."""
    with pytest.raises(TokenizerError) as caught:
        run_fixture("text-001", {"prompt": prompt})
    assert (caught.value.text, caught.value.offset, caught.value.rest) == (prompt, offset, rest)


def test_grammar_outside_the_vocabulary() -> None:
    """An allowed output that cannot be generated is an error."""
    with pytest.raises(TokenizerError, match="no piece for 'X'"):
        run_fixture("text-001", {"grammar": ["天空X"]})


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(RunRequest("text-002"), id="fixture"),
        pytest.param(RunRequest("text-001", {"top_k": -1}), id="value"),
        pytest.param(RunRequest("text-001", {"context_window": 5}), id="window"),
        pytest.param(RunRequest("text-001", {"prompt": "X"}), id="prompt"),
        pytest.param(RunRequest("text-001", injection="x"), id="injection"),
        pytest.param(RunRequest("text-001", kernel="x"), id="kernel"),
        pytest.param(RunRequest("text-001", tensors="x"), id="tensors"),
    ],
)
def test_a_wrong_request_opens_nothing(request_: RunRequest) -> None:
    """What can be known to be wrong before the run is refused before a file is opened."""

    def open_sink() -> MemorySink:
        raise AssertionError("opened")

    with pytest.raises((UsageError, TokenizerError)):
        record_fixture(request_, open_sink)
