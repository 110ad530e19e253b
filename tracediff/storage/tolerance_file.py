"""Files of tolerance rules: what `calibrate` writes and `--tolerance @FILE` reads.

    {"format": "tracediff-tolerances/1",
     "rules": [{"match": "layers.*", "mode": "allclose", "rtol": 1e-5, "atol": 1e-4}]}

Knows the file's form. Must not know how the rules were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracediff.errors import UsageError
from tracediff.events import ToleranceRule, Tolerances
from tracediff.events.checks import (
    InvalidField,
    check_anything,
    check_bound,
    check_count,
    check_name,
    check_text,
    list_of,
    one_of,
    record_of,
)
from tracediff.events.tolerances import MODES, tolerances_to_json
from tracediff.storage.canonical import decode_json, encode_json
from tracediff.storage.exact_json import JsonSyntaxError

TOLERANCE_FORMAT: Final = "tracediff-tolerances/1"
EVIDENCE: Final = "evidence"


@dataclass(frozen=True, slots=True)
class FiledRule:
    """A rule and, for people, what it was measured on."""

    rule: ToleranceRule
    evidence: str = ""


def tolerance_file(rules: Sequence[FiledRule], margin: float, runs: int) -> bytes:
    """Return the content of a file of rules that were measured on so many runs."""
    listed: list[dict[str, Any]] = []
    for filed in rules:
        (entry,) = tolerances_to_json(Tolerances((filed.rule,)))
        listed.append({**entry, EVIDENCE: filed.evidence})
    content = {"format": TOLERANCE_FORMAT, "margin": margin, "runs": runs, "rules": listed}
    return encode_json(content, indent=True) + b"\n"


def parse_tolerance_file(content: bytes, path: str) -> tuple[ToleranceRule, ...]:
    """Return the rules of a file in its order; raise UsageError naming file and field."""
    try:
        found = decode_json(content)
        _file(found)
    except JsonSyntaxError as error:
        raise UsageError(f"{path} is no file of tolerance rules: {error}") from None
    except InvalidField as error:
        raise UsageError(f"{path}: {error}") from None
    return tuple(
        ToleranceRule(**{key: value for key, value in rule.items() if key != EVIDENCE})
        for rule in found["rules"]
    )


def _format(value: object) -> None:
    if value != TOLERANCE_FORMAT:
        raise InvalidField("", f"expected {TOLERANCE_FORMAT!r}, found {value!r:.60}")


_rule = record_of(
    {
        "match": check_name,
        "mode": one_of(MODES),
        "rtol": check_bound,
        "atol": check_bound,
        "ulps": check_count,
        "rel_l2": check_bound,
        EVIDENCE: check_text,
    },
    required=("match", "mode"),
    private=True,
)
_file = record_of(
    {
        "format": _format,
        "margin": check_anything,
        "runs": check_anything,
        "rules": list_of(_rule),
    },
    required=("format", "rules"),
    private=True,
)
