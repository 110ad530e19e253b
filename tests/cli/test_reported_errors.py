"""Every requested report says what went wrong, whatever way a command ends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gate_folders import own_trace

Command = Callable[..., Any]

NAMES = ("r.html", "r.json", "r.md", "r.sarif", "r.txt", "r.xml")
OUTPUTS = [word for name in NAMES for word in ("-o", name)]

FAILURES = {
    "no-goldens": (("gate", "none", "--new", "new"), "none does not exist"),
    "empty-goldens": (("gate", "empty", "--new", "new"), "holds no golden"),
    "no-new-folder": (("gate", "goldens", "--new", "none"), "none is no folder"),
    "nothing-new": (("gate", "goldens", "--new", "empty"), "holds no trace"),
    "no-default-folder": (("gate", "--new", "new"), "there is no folder traces here"),
    "own-goldens-without-new": (("gate", "goldens"), "no fixture recorded a golden"),
    "unused-tolerance": (
        ("gate", "goldens", "--new", "new", "--tolerance", "zzz=exact"),
        "'zzz' fits no tensor",
    ),
    "unused-nan-glob": (
        ("gate", "goldens", "--new", "new", "--allow-nan", "zzz"),
        "'zzz' fits no tensor",
    ),
    "wrong-rule": (("gate", "goldens", "--new", "new", "--tolerance", "x=bogus"), "bogus"),
    "diff-of-empty-folders": (("diff", "empty", "empty2"), "holds a trace"),
    "diff-of-folders-unused": (("diff", "goldens", "new", "--only", "zzz"), "'zzz' fits no"),
    "diff-unused": (
        ("diff", "goldens/a.jsonl", "new/a.jsonl", "--tolerance", "zzz=exact"),
        "'zzz' fits no tensor",
    ),
    "misspelt-option": (
        ("gate", "goldens", "--new", "new", "--tolerence", "x=exact"),
        "No such option: --tolerence",
    ),
    "wrong-number": (("gate", "goldens", "--new", "new", "--jobs", "abc"), "Invalid value for"),
    "missing-argument": (("diff", "goldens/a.jsonl"), "Missing argument"),
    "diff-no-file": (("diff", "goldens/a.jsonl", "absent.jsonl"), "no such file"),
}


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Make folders of goldens and new traces that are the same, two empty ones, and old reports."""
    for name in ("goldens/a.jsonl", "new/a.jsonl"):
        own_trace(tmp_path / name)
    for name in ("empty", "empty2"):
        (tmp_path / name).mkdir()
    for name in NAMES:
        (tmp_path / name).write_text("all is equal, said another run")
    return tmp_path


@pytest.mark.parametrize("case", FAILURES)
def test_every_report_says_it(case: str, tracediff: Command, folders: Path) -> None:
    """No file reads as a pass, or is one that an earlier run left; the exit status is 2."""
    arguments, reason = FAILURES[case]
    done = tracediff(*arguments, *OUTPUTS)
    assert done.status == 2
    assert reason in done.err
    texts = {name: (folders / name).read_text("utf-8") for name in NAMES}
    for name, text in texts.items():
        shown = " ".join(text.replace("&#39;", "'").replace("&#x27;", "'").split())
        assert reason in shown, name
    report = json.loads(texts["r.json"])
    assert report["outcome"] in ("could not say", "nothing compared", "unreadable")
    assert 'errors="0"' not in texts["r.xml"]


@pytest.mark.parametrize("wanted", ["github", "junit", "json"])
def test_standard_output_says_it(wanted: str, tracediff: Command, folders: Path) -> None:
    """What a program reads from standard output is a report of the failure."""
    done = tracediff("gate", "none", "--new", "new", "--format", wanted)
    assert done.status == 2
    assert "none does not exist" in done.out
    assert done.out.startswith("::error ") == (wanted == "github")


@pytest.mark.parametrize("refused", ["nowhere/r.html", "a.jsonl", "r.unknown", "r.json"])
def test_other_reports_say_which_file_is_refused(
    refused: str, tracediff: Command, folders: Path
) -> None:
    """Where one file cannot be written, the others do not keep what an earlier run said."""
    done = tracediff("gate", "goldens", "--new", "new", "-o", "r.json", "-o", refused)
    assert done.status == 2
    report = json.loads((folders / "r.json").read_text("utf-8"))
    assert report["outcome"] != "equal"
    assert refused in report["problems"][0]


def test_text_report_is_the_terminal_report(tracediff: Command, folders: Path) -> None:
    """The file holds all that is printed, the closing lines too."""
    own_trace(folders / "new" / "a.jsonl", 7.0)
    done = tracediff("gate", "goldens", "--new", "new", "-o", "r.txt", COLUMNS="100")
    assert done.status == 1
    assert (folders / "r.txt").read_text("utf-8") == done.out
    assert "tracediff gate goldens --new new --update" in done.out
