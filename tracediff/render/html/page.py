"""The whole page: template, style, scripts and data in one file, and nothing else allowed.

Knows how the parts fit together. The policy in the page lets exactly these scripts and styles run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Final

from tracediff.render.escape import visible
from tracediff.render.html.embedding import embed
from tracediff.render.html.header import page_heading, verdict
from tracediff.render.html.index import index
from tracediff.render.html.markup import Markup, element, join
from tracediff.render.html.selection import comparisons_to_json
from tracediff.render.pairs import worst_first

if TYPE_CHECKING:
    from tracediff.comparison import SideBySide

STYLES: Final = ("report.css", "lanes.css", "event.css", "print.css")
SCRIPTS: Final = ("data.js", "tensors.js", "event.js", "lanes.js", "index.js", "report.js")

NOT_EMBEDDED: Final = "The events of this comparison are not in this file."


def html_report(comparisons: Sequence[SideBySide], *, title: str) -> bytes:
    """Return a page about one or more comparisons, UTF-8; the same input gives the same bytes.

    Of several what failed stands first, and the page opens the first of them. Its size is bounded:
    of many or large events it holds the rows and only the most important ones in full. Raises
    ValueError where there are no comparisons.
    """
    if not comparisons:
        raise ValueError("a report needs at least one comparison")
    style = "".join(_asset(name) for name in STYLES)
    script = '"use strict";\n(() => {\n' + "".join(_asset(name) for name in SCRIPTS) + "})();\n"
    ordered = _worst_first(comparisons)
    diffs = [compared.diff for compared in ordered]
    events = comparisons_to_json(ordered, embed)
    sections = [
        _section(compared, number, events.get(number)) for number, compared in enumerate(ordered)
    ]
    page = Template(_asset("page.html")).substitute(
        policy=_policy(style, script),
        title=join(visible(title)),
        style=style,
        script=script,
        heading=page_heading(title),
        index=index(diffs) if len(diffs) > 1 else "",
        comparisons=join(*sections),
    )
    return page.encode()


def _worst_first(comparisons: Sequence[SideBySide]) -> list[SideBySide]:
    of_diff = {id(compared.diff): compared for compared in comparisons}
    return [of_diff[id(diff)] for diff in worst_first([found.diff for found in comparisons])]


def _section(compared: SideBySide, number: int, events: Markup | None) -> Markup:
    heading = f"c{number}-heading"
    if events is None and compared.diff.message:
        events = Markup()  # nothing was compared event by event, and the verdict says why
    elif events is None:
        events = element("p", NOT_EMBEDDED, class_="notice")
    return element(
        "section",
        verdict(compared.diff, heading),
        events,
        class_="comparison",
        id=f"c{number}",
        aria_labelledby=heading,
    )


def _policy(style: str, script: str) -> str:
    """Return a content security policy: nothing is loaded, and only the page's own code runs."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text("utf-8")
