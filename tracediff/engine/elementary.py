"""The elementary functions under one name, each the same bits on every machine.

Every one takes float32 or float64 arrays, evaluates in float64 and rounds once to the array's
dtype. Knows only where they are defined: `exponential` and `trigonometric`.
"""

from tracediff.engine.exponential import exp, log, power
from tracediff.engine.trigonometric import cos, cospi, sin, sinpi

__all__ = ["cos", "cospi", "exp", "log", "power", "sin", "sinpi"]
