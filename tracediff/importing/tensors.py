"""Files of tensors as a trace: one event a tensor, named as in the files.

Knows file names and names in files. Nothing is known of the order in which the tensors were made:
all events are children of the root, so that every tensor that differs is an origin.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tracediff.errors import StorageError, UsageError
from tracediff.importing.input_files import check_regular
from tracediff.importing.natural_order import natural_key
from tracediff.importing.npy import Array, read_npy
from tracediff.importing.recording import record_import
from tracediff.importing.safetensors import read_safetensors
from tracediff.recording.recordable import Tensor

ENDINGS = (".safetensors", ".npz", ".npy")
PICKLES = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt")
COMPONENT = "tensor"


@dataclass(frozen=True, slots=True)
class Imported:
    """How many tensors were recorded, and the files that hold none that can be read."""

    tensors: int
    skipped: tuple[str, ...]


def import_tensors(source: Path, sink: Path, *, level: str = "sketch") -> Imported:
    """Record every tensor of a file, or of the files of a folder in natural order.

    Names are those in the file; in a folder the file's path without its ending comes before, or
    stands alone where the file holds one array. Raises UsageError and StorageError naming file and
    entry; then no trace is left under the name of `sink`.
    """
    files, skipped = _files(source)
    owners: dict[str, Path] = {}
    with record_import(sink, tensors=level) as recorder:
        root = recorder.event("import", "tensors.read")
        for path in files:
            for name, tensor in _named(path, source):
                if name in owners:
                    raise UsageError(
                        f"{owners[name]} and {path} both hold a tensor that would be called "
                        f"{name!r:.200}; rename one of the files"
                    )
                owners[name] = path
                recorder.event(COMPONENT, name, parent=root, outputs={name: tensor})
        if not owners:
            raise UsageError(
                f"{source} holds no tensor; read are {', '.join(ENDINGS)}, also through links to "
                "such files, not through links to folders"
            )
    return Imported(len(owners), skipped)


def _files(source: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the files to read, and the names of the others.

    A link to a regular file is one, as caches of models hold them; a link to a folder is not
    followed, so that there are no loops.
    """
    if not source.is_dir():
        check_regular(source)
        if source.suffix.lower() in PICKLES:
            raise UsageError(
                f"{source} is a pickle, which can run any program when it is read: save the "
                "tensors as .safetensors or .npz"
            )
        if source.suffix.lower() not in ENDINGS:
            raise UsageError(f"{source}: expected a folder or a name in {', '.join(ENDINGS)}")
        return [source], ()
    found, skipped = [], []
    for path in sorted(source.rglob("*"), key=lambda path: natural_key(path.as_posix())):
        if not path.is_file() or path.suffix.lower() not in ENDINGS:
            if path.is_symlink() or not path.is_dir():
                skipped.append(path.relative_to(source).as_posix())
            continue
        found.append(path)
    return found, tuple(skipped)


def _named(path: Path, source: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of one file under their names in the trace."""
    relative = PurePosixPath(path.name if path == source else path.relative_to(source))
    own = str(relative.with_suffix(""))
    if path.suffix.lower() == ".npy":
        yield own, Tensor(_read_array(path))
        return
    read = read_safetensors if path.suffix.lower() == ".safetensors" else _read_archive
    for name, tensor in read(path):
        if not name:
            raise UsageError(f"{path}: a tensor has the empty name")
        yield (name if path == source else f"{own}/{name}"), tensor


def _read_array(path: Path) -> Array:
    size = check_regular(path)
    try:
        with path.open("rb") as stream:
            return read_npy(stream, size)
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def _read_archive(path: Path) -> Iterator[tuple[str, Tensor]]:
    check_regular(path)
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is no .npz archive: {error}") from None
    seen = set()
    with archive:
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            where = f"{path}, entry {entry.filename!r:.80}"
            if name in seen:
                raise UsageError(f"{where}: the name occurs twice")
            seen.add(name)
            try:
                with archive.open(entry) as stream:
                    yield name, Tensor(read_npy(stream, entry.file_size))
            except (ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
                raise UsageError(f"{where}: {error}") from None
