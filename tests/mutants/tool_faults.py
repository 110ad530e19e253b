"""Faults in tool-001: model, parser, validator, authorisation, confirmation, execution, effect."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
from mutants.faulty_runs import (
    Exchange,
    by,
    changing_arguments,
    changing_result,
    changing_weight,
    faulty,
)
from mutants.graph_edits import cut_after, repeated, with_section, without
from mutants.mutant import Mutant
from mutants.text_rows import with_element, with_row
from trace_edits import Edit, put

from tracediff.events import Trace
from tracediff.events.tool_states import Trigger
from tracediff.toolcalls.authorise import Authorization
from tracediff.workloads.run import run_fixture

RUN = "tracediff.workloads.tool:"
MODEL = "tracediff.workloads.tool_model:"
CLIENT = "tracediff.toolcalls.client:"
DIGEST = "tracediff.toolcalls.invocation:json_digest"


@cache
def tool_call() -> Trace:
    """Return the main line."""
    return run_fixture("tool-001")


@cache
def branch(injection: str) -> Trace:
    """Return the run with an injection."""
    return run_fixture("tool-001", injection=injection)


@cache
def unauthorised() -> Trace:
    """Return the run of a subject that may only read."""
    return run_fixture("tool-001", {"capabilities": ["calendar.read"]})


def row(
    name: str,
    event: str,
    check: str,
    cause: str,
    *exchanges: Exchange,
    golden: Callable[[], Trace] = tool_call,
    injection: str | None = None,
    **overrides: Any,
) -> Mutant:
    """Return the row of a run of tool-001 with these exchanges, overrides and injection."""
    mutant = faulty("tool-001", *exchanges, overrides=overrides, injection=injection)
    return Mutant(name, golden, mutant, event, check, cause)


def fixed(
    name: str, event: str, check: str, cause: str, exchange: Exchange, injection: str
) -> Mutant:
    """Return the row of a run in which an injected fault is not noticed."""
    return row(
        name, event, check, cause, exchange, golden=lambda: branch(injection), injection=injection
    )


def edited(name: str, event: str, check: str, cause: str, edit: Edit) -> Mutant:
    """Return the row of the edited main line."""
    return Mutant(name, tool_call, lambda: edit(tool_call()), event, check, cause)


def weight(name: str, change: Callable[[Any], Any]) -> Exchange:
    return changing_weight(f"{RUN}build_decoder", name, change)


def _second_best(logits: Any) -> int:
    return int(np.argsort(-logits, kind="stable")[1])


def _second_best_once(original: Any) -> Any:
    """Choose the second best token at the first step of the answer, which no grammar binds."""
    chosen = []

    def choose(logits: Any) -> int:
        chosen.append(original(logits))
        return _second_best(logits) if len(chosen) == 28 else chosen[-1]

    return choose


def _without_zone(original: Any) -> Any:
    def normalise(arguments: Any, timezone: str) -> Any:
        found = original(arguments, "UTC")
        return {**found, "start": found["start"].replace("+00:00", "")}

    return normalise


def _as_written(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def _allowed(invocation: Any, capabilities: Any) -> Authorization:
    required = invocation.required_capability
    return Authorization(invocation.subject, required, required)


def _arguments_of_the_request(change: Callable[[Any], Any]) -> Exchange:
    def arguments(key: Any, digest: str, found: Any) -> tuple[Any, ...]:
        return key, digest, change(found)

    return changing_arguments(f"{RUN}CreateEvent", arguments)


def _digest_of_the_request(original: Any) -> Any:
    return lambda key, digest, arguments: original(key, _as_written(arguments), arguments)


def _key_of_its_own(original: Any) -> Any:
    return lambda **parts: original(**{**parts, "idempotency_key": "req-42:create-event:2"})


def _executed_twice(original: Any) -> Any:
    def execute(*args: Any) -> Any:
        yield from original(*args)
        yield from original(*args)

    return execute


def _whatever_comes(original: Any) -> Any:
    return lambda state, trigger: original(state, trigger) or state


def _tried_anew(original: Any) -> Any:
    """Take an unknown outcome for one that is known not to have been committed."""

    def resolve(*args: Any) -> Any:
        for step in original(*args):
            yield replace(step, trigger=Trigger.QUERY_ABSENT)

    return resolve


def _not_asked(original: Any) -> Any:
    def resolve(*args: Any) -> Any:
        found = list(original(*args))
        yield replace(found[-1], trigger=Trigger.INVOCATION_ABANDONED, reply=None)

    return resolve


TOOL_FAULTS = (
    row("extra-field", *("t02", "state", "schema-rejected"), injection="extra-field"),
    row(
        "confirmation-mismatch",
        *("t07", "structure", "confirmation-mismatch"),
        injection="confirmation-mismatch",
    ),
    row(
        "timeout-before-commit",
        *("t09", "structure", "extra-event"),
        injection="timeout-before-commit",
    ),
    row(
        "reply-lost",
        *("t09", "structure", "replaced-event"),
        injection="response-lost-after-commit",
    ),
    row(
        "cancelled-after-commit",
        *("t10", "structure", "replaced-event"),
        injection="cancel-after-commit",
    ),
    row("proposal-cut-off", *("t01", "outputs", "stop-rule"), max_proposal_tokens=20),
    row("not-authorised", *("t05", "structure", "refused"), capabilities=["calendar.read"]),
    row("denied", *("t07", "structure", "refused"), decision="deny"),
    row("other-request", *("t00", "state", "input-changed"), request="明天上午九点提醒我带护照。"),
    row("other-clock", *("t00", "state", "input-changed"), clock="2026-07-20T14:00:00+08:00"),
    row("other-zone", *("t04", "state", "unknown"), timezone="Asia/Tokyo"),
    row(
        "embedding-row",
        *("t00", "outputs", "numeric-path"),
        weight("embedding", with_row(26, 27)),
    ),
    row(
        "one-weight-of-layer-1",
        *("t00", "outputs", "numeric-path"),
        weight("layers.1.down", with_element((0, 0), 3.0)),
    ),
    row(
        "grammar-forgets-a-piece",
        *("t01", "outputs", "processor"),
        changing_result(
            "tracediff.engine.json_grammar:JsonGrammar.allowed", lambda found: sorted(found)[:1]
        ),
    ),
    row(
        "second-best-in-the-answer",
        *("t12", "outputs", "sampler"),
        Exchange(f"{MODEL}choose_greedy", _second_best_once),
    ),
    row(
        "date-and-month-exchanged",
        *("t02", "choice", "schema-rejected"),
        changing_result(
            f"{RUN}parse_arguments", lambda found: {**found, "local_date": "2026-20-07"}
        ),
    ),
    row(
        "duration-as-text",
        *("t02", "choice", "schema-rejected"),
        changing_result(f"{RUN}parse_arguments", lambda found: {**found, "duration_minutes": "10"}),
    ),
    fixed(
        "schema-not-checked",
        *("t03", "structure", "schema-rejected"),
        by(f"{RUN}find_breaches", lambda spec, arguments: []),
        "extra-field",
    ),
    row(
        "zone-ignored",
        *("t04", "choice", "time-shift"),
        changing_arguments(f"{RUN}normalise_arguments", lambda found, zone: (found, "UTC")),
    ),
    row(
        "zone-dropped",
        *("t04", "choice", "time-shift"),
        Exchange(f"{RUN}normalise_arguments", _without_zone),
    ),
    row(
        "digest-of-keys-as-written",
        *("t04", "choice", "digest-method"),
        by(DIGEST, _as_written),
    ),
    row(
        "everything-allowed",
        *("t05", "structure", "refused"),
        by(f"{RUN}authorise", _allowed),
        golden=unauthorised,
        capabilities=["calendar.read"],
    ),
    fixed(
        "mismatch-overlooked",
        *("t07", "structure", "confirmation-mismatch"),
        by(f"{RUN}find_mismatch", lambda confirmation, invocation: None),
        "confirmation-mismatch",
    ),
    row(
        "other-arguments-executed",
        *("t08", "state", "time-shift"),
        _arguments_of_the_request(lambda a: {**a, "start": "2026-07-20T10:00:00+08:00"}),
    ),
    row(
        "other-title-executed",
        *("t08", "state", "input-changed"),
        _arguments_of_the_request(lambda found: {**found, "title": "护照"}),
    ),
    row(
        "key-of-its-own",
        *("t08", "commit", "commit-identity"),
        Exchange(f"{RUN}EffectKey", _key_of_its_own),
    ),
    row(
        "digest-of-its-own",
        *("t08", "commit", "digest-method"),
        Exchange(f"{RUN}CreateEvent", _digest_of_the_request),
    ),
    row("other-service", *("t09", "commit", "commit-identity"), service_seed=1),
    row(
        "executed-twice",
        *("t10", "structure", "duplicate-commit"),
        Exchange(f"{RUN}execute", _executed_twice),
        Exchange("tracediff.toolcalls.machine:next_state", _whatever_comes),
    ),
    fixed(
        "tried-anew-after-a-lost-reply",
        *("t10", "state", "unknown"),
        Exchange(f"{CLIENT}_resolve", _tried_anew),
        "response-lost-after-commit",
    ),
    fixed(
        "given-up-after-a-lost-reply",
        *("t10", "structure", "replaced-event"),
        Exchange(f"{CLIENT}_resolve", _not_asked),
        "response-lost-after-commit",
    ),
    row(
        "message-for-the-model-changed",
        *("t10", "choice", "input-changed"),
        changing_result(f"{RUN}tool_message", lambda text: text.replace("ok", "OK")),
    ),
    edited("drop-confirmation", *("t07", "structure", "missing-event"), without("t07")),
    edited("repeat-commit", *("copy", "structure", "duplicate-commit"), repeated("t09")),
    edited("cut", *("t10", "structure", "truncated"), cut_after("t09")),
    edited(
        "tool-version",
        *("t08", "artifacts", "artifact-changed"),
        put("t08", "artifacts", tool="v2"),
    ),
    edited(
        "external-id",
        *("t09", "commit", "commit-identity"),
        put("t09", "commit", external_id="evt_1"),
    ),
    edited(
        "commit-missing", *("t09", "commit", "commit-identity"), with_section("t09", commit=None)
    ),
    edited(
        "invocation-of-two-calls",
        *("t05", "ids", "identifier"),
        put("t05", "ids", tool_call_id="p_02"),
    ),
)
