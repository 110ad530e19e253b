"""Holds goldens against fresh runs of their fixtures, or against new traces of the user's own.

Knows workloads, storage, contracts and the comparison, and joins them. Must not know rendering or
the command line.
"""

from tracediff.gate.gated import Gated
from tracediff.gate.recorded import gate_recorded
from tracediff.gate.rerun import gate_fixtures
from tracediff.gate.rules import GateRules
from tracediff.gate.update import Change, plan_update, write_changes

__all__ = [
    "Change",
    "GateRules",
    "Gated",
    "gate_fixtures",
    "gate_recorded",
    "plan_update",
    "write_changes",
]
