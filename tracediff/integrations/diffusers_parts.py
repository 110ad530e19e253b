"""The components of a pipeline, whether torch.compile wraps them or not.

Knows how torch.compile leaves its mark. Must not know events.
"""

from __future__ import annotations

from typing import Any


def components_of(pipe: Any) -> dict[str, Any]:
    """Return the components that a pipeline has, by name, as they are called."""
    return {name: part for name, part in pipe.components.items() if part is not None}


def uncompiled(part: Any) -> Any:
    """Return what `torch.compile` wraps, or the part itself."""
    return getattr(part, "_orig_mod", part)


def compiled_names(pipe: Any) -> list[str]:
    """Return the names of the components that `torch.compile` or `.compile()` was applied to."""
    return [
        name
        for name, part in components_of(pipe).items()
        if uncompiled(part) is not part or getattr(part, "_compiled_call_impl", None) is not None
    ]
