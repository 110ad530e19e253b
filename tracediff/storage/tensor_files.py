"""Full tensors as `.npy` files in the trace's folder, named after their content.

Knows names, dtypes and shapes; what a digest covers is `recording`'s matter. numpy is imported
only when a tensor is read or written, so that reading a trace does not pay for it.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tracediff.errors import StorageError
from tracediff.events.digest import DIGEST_PREFIX, TensorDigest
from tracediff.storage.partial import storage_errors

if TYPE_CHECKING:
    import numpy as np

    from tracediff.events.tensors import TensorRecord

    Array = np.ndarray[Any, Any]

_HASHED_AT_ONCE: Final = 1 << 20
_FILE_NAME: Final = re.compile(r"[0-9a-f]{32}\.npy")
_RAW_BITS: Final[Mapping[str, str]] = MappingProxyType(
    {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
)
_STORED: Final = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")


class TensorFolder:
    """The folder with the full tensors of a trace; it need not exist before the first `save`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, record: TensorRecord) -> Array | None:
        """Return the stored array of `record`, memory-mapped, or None where there is none.

        Its dtype is `record.dtype`; bfloat16 comes as its bits in uint16, the float8 types in
        uint8. Raises StorageError for a name that is no digest, a file that is no `.npy`, and an
        array of another dtype or shape than the record's.
        """
        if record.file is None:
            return None
        path = self._path / _checked_name(record.file)
        if not path.exists():
            return None
        if path.is_symlink() or not path.is_file():
            raise StorageError(f"{path}: no regular file; links are not followed")
        try:
            array = _map(path)
        except (OSError, ValueError, EOFError) as error:
            raise StorageError(f"{path}: not a readable .npy file: {error}") from error
        expected = storage_dtype(record.dtype)
        if array.dtype != expected:
            raise StorageError(f"{path}: holds {array.dtype}, the trace says {record.dtype}")
        if array.shape != record.shape:
            raise StorageError(
                f"{path}: has shape {list(array.shape)}, the trace says {list(record.shape)}"
            )
        _check_content(path, array, record)
        return array

    def save(self, digest: str, array: Array) -> str:
        """Write `array` unless the folder holds it; return the name for the record's `file`.

        `digest` is the record's, with 32 hex digits after its prefix. Types that numpy does not
        have are stored as their raw bits. Raises StorageError.
        """
        name = _checked_name(f"{digest.rpartition(':')[2]}.npy")
        header, body = _encode(array)
        path = self._path / name
        with storage_errors(path):
            # A system crash can leave an empty file under the final name.
            if path.is_file() and path.stat().st_size == len(header) + body.nbytes:
                return name
            self._path.mkdir(exist_ok=True)
            temporary = path.with_name(f"{name}.{os.urandom(8).hex()}.partial")
            try:
                with temporary.open("xb") as stream:
                    stream.write(header)
                    stream.write(body)
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        return name


def _check_content(path: Path, array: Array, record: TensorRecord) -> None:
    """Raise StorageError unless a stored array has the digest that names it."""
    if not record.digest.startswith(DIGEST_PREFIX):
        return
    digest = TensorDigest(record.dtype, record.shape)
    flat = array.reshape(-1)
    for start in range(0, flat.size, _HASHED_AT_ONCE):
        digest.update(flat[start : start + _HASHED_AT_ONCE])
    if digest.text() != record.digest:
        raise StorageError(
            f"{path}: its content is not what the trace recorded as {record.name}; "
            "record the trace again"
        )


def storage_dtype(name: str) -> np.dtype[Any]:
    """Return the little-endian numpy dtype in which elements of type `name` are stored.

    Raises StorageError for a name that has none.
    """
    import numpy as np

    stored = _RAW_BITS.get(name, name)
    if _STORED.fullmatch(stored) is None:
        raise StorageError(f"elements of type {name!r:.40} are not stored as files")
    return np.dtype(stored).newbyteorder("<")


def _checked_name(name: str) -> str:
    """Return `name` if it is one of ours, so that no path leads out of the folder."""
    if _FILE_NAME.fullmatch(name) is None:
        raise StorageError(f"{name!r:.80} is no tensor file: expected 32 hex digits and .npy")
    return name


def _map(path: Path) -> Array:
    """Return the array of a `.npy` file, memory-mapped and read-only; no pickle, no archive."""
    import numpy as np

    with path.open("rb") as stream:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise ValueError(f"format version {version}")
        shape, _, dtype = read_header(stream)
    if 0 in shape:  # there is nothing to map
        array: Array = np.zeros(shape, dtype)
        array.flags.writeable = False
        return array
    return np.lib.format.open_memmap(path, mode="r")


def _encode(array: Array) -> tuple[bytes, memoryview]:
    """Return the header and the C-order little-endian bytes of a `.npy` file."""
    import numpy as np

    if array.dtype.isbuiltin == 2:  # bfloat16 and float8 of ml_dtypes
        array = array.view(f"u{array.dtype.itemsize}")
    array = np.asarray(array, dtype=storage_dtype(array.dtype.name), order="C")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue(), array.reshape(-1).view(np.uint8).data
