"""All files of the field cases; run as a program, writes them next to itself.

PYTHONPATH=tests python -m cases.case_files
"""

from collections.abc import Iterator
from pathlib import Path

from cases.file_pairs import FILE_CASES
from cases.image_pairs import IMAGE_CASES
from cases.random_pairs import RANDOM_CASES
from cases.text_pairs import TEXT_CASES
from cases.tool_pairs import TOOL_CASES

from tracediff.events import Trace
from tracediff.storage import encode_event

FOLDER = Path(__file__).parent
PAIRS = {**TEXT_CASES, **RANDOM_CASES, **IMAGE_CASES, **TOOL_CASES}


def case_files() -> Iterator[tuple[Path, bytes]]:
    """Yield path and content of every file."""
    for case, traces in PAIRS.items():
        for name, trace in traces.items():
            yield FOLDER / case / f"{name}.jsonl", lines_of(trace)
    for case, files in FILE_CASES.items():
        for name, content in files.items():
            yield FOLDER / case / name, content


def lines_of(trace: Trace) -> bytes:
    """Return a trace as the bytes of its file."""
    return b"".join(encode_event(event).rstrip(b"\n") + b"\n" for event in trace.events)


def write_files() -> None:
    """Write all files, and leave nothing else in the folders of the cases."""
    wanted = dict(case_files())
    for old in FOLDER.glob("F[0-9]*/*"):
        if old not in wanted:
            old.unlink()
    for path, content in wanted.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    write_files()
