"""Folders of goldens for tests of the gate: small fixtures, and ways to spoil a golden."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from trace_building import chain, event, tensor

from tracediff.storage import read_trace, write_trace
from tracediff.workloads.run import run_fixture

Spoil = Callable[[Path], object]


def golden_of_ddim(folder: Path) -> Path:
    """Write the golden of ddim-2d, the smallest fixture, to a folder; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_trace(run_fixture("ddim-2d"), folder / "ddim-2d.jsonl")
    return folder


def own_trace(path: Path, value: float = 1.0, **header: object) -> Path:
    """Write a trace that no fixture recorded, with one tensor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = event("a", outputs=[tensor("x", np.array([value, 2.0], np.float32))])
    write_trace(chain(found, event("b", state={"n": 1}), header=header), path)
    return path


def replaced(name: str, old: str, new: str) -> Spoil:
    """Return a way to spoil a golden: replace the first occurrence of a text in its file."""

    def spoil(folder: Path) -> None:
        path = folder / name
        content = path.read_text("utf-8")
        assert old in content
        path.write_text(content.replace(old, new, 1), "utf-8")

    return spoil


def changed_choice(folder: Path) -> None:
    """Make a golden of ddim-2d that a fresh run does not give: another timestep at the root."""
    trace = read_trace(folder / "ddim-2d.jsonl")
    assert trace.root.payload["state"]["end_timestep"] == 0
    replaced("ddim-2d.jsonl", '"end_timestep":0', '"end_timestep":1')(folder)
