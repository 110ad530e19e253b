"""Other tools that record what the modules of a model gave, as context managers around a run.

Each is there when its package is installed: the statistics level of msprobe (PyPI
`mindstudio-probe`), and the debugger of transformers, which writes every tensor as text.
"""

import contextlib
import importlib.util
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Peer = Callable[[Any], contextlib.AbstractContextManager[Any]]


def find_peers(folder: Path) -> dict[str, Peer]:
    """Return the peers that are installed, by name; they write to `folder`."""
    found: dict[str, Peer] = {}
    if importlib.util.find_spec("msprobe") is not None:
        found["msprobe statistics"] = lambda model: _msprobe(model, folder)
    with contextlib.suppress(ImportError):
        from transformers.model_debugging_utils import model_addition_debugger_context

        found["transformers debugger"] = lambda model: model_addition_debugger_context(
            model, debug_path=str(folder)
        )
    return found


@contextlib.contextmanager
def _msprobe(model: Any, folder: Path) -> Iterator[None]:
    """Have msprobe write mean, extremes and norm of what every module reads and gives."""
    from msprobe.pytorch import PrecisionDebugger

    settings = {
        "task": "statistics",
        "dump_path": str(folder / "msprobe"),
        "rank": [],
        "step": [],
        "level": "L0",
        "statistics": {
            "scope": [],
            "list": [],
            "data_mode": ["forward"],
            "summary_mode": "statistics",
        },
    }
    path = folder / "msprobe.json"
    path.write_text(json.dumps(settings), "utf-8")
    with contextlib.redirect_stdout(io.StringIO()):
        debugger = PrecisionDebugger(config_path=str(path))
        debugger.start(model=model)
        yield
        debugger.stop()
        debugger.step()
