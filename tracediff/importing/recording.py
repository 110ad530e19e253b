"""A recording that is there only if all of it was read.

Knows the recorder and the name of an unfinished file. What an import could not finish can be
imported again, so nothing is left of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracediff.recording.recorder import Recorder
from tracediff.storage.names import partial_path


@contextmanager
def record_import(
    sink: Path, *, tensors: str, header: Mapping[str, Any] | None = None
) -> Iterator[Recorder]:
    """Give the block a recorder that writes `sink`; leave no file behind where the block fails."""
    recorder = Recorder(sink, tensors=tensors, header=header)
    try:
        yield recorder
        recorder.close()
    except BaseException:
        recorder.abandon()
        partial_path(sink).unlink(missing_ok=True)
        raise
