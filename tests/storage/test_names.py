"""How the files of a trace are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracediff.storage.names import (
    compression_of,
    partial_path,
    tensor_folder_path,
    timing_path,
    trace_name,
)


@pytest.mark.parametrize(
    ("path", "name", "compression"),
    [
        ("a.jsonl", "a", ""),
        ("runs/a.jsonl", "runs/a", ""),
        ("a.jsonl.gz", "a", ".gz"),
        ("a.jsonl.zst", "a", ".zst"),
        ("a.jsonl.partial", "a", ""),
        ("a.jsonl.gz.partial", "a", ".gz"),
        ("text-001.near-tie.jsonl", "text-001.near-tie", ""),
        ("a.txt", "a.txt", ""),
        ("a", "a", ""),
        ("a.gz", "a", ".gz"),
        ("ä b\n.jsonl", "ä b\n", ""),
        (".jsonl", ".jsonl", ""),
        ("/dev/stdin", "/dev/stdin", ""),
    ],
)
def test_the_name_is_the_path_without_its_endings(path: str, name: str, compression: str) -> None:
    """Sidecars of a trace are named after its bare name, whatever its compression."""
    found = Path(path)
    assert trace_name(found) == Path(name)
    assert compression_of(found) == compression
    assert timing_path(found) == Path(f"{name}.timing.jsonl")
    assert tensor_folder_path(found) == Path(f"{name}.tensors")
    assert partial_path(found) == Path(f"{path}.partial")
