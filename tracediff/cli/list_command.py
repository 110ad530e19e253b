"""`tracediff list`: the fixtures, what can be overridden in them, and their injections."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tracediff.cli.output import open_console, print_json
from tracediff.render.fixture_list import FixtureListing, SettingListing, print_fixtures
from tracediff.workloads.fixtures import WORKLOADS
from tracediff.workloads.run import definition_of
from tracediff.workloads.workload import Workload

command = typer.Typer(add_completion=False)


@command.command("list")
def list_fixtures(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List fixtures, their overrides and injections."""
    listings = [_listing(workload) for workload in WORKLOADS.values()]
    if as_json:
        print_json([_listing_to_json(listing) for listing in listings])
    else:
        print_fixtures(listings, open_console())


def _listing(workload: Workload) -> FixtureListing:
    content = definition_of(workload).content
    settings = tuple(
        SettingListing(s.name, content["settings"][s.name], s.allowed, s.purpose)
        for s in workload.settings
    )
    return FixtureListing(workload.name, content["title"], settings, tuple(workload.injections))


def _listing_to_json(listing: FixtureListing) -> dict[str, Any]:
    return {
        "fixture": listing.name,
        "title": listing.title,
        "settings": {
            s.name: {"default": s.default, "allowed": s.allowed, "purpose": s.purpose}
            for s in listing.settings
        },
        "injections": list(listing.injections),
    }
