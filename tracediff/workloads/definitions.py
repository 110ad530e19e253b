"""Where fixtures and golden traces are, and how a fixture's definition is read.

Knows the two places: the checkout, and the copy that a wheel carries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from safetensors.numpy import load

from tracediff.errors import StorageError

_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Definition:
    """A fixture's readable definition and its weights.

    `content` is fixture.json; `weights` maps names to float32 arrays; `weights_digest` identifies
    the file's bytes.
    """

    folder: Path
    content: Mapping[str, Any]

    @cached_property
    def _weight_bytes(self) -> bytes:
        path = self.folder / "weights.safetensors"
        try:
            return path.read_bytes()
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}; reinstall the package") from error

    @property
    def weights(self) -> dict[str, np.ndarray[Any, Any]]:
        """Fresh float32 arrays by name."""
        return load(self._weight_bytes)

    @property
    def weights_digest(self) -> str:
        """`b3:` and 32 hex digits of BLAKE3 over the weights file."""
        return f"b3:{blake3(self._weight_bytes).hexdigest()[:32]}"


def data_folder(name: str) -> Path:
    """Return the folder `fixtures` or `traces` of the checkout, or of the installed wheel."""
    checkout = _PACKAGE.parent / name
    if (_PACKAGE.parent / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    return _PACKAGE / "_packaged" / name


def read_definition(folder: Path) -> Definition:
    """Return the definition in `folder`; weights are read when first asked for."""
    path = folder / "fixture.json"
    try:
        return Definition(folder, json.loads(path.read_bytes()))
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; reinstall the package") from error
