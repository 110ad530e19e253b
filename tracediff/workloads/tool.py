"""tool-001: two model calls around one tool call whose effect happens exactly once.

Drives engine and tool calls and tells a recorder. Must not know files or the command line. The
order of the events is the workload; what each holds is computed where it belongs: tokens by the
model, verdicts by `toolcalls`, states by the state table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tracediff.engine.decoder import build_decoder
from tracediff.engine.kernels import Kernel
from tracediff.recording.recorder import Recorder
from tracediff.toolcalls.authorise import authorise
from tracediff.toolcalls.calendar import CalendarService
from tracediff.toolcalls.channel import Channel, LocalChannel
from tracediff.toolcalls.client import RetryPolicy, execute
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.confirm import Decision, decide, find_mismatch, request_confirmation
from tracediff.toolcalls.encode import tool_message
from tracediff.toolcalls.invocation import Invocation
from tracediff.toolcalls.messages import Committed, CreateEvent, EffectKey
from tracediff.toolcalls.normalise import normalise_arguments
from tracediff.toolcalls.parse import parse_arguments
from tracediff.toolcalls.rejection import Rejection
from tracediff.toolcalls.schema_check import check_schema, find_breaches
from tracediff.toolcalls.tool_spec import ToolSpec, read_tool_spec
from tracediff.workloads.definitions import Definition
from tracediff.workloads.text_model import decoder_config
from tracediff.workloads.tool_call_events import (
    record_authorization,
    record_cancelled_after_commit,
    record_checked,
    record_closed,
    record_confirmation,
    record_confirmation_requested,
    record_normalization_rejected,
    record_normalized,
    record_parsed,
    record_proposal_rejected,
    record_result,
    record_step,
    record_tool_rejected,
)
from tracediff.workloads.tool_injections import NO_INJECTION, Injection
from tracediff.workloads.tool_model import (
    CallEnd,
    Generation,
    ToolText,
    generate_answer,
    generate_proposal,
    prefill,
)
from tracediff.workloads.tool_model_events import (
    record_answer,
    record_first_call,
    record_proposal,
    record_second_call,
    recorded_settings,
)
from tracediff.workloads.tool_trail import CallIds, ToolTrail


@dataclass(frozen=True, slots=True)
class World:
    """What lies outside the run and may be replaced: the fault, the way to the service, the tool.

    `open_channel` gets the run's clock; None opens a service in memory.
    """

    injection: Injection = NO_INJECTION
    open_channel: Callable[[SimulatedClock], Channel] | None = None
    tool: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a run ended: its final status, the answer, the external id, what is known of the effect.

    `external_commit` is None where the outcome stayed unknown.
    """

    status: str
    text: str
    external_id: str | None
    external_commit: bool | None


def run_tool(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None] = lambda text: None,
    world: World = World(),
) -> ToolResult:
    """Run the fixture and tell `recorder` every event; `on_text` gets each piece of the answer.

    Raises TokenizerError where the vocabulary does not cover a text.
    """
    run = _ToolRun(definition, settings, kernel, recorder, on_text, world)
    run.carry_out()
    return run.close()


class _ToolRun:
    """One run: its model, its clock, and what has become of its call."""

    def __init__(
        self,
        definition: Definition,
        settings: Mapping[str, Any],
        kernel: Kernel,
        recorder: Recorder,
        on_text: Callable[[str], None],
        world: World,
    ) -> None:
        self._definition = definition
        self._settings = settings
        self._kernel = kernel
        self._on_text = on_text
        self._world = world
        self._clock = SimulatedClock(datetime.fromisoformat(settings["clock"]))
        self._trail = ToolTrail(recorder, CallIds.of(definition))
        self._receipt: Committed | None = None
        self._answer = ""

    def carry_out(self) -> None:
        """Record everything up to the last event; end early where something is refused."""
        found = dict(self._world.tool or self._definition.content["tool"]["spec"])
        spec = read_tool_spec(found, self._definition.content["tool"]["capability"])
        if not isinstance(spec, Rejection):
            spec = check_schema(spec) or spec
        if isinstance(spec, Rejection):
            settings = recorded_settings(self._settings)
            record_tool_rejected(self._trail, self._settings["request"], settings, spec)
            return
        text = ToolText(self._definition, found)
        config = decoder_config(self._definition)
        decoder = build_decoder(config, self._definition.weights, self._kernel)
        first = prefill(decoder, text.first_prompt(self._settings))
        record_first_call(self._trail, self._definition, self._settings, spec, first)
        limit = self._settings["max_proposal_tokens"]
        proposal = generate_proposal(decoder, text, first, text.grammar(spec.schema), limit)
        record_proposal(self._trail, proposal)
        message = self._call_tool(spec, proposal)
        if message is None:
            return
        prompt = text.second_prompt(first.prompt, proposal.text, message)
        second = prefill(decoder, prompt, first if self._settings["prefix_cache"] else None)
        record_second_call(self._trail, self._definition, second, message)
        limit = self._settings["max_answer_tokens"]
        answer = generate_answer(decoder, text, second, limit, self._on_text)
        record_answer(self._trail, answer)
        self._answer = answer.text

    def close(self) -> ToolResult:
        """Record the last event; return the result."""
        status, external_commit = record_closed(self._trail, self._receipt)
        external_id = None if self._receipt is None else self._receipt.event_id
        return ToolResult(status, self._answer, external_id, external_commit)

    def _call_tool(self, spec: ToolSpec, proposal: Generation) -> str | None:
        """Take the proposal through all steps; return the message for the model, if it gets one."""
        arguments = self._read(proposal)
        if isinstance(arguments, Rejection):
            return None
        breaches = find_breaches(spec, arguments)
        record_checked(self._trail, spec, breaches)
        if breaches:
            return None
        invocation = self._prepare(spec, arguments)
        if invocation is None or not self._confirm(invocation):
            return None
        self._execute(invocation)
        if self._receipt is None:
            return None
        if self._world.injection.cancels_after_commit:
            record_cancelled_after_commit(self._trail, self._receipt)
            return None
        message = tool_message(self._receipt)
        record_result(self._trail, self._receipt, message)
        return message

    def _read(self, proposal: Generation) -> Any | Rejection:
        """Parse the proposed bytes."""
        content = self._world.injection.proposal(proposal.text.encode())
        arguments: Any | Rejection = parse_arguments(content)
        if proposal.end is not CallEnd.PROPOSAL_COMPLETE:
            # Never repaired and never executed, even where the bytes so far happen to be JSON.
            arguments = Rejection("truncated", "the model stopped before its proposal was complete")
        if isinstance(arguments, Rejection):
            record_proposal_rejected(self._trail, content, arguments)
        else:
            record_parsed(self._trail, content, arguments)
        return arguments

    def _prepare(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> Invocation | None:
        """Normalise and authorise; return what may be confirmed, if anything."""
        timezone, now = self._settings["timezone"], self._clock.now()
        normalized = normalise_arguments(arguments, timezone)
        if isinstance(normalized, Rejection):
            record_normalization_rejected(self._trail, normalized, now, timezone)
            return None
        invocation = Invocation(
            self._trail.ids.invocation,
            spec.identity,
            normalized,
            self._definition.content["request"]["subject"],
            spec.required_capability(normalized),
        )
        record_normalized(self._trail, invocation, now, timezone)
        verdict = authorise(invocation, self._settings["capabilities"])
        record_authorization(self._trail, verdict)
        return invocation if verdict.allowed else None

    def _confirm(self, invocation: Invocation) -> bool:
        """Ask, take the decision, and hold it against what stands there then."""
        confirmation_id = self._trail.ids.confirmation
        asked = request_confirmation(confirmation_id, invocation, self._settings["timezone"])
        record_confirmation_requested(self._trail, asked)
        self._clock.advance(self._definition.content["timing"]["decision_seconds"])
        confirmation = decide(asked, Decision(self._settings["decision"]))
        arguments = self._world.injection.confirmed(invocation.normalized_arguments)
        present = replace(invocation, normalized_arguments=arguments)
        mismatch = find_mismatch(confirmation, present)
        record_confirmation(self._trail, confirmation, present, mismatch)
        return mismatch is None and confirmation.decision is Decision.APPROVE

    def _execute(self, invocation: Invocation) -> None:
        """Carry out the confirmed invocation; keep the receipt if the effect exists."""
        content = self._definition.content
        operation, timing = content["tool"]["operation"], content["timing"]
        scope = invocation.required_capability.partition(":")[2]
        key = EffectKey(
            scope=f"{invocation.subject}/{scope}",
            tool_version=invocation.tool,
            idempotency_key=f"{self._trail.ids.request}:{operation}:1",
        )
        request = CreateEvent(key, invocation.request_digest, invocation.normalized_arguments)
        policy = RetryPolicy(
            retries=self._settings["retry_budget"],
            queries=timing["queries"],
            deadline_seconds=timing["deadline_seconds"],
            retry_after_seconds=timing["retry_after_seconds"],
        )
        open_channel = self._world.open_channel or self._open_local
        with closing(open_channel(self._clock)) as channel:
            for step in execute(request, channel, self._clock, policy):
                record_step(self._trail, step, invocation, request, self._clock.now())
                if isinstance(step.reply, Committed):
                    self._receipt = step.reply

    def _open_local(self, clock: SimulatedClock) -> Channel:
        seed = self._settings["service_seed"]
        faults = self._world.injection.faults
        return LocalChannel(lambda: CalendarService(":memory:", seed, clock), clock, faults)
