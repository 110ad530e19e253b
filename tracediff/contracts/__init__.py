"""Rules that a single trace must keep, by kind.

Knows events only. Must not know engines, files or another trace.
"""

from tracediff.contracts.check import Report, check_trace
from tracediff.contracts.rule import Rule, Violation

__all__ = ["Report", "Rule", "Violation", "check_trace"]
