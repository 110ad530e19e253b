"""One pair of events in full: every section, left and right side by side, escaped and bounded.

Reads events and a finished comparison. Marks what differs; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracediff.diff.result import MISSING, ComparedPair, Divergence
from tracediff.events import Event
from tracediff.events.event import SECTIONS, TENSOR_SECTIONS
from tracediff.render.escape import visible, visible_pair, visible_value
from tracediff.render.report_lines import Line, differ_text, only_side, tensor_lines

LONGEST_VALUE: Final = 600
MOST_ENTRIES: Final = 100
DEEPEST: Final = 8

SAME, DIFFERS, DIVERGES = 0, 1, 2
"""Marks of an entry; the third is the field that the comparison names."""

REMARKS: Final = {
    "trace": "how it was recorded; differences are triggers",
    "lane": "aligns events",
    "settings": "differences are triggers",
    "ids": "local names, compared up to one renaming",
    "context": "printed, never compared",
    "note": "for people, never compared",
}
"""What a difference in a section means where it is no divergence."""

Entry = tuple[str, str, str, int]
"""A name, left's and right's value, and a mark."""


def detail_to_json(pair: ComparedPair) -> dict[str, Any]:
    """Return what a page shows of one pair of events."""
    found = pair.divergence
    tensor = None if found is None else found.tensor
    field = None if found is None else found.difference.field
    return {
        "facts": [] if found is None else _facts(found),
        "tensorFacts": [] if tensor is None else _stripped(tensor_lines(tensor)),
        "sections": [
            [visible(name), remark, entries, dropped]
            for name, remark, entries, dropped in _sections(pair, field)
        ],
    }


def _facts(divergence: Divergence) -> list[tuple[str, str]]:
    difference, tensor = divergence.difference, divergence.tensor
    if divergence.left is None or divergence.right is None:
        return [("differs", f"only {only_side(divergence)} has this event")]
    facts = [("differs", differ_text(divergence.check)), ("field", visible(difference.field))]
    if tensor is None or tensor.evidence == "attributes":
        left, right = visible_pair(difference.left, difference.right)
        facts += [("left", left), ("right", right)]
    return facts


def _stripped(lines: list[Line]) -> list[Line]:
    return [(label.strip(), text) for label, text in lines]


def _sections(pair: ComparedPair, field: str | None) -> Iterator[tuple[str, str, list[Entry], int]]:
    yield "event", "ids have no meaning outside their trace", _envelope(pair, field), 0
    payloads = [{} if event is None else event.payload for event in (pair.left, pair.right)]
    present = dict.fromkeys((*payloads[0], *payloads[1]))
    private = [name for name in present if name not in SECTIONS]
    for name in (*(name for name in SECTIONS if name in present), *private):
        remark = REMARKS.get(name, "private, never compared" if name in private else "")
        mine, other = (payload.get(name, MISSING) for payload in payloads)
        entries = _tensors(mine, other) if name in TENSOR_SECTIONS else _values(mine, other)
        shown = list(entries)
        marked = [_marked(name, entry, field) for entry in shown[:MOST_ENTRIES]]
        yield name, remark, marked, max(0, len(shown) - MOST_ENTRIES)


def _envelope(pair: ComparedPair, field: str | None) -> list[Entry]:
    lone = pair.left is None or pair.right is None
    found = []
    for name in ("event_id", "parent_event_id", "component", "event_type", "logical_step"):
        left, right = (_of_event(event, name) for event in (pair.left, pair.right))
        compared = name in ("component", "event_type") and not lone
        mark = DIVERGES if field == name else DIFFERS if compared and left != right else SAME
        found.append((name, left, right, mark))
    return found


def _of_event(event: Event | None, name: str) -> str:
    if event is None:
        return str(MISSING)
    value = getattr(event, name)
    return visible(value) if isinstance(value, str) else visible_value(value)


def _tensors(left: Any, right: Any) -> Iterator[tuple[str, str, str, bool]]:
    sides = [
        {record["name"]: record for record in records} if isinstance(records, list) else {}
        for records in (left, right)
    ]
    for name in dict.fromkeys((*sides[0], *sides[1])):
        records = [side.get(name) for side in sides]
        texts = [str(MISSING) if record is None else _tensor_text(record) for record in records]
        yield f"[{name}]", texts[0], texts[1], _identity(records[0]) == _identity(records[1])


def _identity(record: Mapping[str, Any] | None) -> Any:
    return None if record is None else [record[key] for key in ("dtype", "shape", "digest")]


def _tensor_text(record: Mapping[str, Any]) -> str:
    logical = ", ".join(f"{key} {visible_value(value, 40)}" for key, value in _logical(record))
    text = f"{visible(record['dtype'])} {record['shape']} {visible(record['digest'])}"
    return f"{text} ({visible(logical)})" if logical else text


def _logical(record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(visible(key, 40), value) for key, value in list(record["logical"].items())[:8]]


def _values(left: Any, right: Any) -> Iterator[tuple[str, str, str, bool]]:
    (mine, my_objects), (other, other_objects) = _flat(left), _flat(right)
    for path in dict.fromkeys((*mine, *other)):
        if path in my_objects or path in other_objects:
            continue  # an empty object on one side, whose entries on the other side are listed
        values = mine.get(path, MISSING), other.get(path, MISSING)
        same = repr(values[0]) == repr(values[1])
        yield path, *visible_pair(*values, LONGEST_VALUE), same


def _flat(value: Any) -> tuple[dict[str, Any], set[str]]:
    """Return the leaves of nested objects by path, and the paths of the objects.

    A list of plain values is a leaf.
    """
    leaves: dict[str, Any] = {}
    objects: set[str] = set()

    def visit(path: str, node: Any, depth: int) -> None:
        if isinstance(node, Mapping) and node and depth < DEEPEST:
            objects.add(path)
            for key, item in node.items():
                visit(f"{path}.{key}", item, depth + 1)
        elif depth < DEEPEST and isinstance(node, list) and _holds_objects(node):
            for index, item in enumerate(node):
                visit(f"{path}[{index}]", item, depth + 1)
        else:
            leaves[path] = node

    if value is not MISSING:
        visit("", value, 0)
    return leaves, objects


def _holds_objects(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, Mapping) for item in items)


def _marked(section: str, entry: tuple[str, str, str, bool], field: str | None) -> Entry:
    path, left, right, same = entry
    name = path.strip("[]") if section in TENSOR_SECTIONS else path.removeprefix(".")
    mark = SAME if same else DIFFERS
    if field is not None and _is_about(field, f"payload.{section}{path}", same=same):
        mark = DIVERGES
    return visible(name), left, right, mark


def _is_about(field: str, path: str, *, same: bool) -> bool:
    """Whether the field of a divergence is an entry, within it, or all that holds it."""
    if field == path or field.startswith((f"{path}.", f"{path}[")):
        return True
    return not same and path.startswith((f"{field}.", f"{field}["))
