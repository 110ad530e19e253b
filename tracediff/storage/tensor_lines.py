"""Two lines that differ in nothing but the summaries of tensors, told apart without parsing them.

Knows how canonical lines spell a tensor record's digest, statistics and sketch. What lies outside
those must be the same bytes on both sides, so whatever it says, both say it. Must not know
tolerances.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

import orjson

from tracediff.events.event import TENSOR_SECTIONS
from tracediff.events.sketches import SketchPair

_RECORD: Final = re.compile(
    rb'\{"name":"([^"\\]+)","dtype":"([a-z0-9_]+)",("shape":\[[0-9,]*\],"logical":\{[^{}]*\}),'
    rb'"digest":"(b3:[0-9a-f]{32})","stats":(\{[^{}]*\}),"sketch":(\[[^][]*\])\}'
).split
"""A record that ends with a sketch: the only kind that is handled here. Its groups are name,
dtype, place, digest, statistics and sketch."""

_PERIOD: Final = 7
_DIGITS: Final = b"0123456789"
_CUT: Final = secrets.token_hex(16)
"""Stands for a record that was cut out; nobody can have written it."""
_NOT_FINITE: Final = b'"nonfinite"'
_MOST_TEMPLATES: Final = 4096


class SketchReader:
    """Finds the tensors in whose summaries alone two lines differ.

    Remembers what lines look like around their records, so that a structure is parsed once and not
    for every line that has it.
    """

    def __init__(self) -> None:
        self._templates: set[bytes] = set()

    def pairs(self, left: bytes, right: bytes) -> list[SketchPair] | None:
        """Return the tensors whose summaries differ, None unless the lines differ in nothing else.

        Only tensors of finite numbers that both sides keep as a sketch are looked at; the caller
        parses everything else.
        """
        mine, other = _RECORD(left), _RECORD(right)
        fixed = mine[::_PERIOD]
        if len(mine) == 1 or fixed != other[::_PERIOD] or not self._are_records(fixed):
            return None
        pairs = []
        for start in range(1, len(mine), _PERIOD):
            name, dtype, place, digest, stats, sketch = mine[start : start + 6]
            same = other[start : start + 6]
            if digest == same[3] or (name, dtype, place) != (same[0], same[1], same[2]):
                return None
            if _NOT_FINITE in stats or _NOT_FINITE in same[4]:
                return None
            try:
                sides = [orjson.loads(part) for part in (sketch, stats, same[5], same[4])]
            except ValueError:
                return None
            pairs.append(SketchPair(name.decode(), dtype.decode(), *sides))
        return pairs

    def _are_records(self, fixed: list[bytes]) -> bool:
        """Whether what was cut out of a line are tensor records in their sections.

        An object elsewhere in the payload may look like one: it is none, and nothing in it is
        under a tolerance. Digits say nothing about structure, so lines that differ in numbers and
        numbered names are looked at once.
        """
        template = _CUT.encode().join(fixed).translate(None, _DIGITS)
        if template in self._templates:
            return True
        if not _stand_in_sections(fixed):
            return False
        if len(self._templates) < _MOST_TEMPLATES:
            self._templates.add(template)
        return True


def _stand_in_sections(fixed: list[bytes]) -> bool:
    try:
        payload = orjson.loads(f'"{_CUT}"'.encode().join(fixed))["payload"]
        found = [
            record
            for section in TENSOR_SECTIONS
            for record in payload.get(section, ())
            if record == _CUT
        ]
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        return False
    return len(found) == len(fixed) - 1
