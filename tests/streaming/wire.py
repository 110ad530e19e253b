"""Captures as servers write them, event by event, for tests."""

import gzip
import json
from typing import Any


def event(data: Any, name: str = "") -> bytes:
    """Return one server-sent event; data that is no text is written as JSON."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


DONE = event("[DONE]")


def chunk(delta: Any = None, finish: str | None = None, index: int = 0, **facts: Any) -> bytes:
    """Return one chunk of a chat completion; `facts` are further keys of the payload."""
    choice = {"index": index, "delta": delta or {}, "finish_reason": finish}
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return event({**envelope, "choices": [choice], **facts})


def say(*texts: str) -> bytes:
    """Return chunks of text."""
    return b"".join(chunk({"content": text}) for text in texts)


def call(number: int | None, **function: Any) -> bytes:
    """Return a chunk with a fragment of a tool call; `call_id` goes beside the function."""
    call_id = function.pop("call_id", None)
    fragment: dict[str, Any] = {"function": function}
    if number is not None:
        fragment["index"] = number
    if call_id is not None:
        fragment |= {"id": call_id, "type": "function"}
    return chunk({"tool_calls": [fragment]})


def usage(prompt: int, completion: int, total: int | None = None, **keys: Any) -> bytes:
    """Return a chunk with usage and no choices."""
    told = {"prompt_tokens": prompt, "completion_tokens": completion}
    told["total_tokens"] = prompt + completion if total is None else total
    return event({"id": "chatcmpl-1", "model": "m", "choices": [], "usage": told, **keys})


START = chunk({"role": "assistant", "content": ""})
"""The chunk that a chat completion begins with."""


def chat(*parts: bytes, finish: str = "stop", role: bool = True) -> bytes:
    """Return a whole chat completion around chunks."""
    start = START if role else b""
    return start + b"".join(parts) + chunk({}, finish) + DONE


def typed(kind: str, **facts: Any) -> bytes:
    """Return an event as Anthropic and OpenAI's responses name them: by its type, twice."""
    return event({"type": kind, **facts}, kind)


def block(index: int, kind: str, *deltas: Any, **facts: Any) -> bytes:
    """Return a content block of a message: start, deltas, stop."""
    names = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}
    delta_type, key = names.get(kind, ("input_json_delta", "partial_json"))
    start = {"type": kind, **({kind: ""} if kind in names else {}), **facts}
    pieces = [
        typed("content_block_delta", index=index, delta={"type": delta_type, key: text})
        for text in deltas
    ]
    first = typed("content_block_start", index=index, content_block=start)
    return first + b"".join(pieces) + typed("content_block_stop", index=index)


def message(*blocks: bytes, stop: str | None = "end_turn", **delta: Any) -> bytes:
    """Return a whole streamed message around content blocks."""
    facts = {"id": "msg_1", "type": "message", "role": "assistant", "model": "c", "content": []}
    start = typed(
        "message_start", message={**facts, "usage": {"input_tokens": 5, "output_tokens": 1}}
    )
    end = typed("message_delta", delta={"stop_reason": stop, **delta}, usage={"output_tokens": 7})
    return start + b"".join(blocks) + end + typed("message_stop")


class Responses:
    """Writes the numbered events of one response."""

    def __init__(self) -> None:
        self._number = -1
        self.items: dict[int, dict[str, Any]] = {}

    def say(self, kind: str, **facts: Any) -> bytes:
        """Return the next event."""
        self._number += 1
        return typed(f"response.{kind}", sequence_number=self._number, **facts)

    def text(self, *texts: str, output: int = 0) -> bytes:
        """Return deltas of text and what closes them."""
        place = {"item_id": "msg_1", "output_index": output, "content_index": 0}
        self.write(output, type="output_text", text="".join(texts), annotations=[])
        deltas = [self.say("output_text.delta", **place, delta=text) for text in texts]
        return b"".join(deltas) + self.say("output_text.done", **place, text="".join(texts))

    def write(self, output: int, **content: Any) -> None:
        """Note what the end of the response is to tell as an item's content."""
        self.items[output] = {"type": "message", "role": "assistant", "content": [content]}

    def call(self, output: int, name: str, *fragments: str) -> bytes:
        """Return a function call: added, its fragments, done."""
        item = {"type": "function_call", "name": name, "call_id": f"c{output}", "arguments": ""}
        whole = {**item, "arguments": "".join(fragments)}
        place = {"item_id": f"fc_{output}", "output_index": output}
        self.items[output] = whole
        return (
            self.say("output_item.added", output_index=output, item=item)
            + b"".join(
                self.say("function_call_arguments.delta", **place, delta=f) for f in fragments
            )
            + self.say("function_call_arguments.done", **place, arguments="".join(fragments))
            + self.say("output_item.done", output_index=output, item=whole)
        )

    def whole(self, *parts: bytes, status: str = "completed", **facts: Any) -> bytes:
        """Return the end of a response, behind its parts."""
        output = [item for _, item in sorted(self.items.items())]
        response = {"id": "resp_1", "model": "g", "status": status, "output": output, **facts}
        return b"".join(parts) + self.say(status, response=response)

    def created(self) -> bytes:
        """Return the first event."""
        return self.say("created", response={"id": "resp_1", "model": "g", "status": "in_progress"})


def http(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    """Return a response: its head, with a content type of its own, and its body as it is."""
    lines = [f"HTTP/1.1 {status}", *fields]
    if not any(field.lower().startswith("content-type") for field in fields):
        lines.append("Content-Type: text/event-stream; charset=utf-8")
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(body: bytes, size: int = 50) -> bytes:
    """Return a body in chunks of `size` bytes."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def packed(body: bytes) -> bytes:
    """Return a body as gzip packs it."""
    return gzip.compress(body, mtime=0)
