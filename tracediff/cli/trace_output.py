"""Where a command writes a trace: what may not be overwritten, what an interruption leaves.

Knows paths. Must not know what is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tracediff.cli.golden_folder import refuse_golden
from tracediff.errors import UsageError
from tracediff.storage.names import partial_path

TRACE_MARK = ".jsonl"


def check_output(output: str, *inputs: str | Path) -> Path:
    """Return the path of the trace to write.

    Raises UsageError for standard output, a golden, and a file that the command reads.
    """
    if output == "-":
        raise UsageError("-o takes the name of a file: a trace is not written to standard output")
    path = Path(output)
    refuse_golden(path)
    _refuse_inputs(path, inputs)
    return path


def check_rules_output(output: str, *inputs: str | Path) -> Path:
    """Return the path of a file of rules to write; raise UsageError where a trace would go."""
    path = Path(output)
    _refuse_inputs(path, inputs)
    if TRACE_MARK in path.name:
        raise UsageError(f"-o {path} is the name of a trace, which no rules may overwrite")
    return path


def _refuse_inputs(path: Path, inputs: Sequence[str | Path]) -> None:
    for name in map(Path, inputs):
        if path.exists() and name.exists() and path.samefile(name):
            raise UsageError(f"-o {path} is what is read, which may not be overwritten")


@contextmanager
def named_partial(path: Path) -> Iterator[None]:
    """Have an interruption inside the block say what it leaves of the trace at `path`."""
    try:
        yield
    except KeyboardInterrupt:
        partial = partial_path(path)
        if not partial.exists():
            raise
        raise KeyboardInterrupt(f"what was recorded until then is in {partial}") from None
