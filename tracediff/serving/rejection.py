"""Why a request gets no answer, whatever the vendor's shape of an error is.

Knows statuses and words. Must not know requests or shapes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error to send: status, kind, which field is to blame, and after how long to try again."""

    status: int
    message: str
    code: str | None = None
    field: str | None = None
    retry_after_seconds: int | None = None
