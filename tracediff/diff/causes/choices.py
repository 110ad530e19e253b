"""Causes seen where a token is chosen: processors, ties, the choice itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracediff.diff.causes.findings import Findings
from tracediff.diff.fields import TOP
from tracediff.diff.result import Cause
from tracediff.events.digest import is_proof

LOGITS: Final = "logits."
SIDES: Final = ("left", "right")
_RAW: Final = "next_logits"
_OUTPUTS: Final = "payload.outputs"
_NO_VALUE: Final = object()


def processor(findings: Findings) -> Cause | None:
    """The raw logits agree and a logits processor makes them differ, or runs on one side only."""
    name = findings.tensor_name
    is_outputs = findings.first.check == "outputs"
    if not is_outputs or not (name.startswith(LOGITS) or findings.field == _OUTPUTS):
        return None
    sides = [_processed(records) for records in findings.sections("outputs")]
    names = [[*side] for side in sides]
    if not any(names):
        return None
    name = name.removeprefix(LOGITS)
    raw = [_digests(records) for records in findings.sections("inputs")]
    idle = [_idle(*pair) for pair in zip(sides, raw, strict=True)]
    alone = _alone_before(name, names, idle)
    evidence: dict[str, Any] = {"processors": {"left": names[0], "right": names[1]}}
    lone = [*alone["left"], *alone["right"]]
    if lone:
        said = [f"only {side} runs {', '.join(found)}" for side, found in alone.items() if found]
        effect = ", which changes nothing here" if {*lone} <= idle[0] | idle[1] else ""
        text = f"the raw logits agree, and {'; '.join(said)}{effect}"
        return Cause("processor", lone[0], text, {**evidence, "alone": alone})
    same_set = sorted(names[0]) == sorted(names[1])
    kind = "processor-order" if names[0] != names[1] and same_set else "processor"
    return Cause(kind, name, f"the raw logits agree, they differ after {name}", evidence)


def kept_ties(findings: Findings) -> Cause | None:
    """A filter kept other candidates, and all that one side alone kept tie with one that both kept.

    Neither way is right; it is the rule for ties that differs.
    """
    if findings.first.check != "choice" or findings.leaf != "kept":
        return None
    mine, other = (choice.get("kept", []) for choice in findings.sections("choice"))
    top = findings.sections("choice")[0].get(TOP, [])
    values = {str(pair[0]): pair[1] for pair in top}
    shared = {values.get(str(token)) for token in mine if token in other}
    alone = [token for token in (*mine, *other) if (token in mine) != (token in other)]
    evidence = {"kept": {"left": mine, "right": other}, "alone": alone}
    counts = f"left keeps {len(mine)}, right {len(other)}"
    if alone and all(values.get(str(token), _NO_VALUE) in shared for token in alone):
        text = f"candidates that only one side kept tie with one that both kept: {counts}"
        return Cause("tie-break", findings.component, text, evidence)
    text = f"the same logits left other candidates: {counts}"
    return Cause("processor", findings.component, text, evidence)


def token_flip(findings: Findings) -> Cause | None:
    """Another token was chosen although what it was chosen from agrees within tolerance."""
    if findings.first.check != "choice" or findings.leaf != "token_id":
        return None
    return _flip(findings, *findings.holders())


def flip_among_steps(findings: Findings) -> Cause | None:
    """An event holds many steps: its tensors differ from the first other choice on."""
    lists = [choice.get("steps") for choice in findings.sections("choice")]
    if findings.first.check != "outputs" or not all(isinstance(steps, list) for steps in lists):
        return None
    for number, (mine, other) in enumerate(zip(*lists, strict=False), start=1):
        if mine.get("allowed") != other.get("allowed"):
            text = f"at step {number} other tokens are allowed"
            evidence = {"allowed": {"left": mine.get("allowed"), "right": other.get("allowed")}}
            return Cause("processor", findings.component, text, evidence)
        if mine.get("token_id") != other.get("token_id"):
            return _flip(findings, mine, other, where=f"at step {number} ")
    if len(lists[0]) == len(lists[1]):
        return None
    text = f"one side stops after {len(lists[0])} steps, the other after {len(lists[1])}"
    return Cause("stop-rule", findings.component, text, {"steps": [len(x) for x in lists]})


def _flip(findings: Findings, left: Any, right: Any, where: str = "") -> Cause | None:
    """Return why two records of one choice, each with its `top`, differ."""
    tops = left.get(TOP, []), right.get(TOP, [])
    gap, drift = _top_gap(tops[0]), _top_drift(*tops)
    if gap is None or drift is None:
        return None
    evidence = {"top_2_gap": gap, "observed_drift": drift}
    if gap == 0.0:
        text = "the two best tokens tie exactly; each side breaks the tie its own way"
        return Cause("tie-break", findings.component, where + text, evidence)
    if gap <= 2 * drift:
        text = "the gap between the two best tokens is not larger than the observed drift"
        return Cause("near-tie", findings.component, where + text, evidence)
    text = "the logits agree, and their gap is larger than the drift: the choice itself differs"
    return Cause("sampler", findings.component, where + text, evidence)


def strategy(findings: Findings) -> Cause | None:
    """One side takes the best token, the other draws one."""
    if findings.first.check != "choice" or findings.leaf != "strategy":
        return None
    text = "the token is chosen by another strategy"
    return Cause("sampler", findings.component, text, findings.values)


def _processed(records: Any) -> dict[str, Any]:
    """Return the digests of what the processors gave, by their names in the order they ran in."""
    found = _digests(records)
    return {key.removeprefix(LOGITS): found[key] for key in found if key.startswith(LOGITS)}


def _digests(records: Any) -> dict[str, str]:
    return {record["name"]: record["digest"] for record in records}


def _idle(processed: Mapping[str, str], raw: Mapping[str, str]) -> set[str]:
    """Return the processors that gave what they were given, as digests prove."""
    given = [raw.get(_RAW, ""), *processed.values()]
    return {
        name
        for name, before in zip(processed, given, strict=False)
        if processed[name] == before and is_proof(before)
    }


def _alone_before(
    name: str, names: Sequence[list[str]], idle: Sequence[set[str]]
) -> dict[str, list[str]]:
    """Return each side's processors that the other one lacks, up to the one that is found first.

    Without its `name`, one side has none, and all of the other one are meant. One that changed
    nothing is not to blame, unless it is all that is found.
    """
    found = {}
    for side, mine, other, unmoved in zip(SIDES, names, names[::-1], idle, strict=True):
        end = mine.index(name) + 1 if name in mine else 0 if name else len(mine)
        alone = [x for x in mine[:end] if x not in other]
        found[side] = [x for x in alone if x not in unmoved or x == name]
        if not name and not found[side]:
            found[side] = alone
    return found


def _top_gap(top: Any) -> float | None:
    if len(top) < 2 or not all(isinstance(pair[1], int | float) for pair in top[:2]):
        return None
    return abs(float(top[0][1]) - float(top[1][1]))


def _top_drift(left: Any, right: Any) -> float | None:
    """Return the largest difference of the two best values between the sides."""
    tops = [{str(pair[0]): pair[1] for pair in top} for top in (left, right)]
    shared = [key for key in list(tops[0])[:2] if key in tops[1]]
    numbers = [(tops[0][key], tops[1][key]) for key in shared]
    if not numbers or not all(isinstance(x, int | float) for pair in numbers for x in pair):
        return None
    return max(abs(float(x) - float(y)) for x, y in numbers)
