"""The list of fixtures with what can be changed in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.render.escape import visible_value


@dataclass(frozen=True, slots=True)
class SettingListing:
    """One overridable setting."""

    name: str
    default: Any
    allowed: str
    purpose: str


@dataclass(frozen=True, slots=True)
class FixtureListing:
    """One fixture."""

    name: str
    title: str
    settings: tuple[SettingListing, ...]
    injections: tuple[str, ...]


def print_fixtures(listings: Sequence[FixtureListing], console: Console) -> None:
    """Print every fixture with its settings, one setting in two short lines."""
    for listing in listings:
        console.print(Text.assemble((listing.name, "bold"), f"  {listing.title}"), soft_wrap=True)
        for setting in listing.settings:
            default = visible_value(setting.default, 40)
            console.print(
                Text.assemble("  --set ", (setting.name, "cyan"), f"={default}"), soft_wrap=True
            )
            console.print(Text(f"      {setting.purpose}; {setting.allowed}"), soft_wrap=True)
        injections = ", ".join(listing.injections) or "none"
        console.print(Text(f"  injections: {injections}"), soft_wrap=True)
