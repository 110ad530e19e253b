"""The body of Anthropic's `POST /v1/messages`, and the chat request that it makes.

Source: Anthropic API reference, "Create a message". Only what the toy obeys is accepted: a field
that would be passed over is refused by name.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from tracediff.serving.fields import (
    Body,
    Document,
    MaxTokens,
    Stops,
    Temperature,
    Text,
    ToolName,
    TopP,
    joined,
)
from tracediff.serving.openai_body import offer
from tracediff.workloads.chat_model import ASSISTANT, SYSTEM, TOOL, USER, Turn
from tracediff.workloads.chat_request import ChatRequest

_REQUIRED = {
    "text": ("text",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
}


class Block(Body):
    """A part of a message: a text, a tool's use, or its result."""

    type: Literal["text", "tool_use", "tool_result"]
    text: str | None = None
    id: str | None = None
    name: ToolName | None = None
    input: Document | None = None
    tool_use_id: str | None = None
    content: Text | None = None
    is_error: bool | None = None

    @model_validator(mode="after")
    def _keep_kind(self) -> Block:
        missing = [key for key in _REQUIRED[self.type] if getattr(self, key) is None]
        if missing:
            raise ValueError(f"a block of type {self.type} needs {missing[0]}")
        return self

    def turn(self, role: str) -> Turn:
        """Return what the model reads of it."""
        if self.type == "text":
            return Turn(role, self.text or "")
        if self.type == "tool_result":
            return Turn(TOOL, joined(self.content))
        return Turn(ASSISTANT, json.dumps(self.input, ensure_ascii=False, separators=(",", ":")))


class Message(Body):
    """One turn of the conversation."""

    role: Literal["user", "assistant"]
    content: str | Annotated[list[Block], Field(min_length=1)]

    def turns(self) -> list[Turn]:
        """Return what the model reads: neighbouring texts are one turn."""
        role = USER if self.role == "user" else ASSISTANT
        if isinstance(self.content, str):
            return [Turn(role, self.content)]
        found: list[Turn] = []
        for block in self.content:
            turn = block.turn(role)
            if found and block.type == "text" and found[-1].role == role:
                turn = Turn(role, found.pop().text + turn.text)
            found.append(turn)
        return found


class Tool(Body):
    """A tool that the model may use."""

    name: ToolName
    description: str | None = None
    input_schema: Document


class ToolChoice(Body):
    """Whether a tool is used, and which."""

    type: Literal["auto", "any", "tool", "none"]
    name: ToolName | None = None
    disable_parallel_tool_use: bool | None = None

    @model_validator(mode="after")
    def _keep_name(self) -> ToolChoice:
        if (self.type == "tool") != (self.name is not None):
            raise ValueError("name belongs to the type tool")
        return self


class Metadata(Body):
    """Who asks."""

    user_id: str | None = None


class MessageBody(Body):
    """What a message is asked for with."""

    model: str
    max_tokens: MaxTokens
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    system: Text | None = None
    stop_sequences: Stops | None = None
    stream: bool | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    top_k: Annotated[int, Field(ge=0, le=1000)] | None = None
    tools: Annotated[list[Tool], Field(min_length=1, max_length=16)] | None = None
    tool_choice: ToolChoice | None = None
    metadata: Metadata | None = None

    @model_validator(mode="after")
    def _keep_pairs(self) -> MessageBody:
        if self.tool_choice is None:
            return self
        if self.tools is None:
            raise ValueError("tool_choice needs tools")
        names = [tool.name for tool in self.tools]
        if self.tool_choice.name is not None and self.tool_choice.name not in names:
            raise ValueError(f"tool_choice names none of the tools {', '.join(names)}")
        return self

    def request(self) -> ChatRequest:
        """Return what the model is asked."""
        schema, tool = self._expected()
        return ChatRequest(
            turns=self._turns(),
            settings=self._settings(),
            schema=schema,
            constrained=schema is not None,
            tool=tool,
            recorded={"api": "anthropic-messages", "stream": bool(self.stream)},
        )

    def _turns(self) -> tuple[Turn, ...]:
        turns = [] if self.system is None else [Turn(SYSTEM, joined(self.system))]
        turns += [turn for message in self.messages for turn in message.turns()]
        if self.tools is None:
            return tuple(turns)
        offered = [{"name": tool.name, "input_schema": tool.input_schema} for tool in self.tools]
        return offer(turns, offered)

    def _settings(self) -> dict[str, Any]:
        found = {
            "max_output_tokens": self.max_tokens,
            "stop_sequences": self.stop_sequences,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
        }
        return {key: value for key, value in found.items() if value is not None}

    def _expected(self) -> tuple[dict[str, Any] | None, str | None]:
        """Return the schema of the tool that is used, and its name, if one is."""
        choice = self.tool_choice.type if self.tool_choice is not None else "auto"
        if self.tools is None or choice == "none":
            return None, None
        if self.tool_choice is not None and self.tool_choice.name is not None:
            schemas = {tool.name: tool.input_schema for tool in self.tools}
            return schemas[self.tool_choice.name], self.tool_choice.name
        # The toy always uses the first tool, until it has its result.
        if self._turns()[-1].role == TOOL:
            return None, None
        return self.tools[0].input_schema, self.tools[0].name
