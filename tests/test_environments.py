"""Fresh virtual environments: the built wheel, with the oldest and the newest numpy.

Each environment installs the wheel as a user would, so that what is tested is what is packaged.
Skipped, with the reason, where packages cannot be installed.
"""

import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tracediff.workloads.fixtures import WORKLOADS
from tracediff.workloads.run import golden_path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

Python = Callable[..., "subprocess.CompletedProcess[str]"]


def oldest_numpy() -> str:
    """Return the requirement of the oldest numpy series that the project allows."""
    lowest = next(r for r in PROJECT["dependencies"] if r.startswith("numpy"))
    version = re.fullmatch(r"numpy>=(\d+\.\d+)", lowest)
    assert version is not None
    return f"numpy=={version.group(1)}.*"


NUMPY = {"oldest-numpy": oldest_numpy(), "newest-numpy": "numpy"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT))
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module", params=NUMPY)
def python(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Python:
    """Return a function that runs Python in a fresh environment outside the checkout."""
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder / "venv", with_pip=True)
    executable = str(folder / "venv" / "bin" / "python")
    run(executable, "-m", "pip", "install", "-q", str(wheel), NUMPY[request.param])

    def call(*arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [executable, *arguments], cwd=folder, check=check, capture_output=True, text=True
        )

    return call


def run(*command: str) -> None:
    """Run an installation step; skip where it fails for want of a network."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        unreachable = re.search(
            r"No matching distribution|ConnectionError|Max retries", done.stderr
        )
        if unreachable:
            pytest.skip(f"packages cannot be installed here: {done.stderr.strip()[-200:]}")
        pytest.fail(done.stderr)


@pytest.mark.environment
def test_numpy_is_the_meant_one(python: Python, request: pytest.FixtureRequest) -> None:
    """The environment has the numpy that its name says."""
    version = python("-c", "import numpy; print(numpy.__version__)").stdout
    name = request.node.callspec.params["python"]
    if name == "oldest-numpy":
        assert version.startswith(NUMPY[name].partition("==")[2].removesuffix("*"))
    else:
        assert int(version.partition(".")[0]) >= 2


@pytest.mark.environment
@pytest.mark.parametrize("fixture", WORKLOADS)
def test_fresh_run_is_the_golden(fixture: str, python: Python, tmp_path: Path) -> None:
    """The installed command writes the golden's bytes."""
    path = tmp_path / "fresh.jsonl"
    python("-W", "error", "-m", "tracediff", "run", fixture, "-o", str(path))
    assert path.read_bytes() == golden_path(fixture).read_bytes()


@pytest.mark.environment
def test_goldens_are_packaged(python: Python) -> None:
    """The wheel carries fixtures and goldens, and they are found outside a checkout."""
    script = (
        "from tracediff.workloads.run import golden_path; p = golden_path('text-001'); "
        "assert 'site-packages' in str(p), p; print(p)"
    )
    packaged = python("-c", script).stdout.strip()
    assert python("-m", "tracediff", "check", packaged).returncode == 0


@pytest.mark.environment
def test_type_information_is_packaged(python: Python) -> None:
    """The wheel says that it is typed."""
    script = "import importlib.resources as r; print((r.files('tracediff') / 'py.typed').is_file())"
    assert python("-c", script).stdout.strip() == "True"
