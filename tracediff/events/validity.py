"""What makes one event valid: a hand-written equivalent of `trace.schema.json` for the read path.

Knows the schema's rules, applied to one parsed line. Rules across events are `structure`'s matter.
A test holds this module equal to the schema: both accept and refuse the same lines.
"""

from __future__ import annotations

from typing import Any, Final

from tracediff.events.checks import (
    Check,
    InvalidField,
    check_anything,
    check_bound,
    check_count,
    check_element,
    check_lane_part,
    check_name,
    check_name_or_none,
    check_number,
    check_object,
    check_text,
    check_wide_integer,
    list_of,
    map_of,
    one_of,
    record_of,
    unexpected,
)
from tracediff.events.event import ENVELOPE, FORMAT, KINDS, Event
from tracediff.events.tolerances import MODES

SKETCH_LENGTH = 64

__all__ = ["InvalidField", "check_event", "check_payload", "event_from_json"]


def event_from_json(found: object) -> Event:
    """Return the event of one parsed line; raise `InvalidField` naming the first broken field."""
    if not isinstance(found, dict):
        raise unexpected("an object", found).inside("line")
    _envelope(found)
    return Event(**found)


def check_event(event: Event) -> None:
    """Raise `InvalidField` unless the fields of `event` keep their rules."""
    for key, check in _ENVELOPE_CHECKS:
        try:
            check(getattr(event, key))
        except InvalidField as error:
            raise error.inside(key) from None


def check_payload(payload: object) -> None:
    """Raise `InvalidField` unless `payload` is an object of sections that keep their rules."""
    try:
        _payload(payload)
    except InvalidField as error:
        raise error.inside("payload") from None


def _local_id(value: object) -> None:
    if isinstance(value, list):
        _list_of_lane_parts(value)
    else:
        check_lane_part(value)


def _format(value: object) -> None:
    check_text(value)
    if value != FORMAT:
        raise InvalidField(
            "", f"this version reads {FORMAT}, the file says {value!r:.60}; record it again"
        )


def _lane(value: object) -> None:
    if not value:
        raise unexpected("an object with at least one entry", value)
    _map_of_lane_parts(value)


def _sketch(value: Any) -> None:
    _list_of_numbers(value)
    if len(value) != SKETCH_LENGTH:
        raise InvalidField("", f"expected {SKETCH_LENGTH} numbers, found {len(value)}")


_list_of_lane_parts = list_of(check_lane_part, frozenset({str, int}))
_map_of_lane_parts = map_of(check_lane_part)
_list_of_numbers = list_of(check_number, frozenset({int, float}))
_list_of_counts = list_of(check_count)
_tolerance = record_of(
    {
        "match": check_name,
        "mode": one_of(MODES),
        "rtol": check_bound,
        "atol": check_bound,
        "ulps": check_count,
        "rel_l2": check_bound,
    },
    required=("match", "mode"),
    private=False,
)
_trace = record_of(
    {
        "format": _format,
        "kind": one_of(KINDS),
        "fixture": check_text,
        "overrides": check_object,
        "injection": check_text,
        "kernel": check_text,
        "tensors": check_text,
        "tolerances": list_of(_tolerance),
    },
    required=("format", "kind"),
    private=True,
)
_rng = record_of(
    {
        "generator": check_name,
        "algorithm": check_name,
        "key": list_of(check_wide_integer),
        "counter_before": check_wide_integer,
        "counter_after": check_wide_integer,
        "draws": record_of(
            {"count": check_count, "shape": _list_of_counts}, required=("count",), private=False
        ),
        "transform": check_name,
    },
    required=("generator", "algorithm", "counter_before", "counter_after", "draws"),
    private=True,
)
_stats = record_of(
    {
        "finite": check_count,
        "nan": check_count,
        "pos_inf": check_count,
        "neg_inf": check_count,
        "neg_zero": check_count,
        "nonfinite": check_name,
        "min": check_number,
        "max": check_number,
        "mean": check_number,
        "l2": check_number,
    },
    required=("finite",),
    private=False,
)
_tensor = record_of(
    {
        "name": check_name,
        "dtype": check_name,
        "shape": _list_of_counts,
        "logical": check_object,
        "digest": check_name,
        "stats": _stats,
        "sketch": _sketch,
        "values": list_of(check_element, frozenset({int, float, bool})),
        "file": check_name,
    },
    required=("name", "dtype", "shape", "logical", "digest", "stats"),
    private=True,
)
_payload = record_of(
    {
        "trace": _trace,
        "lane": _lane,
        "joins": list_of(check_name),
        "artifacts": map_of(check_text),
        "state": check_object,
        "settings": check_object,
        "inputs": list_of(_tensor),
        "rng": list_of(_rng),
        "outputs": list_of(_tensor),
        "choice": check_object,
        "commit": check_object,
        "ids": map_of(_local_id),
        "context": check_object,
        "note": check_anything,
        "end": record_of({"events": check_count}, required=("events",), private=False),
    },
    required=(),
    private=True,
    kind="section",
)
_ENVELOPE_CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("trace_id", check_name),
    ("event_id", check_name),
    ("parent_event_id", check_name_or_none),
    ("component", check_name),
    ("event_type", check_name),
    ("logical_step", check_count),
    ("payload", _payload),
)
_envelope = record_of(dict(_ENVELOPE_CHECKS), required=ENVELOPE, private=False)
