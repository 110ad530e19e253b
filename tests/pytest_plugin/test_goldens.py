"""Writing goldens, goldens with two owners or none, xdist, and what loading the plugin costs."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from plugin_runs import edit

GOLDEN = Path("test_loop.traces/loop.jsonl")

NAMES = """
import pytest

def record(recorder, value=1.0):
    recorder.event("loop", "updated", outputs={"x": [value]})
    return recorder

@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_name(name, trace_recorder, assert_trace):
    assert_trace(record(trace_recorder), name)

def test_other():
    pass
"""
"""Five tests, four of them with goldens."""

OBSOLETE = "obsolete  test_names.traces/old.jsonl: *"


@pytest.fixture
def named(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a folder with four goldens in use and one that no test uses."""
    pytester.makepyfile(test_names=NAMES)
    pytester.runpytest_inprocess("--tracediff-update").assert_outcomes(passed=5)
    golden = pytester.path / "test_names.traces" / "a.jsonl"
    golden.with_name("old.jsonl").write_bytes(golden.read_bytes())
    golden.with_name("a.timing.jsonl").write_text("a sidecar is no golden")
    return pytester


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param("", "", None, id="same-bytes"),
        pytest.param(
            "np.sin(x)", "np.cos(x)", "updated   *: outputs at e00 loop updated", id="new"
        ),
        pytest.param('"loop", "upd', '"loop", note=1, event_type="upd', "updated   *", id="note"),
        pytest.param(
            "np.sin(x)",
            "np.sin(x) * np.float32(1 + 3e-7)",
            "kept      *: equal within tolerance",
            id="within-tolerance",
        ),
    ],
)
def test_update(old: str, new: str, said: str | None, project: pytest.Pytester) -> None:
    """Only a golden that changed is written, the summary says which, and it passes from then on."""
    golden = project.path / GOLDEN
    before = golden.stat().st_mtime_ns, golden.stat().st_ino
    if old:
        edit(project, old, new)
    result = project.runpytest_inprocess("--tracediff-update")
    result.assert_outcomes(passed=1)
    if said is None:
        result.stdout.no_fnmatch_line("*= tracediff =*")
    else:
        result.stdout.fnmatch_lines(["*= tracediff =*", said])
    written = (golden.stat().st_mtime_ns, golden.stat().st_ino) != before
    assert written == (said is not None and said.startswith("updated"))
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert sorted(path.name for path in golden.parent.iterdir()) == ["loop.jsonl"]


def test_created_golden_is_reported(pytester: pytest.Pytester) -> None:
    """The summary lists what was created, and a plain run writes nothing."""
    pytester.makepyfile(test_names=NAMES)
    pytester.runpytest_inprocess().assert_outcomes(failed=4, passed=1)
    assert not (pytester.path / "test_names.traces").exists()
    result = pytester.runpytest_inprocess("--tracediff-update")
    result.stdout.fnmatch_lines([f"created   test_names.traces/{name}.jsonl" for name in "abcd"])


def test_nan_is_not_written(project: pytest.Pytester) -> None:
    """--tracediff-update leaves the golden alone where the fresh trace holds an undeclared NaN."""
    golden = project.path / GOLDEN
    before = golden.read_bytes()
    edit(project, "np.sin(x)", "np.sin(x) * np.float32('nan')")
    project.runpytest_inprocess("--tracediff-update").assert_outcomes(failed=1)
    assert golden.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        pytest.param([], True, id="all"),
        pytest.param(["test_names.py"], True, id="whole-file"),
        pytest.param(["-p", "no:cacheprovider"], True, id="without-cache"),
        pytest.param(["-k", "not d"], False, id="deselected-by-keyword"),
        pytest.param(["--deselect", "test_names.py::test_other"], False, id="deselected-by-id"),
        pytest.param(["test_names.py::test_name"], False, id="tests-by-id"),
        pytest.param(["--lf"], False, id="last-failed"),
        pytest.param(["-n", "2"], True, id="xdist"),
        pytest.param(["-n", "2", "-k", "not d"], False, id="xdist-deselected"),
        pytest.param(["-n", "2", "test_names.py::test_name"], False, id="xdist-tests-by-id"),
    ],
)
def test_obsolete_golden(arguments: list[str], listed: bool, named: pytest.Pytester) -> None:
    """A golden that nothing uses is listed, never deleted, once all tests of its file ran."""
    run = named.runpytest_subprocess if "-n" in arguments else named.runpytest_inprocess
    result = run(*arguments)
    assert result.ret == 0
    if listed:
        result.stdout.fnmatch_lines([OBSOLETE])
    else:
        result.stdout.no_fnmatch_line(OBSOLETE)
    assert sum(line.startswith("obsolete ") for line in result.outlines) == listed
    assert (named.path / "test_names.traces" / "old.jsonl").exists()


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        pytest.param("assert False", [], id="failed"),
        pytest.param("pytest.skip()", [], id="skipped"),
        pytest.param("pytest.xfail()", [], id="expected-failure"),
        pytest.param("assert False", ["-x"], id="stopped"),
    ],
)
def test_nothing_is_obsolete_unless_all_passed(
    body: str, arguments: list[str], named: pytest.Pytester
) -> None:
    """A test that did not get to its end may use the golden after all."""
    edit(named, "    pass", f"    {body}", "test_names.py")
    named.runpytest_inprocess(*arguments).stdout.no_fnmatch_line("obsolete*")


TWO = """
import pytest

@pytest.mark.parametrize("number", [1.0, 2.0])
def test_two(number, trace_recorder, assert_trace):
    trace_recorder.event("loop", "updated", outputs={"x": [number]})
    assert_trace(trace_recorder, "both")
"""


def test_two_owners_fail(pytester: pytest.Pytester) -> None:
    """The second test that uses a golden fails."""
    pytester.makepyfile(test_two=TWO)
    result = pytester.runpytest_inprocess("--tracediff-update")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E *test_two.traces/both.jsonl belongs to test_two.py::test_two*"])


@pytest.mark.parametrize("marks", ["", "@pytest.mark.xfail(strict=False)\n"], ids=["", "xfail"])
def test_two_owners_on_two_workers_fail(marks: str, pytester: pytest.Pytester) -> None:
    """Of two workers that use one golden the later test fails, in every report."""
    text = TWO.replace("2.0", "1.00000001").replace("@pytest", f"{marks}@pytest")
    pytester.makepyfile(test_two=text)
    first = "test_two.py::test_two[1.0]"
    pytester.runpytest_inprocess(first, "--tracediff-update")
    result = pytester.runpytest_subprocess("-n", "2", "--junitxml=report.xml")
    outcomes = result.parseoutcomes()
    assert outcomes.pop("xpassed" if marks else "passed") == 1
    assert outcomes == {"failed": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    said = "*both.jsonl belongs to test_two.py::test_two* already; test_two.py::test_two*"
    result.stdout.fnmatch_lines([f'{said} needs another name: * such as f"both-{{parameter}}"'])
    suite = ElementTree.parse(pytester.path / "report.xml").find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('"loop")', '"new", tolerance="zzz=exact")', id="tolerance"),
        pytest.param('"loop")', '"new", allow_nan="zzz*")', id="allowed-nan"),
        pytest.param(
            '"loop")', '"new", options=tracediff.DiffOptions(skip=("updated",)))', id="nothing"
        ),
    ],
)
def test_golden_that_could_never_pass_is_not_written(
    old: str, new: str, project: pytest.Pytester
) -> None:
    """--tracediff-update neither makes nor changes a golden of a test that fails all the same."""
    edit(project, "import numpy as np", "import numpy as np\nimport tracediff")
    edit(project, old, new)
    for name, content in (("new", None), ("loop", (project.path / GOLDEN).read_bytes())):
        edit(project, '"new"', f'"{name}"')
        edit(project, "np.sin(x)", "np.cos(np.sin(x))")
        project.runpytest_inprocess("--tracediff-update").assert_outcomes(failed=1)
        golden = project.path / GOLDEN.with_name(f"{name}.jsonl")
        assert (golden.read_bytes() if golden.exists() else None) == content


def test_update_under_xdist(pytester: pytest.Pytester) -> None:
    """Workers write goldens of their own tests, and one summary lists them all."""
    pytester.makepyfile(test_names=NAMES)
    result = pytester.runpytest_subprocess("-n", "2", "-W", "error", "--tracediff-update")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines([f"created   test_names.traces/{name}.jsonl" for name in "abcd"])
    again = pytester.runpytest_subprocess("-n", "2", "-W", "error")
    again.assert_outcomes(passed=5)
    again.stdout.no_fnmatch_line("*= tracediff =*")


def test_loading_is_cheap(pytester: pytest.Pytester) -> None:
    """A run that does not use the plugin loads none of the packages that it needs."""
    pytester.makepyfile(
        "import sys\n"
        "def test_modules():\n"
        "    assert 'tracediff.pytest_plugin' in sys.modules\n"
        "    heavy = {'numpy', 'rich', 'orjson', 'typer', 'jsonschema', 'tracediff.diff'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    arguments = ["-m", "pytest", "-q", "-W", "error"]
    pytester.run(sys.executable, *arguments).assert_outcomes(passed=1)
