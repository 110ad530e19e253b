"""How the parts of one tensor record must fit together.

Knows the rules between fields of a record that a schema cannot say (a product of extents, a sum
of counts); what each field may hold is `validity`'s matter.
"""

from __future__ import annotations

from typing import Any

from tracediff.events.event import TENSOR_SECTIONS, Event
from tracediff.events.text import shorten
from tracediff.events.validity import InvalidField

MOST_ELEMENTS = 2**63
COMPLEX_DTYPES = frozenset({"complex64", "complex128"})
"""Element types of which each element is two numbers, in `values` and in the counts."""


def check_tensors(event: Event) -> None:
    """Raise InvalidField unless each tensor record of a valid event is consistent in itself."""
    for section in TENSOR_SECTIONS:
        names = set()
        for index, record in enumerate(event.payload.get(section, ())):
            field = f"payload.{section}[{index}]"
            if record["name"] in names:
                raise InvalidField(
                    f"{field}.name", f"a second tensor {shorten(record['name'])!r} in {section}"
                )
            names.add(record["name"])
            _check_tensor(record, field)


def _check_tensor(record: dict[str, Any], field: str) -> None:
    numbers = 2 if record["dtype"] in COMPLEX_DTYPES else 1
    for extent in record["shape"]:
        numbers *= int(extent)
        if numbers > MOST_ELEMENTS:
            raise InvalidField(f"{field}.shape", "more than 2^63 elements")
    stats = record["stats"]
    counted = stats["finite"]
    for key in ("nan", "pos_inf", "neg_inf"):
        counted += stats.get(key, 0)
    if counted != numbers:
        raise InvalidField(
            f"{field}.stats",
            f"finite + nan + pos_inf + neg_inf is {counted}, the shape has {numbers} numbers",
        )
    if stats.get("neg_zero", 0) > stats["finite"]:
        raise InvalidField(f"{field}.stats.neg_zero", "more negative zeros than finite numbers")
    values = record.get("values")
    if values is not None and len(values) != numbers:
        raise InvalidField(
            f"{field}.values", f"{len(values)} values, the shape has {numbers} numbers"
        )
    file = record.get("file")
    if file is not None and (file in {".", ".."} or any(sign in file for sign in "/\\\0")):
        raise InvalidField(
            f"{field}.file", f"{shorten(file)!r} is no bare file name; paths are not followed"
        )
