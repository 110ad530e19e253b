"""Paths as the services that read reports want them: relative to the repository's root.

Knows spelling only: nothing is looked up on a disk.
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Workspace:
    """The repository's root, and the folder that relative paths are counted from; both absolute."""

    root: PurePath
    folder: PurePath


def workspace_path(name: str, workspace: Workspace | None = None) -> str:
    """Return a path with `/` from the workspace's root; outside of it, or without one, as it is."""
    path = PurePath(os.path.normpath(name))
    if workspace is not None:
        absolute = PurePath(os.path.normpath(workspace.folder / path))
        if absolute.is_relative_to(workspace.root):
            path = absolute.relative_to(workspace.root)
    return path.as_posix()


def workspace_uri(name: str, workspace: Workspace | None = None) -> str:
    """Return a path as a URI: relative to the workspace's root where it lies below it.

    Percent-encoded UTF-8 (RFC 3986).
    """
    path = workspace_path(name, workspace)
    encoded = quote(path, errors="surrogatepass")
    if not PurePath(path).is_absolute():
        return encoded
    return f"file://{encoded}" if encoded.startswith("/") else f"file:///{encoded}"
