"""What the bodies of both vendors share: limits of single fields, texts in parts, schemas.

Knows pydantic. Must not know either vendor's body as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LARGEST_SEED = 2**64 - 1
SMALLEST_TEMPERATURE = 1e-6
MOST_STOPS = 4
DEEPEST = 64


class Body(BaseModel):
    """A JSON object without keys that nobody reads, and without conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


def _keep_temperature(value: float) -> float:
    if 0 < value < SMALLEST_TEMPERATURE:
        raise ValueError(f"0 or a number from {SMALLEST_TEMPERATURE:g} is allowed")
    return value


Temperature = Annotated[
    float, Field(ge=0, le=2, allow_inf_nan=False), AfterValidator(_keep_temperature)
]
TopP = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Stop = Annotated[str, Field(min_length=1, max_length=1000)]
Stops = Annotated[list[Stop], Field(max_length=MOST_STOPS)]
MaxTokens = Annotated[int, Field(ge=1, le=1_000_000)]
ToolName = Annotated[str, Field(min_length=1, max_length=128)]


def _keep_depth(value: dict[str, Any]) -> dict[str, Any]:
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        # One level after the other: what is hostile must not be met by recursion.
        nested = [inner for outer in level for inner in _inside(outer)]
        level = [inner for inner in nested if isinstance(inner, dict | list)]
        if not level:
            return value
    raise ValueError(f"at most {DEEPEST} levels of objects and arrays are allowed")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


Document = Annotated[dict[str, Any], AfterValidator(_keep_depth)]
"""A JSON object that is passed on, such as a schema."""


class TextPart(Body):
    """A part of a message; texts are the only kind that the toy reads."""

    type: Literal["text"]
    text: str


Text = str | list[TextPart]


def joined(content: str | Sequence[TextPart] | None) -> str:
    """Return a content's text."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.text for part in content)
