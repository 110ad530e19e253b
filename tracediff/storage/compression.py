"""Compressed files: gzip, and Zstandard where the library is installed.

Knows streams of bytes and their members; must not know lines or events. Whatever comes out of a
damaged stream before the damage is handed on first.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from tracediff.errors import CorruptTrace, IncompleteTrace, Place, StorageError
from tracediff.storage.names import compression_of

CHUNK: Final = 1 << 20
"""Bytes handed on at once, at most."""

_GZIP_INPUT: Final = 1 << 16
_GZIP_LEVEL: Final = 6
_GZIP_MEMBER: Final = 31  # zlib's way to say: with gzip header and trailer
# A block of a few bytes can stand for 128 KiB, and the decoder cannot be told to stop: small
# input keeps what a hostile file can make of it small.
_ZSTD_INPUT: Final = 1 << 9


def read_chunks(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the bytes of `stream`, decompressed as the name `path` says, at most CHUNK at once.

    Members that follow one another are read as one stream. Raises IncompleteTrace where a
    compressed stream ends early, CorruptTrace where it is damaged, StorageError where the library
    is missing.
    """
    match compression_of(path):
        case ".gz":
            return _read_gzip(stream, path)
        case ".zst":
            return _read_zstandard(stream, path)
    return iter(lambda: stream.read(CHUNK), b"")


class Output(Protocol):
    """Where bytes are written."""

    def write(self, content: bytes, /) -> object:
        """Append `content`."""

    def close(self) -> None:
        """End what was written."""


def open_compressed(stream: BinaryIO, path: Path) -> Output:
    """Return a stream that compresses into `stream` as the name `path` says, or `stream` itself.

    Equal content gives equal bytes: no time and no file name is written. Closing the result ends
    the compressed stream and leaves `stream` open.
    """
    match compression_of(path):
        case ".gz":
            return _GzipWriter(stream)
        case ".zst":
            compressor = _import_zstandard(path).ZstdCompressor()
            compressed: Output = compressor.stream_writer(stream, closefd=False)
            return compressed
    return stream


class _GzipWriter:
    """Writes one gzip member without time and name into `stream`.

    Not `gzip.GzipFile`: it keeps checksum and size in Python, and an interrupt between two of its
    steps leaves a member that does not read back.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._member = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_MEMBER)
        self._closed = False

    def write(self, content: bytes) -> None:
        # One call into C: no interrupt falls between compressing and writing.
        self._stream.writelines(map(self._member.compress, (content,)))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._stream.write(self._member.flush())


def _read_gzip(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    member = zlib.decompressobj(wbits=_GZIP_MEMBER)
    started = False
    for data in iter(lambda: stream.read(_GZIP_INPUT), b""):
        rest = data
        while rest:
            if member.eof:
                rest = rest.lstrip(b"\0")  # padding to whole blocks, as tape and tar leave it
                member, started = zlib.decompressobj(wbits=_GZIP_MEMBER), False
                continue
            started = True
            try:
                chunk = member.decompress(rest, CHUNK)
            except zlib.error as error:
                raise _damaged(path, "gzip", error) from None
            if chunk:
                yield chunk
            rest = member.unused_data if member.eof else member.unconsumed_tail
    if started and not member.eof:
        raise _cut_off(path, "gzip")


def _read_zstandard(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    zstandard = _import_zstandard(path)
    new_member: Callable[[], Any] = zstandard.ZstdDecompressor().decompressobj
    member, started = new_member(), False
    for data in iter(lambda: stream.read(_ZSTD_INPUT), b""):
        rest = data
        while rest:
            if member.eof:
                member, started = new_member(), False
            started = True
            try:
                chunk = member.decompress(rest)
            except zstandard.ZstdError as error:
                raise _damaged(path, "Zstandard", error) from None
            for start in range(0, len(chunk), CHUNK):
                yield chunk[start : start + CHUNK]
            rest = member.unused_data if member.eof else b""
    if started and not member.eof:
        raise _cut_off(path, "Zstandard")


def _import_zstandard(path: Path) -> Any:
    try:
        import zstandard
    except ImportError:
        raise StorageError(
            f"{path}: files ending in .zst need the library zstandard; "
            "install it with: pip install 'tracediff[zstd]'"
        ) from None
    return zstandard


def _damaged(path: Path, kind: str, error: Exception) -> CorruptTrace:
    return CorruptTrace(
        Place(str(path)), f"the {kind} stream is damaged ({error}), or the file is no {kind} file"
    )


def _cut_off(path: Path, kind: str) -> IncompleteTrace:
    return IncompleteTrace(Place(str(path)), f"the {kind} stream is cut off")
