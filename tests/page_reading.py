"""Reads an HTML report as tests look at it: text, elements, data, policy."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """The elements and texts of a page, as an HTML parser understands them."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "style":
            self.styles.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        current = self._open[-1] if self._open else ""
        if current == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif current == "style":
            self.styles[-1] += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All text that a reader without scripts sees, blanks joined."""
        return " ".join(" ".join(self.texts).split())

    @property
    def code(self) -> str:
        """The one script that runs."""
        (code,) = [text for attributes, text in self.scripts if "type" not in attributes]
        return code

    @property
    def policy(self) -> str:
        """The content security policy."""
        found = [a for tag, a in self.attributes if tag == "meta" and "http-equiv" in a]
        return str(found[0]["content"])

    def data(self) -> list[Any]:
        """The data of all comparisons."""
        return [unpack(a, text) for a, text in self.scripts if a.get("type") == "application/json"]


def strings_of(data: Any) -> Iterator[str]:
    """Yield every string in JSON data, keys too."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        yield from data
        data = list(data.values())
    if isinstance(data, list):
        for item in data:
            yield from strings_of(item)


def unpack(attributes: dict[str, str | None], text: str) -> Any:
    """Return the data of one script element."""
    if "packed" in str(attributes["class"]).split():
        return json.loads(zlib.decompress(base64.b64decode(text)))
    return json.loads(text)
