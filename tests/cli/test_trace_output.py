"""Where commands write traces and rules: nothing that is read, and no golden, is overwritten."""

from pathlib import Path

import pytest

from tracediff.cli.trace_output import check_output, check_rules_output, named_partial
from tracediff.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a capture, a link to it, and a golden."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "capture").write_text("data: 1\n\n")
    (tmp_path / "link").symlink_to("capture")
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "golden.jsonl").write_text("{}\n")
    return tmp_path


REFUSED = {
    "standard-output": ("-", "the name of a file"),
    "input": ("capture", "is what is read"),
    "link-to-the-input": ("link", "is what is read"),
    "golden": ("traces/golden.jsonl", "is a golden"),
    "golden-by-another-way": ("traces/../traces/golden.jsonl", "is a golden"),
}


@pytest.mark.parametrize(("output", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(output: str, reason: str, folder: Path) -> None:
    """A trace does not take the place of what is read, nor of a golden."""
    with pytest.raises(UsageError, match=reason):
        check_output(output, "capture")


@pytest.mark.parametrize("output", ["new.jsonl", "traces/new.jsonl", "nowhere/new.jsonl"])
def test_allowed(output: str, folder: Path) -> None:
    """Any other place is left to the writer."""
    assert check_output(output, "capture", "missing") == Path(output)


@pytest.mark.parametrize(
    ("output", "reason"), [("a.jsonl", "name of a trace"), ("capture", "is what is read")]
)
def test_rules(output: str, reason: str, folder: Path) -> None:
    """A file of rules does not take the place of a trace."""
    with pytest.raises(UsageError, match=reason):
        check_rules_output(output, "capture")


def test_interruption_names_what_is_left(folder: Path) -> None:
    """Ctrl-C says where the unfinished recording is, and nothing where there is none."""
    (folder / "a.jsonl.partial").write_text("{}\n")
    with (
        pytest.raises(KeyboardInterrupt, match=r"a\.jsonl\.partial"),
        named_partial(Path("a.jsonl")),
    ):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt, match=r"^$"), named_partial(Path("b.jsonl")):
        raise KeyboardInterrupt
