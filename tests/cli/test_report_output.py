"""Where reports go: formats by name and by ending, several at once, and what is refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracediff.cli.report_plan import ReportPlan, plan_reports
from tracediff.errors import TracediffError

Command = Callable[..., Any]


@pytest.fixture
def pair(tracediff: Command) -> tuple[str, str]:
    """Return the names of two traces that part."""
    tracediff("run", "ddim-2d", "-o", "a.jsonl")
    tracediff("run", "ddim-2d", "--set", "latent=[1.5, 2.0]", "-o", "b.jsonl")
    return "a.jsonl", "b.jsonl"


PLANS = {
    "nothing": (None, [], ReportPlan()),
    "json": ("json", [], ReportPlan("json")),
    "ending": (None, ["r.html"], ReportPlan("terminal", ((Path("r.html"), "html"),))),
    "format-for-the-file": (
        "junit",
        ["result"],
        ReportPlan("terminal", ((Path("result"), "junit"),)),
    ),
    "same-twice": ("html", ["r.html"], ReportPlan("terminal", ((Path("r.html"), "html"),))),
    "annotations-and-page": (
        "github",
        ["r.html"],
        ReportPlan("github", ((Path("r.html"), "html"),)),
    ),
    "two-files": (
        None,
        ["r.html", "r.xml"],
        ReportPlan("terminal", ((Path("r.html"), "html"), (Path("r.xml"), "junit"))),
    ),
    "capital-ending": (None, ["R.SARIF"], ReportPlan("terminal", ((Path("R.SARIF"), "sarif"),))),
}


@pytest.mark.parametrize(("wanted", "outputs", "expected"), PLANS.values(), ids=PLANS.keys())
def test_plans(wanted: str | None, outputs: list[str], expected: ReportPlan) -> None:
    """A file's format is its ending's, and standard output gets what no file took."""
    paths = [Path(name) for name in outputs]
    assert plan_reports(wanted, paths, as_json=False, inputs=()) == expected


REFUSED = {
    "unknown-format": ({"wanted": "pdf"}, "--format takes terminal, json"),
    "two-formats": ({"wanted": "html", "as_json": True}, "ask for two formats"),
    "no-ending": ({"outputs": [Path("report")]}, "the ending says no format"),
    "standard-output": ({"outputs": [Path("-")]}, "without -o a report goes to standard output"),
    "a-trace": ({"outputs": [Path("new.jsonl.gz")]}, "is the name of a trace"),
    "no-folder": ({"outputs": [Path("nowhere/r.html")]}, "there is no folder nowhere"),
    "a-trace-in-capitals": ({"outputs": [Path("NEW.JSONL")]}, "is the name of a trace"),
    "one-file-twice": ({"outputs": [Path("r.md"), Path("./r.md")]}, "is given twice"),
    "a-device": ({"outputs": [Path(os.devnull)], "wanted": "json"}, "is no regular file"),
    "a-folder": ({"outputs": [Path()], "wanted": "json"}, "is a folder"),
}


@pytest.mark.parametrize(("given", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(given: dict[str, object], reason: str) -> None:
    """What cannot be written, or would destroy a trace, is refused before any work."""
    arguments = {"wanted": None, "outputs": [], "as_json": False, "inputs": (), **given}
    wanted, outputs = arguments.pop("wanted"), arguments.pop("outputs")
    with pytest.raises(TracediffError, match=reason):
        plan_reports(wanted, outputs, **arguments)  # type: ignore[arg-type]


def test_inputs_are_not_overwritten(tmp_path: Path) -> None:
    """A report does not take the place of a file that is compared, under any of its names."""
    trace = tmp_path / "trace.json"
    trace.write_text("{}")
    (tmp_path / "link.json").symlink_to(trace)
    for name in ("trace.json", "link.json"):
        with pytest.raises(TracediffError, match="is one of the inputs"):
            plan_reports(None, [tmp_path / name], as_json=False, inputs=[str(trace)])


def test_several_reports_at_once(tracediff: Command, pair: tuple[str, str], tmp_path: Path) -> None:
    """One comparison writes all reports, says so, and prints the terminal report as ever."""
    names = ["r.json", "r.xml", "r.md", "r.sarif", "r.html", "r.txt"]
    outputs = [word for name in names for word in ("-o", name)]
    done = tracediff("diff", *pair, *outputs)
    assert done.status == 1
    assert done.out == tracediff("diff", *pair).out
    assert [line.split()[2] for line in done.err.splitlines()] == names
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["outcome"] == "diverged"
    assert all((tmp_path / name).stat().st_size > 100 for name in names)


def test_line_of_the_divergence(tracediff: Command, pair: tuple[str, str], tmp_path: Path) -> None:
    """The report names the line of left's file at which the first divergence is."""
    report = json.loads(tracediff("diff", *pair, "--json").out)
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    wanted = report["first"]["left"] or report["neighbours"][0]["left"]
    assert json.loads(lines[report["line"] - 1])["event_id"] == wanted["event_id"]


@pytest.mark.parametrize("wanted", ["json", "junit", "github", "markdown", "sarif", "html"])
def test_every_format_goes_to_a_pipe(
    wanted: str, tracediff: Command, pair: tuple[str, str]
) -> None:
    """Every format can be piped, and the exit status is that of the comparison."""
    done = tracediff("diff", *pair, "--format", wanted, GITHUB_STEP_SUMMARY="")
    assert done.status == 1
    assert done.err == ""
    assert len(done.out) > 50


def test_step_summary_is_appended(
    tracediff: Command, pair: tuple[str, str], tmp_path: Path
) -> None:
    """Where GitHub names a file for the step's page, the summary is added to it."""
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    tracediff("diff", *pair, "--format", "github", GITHUB_STEP_SUMMARY=str(page))
    assert page.read_text("utf-8").startswith("before\n")
    assert "a.jsonl" in page.read_text("utf-8")


def test_two_empty_folders(tracediff: Command, tmp_path: Path) -> None:
    """Two folders without traces are no success."""
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
    done = tracediff("diff", "left", "right", "--format", "junit")
    assert done.status == 2
    assert 'errors="1"' in done.out
    assert "neither left nor right holds a trace" in done.out
    assert "neither left nor right holds a trace" in done.err


def test_page_is_not_printed_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page for a browser is not poured into a terminal."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for wanted in ("html", "sarif"):
        with pytest.raises(TracediffError, match=f"-o report.{wanted}"):
            plan_reports(wanted, [], as_json=False, inputs=())
