"""Where goldens are looked for, and that nothing but the gate writes them.

Knows the folder's name. Must not know what a golden holds.
"""

from __future__ import annotations

from pathlib import Path

from tracediff.errors import UsageError

GOLDENS = Path("traces")
"""The folder that is gated if no other is named."""


def refuse_golden(output: Path) -> None:
    """Raise UsageError where a trace written to `output` would take the place of a golden."""
    if output.exists() and output.resolve().parent == GOLDENS.resolve():
        raise UsageError(f"-o {output} is a golden, which `tracediff gate --update` alone rewrites")
