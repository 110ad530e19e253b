"""Compressed streams: members, damage, and equal bytes for equal content."""

from __future__ import annotations

import gzip
import io
import sys
import tracemalloc
import zlib
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracediff.errors import CorruptTrace, IncompleteTrace, StorageError
from tracediff.storage.compression import CHUNK, open_compressed, read_chunks

GZ, ZST = Path("a.gz"), Path("a.zst")
TEXT = b"".join(b'{"i":%d}\n' % number for number in range(1000))


def read(content: bytes, path: Path = GZ) -> bytes:
    return b"".join(read_chunks(io.BytesIO(content), path))


def compress(content: bytes, path: Path = GZ) -> bytes:
    raw = io.BytesIO()
    with closing(open_compressed(raw, path)) as stream:
        stream.write(content)
    return raw.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(gzip.compress(TEXT), id="one member"),
        pytest.param(gzip.compress(TEXT[:8]) + gzip.compress(TEXT[8:]), id="F090: two members"),
        pytest.param(
            b"".join(gzip.compress(TEXT[n : n + 100]) for n in range(0, len(TEXT), 100)),
            id="many members",
        ),
        pytest.param(gzip.compress(b"") + gzip.compress(TEXT), id="an empty member"),
        pytest.param(gzip.compress(TEXT) + b"\0" * 512, id="padding"),
        pytest.param(gzip.compress(TEXT, mtime=1) + b"", id="another time"),
    ],
)
def test_gzip_is_read_wholly(content: bytes) -> None:
    """What the file holds is what the standard library reads in it."""
    assert read(content) == gzip.decompress(content) == TEXT


@pytest.mark.parametrize("cut", [1, 4, 8, 9, 100, 1000], ids=lambda cut: f"{cut} bytes")
def test_a_cut_gzip_file_gives_what_came_before(cut: int) -> None:
    """F090: cut anywhere, all that zlib can make of the rest is handed on before the error."""
    content = gzip.compress(TEXT)[:-cut]
    found: list[bytes] = []
    with pytest.raises(IncompleteTrace, match="the gzip stream is cut off"):
        found.extend(read_chunks(io.BytesIO(content), GZ))
    assert b"".join(found) == zlib.decompressobj(wbits=31).decompress(content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(TEXT, id="not compressed"),
        pytest.param(gzip.compress(TEXT) + b"garbage", id="garbage behind"),
        pytest.param(gzip.compress(TEXT)[:-8] + b"\0" * 8, id="wrong checksum"),
        pytest.param(zlib.compress(TEXT), id="zlib without gzip header"),
        pytest.param(
            gzip.compress(TEXT)[:200] + b"\xff" * 50 + gzip.compress(TEXT)[250:], id="overwritten"
        ),
    ],
)
def test_damaged_gzip_is_corrupt(content: bytes) -> None:
    """Damage that is no cut is named as such."""
    with pytest.raises(CorruptTrace, match="gzip"):
        read(content)


def test_no_bytes_are_no_damage() -> None:
    """An empty file is empty, as the standard library reads it."""
    assert read(b"") == b""


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.integers(1, 3))
def test_any_content_comes_back(content: bytes, parts: int) -> None:
    """Any bytes, in one member or several."""
    size = len(content) // parts + 1
    members = [content[start : start + size] for start in range(0, len(content), size)]
    assert read(b"".join(compress(member) for member in members)) == content


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    """Neither time nor name is in the header (RFC 1952: MTIME 0, FNAME flag not set)."""
    with (tmp_path / "named.gz").open("w+b") as raw:
        with closing(open_compressed(raw, GZ)) as stream:
            stream.write(TEXT)
        raw.seek(0)
        written = raw.read()
    assert written == compress(TEXT)
    assert written[3:8] == b"\0" * 5
    assert gzip.decompress(written) == TEXT


def test_a_bomb_comes_in_small_pieces() -> None:
    """A thousandfold expansion is handed on in chunks, never held as a whole."""
    bomb = gzip.compress(bytes(64 * CHUNK))
    tracemalloc.start()
    sizes = [len(chunk) for chunk in read_chunks(io.BytesIO(bomb), GZ)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sizes) == 64 * CHUNK
    assert max(sizes) <= CHUNK
    assert peak < 8 * CHUNK


def test_other_names_are_not_compressed() -> None:
    """A plain name means plain bytes, both ways."""
    raw: BinaryIO = io.BytesIO()
    assert open_compressed(raw, Path("a.jsonl")) is raw
    assert read(TEXT, Path("a.jsonl")) == TEXT


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zstandard is optional; the message says how to get it."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(StorageError, match=r"pip install 'tracediff\[zstd\]'"):
        read(b"", ZST)
    with pytest.raises(StorageError, match=r"pip install 'tracediff\[zstd\]'"):
        open_compressed(io.BytesIO(), ZST)


def test_zstandard_is_read_and_written() -> None:
    """Frames, equal bytes, cuts, damage and bombs, as with gzip."""
    pytest.importorskip("zstandard", reason="the extra zstd is not installed")
    written = compress(TEXT, ZST)
    assert written == compress(TEXT, ZST)
    assert read(written, ZST) == TEXT
    assert read(compress(TEXT[:8], ZST) + compress(TEXT[8:], ZST), ZST) == TEXT
    assert read(b"", ZST) == b""
    for cut in (1, 5, len(written) - 3):
        with pytest.raises(IncompleteTrace, match="Zstandard stream is cut off"):
            read(written[:-cut], ZST)
    for damaged in (TEXT, written + b"garbage", written[:20] + b"\xff" * 20 + written[40:]):
        with pytest.raises(CorruptTrace, match="Zstandard"):
            read(damaged, ZST)
    bomb = compress(bytes(64 * CHUNK), ZST)
    tracemalloc.start()
    sizes = [len(chunk) for chunk in read_chunks(io.BytesIO(bomb), ZST)]
    tracemalloc.stop()
    assert sum(sizes) == 64 * CHUNK
    assert max(sizes) <= CHUNK
