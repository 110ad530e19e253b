"""The PNG writer: any reader opens it, and no compressor decides its bytes."""

import hashlib
import io
import struct
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.png import encode_png


def picture(height: int, width: int) -> np.ndarray:
    words = PhiloxGenerator(5).blocks(-(-height * width * 3 // 16)).tobytes()
    return np.frombuffer(words[: height * width * 3], np.uint8).reshape(height, width, 3)


def chunks(file: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield name and content of each chunk; the checksums are checked."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    place = 8
    while place < len(file):
        (length,) = struct.unpack_from(">I", file, place)
        name, content = file[place + 4 : place + 8], file[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack_from(">I", file, place + 8 + length)
        assert checksum == zlib.crc32(name + content)
        yield name, content
        place += 12 + length


SIZES = [
    pytest.param(1, 1, id="one-pixel"),
    pytest.param(3, 5, id="odd"),
    pytest.param(15, 1456, id="fills-one-block"),  # 15 (1 + 3 * 1456) = 65535 bytes
    pytest.param(5, 4369, id="begins-another"),  # 65540
    pytest.param(512, 512, id="large"),
]


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_pillow_reads_the_same_pixels(height: int, width: int) -> None:
    """Pillow opens the file and finds the pixels that were written."""
    pixels = picture(height, width)
    with Image.open(io.BytesIO(encode_png(pixels))) as image:
        image.load()
        assert (image.format, image.mode) == ("PNG", "RGB")
        assert np.array_equal(np.asarray(image), pixels)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_structure(height: int, width: int) -> None:
    """Header, one data chunk, end; the data holds every row behind filter 0, stored as it is."""
    pixels = picture(height, width)
    (_, header), (data_name, data), (end_name, end) = chunks(encode_png(pixels))
    assert header == struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    assert (data_name, end_name, end) == (b"IDAT", b"IEND", b"")
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    assert zlib.decompress(data) == rows
    assert len(data) == 2 + 5 * -(-len(rows) // 65535) + len(rows) + 4


def test_bytes_are_pinned() -> None:
    """The file of a given picture is the same everywhere."""
    # Source: this writer; the format leaves no choice once blocks are stored and filters are 0.
    digest = hashlib.sha256(encode_png(picture(16, 16))).hexdigest()
    assert digest == "c426390a27d4e4f1248bd76c66fcf2f20133914a53e8e6af52defbd7edb1197a"


@pytest.mark.parametrize(
    ("pixels", "error"),
    [
        pytest.param(np.zeros((2, 2, 3)), TypeError, id="float"),
        pytest.param(np.zeros((2, 2), np.uint8), ValueError, id="grey"),
        pytest.param(np.zeros((2, 2, 4), np.uint8), ValueError, id="four-channels"),
        pytest.param(np.zeros((0, 2, 3), np.uint8), ValueError, id="empty"),
    ],
)
def test_other_arrays_are_refused(pixels: np.ndarray, error: type[Exception]) -> None:
    """Only uint8 [height, width, 3] is a picture."""
    with pytest.raises(error, match="A PNG takes pixels"):
        encode_png(pixels)
