"""The result of a call: as a record, and as the message that the model reads.

Knows receipts. Must not know templates.
"""

from __future__ import annotations

import json
from typing import Any

from tracediff.toolcalls.messages import Committed


def encode_result(receipt: Committed) -> dict[str, Any]:
    """Return everything the external system said."""
    return {
        "status": "ok",
        "event_id": receipt.event_id,
        "committed_at": receipt.committed_at,
        "start": receipt.start,
    }


def tool_message(receipt: Committed) -> str:
    """Return what the model reads of it: the external id and what was agreed, as compact JSON.

    No local id and no time of execution stands in it, or a replay's prompt would be another one;
    which call it answers is bound by the call's id beside it, never by its place.
    """
    read = {"status": "ok", "event_id": receipt.event_id, "start": receipt.start}
    return json.dumps(read, ensure_ascii=False, separators=(",", ":"))
