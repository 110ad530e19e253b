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
from tracediff.render.html.header import index, page_heading, verdict
from tracediff.render.html.markup import Markup, element, join
from tracediff.render.html.selection import comparison_to_json

if TYPE_CHECKING:
    from tracediff.comparison import SideBySide

STYLES: Final = ("report.css", "lanes.css", "event.css", "print.css")
SCRIPTS: Final = ("data.js", "tensors.js", "event.js", "lanes.js", "report.js")

NOT_EMBEDDED: Final = "The events of this comparison are not in this file."


def html_report(comparisons: Sequence[SideBySide], *, title: str) -> bytes:
    """Return a page about one or more comparisons, UTF-8; the same input gives the same bytes.

    Of several the page opens the first that is not equal. Its size is bounded: of many or large
    events it holds the rows and only the most important ones in full. Raises ValueError where
    there are no comparisons.
    """
    if not comparisons:
        raise ValueError("a report needs at least one comparison")
    style = "".join(_asset(name) for name in STYLES)
    script = '"use strict";\n(() => {\n' + "".join(_asset(name) for name in SCRIPTS) + "})();\n"
    diffs = [compared.diff for compared in comparisons]
    sections = [
        _section(compared, number, len(comparisons)) for number, compared in enumerate(comparisons)
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


def _section(compared: SideBySide, number: int, share: int) -> Markup:
    heading = f"c{number}-heading"
    if compared.pairs:
        events = embed(comparison_to_json(compared, share))
    elif compared.diff.message:
        events = Markup()  # nothing was compared event by event, and the verdict says why
    else:
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
