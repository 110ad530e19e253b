"""A PNG writer whose bytes depend on the pixels alone.

Knows the container (ISO/IEC 15948) and stored deflate blocks (RFC 1951, 3.2.4): nothing is
compressed, so no build of a compression library can change a byte. Must not know what a picture
shows.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

SIGNATURE = b"\x89PNG\r\n\x1a\n"
ZLIB_HEADER = b"\x78\x01"
LONGEST_STORED = 65535
TRUE_COLOUR = 2


def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return the PNG file of pixels [height, width, 3], 8 bits a channel, no filter, no metadata.

    Another dtype is a TypeError, another shape or an empty picture a ValueError.
    """
    if pixels.dtype != np.uint8:
        raise TypeError(f"A PNG takes pixels of uint8, not of {pixels.dtype}.")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise ValueError(f"A PNG takes pixels [height, width, 3], not {list(pixels.shape)}.")
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, TRUE_COLOUR, 0, 0, 0)
    filters = np.zeros((height, 1), np.uint8)
    rows = np.concatenate([filters, pixels.reshape(height, width * 3)], axis=1)
    return b"".join(
        [
            SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", _store(rows.tobytes())),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(name))
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def _store(content: bytes) -> bytes:
    """Return a zlib stream (RFC 1950) that holds `content` as it is."""
    parts = [ZLIB_HEADER]
    for start in range(0, len(content), LONGEST_STORED):
        block = content[start : start + LONGEST_STORED]
        is_last = start + LONGEST_STORED >= len(content)
        parts.append(struct.pack("<BHH", is_last, len(block), len(block) ^ 0xFFFF))
        parts.append(block)
    parts.append(struct.pack(">I", zlib.adler32(content)))
    return b"".join(parts)
