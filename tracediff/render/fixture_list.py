"""The list of fixtures with what can be changed in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.render.escape import visible_value
from tracediff.render.rows import print_indented

PURPOSE_INDENT = 6


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
        title = Text.assemble((listing.name, "bold"), f"  {listing.title}")
        print_indented(console, title, 0, PURPOSE_INDENT)
        for setting in listing.settings:
            default = visible_value(setting.default, 40)
            line = Text.assemble("--set ", (setting.name, "cyan"), f"={default}")
            print_indented(console, line, 2, PURPOSE_INDENT)
            purpose = f"{setting.purpose}; {setting.allowed}"
            print_indented(console, purpose, PURPOSE_INDENT, PURPOSE_INDENT)
        injections = ", ".join(listing.injections)
        line = Text(f"injections: {injections}" if injections else "no injections")
        print_indented(console, line, 2, PURPOSE_INDENT)
