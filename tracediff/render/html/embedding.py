"""Data inside a page: JSON that no HTML parser can mistake for markup, packed where it is large.

Knows JSON and HTML. Must not know reports.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any, Final

from tracediff.render.html.markup import Markup, element

WORTH_PACKING: Final = 20_000
"""Characters from which JSON is packed; what is shorter stays readable in the page's source."""

ESCAPES: Final = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
"""Inside JSON these stand in strings only, where an escape means the same."""


def json_text(data: Any) -> str:
    """Return data as JSON in ASCII without blanks; raises ValueError for NaN and infinities."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def embed(data: Any) -> Markup:
    """Return a script element that holds data and is never run."""
    text = json_text(data)
    if len(text) < WORTH_PACKING:
        inert = Markup(text.translate(ESCAPES))
        return element("script", inert, type="application/json", class_="data")
    packed = base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")
    return element("script", Markup(packed), type="application/json", class_="data packed")
