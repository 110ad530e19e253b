"""How two traces are compared, beyond what the left one declares."""

from __future__ import annotations

from dataclasses import dataclass

from tracediff.events import Tolerances


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """Rules that override the declared ones, what NaN against NaN means, and what settings count.

    `tolerances` come before the left trace's; `nan_equal` says that NaN equals NaN at the same
    place; `strict_settings` makes a differing setting a divergence.
    """

    tolerances: Tolerances = Tolerances()
    nan_equal: bool = True
    strict_settings: bool = False
