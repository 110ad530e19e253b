"""The README tells the truth: its commands run, its outputs are what they print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", README, re.S)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.S)
SCRIPTS = re.findall(r'```python title="(.*?)"\n(.*?)```', README, re.S)
VARYING = re.compile(r"\d+(\.\d+)? ms|\d\.\d+e-\d\d|\d+ by (digest|sketch|values)|at e\d\d")


def commands() -> list[tuple[str, str]]:
    """Return every command of the worked example with the output that the README shows."""
    found = []
    for block in CONSOLE:
        for part in block.split("$ ")[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def normal(text: str) -> str:
    """Return text without what a machine or a run decides: times, noise, blanks at line ends."""
    return re.sub(r"\s+", " ", VARYING.sub("…", text)).strip()


def test_worked_example(tmp_path: Path) -> None:
    """The commands print what the README shows."""
    for name, code in SCRIPTS:
        (tmp_path / name).write_text(code, "utf-8")
    assert len(commands()) >= 9
    for command, shown in commands():
        words = shlex.split(command)
        assert words[0] in ("tracediff", "python")
        done = subprocess.run(
            [sys.executable, *(["-m", *words] if words[0] == "tracediff" else words[1:])],
            cwd=tmp_path,
            env={"COLUMNS": "80", "PATH": "", "PYTHONUTF8": "1"},
            capture_output=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr.decode()
        if shown:
            assert normal(done.stdout.decode()) == normal(shown), command


@pytest.mark.parametrize("code", PYTHON)
def test_python_examples(code: str, tmp_path: Path) -> None:
    """The Python examples run and write complete traces."""
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True)
    trace = next(tmp_path.glob("*.jsonl"))
    subprocess.run([sys.executable, "-m", "tracediff", "check", str(trace)], check=True)


def test_glossary_has_twelve_words() -> None:
    """The glossary stays short."""
    glossary = README.partition("## Glossary")[2]
    assert len(re.findall(r"^\| (?!word )", glossary, re.M)) == 12


def test_ci_runs_the_test_line() -> None:
    """CI runs the README's test line, and that line runs the whole suite."""
    line = README.partition("<!-- test line -->")[2].split("```")[1].split("\n")[1]
    assert line.endswith("-m pytest -n auto")
    assert "README.md" in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("section", ["artifacts", "state", "rng", "choice", "commit", "x-"])
def test_sections_are_documented(section: str) -> None:
    """Every section of the format has its place in the README."""
    assert f"`{section}`" in README


def test_tolerance_table_is_the_code() -> None:
    """The table of default tolerances is that of the code."""
    from tracediff.events.tolerances import DTYPE_DEFAULTS

    rows = dict(re.findall(r"^\| (float\d+), complex\d+ \| (.*?) \|$", README, re.M))
    for dtype, row in rows.items():
        rule = DTYPE_DEFAULTS[dtype]
        assert [float(x) for x in row.split(" | ")] == [rule.rtol, rule.atol, rule.rel_l2]
    assert len(rows) == 2
