"""The picture at the top of the README shows what the command prints today."""

import html
import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def words_of(picture: str) -> list[str]:
    """Return what the picture says; how it is drawn is the drawing library's matter."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    return html.unescape(" ".join(texts)).split()


def test_picture_is_what_is_printed() -> None:
    """Drawing it anew gives the same words, and nothing is loaded from elsewhere."""
    spec = importlib.util.spec_from_file_location("drawing", ROOT / "docs" / "draw_screenshot.py")
    assert spec is not None
    assert spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    committed = drawing.PICTURE.read_text("utf-8")
    assert words_of(committed) == words_of(drawing.draw())
    assert "DIVERGED" in words_of(committed)
    assert re.findall(r"(?:href|url|src)\W+https?:", committed) == []
    assert "docs/diff.svg" in (ROOT / "README.md").read_text("utf-8")
