"""Chat requests answered in memory, and what tests look at in them."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from tracediff.engine.kernels import find_kernel
from tracediff.events import Trace
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import MemorySink
from tracediff.workloads.chat import Cut, Delta, Progress, answer
from tracediff.workloads.chat_model import USER, ChatModel, Turn, load_chat_model
from tracediff.workloads.chat_request import ChatRequest

QUESTION = "天空为什么是蓝色？"
ANSWER = "短波蓝光的散射通常更强。"
TEXT, TOOL_CALLS = "text-001", "tool-001"


@cache
def model(fixture: str = TEXT) -> ChatModel:
    """Return the model of a fixture."""
    return load_chat_model(fixture, find_kernel("ordered"))


def asking(text: str = QUESTION, settings: Any = None, **fields: Any) -> ChatRequest:
    """Return a request of one turn."""
    return ChatRequest((Turn(USER, text),), settings or {}, **fields)


def begin(
    request: ChatRequest, fixture: str = TEXT, cut: Cut | None = None
) -> tuple[Iterator[Progress], MemorySink]:
    """Return what an answer yields, and where it is recorded."""
    sink = MemorySink()
    recorder = Recorder(sink, kind="text", trace_id="trace-serve", header={"fixture": "serve"})
    return answer(request, model(fixture), recorder, "req-1", cut), sink


def run_chat(
    request: ChatRequest, fixture: str = TEXT, cut: Cut | None = None
) -> tuple[list[Progress], Trace]:
    """Return everything that an answer yields, and its trace."""
    progress, sink = begin(request, fixture, cut)
    return list(progress), sink.trace("chat")


def text_of(progress: list[Progress]) -> str:
    """Return the text of all deltas."""
    return "".join(item.text for item in progress if isinstance(item, Delta))


def choice(trace: Trace, event_type: str) -> Any:
    """Return the choice of the one event of a type."""
    (found,) = (event for event in trace.events if event.event_type == event_type)
    return found.payload["choice"]
