"""Tolerances as a recorder declares them and as a comparator reads them.

Knows rules, the default table per element type, and their JSON form; deciding whether two tensors
satisfy a rule is `diff`'s matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

MODES = ("exact", "allclose", "ulp", "rel_l2")


@dataclass(frozen=True, slots=True)
class ToleranceRule:
    """How far two tensors whose name fits the glob `match` may lie apart.

    `mode` is `exact`; `allclose`: |l - r| <= atol + rtol * max(|l|, |r|) in float64, element by
    element; `ulp`: at most `ulps` representable values apart; `rel_l2`: ||l - r|| <= `rel_l2` *
    max(||l||, ||r||). For `allclose` and `ulp`, `rel_l2` is the bound that stands in where only
    sketches were recorded.
    """

    match: str
    mode: str
    rtol: float = 0.0
    atol: float = 0.0
    ulps: int = 0
    rel_l2: float = 0.0

    def describe(self) -> str:
        """One line for reports, such as `allclose(rtol=1.3e-06, atol=1e-05)`."""
        match self.mode:
            case "allclose":
                return f"allclose(rtol={self.rtol:g}, atol={self.atol:g})"
            case "ulp":
                return f"ulp({self.ulps})"
            case "rel_l2":
                return f"rel_l2({self.rel_l2:g})"
        return self.mode


def _close(dtype: str, rtol: float, atol: float, rel_l2: float) -> ToleranceRule:
    return ToleranceRule(dtype, "allclose", rtol=rtol, atol=atol, rel_l2=rel_l2)


DTYPE_DEFAULTS: Mapping[str, ToleranceRule] = MappingProxyType(
    {
        "float8_e4m3fn": _close("float8_e4m3fn", 0.125, 1e-3, 0.125),
        "float8_e5m2": _close("float8_e5m2", 0.25, 1e-3, 0.25),
        "float16": _close("float16", 1e-3, 1e-5, 1e-3),
        "bfloat16": _close("bfloat16", 1.6e-2, 1e-5, 8e-3),
        "float32": _close("float32", 1.3e-6, 1e-5, 1e-5),
        "float64": _close("float64", 1e-7, 1e-7, 1e-6),
        "complex64": _close("complex64", 1.3e-6, 1e-5, 1e-5),
        "complex128": _close("complex128", 1e-7, 1e-7, 1e-6),
    }
)
"""Default by element type; rtol and atol as `torch.testing.assert_close`. Others are exact.

`rel_l2` of float32 is 30 times the largest distance between the engine's kernels on text-001;
that of float64 is what a sketch, whose components are float32, can still resolve.
"""

EXACT = ToleranceRule("*", "exact")


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Rules in order, first match wins; where none fits, `DTYPE_DEFAULTS` decides.

    `shared` holds the globs of rules that were written for many traces: one that fits no tensor of
    a trace is no mistake.
    """

    rules: tuple[ToleranceRule, ...] = ()
    shared: frozenset[str] = frozenset()

    def find(self, name: str) -> ToleranceRule | None:
        """Return the first rule whose glob fits a tensor's name."""
        return next((rule for rule in self.rules if fnmatchcase(name, rule.match)), None)


def tolerances_to_json(tolerances: Tolerances) -> list[dict[str, Any]]:
    """Return the rules as the root's `trace.tolerances` holds them: non-default fields only."""
    found = []
    for rule in tolerances.rules:
        entry: dict[str, Any] = {"match": rule.match, "mode": rule.mode}
        for key in ("rtol", "atol", "ulps", "rel_l2"):
            if getattr(rule, key):
                entry[key] = getattr(rule, key)
        found.append(entry)
    return found


def tolerances_from_json(found: list[dict[str, Any]] | None) -> Tolerances:
    """Return the rules of a validated `trace.tolerances` list."""
    return Tolerances(tuple(ToleranceRule(**entry) for entry in found or ()))
