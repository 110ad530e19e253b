"""How two traces are compared, beyond what the left one declares."""

from __future__ import annotations

from dataclasses import dataclass

from tracediff.diff.name_map import NameMap
from tracediff.events import Tolerances

VIEWS = ("joined-text", "unordered-siblings")
LEVELS = ("latent", "pixel", "bytes")


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """Rules that override the declared ones, what counts, and how the traces are looked at.

    `tolerances` come before the left trace's; `nan_equal` says that NaN equals NaN at the same
    place; `strict_settings` makes a differing setting a divergence. `views` are named normalisers;
    `level` is how deep image traces are compared; `only` and `skip` are globs over event types,
    or over tensor names where they start with `tensor:`. `drift` asks for the drift of traces that
    are too large to be measured unasked. `name_map` says which of left's names is which of right's.
    """

    tolerances: Tolerances = Tolerances()
    nan_equal: bool = True
    strict_settings: bool = False
    views: tuple[str, ...] = ()
    level: str | None = None
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    drift: bool = False
    name_map: NameMap | None = None

    @property
    def needs_whole_traces(self) -> bool:
        """Whether a comparison has to hold all events before it can start."""
        looks = (self.views, self.level, self.only, self.skip, self.drift, self.name_map)
        return any(looks)
