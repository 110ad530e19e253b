"""Measure the reading of streamed answers: run as `python tests/benchmarks/sse.py`.

Prints megabytes a second and the memory that a capture of 100 MB takes: parsing server-sent events
alone, assembling the answer (bar: at least 50 MB/s, in constant memory), and recording every layer
into a trace file. Names of APIs and works as arguments select them. Times are those of the
processor. Not a test: a machine under load gives other numbers.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.console import Console
from rich.table import Table

from tracediff.storage import TraceWriter
from tracediff.streaming.answer import AnswerReader
from tracediff.streaming.assembly import Assembly
from tracediff.streaming.body import BodyReader
from tracediff.streaming.capture import CaptureReader
from tracediff.streaming.dialects import new_dialect
from tracediff.streaming.record import record_capture
from tracediff.streaming.request import unknown_request
from tracediff.streaming.sse import SseParser

SIZE = 100_000_000
PIECE = 1 << 16
SMALL = SIZE // 10
"""The memory of a tenth of the capture is printed beside that of the whole."""


def main() -> None:
    """Measure and print."""
    table = Table("capture", "work", "MB/s", "seconds", "MB of memory, a tenth / all", "bar")
    chosen = set(sys.argv[1:])
    works: dict[str, Callable[[str, int], str]] = {
        "events": parse,
        "answer": assemble,
        "trace": record,
    }
    apis = [api for api in EVENTS if api in chosen] or list(EVENTS)
    names = [name for name in works if name in chosen] or list(works)
    for api, name in product(apis, names):
        few, _ = in_process(works[name], api, SMALL)
        memory, seconds = in_process(works[name], api, SIZE)
        table.add_row(
            api,
            name,
            f"{SIZE / seconds / 1e6:.0f}",
            f"{seconds:.1f}",
            f"{few:.0f} / {memory:.0f}",
            "50 MB/s" if name == "answer" else "",
        )
    start = time.process_time()
    one_line(10_000_000)
    seconds = time.process_time() - start
    table.add_row("one line of 10 MB", "events", f"{10 / seconds:.0f}", f"{seconds:.2f}")
    Console(width=110).print(table)


def in_process(work: Callable[[str, int], str], api: str, size: int) -> tuple[float, float]:
    """Return the peak of memory in MB and the seconds that a work takes in its own process."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (work, api, size))


def measured(work: Callable[[str, int], str], api: str, size: int) -> tuple[float, float]:
    """Return the same, measured here."""
    start = time.process_time()
    work(api, size)
    seconds = time.process_time() - start
    making = time.process_time()
    for _ in capture(api, size):
        pass
    seconds -= time.process_time() - making
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, seconds


def parse(api: str, size: int) -> str:
    """Parse the events of a capture."""
    parser = SseParser()
    return str(sum(len(parser.feed(piece)) for piece in capture(api, size)))


def assemble(api: str, size: int) -> str:
    """Put the answer of a capture together."""
    assembly = Assembly()

    def open_body(head: None, start: int) -> BodyReader:
        return BodyReader(head, AnswerReader(new_dialect(api), assembly), start=start)

    reader = CaptureReader(open_body)  # type: ignore[arg-type]
    for piece in capture(api, size):
        reader.feed(piece)
    incomplete = reader.close()
    assert incomplete is None, incomplete
    # The end of the response made here does not tell the long text once more.
    names = {violation.name for violation in assembly.violations}
    assert names <= {"final-output-lacks-parts"}, names
    return next(iter(assembly.parts.values())).text


def record(api: str, size: int) -> str:
    """Record every layer of a capture into a file."""
    with tempfile.TemporaryDirectory() as folder:
        writer = TraceWriter(Path(folder) / "a.jsonl")
        found = record_capture(capture(api, size), writer, unknown_request(api), api)
    assert found.incomplete is None, found.incomplete
    return ""


def one_line(size: int) -> str:
    """Parse one event whose data is one long line."""
    parser = SseParser()
    parser.feed(b"data: ")
    for _ in range(size // 1000):
        parser.feed(b"x" * 1000)
    return str(len(parser.feed(b"\n\n")))


def capture(api: str, size: int) -> Iterator[bytes]:
    """Yield a capture in pieces, made on the way so that it takes no memory."""
    first, delta, last = EVENTS[api]
    yield first
    block = b"".join(delta % number for number in range(100, 1100))
    rest = block * (PIECE // len(block) + 2)
    at = 0
    for _ in range(size // PIECE):
        yield rest[at : at + PIECE]
        at = (at + PIECE) % len(block)
    yield block[at % len(block) :] + last


def event(data: object, name: str = "") -> bytes:
    """Return one event with JSON data as servers write it."""
    spelled = json.dumps(data, separators=(",", ":"))
    return (f"event: {name}\n" if name else "").encode() + f"data: {spelled}\n\n".encode()


def typed(data: dict[str, object]) -> bytes:
    """Return one event that is named by its type."""
    return event(data, str(data["type"]))


def chunk(delta: object, finish: str | None = None) -> bytes:
    """Return one chunk of a chat completion."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    envelope = {"id": "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWx", "object": "chat.completion.chunk"}
    facts = {"created": 1760000000, "model": "gpt-4o-2024-08-06", "system_fingerprint": "fp_1"}
    return event({**envelope, **facts, "choices": [choice]})


BLOCK = {"type": "content_block_delta", "index": 0}
TEXT = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0}
EVENTS = {
    "openai-chat": (
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": " word%d"}),
        chunk({}, "stop") + b"data: [DONE]\n\n",
    ),
    "anthropic-messages": (
        typed({"type": "message_start", "message": {"id": "m", "model": "c"}})
        + typed({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}),
        event({**BLOCK, "delta": {"type": "text_delta", "text": " word%d"}}, BLOCK["type"]),
        typed({"type": "content_block_stop", "index": 0})
        + typed({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
        + typed({"type": "message_stop"}),
    ),
    "openai-responses": (
        typed({"type": "response.created", "response": {"id": "r", "model": "g"}}),
        event({**TEXT, "content_index": 0, "delta": " word%d"}, TEXT["type"]),
        typed({"type": "response.completed", "response": {"status": "completed"}}),
    ),
}


if __name__ == "__main__":
    main()
