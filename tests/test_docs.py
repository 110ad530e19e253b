"""The pages in docs/ tell the truth: their examples run, and print what the pages show.

Those of transformers, diffusers and ONNX Runtime are run beside the tests of their recorders, with
models of their own.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
CHANGE = "model[2].weight[5, 17] += 1e-3"


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page that are marked as of a language."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text("utf-8"), re.S)


def run(folder: Path, *arguments: str) -> str:
    """Return what a program prints, on a terminal of 80 columns."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"COLUMNS": "80", "PATH": "", "PYTHONUTF8": "1"},
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout.decode()


def check_commands(block: str, folder: Path, program: str = "tracediff") -> None:
    """Run the commands of a block; each prints what follows it there, up to a line of `…`."""
    commands = block.split("$ ")[1:]
    assert commands
    for command in commands:
        words, _, shown = command.partition("\n")
        assert words.startswith(f"{program} ")
        printed = run(folder, "-m", *words.split())
        shown, mark, _ = shown.rstrip("\n").partition("\n…")
        if shown:
            lines = [normal(line) for line in printed.splitlines()]
            wanted = [normal(line) for line in shown.splitlines()]
            assert all(line in lines for line in wanted), printed
            assert mark or printed.rstrip("\n").count("\n") == shown.count("\n")


def normal(line: str) -> str:
    """Return a line without what depends on the machine: digests of drawn numbers, times."""
    return re.sub(r"b3:\w+|\d+\.\d+s", "…", line).rstrip()


@pytest.mark.torch
def test_torch(tmp_path: Path) -> None:
    """A changed weight is named as the page shows."""
    pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")
    (example,) = blocks("torch.md", "py")
    assert f"`{CHANGE}`" in (DOCS / "torch.md").read_text("utf-8")
    head, mark, rest = example.partition("with torch.no_grad()")
    changed = f"{head}with torch.no_grad():\n    {CHANGE}\n{mark}{rest}".replace("before", "after")
    for code in (example, changed):
        run(tmp_path, "-c", code)
    (shown,) = [block for block in blocks("torch.md", "text") if block.startswith("$")]
    check_commands(shown, tmp_path)


def test_python(tmp_path: Path) -> None:
    """A decorator, a block and a logger leave one event each."""
    run(tmp_path, "-W", "error", "-c", blocks("python.md", "py")[0])
    printed = run(tmp_path, "-m", "tracediff", "check", "before.jsonl")
    assert printed.startswith("before.jsonl: 3 events,")


@pytest.mark.jax
def test_python_with_jax(tmp_path: Path) -> None:
    """What is computed inside of compiled code is handed out."""
    pytest.importorskip("jax", reason="needs jax")
    code = (
        "import jax\nfrom tracediff import Recorder\n"
        "with Recorder('before.jsonl') as recorder:\n"
        + "".join(f"    {line}\n" for line in blocks("python.md", "py")[1].splitlines())
        + "    step(jax.numpy.ones(3))\n    jax.effects_barrier()\n"
    )
    run(tmp_path, "-c", code)
    assert "attention scores" in run(tmp_path, "-m", "tracediff", "show", "before.jsonl")


def test_agent_loop(tmp_path: Path) -> None:
    """The loop ends as the page shows, and earlier with fewer turns."""
    (tmp_path / "runs").mkdir()
    (shown,) = [block for block in blocks("agent-loop.md", "(?:text)?") if block.startswith("$")]
    check_commands(shown, tmp_path)


def test_pytest_plugin(tmp_path: Path) -> None:
    """The example makes its golden, and fails as shown after a change."""
    (example,) = blocks("pytest.md", "py")
    path = tmp_path / "tests" / "test_loop.py"
    path.parent.mkdir()
    path.write_text(example, "utf-8")
    run(tmp_path, "-m", "pytest", "tests/test_loop.py::test_loop", "--tracediff-update")
    created, failed = blocks("pytest.md", "text")
    assert created.splitlines()[-1].endswith("tests/test_loop.traces/loop.jsonl")
    assert (tmp_path / "tests" / "test_loop.traces" / "loop.jsonl").is_file()
    path.write_text(example.replace("np.sin(x)", "np.sin(x) + (step == 3)"), "utf-8")
    printed = [line.rstrip() for line in run(tmp_path, "-m", "pytest", "tests").splitlines()]
    kept = [line for line in failed.splitlines() if "…" not in line]
    assert [line for line in kept if line not in printed] == []
