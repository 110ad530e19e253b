"""HTML that is safe by construction: text is escaped, and only markup made here is not.

Knows elements and attributes. Must not know reports.
"""

from __future__ import annotations

from html import escape


class Markup(str):
    """Text that is HTML already; any other text is escaped where it becomes part of some."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str) -> Markup:
    """Return an element; `class_` and `aria_label` are the attributes `class` and `aria-label`.

    Children that are no markup are escaped, attributes always.
    """
    spelled = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
    )
    return Markup(f"<{tag}{spelled}>{join(*children)}</{tag}>")


def join(*children: str) -> Markup:
    """Return the children one after the other; those that are no markup are escaped."""
    return Markup("".join(c if isinstance(c, Markup) else escape(c) for c in children))
