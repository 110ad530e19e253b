"""What a server says otherwise each time: it is not compared, and this is the whole list.

Knows names of entries. Everything else that is not understood is kept and compared.
"""

from __future__ import annotations

from typing import Any, Final

CONDITIONS: Final = frozenset(
    {
        *("created", "created_at", "completed_at", "system_fingerprint", "service_tier"),
        *("obfuscation", "timings", "time_info", "x_groq", "background", "container"),
    }
)
"""Entries of an answer that are conditions: times, padding, which machine answered."""

IDS: Final = frozenset({"id", "item_id", "call_id", "tool_use_id", "previous_response_id"})
"""Names of other things: in what is not understood, they are left out."""

SEALED: Final = frozenset({"signature", "encrypted_content", "encrypted_index"})
"""Entries that only the server can read: compared is whether they are there."""


def settled(value: Any) -> Any:
    """Return a value without ids and conditions, what is sealed as `sealed`, at any depth."""
    if isinstance(value, list):
        return [settled(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "sealed" if key in SEALED and entry else settled(entry)
        for key, entry in value.items()
        if key not in IDS and key not in CONDITIONS
    }
