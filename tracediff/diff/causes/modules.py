"""Causes seen where modules are recorded: parameters, settings, training mode, masks.

Knows the sums with which a recorder locates a change (`integrations.torch_parameters`); must not
know any engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tracediff.diff.causes.findings import Findings, WholeTrace
from tracediff.diff.result import MISSING, Cause
from tracediff.events import Event

_IDENTITY: Final = re.compile(r"(\w+)\[([\d,]*)\] \S+")
_HALF: Final = 2**63
_LOADED: Final = "module.loaded"


def training_mode(findings: Findings) -> Cause | None:
    """A module is in training mode on one side only: dropout acts, and norms take statistics."""
    is_mode = findings.path[:2] == ("state", "training")
    if findings.first.check != "state" or not is_mode:
        return None
    sides = [section.get("training", []) for section in findings.sections("state")]
    if all(isinstance(side, list) for side in sides):
        apart = sorted(set(map(str, sides[0])) ^ set(map(str, sides[1])))
    else:
        apart = [findings.component]
    text = f"{_listed(apart)} in training mode on one side only"
    return Cause("training-mode", apart[0], text, {"modules": apart[:10]})


def autocast(findings: Findings) -> Cause | None:
    """Autocast is on on one side only, or computes in another type."""
    if findings.first.check != "state" or not findings.event.event_type.startswith("module."):
        return None
    left, right = (_autocast_text(section) for section in findings.sections("state"))
    if left == right or findings.path[1:2] not in ((), ("autocast",)):
        return None
    text = f"autocast is {left} on the left and {right} on the right"
    return Cause("dtype", "autocast", text, findings.values)


def changed_between(findings: Findings) -> Cause | None:
    """A tensor arrives at a module as its source gave it on one side, and changed on the other."""
    if findings.first.check != "inputs" or not findings.event.event_type.startswith("module."):
        return None
    mine, other = findings.first.difference.left, findings.first.difference.right
    if (mine is MISSING) is (other is MISSING):
        return None
    side = "right" if mine is MISSING else "left"
    names = [record["name"] for records in findings.sections("inputs") for record in records]
    name = findings.tensor_name or names[0]
    text = (
        f"{name} is new on the {side}: there, it was computed or changed in place between two "
        "recorded modules; on the other side a recorded module gave it as it is"
    )
    return Cause("input-changed", findings.component, text, findings.values)


def masked(findings: Findings) -> Cause | None:
    """Another mask arrives, as discrete values or as a tensor."""
    name = findings.tensor_name if findings.first.check == "inputs" else findings.leaf
    if findings.first.check not in ("state", "inputs") or not name.endswith("attention_mask"):
        return None
    return Cause("mask", findings.component, f"the mask {name} is another one", findings.values)


def changed_parameter(findings: Findings) -> Cause | None:
    """A parameter or buffer of a module is another one: in type, shape, rows or one element."""
    if findings.first.check != "artifacts" or not findings.event.event_type.startswith("module."):
        return None
    name = findings.field.removeprefix("payload.artifacts.")
    sides = [section.get(name) for section in findings.sections("artifacts")]
    found = [_IDENTITY.fullmatch(side) if isinstance(side, str) else None for side in sides]
    if MISSING in (findings.first.difference.left, findings.first.difference.right):
        return None
    left, right = found
    if left is None or right is None:
        return None
    changed = _changed(findings)
    evidence = {**findings.values, "parameter": name, "changed": len(changed)}
    if left[1] != right[1]:
        text = f"{name} is {left[1]} on the left and {right[1]} on the right"
        return Cause("dtype", name, text, evidence)
    if left[2] != right[2]:
        text = f"{name} has shape [{left[2]}] on the left and [{right[2]}] on the right"
        return Cause("shape", name, text, evidence)
    exchanged = _exchanged(findings, changed)
    if exchanged is not None:
        text = f"the parameters of {exchanged[0]} and {exchanged[1]} are exchanged"
        return Cause("permuted", exchanged[0], text, {**evidence, "exchanged": [*exchanged]})
    place = _place(findings, name, left[2])
    others = f"; {len(changed) - 1} more differ" if len(changed) > 1 else ""
    text = f"{name} is another one{place}{others}"
    return Cause("artifact-changed", name, text, evidence)


def other_settings(findings: Findings) -> Cause | None:
    """A module has other settings: what it reads and draws agrees, and what it gives does not."""
    first, tensor = findings.first, findings.tensor
    if first.check != "outputs" or not findings.event.event_type.startswith("module."):
        return None
    if tensor is None or not tensor.decidable:
        return None
    mine, other = (
        _settings_before(trace, event)
        for trace, event in (
            (findings.left_trace, findings.left),
            (findings.right_trace, findings.right),
        )
    )
    if mine == other or None in (mine, other):
        return None  # what one side does not say is no other setting
    text = f"inputs and state agree, the settings of the module do not: {mine} -> {other}"
    evidence = {"settings": {"left": mine, "right": other}, "tensor": tensor.name}
    return Cause("numeric-path", findings.component, text, evidence)


def _settings_before(trace: WholeTrace, event: Event | None) -> str | None:
    """Return what the module of a call says of its settings: where it was loaded, it stands."""
    said = None
    for found in trace.events():
        if event is None or found.event_id == event.event_id:
            break
        if found.event_type == _LOADED:
            said = found.payload.get("settings", {}).get("modules", {}).get(event.component, said)
    return said


def _autocast_text(state: Mapping[str, Any]) -> str:
    found = state.get("autocast", {})
    return ", ".join(f"{dtype} on {device}" for device, dtype in found.items()) or "off"


def _listed(names: list[str]) -> str:
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{rest} {'is' if len(names) == 1 else 'are'}"


def _changed(findings: Findings) -> list[str]:
    mine, other = findings.sections("artifacts")
    return [name for name in mine if name in other and mine[name] != other[name]]


def _exchanged(findings: Findings, changed: list[str]) -> tuple[str, str] | None:
    """Return the two modules whose parameters stand in each other's place, if that is all."""
    mine, other = findings.sections("artifacts")
    first = changed[0]
    partner = next((n for n in changed if mine[n] == other[first] and n != first), None)
    if partner is None:
        return None
    here, there = _differing_parts(first, partner)
    if here == there:
        return None
    for name in changed:
        end = next((p for p in (here, there) if name == p or name.startswith(f"{p}.")), None)
        if end is None:
            return None
        swapped = (there if end == here else here) + name.removeprefix(end)
        if other.get(swapped) != mine[name]:
            return None
    return here, there


def _differing_parts(left: str, right: str) -> tuple[str, str]:
    """Return two names up to and with the first part in which they differ."""
    mine, other = left.split("."), right.split(".")
    same = 0
    while same < min(len(mine), len(other)) - 1 and mine[same] == other[same]:
        same += 1
    return ".".join(mine[: same + 1]), ".".join(other[: same + 1])


def _place(findings: Findings, name: str, shape: str) -> str:
    """Return where a tensor changed, as text: at one element, in one row, or nothing."""
    held = [section.get("parameter_sums", {}) for section in findings.sections("state")]
    sums = [side.get(name, []) if isinstance(side, Mapping) else [] for side in held]
    if not all(isinstance(side, list) and len(side) == 5 for side in sums):
        return ""
    moved = [_signed(b - a) for a, b in zip(sums[0], sums[1], strict=True)]
    extents = [int(extent) for extent in shape.split(",") if extent]
    row, column = _located(moved[0], *moved[1:3]), _located(moved[0], *moved[3:5])
    if row is None:
        return ""
    if column is None:
        return f": only its row {row} differs" if len(extents) > 1 else ""
    return f": only its element {_index(row, column, extents)} differs"


def _located(total: int, first: int, second: int) -> int | None:
    """Return the one place at which words changed by `total`, from the moments of the changes."""
    if total == 0 or first % total:
        return None
    place = first // total
    return place if place >= 0 and _signed(place * first - second) == 0 else None


def _index(row: int, column: int, extents: list[int]) -> list[int]:
    if len(extents) < 2:
        return [column][: len(extents)]
    inner: list[int] = []
    for extent in reversed(extents[1:]):
        column, place = divmod(column, extent)
        inner.insert(0, place)
    return [row, *inner]


def _signed(value: Any) -> int:
    """Return an integer modulo 2^64 as a signed one."""
    return int((value + _HALF) % (2 * _HALF) - _HALF)
