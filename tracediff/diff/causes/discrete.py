"""Causes seen in discrete values: artifacts, state, random counters, choices, commits."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tracediff.diff.causes.findings import Findings
from tracediff.diff.result import Cause

INPUT_FIELDS = ("prompt", "messages", "text", "negative_prompt", "request")

STATE_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "cache_length": "cache-length",
        "cache_length_before": "cache-length",
        "cache_final_length": "cache-length",
        "logical_length": "cache-length",
        "position": "cache-position",
        "position_ids": "cache-position",
        "positions": "cache-position",
        "timestep": "schedule",
        "timesteps": "schedule",
        "previous_timestep": "schedule",
        "prediction_type": "prediction-type",
        "guidance_order": "guidance-order",
    }
)
"""Names of discrete state that point at one cause."""

RNG_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "counter_before": "rng-counter",
        "counter_after": "rng-counter",
        "draws": "rng-counter",
        "count": "rng-counter",
        "shape": "rng-counter",
        "algorithm": "rng-algorithm",
        "transform": "rng-algorithm",
        "key": "seed",
    }
)


def artifact_changed(findings: Findings) -> Cause | None:
    """An immutable id differs."""
    if findings.first.check != "artifacts":
        return None
    return Cause(
        "artifact-changed",
        findings.leaf,
        f"the artifact {findings.leaf} is another one",
        _both(findings),
    )


def input_changed(findings: Findings) -> Cause | None:
    """What went into the execution differs, or what an earlier event handed on."""
    if findings.first.check != "state" or findings.leaf not in (*INPUT_FIELDS, "input_ids"):
        return None
    return Cause(
        "input-changed", findings.component, f"the input {findings.leaf} differs", _both(findings)
    )


def known_state(findings: Findings) -> Cause | None:
    """A named piece of discrete state (a cache length, a position, a timestep) differs."""
    is_place = ".logical." in findings.field
    if findings.first.check != "state" and not is_place:
        return None
    kind = STATE_KINDS.get(findings.leaf)
    if kind is None:
        return None
    return Cause(kind, findings.component, f"{findings.leaf} differs", _both(findings))


def tokenizer(findings: Findings) -> Cause | None:
    """The same text gave other ids."""
    if findings.first.check != "choice" or findings.leaf != "input_ids":
        return None
    return Cause(
        "tokenizer", findings.component, "the same text was tokenized to other ids", _both(findings)
    )


def random_numbers(findings: Findings) -> Cause | None:
    """A counter, key, algorithm or number of draws differs; the draws were never comparable."""
    if findings.first.check != "rng":
        return None
    if findings.leaf == "rng":
        return Cause(
            "rng-counter", findings.component, "only one side draws random numbers here", {}
        )
    kind = RNG_KINDS.get(findings.leaf)
    if kind is None:
        return None
    return Cause(
        kind,
        findings.component,
        f"the random numbers are other ones: {findings.leaf} differs, so the values drawn were "
        "never comparable",
        _both(findings),
    )


def emitted_text(findings: Findings) -> Cause | None:
    """The same tokens gave other text, or the same text in other pieces."""
    if findings.first.check != "choice" or findings.leaf not in ("text", "b64"):
        return None
    left, right = findings.last_choices("text")
    if left == right and findings.component == "transport":
        return Cause(
            "transport-chunking",
            findings.component,
            "the text arrives in other pieces and is the same in the end",
            {"final_text": left},
        )
    return Cause(
        "detokenizer",
        findings.component,
        "everything before agrees, the tokens too, but the text differs",
        _both(findings),
    )


def commit_identity(findings: Findings) -> Cause | None:
    """The side effect is another one."""
    if findings.first.check != "commit":
        return None
    return Cause("commit-identity", findings.component, f"{findings.leaf} differs", _both(findings))


def _both(findings: Findings) -> dict[str, Any]:
    difference = findings.first.difference
    return {"field": difference.field, "left": difference.left, "right": difference.right}
