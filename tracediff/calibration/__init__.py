"""Tolerances from repeated runs of the same work: how far their tensors lie apart, as rules.

Knows the comparison's own judge and walk. Must not know files, rendering or what made the runs.
"""

from tracediff.calibration.calibrate import Calibration, ExactDifference, calibrate
from tracediff.calibration.rules import CalibratedRule

__all__ = ["CalibratedRule", "Calibration", "ExactDifference", "calibrate"]
