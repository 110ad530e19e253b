"""The commands as a user runs them: what they print, write, and exit with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

Command = Callable[..., Any]

TEXT = "短波蓝光的散射通常更强。"


def test_run_prints_and_writes(tracediff: Command, tmp_path: Path) -> None:
    """A run writes its trace under a default name and says what came out."""
    done = tracediff("run", "text-001")
    assert (done.status, done.err) == (0, "")
    assert TEXT in done.out
    assert "25 in runs/text-001.jsonl" in done.out
    assert "contract" in done.out
    assert "holds" in done.out
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "text-001.jsonl",
        "text-001.timing.jsonl",
    ]


def test_different_runs_get_different_names(tracediff: Command, tmp_path: Path) -> None:
    """No combination of options overwrites the file of another."""
    for options in (
        [],
        ["--kernel", "blas"],
        ["--tensors", "digest"],
        ["--set", "max_output_tokens=3"],
        ["--set", "max_output_tokens=4"],
    ):
        assert tracediff("run", "text-001", *options).status == 0
    written = [p for p in (tmp_path / "runs").iterdir() if "timing" not in p.name]
    assert len(written) == 5


def test_goldens_are_not_overwritten(tracediff: Command, tmp_path: Path) -> None:
    """A run does not take the place of a golden; a new file beside it is no golden yet."""
    (tmp_path / "traces").mkdir()
    assert tracediff("run", "ddim-2d", "-o", "traces/ddim-2d.jsonl").status == 0
    before = (tmp_path / "traces" / "ddim-2d.jsonl").read_bytes()
    done = tracediff("run", "ddim-2d", "--set", "latent=[1, 2]", "-o", "traces/ddim-2d.jsonl")
    assert done.status == 2
    assert "`tracediff gate --update` alone rewrites" in done.err
    assert (tmp_path / "traces" / "ddim-2d.jsonl").read_bytes() == before


def test_no_picture_is_said(tracediff: Command) -> None:
    """A fixture that makes no picture says that none was written."""
    assert "makes no picture" in tracediff("run", "ddim-2d", "--save-image").err


def test_run_as_json(tracediff: Command) -> None:
    """The summary is one JSON document."""
    done = tracediff("run", "text-001", "--json")
    found = json.loads(done.out)
    assert found["result"] == TEXT
    assert found["selected_ids"] == [14, 15, 16, 17, 18]
    assert found["contract"]["violations"] == []


def test_stream_prints_pieces(tracediff: Command) -> None:
    """With --stream the text comes first, as it is generated."""
    assert tracediff("run", "text-001", "--stream").out.startswith(TEXT + "\n")


def test_full_tensors_are_written_once(tracediff: Command, tmp_path: Path) -> None:
    """--tensors full keeps every tensor as a file named after its content."""
    assert tracediff("run", "text-001", "--tensors", "full", "-o", "full.jsonl").status == 0
    files = list((tmp_path / "full.tensors").iterdir())
    assert len(files) > 50
    assert all(len(path.stem) == 32 and path.suffix == ".npy" for path in files)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_diff_of_equal_runs(ending: str, tracediff: Command) -> None:
    """Two runs of the same work are equal, whatever the compression."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    tracediff("run", "text-001", "-o", f"b{ending}")
    done = tracediff("diff", "a.jsonl", f"b{ending}")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("EQUAL  a.jsonl")


def test_diff_names_the_first_event(tracediff: Command) -> None:
    """A changed limit is reported with event, cause, trigger and what to do next."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    tracediff("run", "text-001", "--set", "max_output_tokens=3", "-o", "b.jsonl")
    done = tracediff("diff", "a.jsonl", "b.jsonl")
    assert done.status == 1
    for part in ("DIVERGED", "e15", "stop-rule", "max_output_tokens: 8 -> 3", "show a.jsonl"):
        assert part in done.out
    assert all(cell_len(line) <= 80 for line in done.out.splitlines())


def test_diff_within_tolerance_says_so(tracediff: Command) -> None:
    """Another kernel is equal within tolerance, by the rule that is named."""
    tracediff("run", "text-001")
    tracediff("run", "text-001", "--kernel", "blas")
    done = tracediff("diff", "runs/text-001.jsonl", "runs/text-001.blas.jsonl")
    assert done.status == 0
    assert "EQUAL WITHIN TOLERANCE" in done.out
    assert "allclose(rtol=1.3e-06, atol=1e-05)" in done.out
    exact = tracediff(
        *("diff", "runs/text-001.jsonl", "runs/text-001.blas.jsonl", "--tolerance", "*=exact")
    )
    assert exact.status == 1
    assert "command line: *" in exact.out


def test_diff_as_json(tracediff: Command) -> None:
    """The report carries the exact outcome word, the first divergence and the cause."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    tracediff("run", "text-001", "--set", "max_output_tokens=3", "-o", "b.jsonl")
    done = tracediff("diff", "a.jsonl", "b.jsonl", "--json")
    found = json.loads(done.out)
    assert done.status == 1
    assert found["format"] == "tracediff-report/1"
    assert found["outcome"] == "diverged"
    assert found["first"]["left"]["event_id"] == "e15"
    assert found["first"]["right"] is None
    assert "right" not in found["first"]["difference"]
    assert found["cause"]["kind"] == "stop-rule"


def test_standard_input(tracediff: Command, tmp_path: Path) -> None:
    """- is standard input, on one side only."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    content = (tmp_path / "a.jsonl").read_bytes()
    assert tracediff("diff", "a.jsonl", "-", stdin=content).status == 0
    assert tracediff("check", "-", stdin=content).status == 0
    assert tracediff("diff", "-", "-", stdin=content).status == 2


def test_same_file_twice_warns(tracediff: Command) -> None:
    """Comparing a file with itself is equal, with a warning."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    done = tracediff("diff", "a.jsonl", "./a.jsonl")
    assert done.status == 0
    assert "one and the same file" in done.err


def test_strict_settings_are_named(tracediff: Command) -> None:
    """Where settings alone make traces diverge, the report says that they were counted."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    tracediff("run", "text-001", "--set", "seed=5", "-o", "b.jsonl")
    assert tracediff("diff", "a.jsonl", "b.jsonl").status == 0
    done = tracediff("diff", "a.jsonl", "b.jsonl", "--strict-settings")
    assert done.status == 1
    assert "settings differ, and --strict-settings counts them" in done.out


def test_long_names_are_printed_whole(tracediff: Command) -> None:
    """A path that does not exist is printed as it was given."""
    name = "/".join(["folder"] * 100)
    assert name in tracediff("check", name).err


def test_show(tracediff: Command) -> None:
    """show prints the tree, one event, the seven questions, or JSON."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    tree = tracediff("show", "a.jsonl")
    assert len(tree.out.splitlines()) == 25
    assert all(cell_len(line) <= 80 for line in tree.out.splitlines())
    assert "token_id: 14" in tracediff("show", "a.jsonl", "--event", "e05").out
    assert len(json.loads(tracediff("show", "a.jsonl", "--json").out)) == 25
    table = tracediff("show", "a.jsonl", "--contract").out
    answers = json.loads(tracediff("show", "a.jsonl", "--contract", "--json").out)
    assert len(answers) == 7
    assert answers["irreversible point"].startswith("e06 stream.delta")
    for question in ("initial objects", "irreversible point", "random entry", "replay core"):
        assert question in table


def test_list(tracediff: Command) -> None:
    """list names fixtures, settings with defaults, and injections."""
    shown = tracediff("list").out
    assert "--set max_output_tokens=8" in shown
    assert "  no injections\n" in shown
    assert "  injections: extra-field, confirmation-mismatch," in shown
    assert all(cell_len(line) <= 80 and not line.endswith(" ") for line in shown.splitlines())
    found = json.loads(tracediff("list", "--json").out)
    assert found[0]["fixture"] == "text-001"
    assert found[0]["settings"]["kv_cache"]["default"] is True


def test_version_and_help(tracediff: Command) -> None:
    """--version and --help answer, also for every command."""
    assert tracediff("--version").out == "tracediff 0.1.0\n"
    overview = tracediff("--help")
    for command in ("run", "diff", "check", "show", "list"):
        assert command in overview.out
        page = tracediff(command, "--help")
        assert page.status == 0
        assert all(cell_len(line) <= 80 for line in page.out.splitlines())


WRONG = {
    "unknown-command": (["frobnicate"], "there is no command 'frobnicate'; known are run, diff"),
    "misspelt-command": (["dif"], "there is no command 'dif'; did you mean diff?"),
    "unknown-fixture": (["run", "text-01"], "did you mean text-001"),
    "unknown-override": (["run", "text-001", "--set", "max=3"], "did you mean max_output_tokens?"),
    "override-out-of-range": (
        ["run", "text-001", "--set", "max_output_tokens=0"],
        "an integer from 1 to 1000",
    ),
    "override-without-value": (["run", "text-001", "--set", "seed"], "KEY=VALUE"),
    "override-twice": (["run", "text-001", "--set", "seed=1", "--set", "seed=2"], "given twice"),
    "unknown-injection": (["run", "tool-001", "--inject", "extra"], "did you mean extra-field?"),
    "no-injections": (["run", "text-001", "--inject", "x"], "text-001 has no injections"),
    "infinite-override": (
        ["run", "text-001", "--set", "temperature=1e400"],
        "temperature=Infinity is not allowed",
    ),
    "override-beyond-64-bits": (
        ["run", "text-001", "--set", f"seed={2**64}"],
        f"seed={2**64} is not allowed",
    ),
    "surrogate-override": (["run", "text-001", "--set", 'prompt="\\ud800"'], "at byte 0"),
    "output-is-standard-output": (["run", "text-001", "-o", "-"], "the name of a file"),
    "unknown-kernel": (["run", "text-001", "--kernel", "cuda"], "ordered, blas, float64"),
    "unknown-level": (["run", "text-001", "--tensors", "all"], "digest, sketch, values"),
    "uncovered-prompt": (["run", "text-001", "--set", "prompt=天空x"], "'x' at byte 6"),
    "no-folder": (["run", "text-001", "-o", "no/such.jsonl"], "does not exist"),
    "output-is-a-folder": (["run", "text-001", "-o", "."], "a folder"),
    "diff-missing": (["diff", "a.jsonl", "b.jsonl"], "no such file"),
    "diff-folder": (["diff", ".", "b.jsonl"], "folder"),
    "bad-tolerance": (["diff", "a", "b", "--tolerance", "x"], "GLOB=allclose:RTOL,ATOL"),
    "bad-nan": (["diff", "a", "b", "--nan", "x"], "equal or differ"),
    "show-missing": (["show", "a.jsonl"], "no such file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_requests(case: str, tracediff: Command, tmp_path: Path) -> None:
    """A wrong request gives one clear message, exit status 2, and leaves nothing behind."""
    arguments, message = WRONG[case]
    done = tracediff(*arguments)
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_unknown_event(tracediff: Command) -> None:
    """An unknown event id gets near matches."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    done = tracediff("show", "a.jsonl", "--event", "e99")
    assert done.status == 2
    assert "did you mean e19 or e09?" in done.err


def test_torn_traces_are_never_equal(tracediff: Command, tmp_path: Path) -> None:
    """Two identical torn files are incomplete, and two identical files of garbage corrupt."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    torn = (tmp_path / "a.jsonl").read_bytes()[:40_000]
    for name, content, word in (("t", torn, "INCOMPLETE"), ("g", b"garbage\n", "CORRUPT")):
        for side in "12":
            (tmp_path / f"{name}{side}.jsonl").write_bytes(content)
        done = tracediff("diff", f"{name}1.jsonl", f"{name}2.jsonl")
        assert done.status == 2
        assert done.out.startswith(word)


def test_hostile_text_stays_inert(tracediff: Command, tmp_path: Path) -> None:
    """Control characters and markup in a trace are shown, not acted on."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    text = (tmp_path / "a.jsonl").read_text("utf-8")
    hostile = text.replace("短波蓝光", "\\u001b[31m[bold]\\u202e\\u009b")
    (tmp_path / "b.jsonl").write_text(hostile, "utf-8")
    for arguments in (["show", "b.jsonl"], ["diff", "a.jsonl", "b.jsonl"], ["check", "b.jsonl"]):
        done = tracediff(*arguments, FORCE_COLOR="1")
        assert "[31m[bold]" in done.out or "check" in arguments
        for character in ("\x1b[31m[bold]", "\u202e", "\u009b"):
            assert character not in done.out


def test_debug_shows_where(tracediff: Command) -> None:
    """TRACEDIFF_DEBUG=1 brings the stack trace back."""
    assert "Traceback" in tracediff("show", "no.jsonl", TRACEDIFF_DEBUG="1").err
