"""Rules on tensor records, for every kind of trace: digest and statistics are those of the numbers.

Knows records, and how numbers become the bytes that a digest covers. Must not know what a tensor
is for. Where the numbers are not kept there is nothing to hold a record against.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracediff.contracts.element_bytes import Number, decode_bytes, encode_values
from tracediff.contracts.rule import Finding, Rule
from tracediff.errors import TracediffError
from tracediff.events import Event, Trace
from tracediff.events.digest import DIGEST_PREFIX, TensorDigest
from tracediff.events.event import TENSOR_SECTIONS
from tracediff.events.tensors import tensor_from_json

DIGEST = re.compile(r"b3:[0-9a-f]{32}")

RELATIVE_ERROR = 1e-9
"""Far more than two orders of summation in float64 differ by, far less than a wrong number."""

COUNTS = ("nan", "pos_inf", "neg_inf", "neg_zero")
"""Counts that a record leaves out where they are 0."""

SMALLEST = 1e-320
"""Below it float64 has too few bits for a relative error."""


def list_records(trace: Trace) -> Iterator[tuple[Event, Mapping[str, Any]]]:
    """Yield every tensor record with its event, in file order."""
    for event in trace.events:
        for section in TENSOR_SECTIONS:
            for record in event.payload.get(section, ()):
                yield event, record


def _digests_have_their_form(trace: Trace) -> Iterator[Finding]:
    for event, record in list_records(trace):
        for digest in (record["digest"], record["stats"].get("nonfinite", "")):
            if digest.startswith(DIGEST_PREFIX) and DIGEST.fullmatch(digest) is None:
                yield event.event_id, f"{record['name']}: {digest!r:.60} has not 32 hex digits"


def _values_have_their_digest(trace: Trace) -> Iterator[Finding]:
    for event, record in list_records(trace):
        values = record.get("values")
        if values is None or not record["digest"].startswith(DIGEST_PREFIX):
            continue
        try:
            stored = encode_values(record["dtype"], values)
        except ValueError as error:
            yield event.event_id, f"{record['name']}: {error}"
            continue
        # "NaN" does not say which of its many bit patterns was hashed.
        if stored is None or "NaN" in values:
            continue
        digest = TensorDigest(record["dtype"], record["shape"])
        digest.update_bytes(stored)
        yield from _wrong_digest(event, record, digest, "values")


def _wrong_digest(
    event: Event, record: Mapping[str, Any], digest: TensorDigest, source: str
) -> Iterator[Finding]:
    found = digest.text()
    if found != record["digest"]:
        yield event.event_id, f"{record['name']}: its {source} have the digest {found}"


def _statistics_are_of_the_values(trace: Trace) -> Iterator[Finding]:
    for event, record in list_records(trace):
        values, dtype = record.get("values"), record["dtype"]
        if values is None:
            continue
        try:
            stored = encode_values(dtype, values)
        except ValueError:
            continue  # for the rule on digests to say
        if stored is None:
            continue
        for key, expected in _wrong_statistics(record["stats"], decode_bytes(dtype, stored), dtype):
            found = record["stats"].get(key)
            yield event.event_id, f"{record['name']}: {key} is {found}, the values give {expected}"


def _wrong_statistics(
    stats: Mapping[str, Any], numbers: Sequence[Number], dtype: str
) -> Iterator[tuple[str, Number]]:
    """Yield each statistic that is not of these numbers, with the right one."""
    finite, counts = numbers, dict.fromkeys(COUNTS, 0)
    if not all(map(math.isfinite, numbers)):
        finite = [number for number in numbers if math.isfinite(number)]
        counts["nan"] = sum(map(math.isnan, numbers))
        counts["pos_inf"] = numbers.count(math.inf)
        counts["neg_inf"] = numbers.count(-math.inf)
    if 0 in numbers:
        counts["neg_zero"] = sum(
            math.copysign(1.0, number) < 0 for number in numbers if number == 0
        )
    yield from ((key, count) for key, count in counts.items() if stats.get(key, 0) != count)
    if not finite:
        return
    low, high = min(finite), max(finite)
    for key, extreme in (("min", low), ("max", high)):
        # A decimal stands for the nearest number of the type, in statistics as in values.
        if key in stats and round_decimal(dtype, stats[key]) != extreme:
            yield key, extreme
    mean = math.fsum([number / len(finite) for number in finite])
    if "mean" in stats and not _is_near(stats["mean"], mean, max(-low, high)):
        yield "mean", mean
    norm = math.hypot(*finite)
    if "l2" in stats and not _is_near(stats["l2"], norm, norm):
        yield "l2", norm


def round_decimal(dtype: str, decimal: Any) -> Number:
    """Return the number of a type that a decimal stands for, NaN where there is none."""
    try:
        stored = encode_values(dtype, [decimal])
    except ValueError:
        return math.nan
    return math.nan if stored is None else decode_bytes(dtype, stored)[0]


def _is_near(found: Any, expected: float, scale: float) -> bool:
    number = float(found)
    if math.isinf(expected):
        return number == expected
    return abs(number - expected) <= RELATIVE_ERROR * scale + SMALLEST


def _files_have_their_digest(trace: Trace) -> Iterator[Finding]:
    for event, record in list_records(trace):
        if "file" not in record or not record["digest"].startswith(DIGEST_PREFIX):
            continue
        try:
            digest = _digest_of_file(trace, record)
        except TracediffError as error:
            yield event.event_id, f"{record['name']}: {error}"
            continue
        if digest is not None:
            yield from _wrong_digest(event, record, digest, "numbers on file")


def _digest_of_file(trace: Trace, record: Mapping[str, Any]) -> TensorDigest | None:
    """Return the digest of a stored tensor, None where it is not at hand."""
    stored = None if trace.tensors is None else trace.tensors.load(tensor_from_json(record))
    if stored is None:
        return None
    # numpy loads here and not before: a trace without files does not need it.
    import numpy as np

    digest = TensorDigest(record["dtype"], record["shape"])
    flat = np.ascontiguousarray(stored, stored.dtype.newbyteorder("=")).reshape(-1)
    digest.update(flat)
    return digest


def has_records(trace: Trace) -> bool:
    """Whether the trace records any tensor."""
    return next(list_records(trace), None) is not None


def _has_values(trace: Trace) -> bool:
    return any("values" in record for _, record in list_records(trace))


def _has_files(trace: Trace) -> bool:
    return trace.tensors is not None and any("file" in record for _, record in list_records(trace))


TENSOR_RECORD_RULES = (
    Rule(
        "digests-have-their-form",
        "a digest that begins with b3: has 32 hexadecimal digits after it",
        has_records,
        _digests_have_their_form,
    ),
    Rule(
        "values-have-their-digest",
        "a tensor's digest is that of its values, where they are kept",
        _has_values,
        _values_have_their_digest,
    ),
    Rule(
        "statistics-are-of-the-values",
        "a tensor's counts, extremes, mean and norm are those of its values, where they are kept",
        _has_values,
        _statistics_are_of_the_values,
    ),
    Rule(
        "files-have-their-digest",
        "a tensor's digest is that of its numbers on file, where the file is at hand",
        _has_files,
        _files_have_their_digest,
    ),
)
