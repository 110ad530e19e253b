"""The composite action, its workflow and the pre-commit hook: what they run is what exists."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import tracediff

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".github" / "actions" / "gate"
TEXT = (FOLDER / "action.yml").read_text("utf-8")
ACTION = yaml.safe_load(TEXT)
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
DEFAULTS = {name: entry["default"] for name, entry in ACTION["inputs"].items()}
BASH = shutil.which("bash") or ""

HOSTILE = "$(touch pwned) `touch pwned`; touch pwned #\"'"
"""Runs something wherever it becomes text of a script."""

RECORD_ARGUMENTS = """#!{python}
import json, os, sys
with open("called.json", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
for option, name in zip(sys.argv, sys.argv[1:]):
    if option == "-o":
        open(name, "w").write("a report")
sys.exit(int(os.environ.get("STATUS", "0")))
"""
REAL = '#!/bin/sh\nexec "{python}" -m tracediff "$@"\n'

pytestmark = pytest.mark.skipif(not BASH, reason="bash is not installed")


def run_step(
    name: str, folder: Path, commands: dict[str, str], status: int = 0, **inputs: str
) -> "subprocess.CompletedProcess[str]":
    """Run one step's script as GitHub does, in `folder`, with commands of these texts first."""
    programs = folder / "bin"
    programs.mkdir()
    for command, text in commands.items():
        (programs / command).write_text(text.format(python=sys.executable), "utf-8")
        (programs / command).chmod(0o755)
    values = {f"inputs.{key}": value for key, value in {**DEFAULTS, **inputs}.items()}
    values |= {"runner.temp": str(folder / "temp"), "github.action_path": str(FOLDER)}
    environment = {
        key: re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: values[found[1]], text)
        for key, text in STEPS[name]["env"].items()
    }
    environment |= {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "STATUS": str(status),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    return subprocess.run(
        [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def calls(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "called.json").read_text().splitlines()]


def record(path: Path, value: float) -> None:
    path.parent.mkdir(exist_ok=True)
    with tracediff.Recorder(path) as recorder:
        recorder.event("loop", "updated", outputs={"x": [value]})


@pytest.mark.parametrize("name", ACTION["inputs"])
def test_every_input_is_used_and_described(name: str) -> None:
    """No input is declared in vain, and none is without a description and a default."""
    assert f"inputs.{name} }}}}" in TEXT
    assert set(ACTION["inputs"][name]) == {"description", "default"}


def test_every_used_input_is_declared() -> None:
    """No step reads an input that nobody can set."""
    assert set(re.findall(r"inputs\.([\w-]+)", TEXT)) == set(ACTION["inputs"])


@pytest.mark.parametrize("name", STEPS)
def test_nothing_is_pasted_into_a_script(name: str) -> None:
    """Expressions stand in environment variables and arguments, never in a script."""
    assert "${{" not in STEPS[name].get("run", "")
    assert ("run" in STEPS[name]) == (STEPS[name].get("shell") == "bash")


@pytest.mark.parametrize(
    ("inputs", "before"),
    [
        pytest.param({}, [], id="defaults"),
        pytest.param({"new": "runs"}, ["--new", "runs"], id="new-traces"),
        pytest.param(
            {"args": "--tolerance *=exact\n--jobs 2\n"},
            ["--tolerance", "*=exact", "--jobs", "2"],
            id="arguments-by-blank-and-line",
        ),
        pytest.param({"goldens": HOSTILE}, [], id="hostile-goldens"),
        pytest.param({"goldens": "-x"}, [], id="goldens-like-an-option"),
        pytest.param({"new": HOSTILE}, ["--new", HOSTILE], id="hostile-new"),
        pytest.param({"args": HOSTILE}, HOSTILE.split(), id="hostile-arguments"),
    ],
)
def test_gate_is_called(inputs: dict[str, str], before: list[str], tmp_path: Path) -> None:
    """Every input arrives as the argument that it is, whatever it contains."""
    done = run_step("Gate", tmp_path, {"tracediff": RECORD_ARGUMENTS}, **inputs)
    assert done.returncode == 0, done.stderr
    reports = tmp_path / "temp" / "tracediff-report"
    outputs = ["-o", f"{reports}/report.html", "-o", f"{reports}/report.xml"]
    goldens = ["--", inputs.get("goldens", "traces")]
    assert calls(tmp_path) == [["gate", *before, "--format", "github", *outputs, *goldens]]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("status", [0, 1, 2])
def test_status_is_passed_on(status: int, tmp_path: Path) -> None:
    """The step ends as the gate did, and says so to the steps after it."""
    done = run_step("Gate", tmp_path, {"tracediff": RECORD_ARGUMENTS}, status)
    assert done.returncode == status
    assert (tmp_path / "output").read_text() == f"status={status}\n"


@pytest.mark.parametrize(
    ("value", "status"), [pytest.param(1.0, 0, id="same"), pytest.param(2.0, 1, id="diverged")]
)
def test_real_gate(value: float, status: int, tmp_path: Path) -> None:
    """With the real command the step annotates a divergence, and the reports are always there."""
    record(tmp_path / "goldens" / "loop.jsonl", 1.0)
    record(tmp_path / "runs" / "loop.jsonl", value)
    done = run_step("Gate", tmp_path, {"tracediff": REAL}, goldens="goldens", new="runs")
    assert done.returncode == status, done.stderr
    assert ("::error " in done.stdout) == bool(status)
    reports = tmp_path / STEPS["Upload the reports"]["with"]["path"].replace(
        "${{ runner.temp }}", "temp"
    )
    assert sorted(path.name for path in reports.iterdir()) == ["report.html", "report.xml"]
    assert (tmp_path / "summary").stat().st_size > 0


@pytest.mark.parametrize("arguments", ["--help", "-h", "--jobs 1 --help"])
def test_a_gate_that_did_not_run_fails(arguments: str, tmp_path: Path) -> None:
    """Where the command ends well and compares nothing, the step fails."""
    record(tmp_path / "goldens" / "loop.jsonl", 1.0)
    record(tmp_path / "runs" / "loop.jsonl", 2.0)
    reports = tmp_path / "temp" / "tracediff-report"
    reports.mkdir(parents=True)
    (reports / "report.xml").write_text("of another run")
    done = run_step(
        "Gate", tmp_path, {"tracediff": REAL}, goldens="goldens", new="runs", args=arguments
    )
    assert done.returncode == 2
    assert "::error title=tracediff::nothing was compared" in done.stdout
    assert (tmp_path / "output").read_text() == "status=2\n"
    assert list(reports.iterdir()) == []


@pytest.mark.parametrize(
    ("inputs", "installed"),
    [
        pytest.param({}, f"{FOLDER}/../../..", id="own-sources"),
        pytest.param({"package": "tracediff==0.1.0"}, "tracediff==0.1.0", id="requirement"),
        pytest.param({"package": HOSTILE}, HOSTILE, id="hostile"),
    ],
)
def test_package_is_installed(inputs: dict[str, str], installed: str, tmp_path: Path) -> None:
    """pip gets the package as one argument; by default that is the root of these sources."""
    done = run_step("Install tracediff", tmp_path, {"python": RECORD_ARGUMENTS}, **inputs)
    assert done.returncode == 0, done.stderr
    assert calls(tmp_path) == [["-m", "pip", "install", "--quiet", "--", installed]]
    assert not (tmp_path / "pwned").exists()


def test_own_sources_are_a_project() -> None:
    """What is installed by default holds the project's definition."""
    assert (FOLDER / ".." / ".." / ".." / "pyproject.toml").resolve() == ROOT / "pyproject.toml"


@pytest.mark.parametrize(
    ("command", "status"), [("echo one > a; echo two > b", 0), ("false; touch b", 1)]
)
def test_install_command(command: str, status: int, tmp_path: Path) -> None:
    """A command of the user's own takes the place of pip, and stops at its first failure."""
    programs = {"python": RECORD_ARGUMENTS}
    done = run_step("Install tracediff", tmp_path, programs, **{"install-command": command})
    assert done.returncode == status
    assert not (tmp_path / "called.json").exists()
    assert (tmp_path / "b").exists() == (status == 0)


def test_reports_are_uploaded_after_a_failure() -> None:
    """The upload waits for no success, only for a gate that ran."""
    upload = STEPS["Upload the reports"]
    assert "!cancelled()" in upload["if"]
    assert "steps.gate.outputs.status" in upload["if"]
    assert upload["uses"].startswith("actions/upload-artifact@v")


def test_workflow_uses_the_action() -> None:
    """The repository's own workflow checks out, sets Python up and calls the action."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "gate.yml").read_text("utf-8"))
    uses = [step["uses"] for step in workflow["jobs"]["gate"]["steps"]]
    assert [use.partition("@")[0] for use in uses] == [
        "actions/checkout",
        "actions/setup-python",
        "./.github/actions/gate",
    ]
    assert workflow["permissions"] == {"contents": "read"}


@pytest.mark.parametrize(("value", "status"), [(1.0, 0), (2.0, 1)])
def test_pre_commit_hook(value: float, status: int, tmp_path: Path) -> None:
    """The hook's command takes the arguments that a user adds, and needs no file names."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    record(tmp_path / "traces" / "loop.jsonl", 1.0)
    record(tmp_path / "runs" / "loop.jsonl", value)
    words = [*shlex.split(hook["entry"]), "--new", "runs"]
    done = subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=False)
    assert done.returncode == status
