"""The field cases about tool calls and side effects, as pairs of small traces."""

from collections.abc import Mapping, Sequence
from typing import Any

from trace_building import chain, event, trace

from tracediff.events import Event, Trace

CALL = {"tool_call_id": "c1"}


def tool(*events: Event) -> Trace:
    """Return a tool trace whose events follow one from another."""
    return chain(*events, kind="tool")


def request(**settings: Any) -> Event:
    return event("request", None, "request.accepted", component="gateway", settings=settings)


def started(name: str, key: str, attempt: int = 1, **sections: Any) -> Event:
    return event(
        name,
        None,
        "invocation.started",
        component="executor",
        commit={"status": "pending", "idempotency_key": key},
        context={"attempt": attempt},
        ids=CALL,
        **sections,
    )


def committed(name: str, key: str, **commit: Any) -> Event:
    return event(
        name,
        None,
        "external.committed",
        component="payment",
        commit={"status": "committed", "idempotency_key": key, **commit},
        ids=CALL,
    )


def closed(*ids: str) -> Event:
    commit = {"external_commit": bool(ids), "external_ids": list(ids)}
    return event("closed", None, "trace.closed", component="tracing", commit=commit)


def failed_model() -> Event:
    return event("error", None, "model.failed", component="model runtime", choice={"status": 500})


F051 = {
    "left": tool(
        request(),
        started("call", "k1"),
        committed("effect", "k1", external_id="ch_1"),
        failed_model(),
        event("retry", None, "model.started", component="model runtime", step=2),
        event("answer", None, "response.completed", component="runtime", choice={"text": "done"}),
        closed("ch_1"),
    ),
    "right": tool(
        request(),
        started("call", "k1"),
        committed("effect", "k1", external_id="ch_1"),
        failed_model(),
        started("call-again", "k1", attempt=2),
        committed("effect-again", "k1", external_id="ch_2"),
        closed("ch_1", "ch_2"),
    ),
}


def intent(durable: bool) -> Event:
    return event(
        "intent", None, "intent.recorded", component="executor", settings={"durable": durable}
    )


def timed_out() -> Event:
    return event("timeout", None, "external.timed_out", component="executor", ids=CALL)


def answered(source: str) -> Event:
    return event("result", None, "result.read", component="executor", choice={"from": source})


F053 = {
    "left": tool(
        request(),
        intent(True),
        started("dispatch", "e1"),
        timed_out(),
        started("dispatch-again", "e1", attempt=2),
        answered("ledger"),
    ),
    "right": tool(
        request(),
        intent(False),
        started("dispatch", "e1"),
        timed_out(),
        started("dispatch-again", "e2", attempt=2),
        answered("server"),
    ),
}


def http(name: str, path: str, digest: str) -> Event:
    return event(
        name,
        None,
        "invocation.started",
        component="executor",
        state={"path": path},
        commit={"status": "pending", "idempotency_key": "abc", "request_digest": digest},
    )


def response(name: str, **choice: Any) -> Event:
    return event(name, None, "response.received", component="executor", choice=choice)


def reused_key(status: int, key: str = "abc", **choice: Any) -> Trace:
    """Return two requests; the second one has other content under the first one's key."""
    second = http("second", "/applications", "sha256:22")
    commit = {**second.payload["commit"], "idempotency_key": key}
    second = event("second", None, second.event_type, component="executor", commit=commit)
    return tool(
        request(),
        http("first", "/projects", "sha256:11"),
        response("created", status=201, executed=True),
        second,
        response("answer", status=status, executed=False, **choice),
    )


F055 = {
    "left": reused_key(422),
    "right": reused_key(201, body={"id": "proj_1"}),
    "conflict": reused_key(409),
    "own-key": reused_key(422, "abd"),
}


def called(arguments: Mapping[str, Any], digest: str) -> Trace:
    return tool(
        request(),
        event(
            "call",
            None,
            "invocation.normalized",
            component="normalizer",
            state={"arguments": dict(arguments)},
            choice={"request_digest": digest},
        ),
    )


F056 = {
    "left": called({"a": 1, "b": [1, 2]}, "sha256:d1"),
    "right": called({"b": [1, 2], "a": 1}, "sha256:d2"),
    "same-digest": called({"b": [1, 2], "a": 1}, "sha256:d1"),
    "array-order": called({"a": 1, "b": [2, 1]}, "sha256:d3"),
    "as-float": called({"a": 1.0, "b": [1, 2]}, "sha256:d1"),
}


def cut_off() -> Event:
    choice = {"finish_reason": "length", "text": '{"path":"README.md","content":"# A\\n1. '}
    return event(
        "proposal", None, "proposal.generated", component="decoder", choice=choice, ids=CALL
    )


F058 = {
    "left": tool(
        request(),
        cut_off(),
        event(
            "rejected",
            None,
            "proposal.rejected",
            component="JSON parser",
            choice={"reason": "truncated"},
            ids=CALL,
        ),
    ),
    "right": tool(
        request(),
        cut_off(),
        started("call", "k1", state={"arguments": {"path": "README.md", "content": "# A\n1. "}}),
        committed("effect", "k1"),
    ),
}

PAYMENT = {"to": "acct-1", "amt": 5}


def approved_payment(
    executed: Mapping[str, Any], digest: str, *, call: str = "c1", name: str = "pay"
) -> Trace:
    """Return a payment that a person approves, and what is executed then."""
    return tool(
        request(),
        event(
            "proposed",
            None,
            "confirmation.requested",
            component="confirmation",
            state={"tool": "pay", "arguments": PAYMENT},
            context={"call": "c1"},
        ),
        event(
            "approved",
            None,
            "confirmation.approved",
            component="confirmation",
            state={"confirmed_digest": "sha256:s1"},
            context={"call": "c1"},
        ),
        event(
            "dispatched",
            None,
            "invocation.started",
            component="executor",
            state={"tool": name, "arguments": dict(executed), "invocation_digest": digest},
            context={"call": call},
        ),
    )


F059 = {
    "left": approved_payment(PAYMENT, "sha256:s1"),
    "right": approved_payment({**PAYMENT, "to": "acct-2"}, "sha256:s2", call="c9"),
    "other-call-id": approved_payment(PAYMENT, "sha256:s1", call="c9"),
    "other-tool": approved_payment(PAYMENT, "sha256:s3", name="refund"),
}


def moved(start: str, written: str = "2026-06-03T14:00:00") -> Trace:
    return tool(
        request(timezone="Asia/Tokyo"),
        event("proposed", None, "proposal.parsed", state={"arguments": {"start": written}}),
        event("dispatched", None, "invocation.started", state={"arguments": {"start": start}}),
    )


F062 = {
    "left": moved("2026-06-03T05:00:00Z"),
    "right": moved("2026-06-03T14:00:00Z"),
    "with-offset": moved("2026-06-03T14:00:00+09:00"),
    "naive": moved("2026-06-03T05:00:00"),
}


def parallel(arrival: str, prefix: str, pairs: Sequence[Sequence[str]]) -> Trace:
    """Return two calls, their results in order of arrival, and what the model is told of them."""
    values = {"w": "22C", "t": "14:05"}
    calls = [
        event(
            f"call-{n}", "request", "tool.call", step=1, state={"tool": n}, ids={"call": prefix + n}
        )
        for n in "wt"
    ]
    results = [
        event(
            f"result-{n}",
            "request",
            "tool.result",
            step=1,
            choice={"value": values[n]},
            ids={"call": prefix + n},
        )
        for n in arrival
    ]
    told = event(
        "input",
        results[-1].event_id,
        "model.started",
        component="model runtime",
        step=2,
        joins=[result.event_id for result in results[:-1]],
        state={"results": [list(pair) for pair in pairs]},
    )
    return trace([request_root(), *calls, *results, told], kind="tool")


def request_root() -> Event:
    return event("request", None, "request.accepted", component="gateway")


RIGHT_PAIRS = [["w", "22C"], ["t", "14:05"]]
F063 = {
    "left": parallel("wt", "call_", RIGHT_PAIRS),
    "right": parallel("tw", "call_", [["w", "14:05"], ["t", "22C"]]),
    "other-arrival": parallel("tw", "c-", RIGHT_PAIRS),
}


def scheduled(call: str, minted: str) -> Trace:
    ids = {"call": call}
    return tool(
        request(),
        event("call", None, "tool.call", state={"tool": "schedule"}, ids=ids),
        event("result", None, "tool.result", choice={"value": f"Scheduled {minted}"}, ids=ids),
        event("input", None, "model.started", state={"messages": [f"Scheduled {minted}"]}),
    )


F065 = {
    "left": scheduled("call_aa", "f4af"),
    "right": scheduled("call_bb", "91c0"),
    "renamed": scheduled("call_bb", "f4af"),
}

TOOL_CASES = {
    "F051": F051,
    "F053": F053,
    "F055": F055,
    "F056": F056,
    "F058": F058,
    "F059": F059,
    "F062": F062,
    "F063": F063,
    "F065": F065,
}
