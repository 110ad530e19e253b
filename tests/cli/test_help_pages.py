"""Help pages at 80 columns: paragraphs that fill their lines, no type where there is no value."""

from itertools import pairwise

import pytest
from typer.testing import CliRunner

from tracediff.cli.app import COMMANDS, app
from tracediff.cli.help_pages import join_lines
from tracediff.cli.import_command import ImportGroup

PAGES = [[], *([name] for name in COMMANDS), *(["import", kind] for kind in ImportGroup.names)]


def help_page(*command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_paragraphs_fill_their_lines(page: list[str]) -> None:
    """A line of a paragraph ends only where the first word of the next one has no room."""
    text = help_page(*page).partition("╭")[0]
    assert "Usage: " in text
    for paragraph in text.split("\n" + " " * 80 + "\n"):
        lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
        for line, following in pairwise(lines):
            assert len(line) + 1 + len(following.split()[0]) > 78


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_flags_show_no_type(page: list[str]) -> None:
    """An option that takes no value shows none, --help too; others show theirs."""
    text = help_page(*page)
    assert "--help" in text
    assert "bool" not in text.lower()


def test_flags_among_others() -> None:
    """The column of values stays for the options that have one."""
    text = help_page("gate")
    assert "GLOB=RULE" in text
    assert "--update" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("One\n    two.\n\n    Three\n    four.", "One two.\n\nThree four.", id="two"),
        pytest.param("One.", "One.", id="one"),
    ],
)
def test_join_lines(text: str, expected: str) -> None:
    """The lines of a paragraph become one, and paragraphs stay apart."""
    assert join_lines(text) == expected
