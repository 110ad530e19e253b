"""assert_trace: what passes, what fails, and what the failure says."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from plugin_runs import HEAD, edit, run_body

Write = Callable[..., Path]

GOLDEN = Path("test_loop.traces/loop.jsonl")


def test_same_trace_passes(project: pytest.Pytester) -> None:
    """A test that records what its golden holds passes, and the summary has nothing to say."""
    result = project.runpytest_inprocess("-W", "error")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*= tracediff =*")


def test_divergence_shows_the_report(project: pytest.Pytester) -> None:
    """The message is the terminal report and the command that accepts the change."""
    edit(project, "np.sin(x)", "np.cos(x)")
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>       assert_trace(trace_recorder, "loop")',
            "E       AssertionError: DIVERGED  test_loop.traces/loop.jsonl | *loop.jsonl",
            "E       first        e00 loop updated, step 0: outputs differ",
            "E       pytest test_loop.py::test_loop --tracediff-update",
        ]
    )
    result.stdout.no_fnmatch_line("*assertion.py*")


def test_report_fits_a_terminal(project: pytest.Pytester) -> None:
    """No line of the report, but for one with a path, is wider than 80 columns."""
    edit(project, "np.sin(x)", "np.cos(x)")
    lines = [line for line in project.runpytest_inprocess().outlines if line.startswith("E  ")]
    wide = [line for line in lines if len(line) > 80]
    assert len(lines) > 8
    assert all("loop.jsonl" in line for line in wide)


def test_commands_can_be_copied(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command stands on one line, however long the paths, and does what it says."""
    edit(project, "np.sin(x)", "np.sin(x) + (step == 1)")
    base = project.path / ("a-folder-with-a-long-name-" * 4)
    lines = project.runpytest_inprocess(f"--basetemp={base}").outlines
    message = [line for line in lines if line.startswith("E  ")]
    commands = [line[line.index("tracediff ") :] for line in message if "  tracediff " in line]
    assert [command.split()[1] for command in commands] == ["show", "diff"]
    monkeypatch.chdir(project.path)
    for command, said in zip(commands, ["e01", "DIVERGED"], strict=True):
        done = project.run(sys.executable, "-m", *shlex.split(command))
        done.stdout.fnmatch_lines([f"*{said}*"])


def test_fresh_trace_is_kept(project: pytest.Pytester) -> None:
    """The trace that diverged is a file that `tracediff show` and `diff` can read."""
    edit(project, "np.sin(x)", "np.cos(x)")
    head = next(line for line in project.runpytest_inprocess().outlines if "DIVERGED " in line)
    fresh = head.rpartition("| ")[2]
    done = project.run(sys.executable, "-m", "tracediff", "diff", GOLDEN, fresh)
    assert done.ret == 1


def test_missing_golden_names_the_command(pytester: pytest.Pytester) -> None:
    """A missing golden fails with a command that works as it is printed, from a subfolder too."""
    folder = pytester.mkdir("below")
    pytester.makepyfile(
        **{
            "below/test_it": HEAD + "@pytest.mark.parametrize('kind', ['a b'])\n"
            "def test_it(trace_recorder, assert_trace, kind):\n"
            "    assert_trace(record(trace_recorder), 'one')\n"
        }
    )
    pytester.makeini("[pytest]\n")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    command = "pytest 'below/test_it.py::test_it[[]a b[]]' --tracediff-update"
    result.stdout.fnmatch_lines(
        ["*there is no golden below/test_it.traces/one.jsonl;*", "*" + command]
    )
    pytester.chdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = pytester.runpytest_inprocess()
        result.stdout.fnmatch_lines(["*pytest 'test_it.py::test_it[[]a b[]]' --tracediff-update"])
        update = pytester.runpytest_inprocess("test_it.py::test_it[a b]", "--tracediff-update")
    update.assert_outcomes(passed=1)
    assert (folder / "test_it.traces" / "one.jsonl").is_file()
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param(
            ["assert_trace(trace_recorder, 'a')"], "*nothing was recorded*", id="nothing-recorded"
        ),
        pytest.param(
            [
                "trace_recorder = record(trace_recorder)",
                "trace_recorder.abandon()",
                "assert_trace(trace_recorder, 'a')",
            ],
            "*IllegalState: the recording was abandoned*",
            id="abandoned",
        ),
        pytest.param(
            ["record(trace_recorder, math.nan)", "assert_trace(trace_recorder, 'a')"],
            "*tensor x*NaN*allow_nan=*",
            id="nan",
        ),
        pytest.param(["assert_trace(7, 'a')"], "*not a int*", id="no-trace"),
        pytest.param(["assert_trace('none.jsonl', 'a')"], "*UNREADABLE*none.jsonl*", id="no-file"),
        pytest.param(
            ["assert_trace(record(trace_recorder), 'a', tolerance='*=near')"],
            "*is not understood; allowed is*",
            id="bad-tolerance",
        ),
        pytest.param(
            ["assert_trace(record(trace_recorder), 'a', tolerance='y=exact')"],
            "*'y' fits no tensor*",
            id="unused-tolerance",
        ),
        pytest.param(
            ["assert_trace(record(trace_recorder), 'a', allow_nan=['x', 'zzz*'])"],
            "*allow_nan='zzz[*]' fits no tensor and no number*",
            id="unused-nan",
        ),
        pytest.param(
            ["assert_trace(record(trace_recorder), 'a')", "assert_trace(trace_recorder, 'A')"],
            "*this test has used the golden 'A' already*",
            id="used-twice",
        ),
        pytest.param(
            [
                "options = tracediff.DiffOptions(skip=('updated',))",
                "assert_trace(record(trace_recorder), 'a', options=options)",
            ],
            "*NOTHING COMPARED*",
            id="nothing-compared",
        ),
    ],
)
def test_not_same_fails(lines: list[str], message: str, pytester: pytest.Pytester) -> None:
    """Whatever is not known to be the same fails, also right after --tracediff-update."""
    result = run_body(pytester, *lines)
    result.assert_outcomes(failed=1)
    assert any(line.startswith("E ") for line in result.outlines)
    result.stdout.fnmatch_lines([message])


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["assert_trace(record(trace_recorder).trace(), 'a')"], id="trace"),
        pytest.param(
            [
                "with trace_recorder:",
                "    record(trace_recorder)",
                "assert_trace(trace_recorder, 'a')",
            ],
            id="closed-recorder",
        ),
        pytest.param(
            ["assert_trace(tracediff.run_fixture('ddim-2d'), 'a')"],
            id="fixture-run",
        ),
        pytest.param(
            [
                "record(trace_recorder, math.nan)",
                "assert_trace(trace_recorder, 'a', allow_nan=['x', 'x*'])",
            ],
            id="declared-nan",
        ),
        pytest.param(
            [
                "assert_trace(record(trace_recorder), 'a')",
                "assert_trace(trace_recorder.trace(), 'b')",
            ],
            id="two-goldens",
        ),
    ],
)
def test_same_passes(lines: list[str], pytester: pytest.Pytester) -> None:
    """Every kind of trace passes against the golden that it wrote, without a warning."""
    run_body(pytester, *lines).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("argument", "failed"),
    [
        pytest.param("", 1, id="default"),
        pytest.param("tolerance='x=allclose:0.1,0'", 0, id="one-rule"),
        pytest.param("tolerance=['x=allclose:0.1,0', '*=exact']", 0, id="first-rule-wins"),
        pytest.param("options=tracediff.DiffOptions(skip=('tensor:x',))", 0, id="options"),
    ],
)
def test_tolerance(argument: str, failed: int, pytester: pytest.Pytester) -> None:
    """The keywords decide what counts as the same."""
    line = f"assert_trace(record(trace_recorder, VALUE), 'a', {argument})"
    run_body(pytester, line.replace("VALUE", "1.0"))
    result = run_body(pytester, line.replace("VALUE", "1.01"), update=False)
    result.assert_outcomes(failed=failed, passed=1 - failed)


def test_paths(pytester: pytest.Pytester, write_numbers: Write) -> None:
    """The path of a trace is compared; one that ends early fails as incomplete."""
    line = f"assert_trace({str(write_numbers(1.0))!r}, 'a')"
    run_body(pytester, line).assert_outcomes(passed=1)
    cut = run_body(pytester, line.replace("fresh.jsonl", "fresh.jsonl.partial"), update=False)
    cut.assert_outcomes(failed=1)
    write_numbers(1.0, whole=False)
    incomplete = run_body(pytester, line.replace("fresh.jsonl", "fresh.jsonl.partial"))
    incomplete.assert_outcomes(failed=1)
    incomplete.stdout.fnmatch_lines(["*INCOMPLETE*"])


def test_golden_itself_is_refused(pytester: pytest.Pytester) -> None:
    """A golden is not compared with itself."""
    run_body(pytester, "assert_trace(record(trace_recorder), 'a')")
    golden = pytester.path / "test_it.traces" / "a.jsonl"
    result = run_body(pytester, f"assert_trace({str(golden)!r}, 'a')", update=False)
    result.stdout.fnmatch_lines(["E *is the golden itself*"])


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        pytest.param(b"<<<<<<< HEAD\n", "*CORRUPT*", id="merge-conflict"),
        pytest.param(b"", "*INCOMPLETE*", id="empty"),
    ],
)
def test_damaged_golden_fails(content: bytes, outcome: str, project: pytest.Pytester) -> None:
    """A golden that is no trace fails, and --tracediff-update writes it anew."""
    (project.path / GOLDEN).write_bytes(content)
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([outcome])
    project.runpytest_inprocess("--tracediff-update").assert_outcomes(passed=1)
    project.runpytest_inprocess().assert_outcomes(passed=1)


def test_own_error_comes_first(project: pytest.Pytester) -> None:
    """A test that raises shows its own error and nothing of the recorder."""
    edit(project, '    assert_trace(trace_recorder, "loop")', "    raise LookupError('mine')")
    result = project.runpytest_inprocess("-W", "error")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *LookupError: mine"])
    result.stdout.no_fnmatch_line("*compared it with nothing*")


def test_forgotten_assertion_warns(project: pytest.Pytester) -> None:
    """A test that records and compares nothing is told so."""
    edit(project, '    assert_trace(trace_recorder, "loop")', "    pass")
    result = project.runpytest_inprocess("-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*recorded a trace and compared it with nothing*"])


@pytest.mark.parametrize("value", ["1.0", "math.nan"])
def test_hostile_text_is_escaped(value: str, pytester: pytest.Pytester) -> None:
    """What a terminal would act on is shown, in the report and in errors."""
    line = "trace_recorder.event('a\\x1b[2J', 'b\\x07', outputs={'\\x1b]0;x\\x07': [VALUE]})"
    lines = [line, "assert_trace(trace_recorder, 'a')"]
    run_body(pytester, lines[0].replace("VALUE", "2.0"), lines[1])
    result = run_body(pytester, lines[0].replace("VALUE", value), lines[1])
    if value == "1.0":
        result.assert_outcomes(passed=1)
        result = run_body(pytester, lines[0].replace("VALUE", "3.0"), lines[1], update=False)
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "\\x1b]0;x\\x07" in text
    assert not {"\x1b", "\x07"} & set(text)


def test_marker_sets_options(pytester: pytest.Pytester) -> None:
    """The marker's keywords are those of the recorder, and it is registered."""
    pytester.makepyfile(
        test_it=HEAD + "@pytest.mark.trace_recorder(kind='loop', tensors='digest')\n"
        "def test_it(trace_recorder):\n"
        "    header = record(trace_recorder).trace().header\n"
        "    assert (header['kind'], header['tensors']) == ('loop', 'digest')\n"
    )
    pytester.runpytest_inprocess("--strict-markers").assert_outcomes(passed=1)


@pytest.mark.parametrize("argument", ["tensor='full'", "'full'", "kind='song'"])
def test_bad_marker_fails(argument: str, pytester: pytest.Pytester) -> None:
    """An option that the recorder does not have is an error, not silently dropped."""
    pytester.makepyfile(
        test_it=HEAD + f"@pytest.mark.trace_recorder({argument})\n"
        "def test_it(trace_recorder):\n"
        "    trace_recorder.trace()\n"
    )
    pytester.runpytest_inprocess().assert_outcomes(errors=1)
