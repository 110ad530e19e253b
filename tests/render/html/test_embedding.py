"""Data inside a page comes out as it went in, and no parser takes it for markup."""

import pytest
from html_traces import EVIL
from page_reading import Page

from tracediff.render.html.embedding import WORTH_PACKING, embed
from tracediff.render.html.markup import element, join

VALUES = {
    "script": "</script><script>alert(1)</script>",
    "comment": "<!-- <script>",
    "line-separators": "\u2028\u2029",
    "surrogate": "\ud800",
    "evil": EVIL,
    "prototype": {"__proto__": {"x": 1}},
    "long": ["</script>" * WORTH_PACKING],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_round_trip(value: object) -> None:
    """The parser finds one script element, and in it the value."""
    markup = embed(value)
    page = Page(markup.encode())
    assert page.tags == ["script"]
    assert page.data() == [value]
    assert markup.isascii()


def test_numbers_that_are_none() -> None:
    """NaN is no JSON and would end a reader's script."""
    with pytest.raises(ValueError, match="JSON"):
        embed([float("nan")])


@pytest.mark.parametrize(
    ("markup", "spelled"),
    [
        pytest.param(element("p", "a<b"), "<p>a&lt;b</p>", id="text"),
        pytest.param(element("p", element("b", "&")), "<p><b>&amp;</b></p>", id="nested"),
        pytest.param(
            element("a", class_='"><b>'), '<a class="&quot;&gt;&lt;b&gt;"></a>', id="attribute"
        ),
        pytest.param(element("a", aria_label="x"), '<a aria-label="x"></a>', id="aria"),
        pytest.param(join("<", element("br")), "&lt;<br></br>", id="joined"),
    ],
)
def test_markup(markup: str, spelled: str) -> None:
    """Text is escaped once, markup never again."""
    assert markup == spelled
