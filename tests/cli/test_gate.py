"""`tracediff gate` as a user runs it: exits, what it prints, and what --update changes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gate_folders import changed_choice, golden_of_ddim, own_trace
from trace_building import chain, event

from tracediff.storage import write_trace
from tracediff.workloads.run import golden_path

Command = Callable[..., Any]

DDIM = ("--fixture", "ddim-2d", "--jobs", "1")


def truncate(folder: Path) -> None:
    """Cut the golden short."""
    path = folder / "ddim-2d.jsonl"
    path.write_bytes(path.read_bytes()[:900])


def diverge_and_truncate(folder: Path) -> None:
    """One golden that diverges, one that cannot be read."""
    changed_choice(folder)
    (folder / "torn.jsonl").write_bytes((folder / "ddim-2d.jsonl").read_bytes()[:900])


EXITS = {
    "green": (lambda folder: None, DDIM, 0, "EQUAL traces/ddim-2d.jsonl 1 golden: 1 equal"),
    "changed-golden": (changed_choice, DDIM, 1, "DIVERGED traces/ddim-2d.jsonl d00 scheduler"),
    "torn-golden": (truncate, DDIM, 2, "INCOMPLETE traces/ddim-2d.jsonl"),
    "trouble-outranks": (diverge_and_truncate, DDIM, 2, "2 goldens: 1 diverged, 1 incomplete"),
    "missing-goldens": (lambda folder: None, ("--jobs", "1"), 2, "no golden of tool-001"),
    "own-trace": (
        lambda folder: own_trace(folder / "own.jsonl"),
        ("--jobs", "1"),
        2,
        "no fixture recorded it",
    ),
    "unused-tolerance": (
        lambda folder: None,
        (*DDIM, "--tolerance", "nix=exact"),
        2,
        "1 golden: 1 equal; 1 problem, so this is no pass",
    ),
    "unused-nan-glob": (
        lambda folder: None,
        (*DDIM, "--allow-nan", "nix"),
        2,
        "NOTHING COMPARED all pairs 'nix' fits no tensor",
    ),
}


@pytest.mark.parametrize("case", EXITS)
def test_exits(case: str, tracediff: Command, tmp_path: Path) -> None:
    """Green is 0, a divergence 1, and what could not be said 2; 2 outranks 1."""
    spoil, options, status, printed = EXITS[case]
    spoil(golden_of_ddim(tmp_path / "traces"))
    done = tracediff("gate", *options)
    assert done.status == status
    assert printed in " ".join(done.out.split())


ERRORS = {
    "no-folder-here": ((), "there is no folder traces here"),
    "no-such-folder": (
        ("absent",),
        "absent does not exist; `tracediff gate absent --fixture NAME --update` makes goldens",
    ),
    "no-such-folder-of-own": (
        ("absent", "--new", "goldens"),
        "`tracediff gate absent --new goldens --update` makes goldens",
    ),
    "no-folder-here-for-own": (("--new", "goldens"), "`tracediff gate --new goldens --update`"),
    "no-folder-here-to-update": (("--update",), "`tracediff gate --fixture NAME --update`"),
    "update-of-nothing": (("empty", "--update"), "--fixture NAME --update` makes goldens"),
    "forgotten-new": (("own",), "`tracediff gate own --new FOLDER`"),
    "unused-nan-glob-of-an-update": (
        ("goldens", *DDIM, "--update", "--allow-nan", "zz"),
        "'zz' of --allow-nan fits no tensor",
    ),
    "empty-folder": (("empty",), "empty holds no golden"),
    "both-empty": (("empty", "--new", "empty2"), "empty holds no golden"),
    "fixture-of-own-traces": (
        ("goldens", "--new", "empty", "--fixture", "ddim-2d"),
        "--fixture has no meaning",
    ),
    "report-of-an-update": (("goldens", "--update", "-o", "a.xml"), "--update prints what it"),
    "report-onto-a-golden": (("goldens", "-o", "goldens/ddim-2d.jsonl"), "the name of a trace"),
    "no-such-fixture": (("goldens", "--fixture", "ddim"), "no fixture 'ddim'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str, tracediff: Command, tmp_path: Path) -> None:
    """A request that makes no sense is one line on stderr and exit status 2."""
    arguments, message = ERRORS[case]
    golden_of_ddim(tmp_path / "goldens")
    own_trace(tmp_path / "own" / "a.jsonl")
    for name in ("empty", "empty2"):
        (tmp_path / name).mkdir()
    done = tracediff("gate", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_divergence_is_told_and_can_be_accepted(tracediff: Command, tmp_path: Path) -> None:
    """The report names the event and the command that accepts; after it the gate is green."""
    changed_choice(golden_of_ddim(tmp_path / "traces"))
    told = tracediff("gate", *DDIM)
    assert "DIVERGED  traces/ddim-2d.jsonl | fresh run of ddim-2d" in told.out
    assert "payload.state.end_timestep" in told.out
    assert "tracediff gate traces --fixture ddim-2d --update" in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    changed = tracediff("gate", "--update", *DDIM)
    assert (changed.status, changed.err) == (0, "")
    assert changed.out.startswith("REWRITTEN  traces/ddim-2d.jsonl\n")
    assert "state.end_timestep (schedule)" in changed.out
    assert (tmp_path / "traces/ddim-2d.jsonl").read_bytes() == golden_path("ddim-2d").read_bytes()
    assert tracediff("gate", *DDIM).status == 0


def test_update_that_is_refused(tracediff: Command, tmp_path: Path) -> None:
    """An update that cannot run a fixture says why, writes nothing and is exit status 2."""
    folder = golden_of_ddim(tmp_path / "traces")
    own_trace(folder / "own.jsonl", fixture="ddim-2d", overrides={"steps": 3})
    done = tracediff("gate", "--update", *DDIM)
    assert (done.status, done.out) == (2, "")
    assert "no golden was written: the fresh run of ddim-2d (steps=3) failed" in done.err


def test_reports_as_data(tracediff: Command, tmp_path: Path) -> None:
    """With --json a gate prints its comparisons and an update its changes."""
    changed_choice(golden_of_ddim(tmp_path / "traces"))
    gated = json.loads(tracediff("gate", "--json", *DDIM).out)
    assert [pair["outcome"] for pair in gated["pairs"]] == ["diverged"]
    updated = json.loads(tracediff("gate", "--update", "--json", *DDIM).out)
    assert [(found["golden"], found["change"]) for found in updated["goldens"]] == [
        ("traces/ddim-2d.jsonl", "rewritten")
    ]
    assert updated["goldens"][0]["comparison"]["outcome"] == "diverged"


def test_quiet(tracediff: Command, tmp_path: Path) -> None:
    """With --quiet goldens that pass have no line, and those that do not keep theirs."""
    folder = golden_of_ddim(tmp_path / "traces")
    assert tracediff("gate", "-q", *DDIM).out == "1 golden: 1 equal\n"
    assert tracediff("gate", "-q", "--update", *DDIM).out == "1 golden: 1 unchanged\n"
    truncate(folder)
    assert "INCOMPLETE" in tracediff("gate", "-q", *DDIM).out


def test_recorded_traces(tracediff: Command, tmp_path: Path) -> None:
    """Traces of the user's own become goldens, hold, and stop the gate when one changes."""
    new = ("--new", "new")
    own_trace(tmp_path / "new" / "a.jsonl")
    made = tracediff("gate", "goldens", *new, "--update")
    assert (made.status, made.out) == (
        0,
        "CREATED  goldens/a.jsonl  2 events\n1 golden: 1 created\n",
    )
    assert tracediff("gate", "goldens", *new).status == 0
    own_trace(tmp_path / "new" / "a.jsonl", 5.0)
    own_trace(tmp_path / "new" / "b.jsonl")
    told = tracediff("gate", "goldens", *new)
    assert told.status == 1
    assert "DIVERGED  goldens/a.jsonl" in told.out
    assert "DIVERGED  new/b.jsonl  there is no golden of this name" in told.out
    assert "tracediff gate goldens --new new --update" in told.out


def test_default_folder_is_made(tracediff: Command, tmp_path: Path) -> None:
    """What is named says what goes into the default folder, which need not exist."""
    own_trace(tmp_path / "new" / "a.jsonl")
    assert tracediff("gate", "--new", "new", "--update").status == 0
    assert tracediff("gate", *DDIM, "--update").status == 0
    found = sorted(path.name for path in (tmp_path / "traces").iterdir())
    assert found == ["a.jsonl", "ddim-2d.jsonl"]


def test_differing_settings_are_shown(tracediff: Command, tmp_path: Path) -> None:
    """A golden that is equal under other settings says which."""
    for folder, rate in (("goldens", 1), ("new", 2)):
        settings = {"rate": rate, "n": 1}
        events = event("a", settings=settings), event("b", state={"n": 1})
        (tmp_path / folder).mkdir()
        write_trace(chain(*events), tmp_path / folder / "a.jsonl")
    done = tracediff("gate", "goldens", "--new", "new")
    assert done.status == 0
    assert done.out.startswith("EQUAL  goldens/a.jsonl  settings differ: rate 1 -> 2\n")


def test_traces_under_other_names_are_told(tracediff: Command, tmp_path: Path) -> None:
    """A file that holds a trace and is called otherwise is not ignored silently."""
    for name in ("goldens/a.jsonl", "new/a.jsonl"):
        own_trace(tmp_path / name)
    for name in ("plain", "x.json", "y.timing.jsonl"):
        own_trace(tmp_path / "a.jsonl").rename(tmp_path / "new" / name)
    (tmp_path / "new" / "notes.txt").write_text("no trace")
    done = tracediff("gate", "goldens", "--new", "new")
    told = [line.split()[2] for line in done.err.splitlines()]
    assert told == ["new/plain", "new/x.json", "new/y.timing.jsonl"]


def test_hostile_golden_stays_inert(tracediff: Command, tmp_path: Path) -> None:
    """Control characters of a golden's header are shown, never sent to the terminal."""
    folder = golden_of_ddim(tmp_path / "traces")
    own_trace(folder / "own.jsonl", fixture="ddim-2d", injection="\x1b[2J[bold]")
    done = tracediff("gate", *DDIM)
    assert "\x1b" not in done.out + done.err
    assert "\\x1b[2J[bold]" in done.out
