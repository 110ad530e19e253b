"""Paths from the repository's root, and as URIs."""

from pathlib import PurePosixPath

import pytest

from tracediff.render.workspace import Workspace, workspace_path, workspace_uri

AT_ROOT = Workspace(PurePosixPath("/repo"), PurePosixPath("/repo"))
BELOW = Workspace(PurePosixPath("/repo"), PurePosixPath("/repo/models/small"))


@pytest.mark.parametrize(
    ("name", "workspace", "path"),
    [
        pytest.param("traces/a.jsonl", None, "traces/a.jsonl", id="relative"),
        pytest.param("./traces//a.jsonl", None, "traces/a.jsonl", id="normalised"),
        pytest.param("/repo/traces/a.jsonl", None, "/repo/traces/a.jsonl", id="absolute"),
        pytest.param("/repo/traces/a.jsonl", AT_ROOT, "traces/a.jsonl", id="in-the-root"),
        pytest.param("traces/a.jsonl", BELOW, "models/small/traces/a.jsonl", id="folder-below"),
        pytest.param("../a.jsonl", BELOW, "models/a.jsonl", id="up"),
        pytest.param("/tmp/a.jsonl", BELOW, "/tmp/a.jsonl", id="outside"),
        pytest.param("/repository/a.jsonl", AT_ROOT, "/repository/a.jsonl", id="name-alike"),
    ],
)
def test_path(name: str, workspace: Workspace | None, path: str) -> None:
    """Below the root a path is relative to it; outside it stays what it is."""
    assert workspace_path(name, workspace) == path


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        pytest.param("traces/a.jsonl", "traces/a.jsonl", id="plain"),
        pytest.param("a b#c?d%.jsonl", "a%20b%23c%3Fd%25.jsonl", id="reserved"),
        pytest.param("a:b.jsonl", "a%3Ab.jsonl", id="no-scheme"),
        pytest.param("短.jsonl", "%E7%9F%AD.jsonl", id="utf-8"),
        pytest.param("\udcff.jsonl", "%ED%B3%BF.jsonl", id="surrogate"),
        pytest.param("/tmp/a b.jsonl", "file:///tmp/a%20b.jsonl", id="absolute"),
    ],
)
def test_uri(name: str, uri: str) -> None:
    """Everything that is no path is percent-encoded."""
    assert workspace_uri(name) == uri
