"""The body of OpenAI's `POST /v1/chat/completions`, and the chat request that it makes.

Source: OpenAI API reference, "Create chat completion". Only what the toy obeys is accepted: a field
that would be passed over is refused by name.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from tracediff.serving.fields import (
    LARGEST_SEED,
    Body,
    Document,
    MaxTokens,
    Stop,
    Stops,
    Temperature,
    Text,
    ToolName,
    TopP,
    joined,
)
from tracediff.workloads.chat_model import ASSISTANT, SYSTEM, TOOL, TOOLS, USER, Turn
from tracediff.workloads.chat_request import ChatRequest

_ROLES = {
    "system": SYSTEM,
    "developer": SYSTEM,
    "user": USER,
    "assistant": ASSISTANT,
    "tool": TOOL,
}


class CalledFunction(Body):
    """A function call of an earlier turn; `arguments` is JSON as text."""

    name: ToolName
    arguments: str


class ToolCall(Body):
    """A tool call of an earlier turn."""

    id: str
    type: Literal["function"]
    function: CalledFunction


class Message(Body):
    """One turn of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _keep_roles(self) -> Message:
        if self.tool_calls and self.role != "assistant":
            raise ValueError(f"tool_calls belong to the assistant, not to {self.role}")
        if (self.role == "tool") != (self.tool_call_id is not None):
            raise ValueError("tool_call_id belongs to every message of role tool, and to no other")
        if self.content is None and not self.tool_calls and self.refusal is None:
            raise ValueError("a message needs content")
        return self

    def turn(self) -> Turn:
        """Return what the model reads: a text, or a call's arguments as the model wrote them."""
        called = "".join(call.function.arguments for call in self.tool_calls or ())
        return Turn(_ROLES[self.role], joined(self.content) + (self.refusal or "") + called)


class StreamOptions(Body):
    """What a stream tells beside the deltas."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None


class JsonSchema(Body):
    """The schema of the answer; `strict` has the decoder choose nothing else."""

    name: ToolName
    description: str | None = None
    schema_: Document = Field(alias="schema")
    strict: bool | None = None


class ResponseFormat(Body):
    """What the answer shall be."""

    type: Literal["text", "json_schema"]
    json_schema: JsonSchema | None = None

    @model_validator(mode="after")
    def _keep_schema(self) -> ResponseFormat:
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise ValueError("json_schema belongs to the type json_schema")
        return self


class FunctionTool(Body):
    """A function that the model may call."""

    name: ToolName
    description: str | None = None
    parameters: Document = Field(default_factory=lambda: {"type": "object"})
    strict: bool | None = None


class Tool(Body):
    """A tool that the model may call."""

    type: Literal["function"]
    function: FunctionTool


class ChosenFunction(Body):
    """The name of a function."""

    name: ToolName


class ChosenTool(Body):
    """A tool that the model has to call."""

    type: Literal["function"]
    function: ChosenFunction


class ChatCompletionBody(Body):
    """What a chat completion is asked for with."""

    model: str
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: MaxTokens | None = None
    max_completion_tokens: MaxTokens | None = None
    stop: Stop | Stops | None = None
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    response_format: ResponseFormat | None = None
    tools: Annotated[list[Tool], Field(min_length=1, max_length=16)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None
    parallel_tool_calls: bool | None = None
    n: Literal[1] | None = None
    user: str | None = None

    @model_validator(mode="after")
    def _keep_pairs(self) -> ChatCompletionBody:
        if self.max_tokens is not None and self.max_completion_tokens is not None:
            raise ValueError("give one of max_tokens and max_completion_tokens")
        if self.top_logprobs is not None and not self.logprobs:
            raise ValueError("top_logprobs needs logprobs")
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options needs stream")
        if self.tool_choice is not None and self.tools is None:
            raise ValueError("tool_choice needs tools")
        names = [tool.function.name for tool in self.tools or ()]
        if isinstance(self.tool_choice, ChosenTool) and self.tool_choice.function.name not in names:
            raise ValueError(f"tool_choice names none of the tools {', '.join(names)}")
        return self

    @property
    def tells_usage(self) -> bool:
        """Whether the stream ends with a chunk about the usage."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def request(self) -> ChatRequest:
        """Return what the model is asked."""
        schema, constrained, tool = self._expected()
        return ChatRequest(
            turns=self._turns(),
            settings=self._settings(),
            schema=schema,
            constrained=constrained,
            tool=tool,
            alternatives=(self.top_logprobs or 0) if self.logprobs else None,
            recorded={"api": "openai-chat", "stream": bool(self.stream)},
        )

    def _turns(self) -> tuple[Turn, ...]:
        turns = [message.turn() for message in self.messages]
        if self.tools is None:
            return tuple(turns)
        offered = [
            {"name": tool.function.name, "input_schema": tool.function.parameters}
            for tool in self.tools
        ]
        return offer(turns, offered)

    def _settings(self) -> dict[str, Any]:
        stops = [self.stop] if isinstance(self.stop, str) else self.stop
        found = {
            "max_output_tokens": self.max_tokens or self.max_completion_tokens,
            "stop_sequences": stops,
            "seed": self.seed,
            "temperature": self.temperature,
            "top_p": self.top_p,
        }
        return {key: value for key, value in found.items() if value is not None}

    def _expected(self) -> tuple[dict[str, Any] | None, bool, str | None]:
        """Return the answer's schema, whether it is enforced, and the tool that it is for."""
        choice = self.tool_choice or "auto"
        if self.tools is not None and choice != "none":
            by_name = {tool.function.name: tool.function for tool in self.tools}
            if isinstance(choice, ChosenTool):
                return by_name[choice.function.name].parameters, True, choice.function.name
            if self.messages[-1].role != "tool":
                first = self.tools[0].function
                return first.parameters, True, first.name
        if self.response_format is None or self.response_format.json_schema is None:
            return None, False, None
        wanted = self.response_format.json_schema
        return wanted.schema_, bool(wanted.strict), None


def offer(turns: list[Turn], tools: list[dict[str, Any]]) -> tuple[Turn, ...]:
    """Return the turns with the tools after the instruction, as compact JSON."""
    offered = tools[0] if len(tools) == 1 else tools
    text = json.dumps(offered, ensure_ascii=False, separators=(",", ":"))
    start = next((i for i, turn in enumerate(turns) if turn.role != SYSTEM), len(turns))
    return (*turns[:start], Turn(TOOLS, text), *turns[start:])
