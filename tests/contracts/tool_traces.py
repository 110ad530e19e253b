"""A small tool trace written by hand, as another program would write it, and its variations."""

from typing import Any

from trace_building import chain, event

from tracediff.events import Event, Trace

CALL = {"tool_call_id": "c1"}
INVOCATION = {**CALL, "invocation_id": "i1"}
DIGEST = "sha256:aa"
KEY = {"scope": "s", "tool_version": "pay@1", "idempotency_key": "k1", "request_digest": "r1"}


def proposed(reason: str = "stop", **ids: Any) -> Event:
    return event("proposed", None, "proposal.generated", choice={"finish_reason": reason}, ids=CALL)


def checked(event_id: str, event_type: str, **sections: Any) -> Event:
    return event(event_id, None, event_type, ids=CALL, **sections)


def approved(event_id: str = "approved", digest: str | None = DIGEST, **ids: Any) -> Event:
    state = {} if digest is None else {"invocation_digest": digest}
    return event(event_id, None, "confirmation.approved", state=state, ids={**INVOCATION, **ids})


def started(
    event_id: str = "started", digest: str | None = DIGEST, attempt: int = 1, **changes: Any
) -> Event:
    ids = {**INVOCATION, **changes.pop("ids", {})}
    commit = {"status": "pending", **KEY, "attempt": attempt, **changes}
    state = {} if digest is None else {"invocation_digest": digest}
    return event(event_id, None, "invocation.started", state=state, commit=commit, ids=ids)


def told(event_id: str, event_type: str, status: str, **changes: Any) -> Event:
    """Return what is known of the effect after an attempt or a query."""
    outcome = changes.pop("outcome", None)
    ids = {**INVOCATION, **changes.pop("ids", {})}
    choice = None if outcome is None else {"outcome": outcome}
    commit = {"status": status, **KEY, **changes}
    return event(event_id, None, event_type, choice=choice, commit=commit, ids=ids)


def committed(event_id: str = "committed", **changes: Any) -> Event:
    changes.setdefault("external_id", "e1")
    return told(event_id, "external.committed", "committed", **changes)


def timed_out(event_id: str = "timed-out", **changes: Any) -> Event:
    return told(event_id, "external.timed_out", "unknown", **changes)


def queried(event_id: str = "queried", outcome: str | None = "found", **changes: Any) -> Event:
    status = "committed" if outcome == "found" else "not_committed"
    if outcome == "found":
        changes.setdefault("external_id", "e1")
    return told(event_id, "external.queried", status, outcome=outcome, **changes)


def encoded(text: str = "ok") -> Event:
    return event("encoded", None, "result.encoded", choice={"text": text}, ids=CALL)


def answered(**sections: Any) -> Event:
    fragments = [{"sequence_no": 0, "text": "do"}, {"sequence_no": 1, "text": "ne"}]
    return event("said", None, "text.delta", choice={"fragments": fragments}, **sections)


def completed(text: str = "done") -> Event:
    return event("completed", None, "response.completed", choice={"text": text, "sequence_no": 2})


def closed(external_commit: Any = True, ids: list[str] | None = None) -> Event:
    external_ids = (["e1"] if external_commit else []) if ids is None else ids
    commit = {"external_commit": external_commit, "external_ids": external_ids}
    return event("closed", None, "trace.closed", commit=commit)


ABSENT = queried("absent", "absent")
NOT_COMMITTED = told("not-committed", "external.not_committed", "not_committed")
UNANSWERED = queried("unanswered", "unanswered")
ABANDONED = event("abandoned", None, "invocation.abandoned", ids={"tool_call_id": "c1"})
SECOND = started("again", attempt=2)
NOTHING = (closed(None, []),)

ROOT = event("root", None, "model.started")
ALLOWED = (
    checked("parsed", "proposal.parsed"),
    checked("valid", "schema.validated"),
    event("normal", None, "invocation.normalized", ids=INVOCATION),
    checked("allowed", "authorization.allowed"),
    checked("asked", "confirmation.requested"),
)
BEFORE = (ROOT, proposed(), *ALLOWED, approved())
AFTER = (encoded(), answered(), completed(), closed())


def tool(*events: Event) -> Trace:
    """Return a tool trace whose events follow one from another."""
    return chain(*events, kind="tool")


def whole(*execution: Event) -> Trace:
    """Return a trace that is in order but for what happens between approval and result."""
    return tool(*BEFORE, *execution, *AFTER)
