"""Two lines that differ in nothing but the summaries of tensors, told apart without parsing them.

Knows how canonical lines spell a tensor record's digest, statistics and sketch. What lies outside
those must be the same bytes on both sides, so whatever it says, both say it. Must not know
tolerances.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from orjson import JSONDecodeError, loads

from tracediff.events.event import TENSOR_SECTIONS
from tracediff.events.sketches import SketchPair

_SUMMARY: Final = re.compile(
    rb'"digest":"(b3:[0-9a-f]{32})","stats":(\{[^{}]*\}),"sketch":(\[[^][]*\])\}'
).split
"""The summary of a record that ends with a sketch: the only kind that is handled here. Its groups
are digest, statistics and sketch."""

_PERIOD: Final = 4
_DIGITS: Final = b"0123456789"
_CUT: Final = secrets.token_hex(16)
"""Stands for a digest that was cut out; nobody can have written it."""
_CUT_SUMMARY: Final = f'"digest":"{_CUT}"}}'.encode()
_KEYS: Final = ["name", "dtype", "shape", "logical", "digest"]
_NAME: Final = b'{"name":"'
_DTYPE: Final = b'","dtype":"'
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
        mine, other = _SUMMARY(left), _SUMMARY(right)
        fixed = mine[::_PERIOD]
        if len(mine) == 1 or fixed != other[::_PERIOD] or not self._are_records(fixed):
            return None
        pairs = []
        for start in range(0, len(mine) - 1, _PERIOD):
            before, digest, stats, sketch = mine[start : start + _PERIOD]
            _, other_digest, other_stats, other_sketch = other[start : start + _PERIOD]
            if digest == other_digest or _NOT_FINITE in stats or _NOT_FINITE in other_stats:
                return None
            name, _, rest = before[before.rfind(_NAME) + len(_NAME) :].partition(_DTYPE)
            dtype, _, _ = rest.partition(b'"')
            if b"\\" in name:
                return None
            try:
                sides = [loads(x) for x in (sketch, stats, other_sketch, other_stats)]
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
    """Whether every summary was cut out of a record in its section that starts as records do."""
    try:
        payload = loads(_CUT_SUMMARY.join(fixed))["payload"]
        found = [
            record
            for section in TENSOR_SECTIONS
            for record in payload.get(section, ())
            if record["digest"] == _CUT and list(record) == _KEYS and _is_flat(record["logical"])
        ]
    except (JSONDecodeError, AttributeError, KeyError, TypeError):
        return False
    return len(found) == len(fixed) - 1


def _is_flat(logical: dict[str, object]) -> bool:
    """Whether a place holds no object, in which another name could stand."""
    inner = [x for value in logical.values() if isinstance(value, list) for x in value]
    return not any(isinstance(value, dict | list) for value in inner) and not any(
        isinstance(value, dict) for value in logical.values()
    )
