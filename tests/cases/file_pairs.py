"""The field cases about files: the bytes as they lie on the disk, well-formed or not."""

import gzip
import json
from collections.abc import Sequence
from typing import Any

BOM = b"\xef\xbb\xbf"
MIDDLE_OF_GZIP = 4
"""Bytes that are cut from the end of a compressed file."""


def line(
    event_id: str, parent: str | None, payload: dict[str, Any], *, ascii_only: bool = False
) -> bytes:
    """Return one line of a trace, non-ASCII characters raw or escaped."""
    envelope = {
        "trace_id": "trace-file",
        "event_id": event_id,
        "parent_event_id": parent,
        "component": "loop",
        "event_type": "step",
        "logical_step": 0,
        "payload": payload,
    }
    text = json.dumps(envelope, ensure_ascii=ascii_only, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


ROOT = {"trace": {"format": "tracediff-trace/1", "kind": "generic"}}


def chain(*payloads: dict[str, Any], ascii_only: bool = False) -> list[bytes]:
    """Return the lines of a chain of events; the last one states their number."""
    held = [*payloads[:-1], {**payloads[-1], "end": {"events": len(payloads) + 1}}]
    events = [line("e0", None, ROOT)]
    for number, payload in enumerate(held, start=1):
        events.append(line(f"e{number}", f"e{number - 1}", payload, ascii_only=ascii_only))
    return events


def tree(*links: tuple[str, str | None]) -> bytes:
    """Return events of which only the links matter, in this order."""
    lines = []
    for number, (name, parent) in enumerate(links, start=1):
        payload: dict[str, Any] = ROOT if parent is None else {"state": {"name": name}}
        if number == len(links):
            payload = {**payload, "end": {"events": len(links)}}
        lines.append(line(name, parent, payload))
    return b"".join(lines)


def deep(count: int, into_cycle: bool = False) -> bytes:
    """Return a chain of `count` events below the root; its first may follow from its last."""
    links: list[tuple[str, str | None]] = [("r", None)]
    links += [(f"n{i}", f"n{i - 1}" if i else "r") for i in range(count)]
    if into_cycle:
        links[1] = ("n0", f"n{count - 1}")
    return tree(*links)


def joined(lines: Sequence[bytes]) -> bytes:
    return b"".join(lines)


def packed(*parts: bytes) -> bytes:
    """Return gzip members, without a time in their headers."""
    return b"".join(gzip.compress(part, mtime=0) for part in parts)


WHOLE = chain({"choice": {"token_id": 5}}, {"choice": {"token_id": 6}})
F078 = {
    "left.jsonl": joined(WHOLE),
    "right.jsonl": joined(WHOLE)[:-40],
    "ends-at-a-line.jsonl": joined(WHOLE[:2]),
    "broken-in-the-middle.jsonl": joined([WHOLE[0], WHOLE[1][:-30] + b"\n", WHOLE[2]]),
}

SEPARATORS = {"choice": {"text": "a\u2028b\u0085c\u2029d"}}
F081 = {
    "left.jsonl": joined(chain(SEPARATORS, ascii_only=True)),
    "right.jsonl": joined(chain(SEPARATORS)),
}

F082 = {
    "left.jsonl": joined(WHOLE),
    "right.jsonl": BOM + joined(WHOLE),
    "later.jsonl": joined([WHOLE[0], BOM + WHOLE[1], WHOLE[2]]),
}


def spoken(text: str, *, ascii_only: bool = True) -> bytes:
    return joined(chain({"choice": {"text": text}}, ascii_only=ascii_only))


F086 = {
    "left.jsonl": spoken("\U0001f642"),
    "raw.jsonl": spoken("\U0001f642", ascii_only=False),
    "right.jsonl": spoken("\ud83d"),
    "other-half.jsonl": spoken("\ud83e"),
}

SPANS = chain({"choice": {"status": 200}}, {"choice": {"status": 200}})
F087 = {
    "left.jsonl": joined(SPANS),
    "right.jsonl": joined([SPANS[0], SPANS[1], SPANS[1], SPANS[2]]),
    "conflict.jsonl": joined([SPANS[0], SPANS[1], SPANS[1].replace(b"200", b"499"), SPANS[2]]),
}

F088 = {
    "left.jsonl": tree(("r", None), ("c", "r")),
    "right.jsonl": tree(("r", None), ("c", "x9")),
    "child-first.jsonl": joined(
        [
            line("c", "r", {"state": {"name": "c"}}),
            line("r", None, {**ROOT, "end": {"events": 2}}),
        ]
    ),
}

F089 = {
    "left.jsonl": tree(("r", None), ("a", "r"), ("b", "a")),
    "right.jsonl": tree(("r", None), ("a", "b"), ("b", "a")),
    "self.jsonl": tree(("r", None), ("a", "a")),
    "long-cycle.jsonl": deep(1_000, into_cycle=True),
    "deep.jsonl.gz": packed(deep(10_000)),
}

F090 = {
    "left.jsonl.gz": packed(joined(WHOLE[:1]), joined(WHOLE[1:])),
    "right.jsonl.gz": packed(joined(WHOLE)),
    "cut.jsonl.gz": packed(joined(WHOLE))[:-MIDDLE_OF_GZIP],
}

FILE_CASES = {
    "F078": F078,
    "F081": F081,
    "F082": F082,
    "F086": F086,
    "F087": F087,
    "F088": F088,
    "F089": F089,
    "F090": F090,
}
