"""Records one row of a generation as the events of a text run.

Knows the recorder and the vocabulary of text traces. Must not know the model or the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch

from tracediff.engine.stopping import ANTHROPIC_WORDS, OPENAI_WORDS, FinishReason
from tracediff.integrations.torch_tensors import as_array, record_tensor
from tracediff.integrations.transformers_rows import Row
from tracediff.integrations.transformers_text import TextStream
from tracediff.recording.levels import TensorLevel
from tracediff.recording.recordable import Draw, Snapshot, Summarised
from tracediff.recording.recorder import Recorder
from tracediff.recording.scratch import Workspace
from tracediff.recording.tensor_records import Recordable

TOP: Final = 3
"""How many of the highest processed logits a selection lists."""

LOGITS: Final = "next_logits"


@dataclass(frozen=True, slots=True)
class Pass:
    """What a forward pass made of a row: its new ids and positions, and the caches around it.

    `cache_lengths` are those of the layers after it, `cache_before` and `cache_after` that of the
    row; `tensors` hold the row alone, by name, with the layer or None.
    """

    ids: list[int]
    positions: list[int]
    attended: Any
    cache_before: int
    cache_after: int = 0
    cache_lengths: list[int] | None = None
    tensors: Mapping[str, tuple[torch.Tensor, int | None]] = field(default_factory=dict)


class RowRecording:
    """The events of one row, from its prompt to its end."""

    def __init__(
        self,
        recorder: Recorder,
        level: TensorLevel,
        row: Row,
        lane: Mapping[str, int] | None,
        text: TextStream,
        root: str,
        workspace: Workspace,
    ) -> None:
        self.row = row
        self.chosen: list[int] = []
        self.ended = False
        self._recorder = recorder
        self._level = level
        self._lane = lane
        self._text = text
        self._last = root
        self._workspace = workspace
        self._returned: list[str] = []
        self._cache_length = 0
        self._raw: dict[str, Recordable] = {}
        self._processed: dict[str, Recordable] = {}

    def accept(self, prompt: str | None, mask_text: Any) -> None:
        """Record the prompt: its text, where it is known, and its ids without padding."""
        row = self.row
        text = {} if prompt is None else {"text": prompt, "utf8_bytes": _utf8_length(prompt)}
        self._event("application", "context.rendered", choice=text)
        self._event(
            "tokenizer",
            "input.tokenized",
            state={"attended": mask_text},
            choice={
                "input_ids": [list(row.ids)],
                "attention_mask": [list(row.mask)],
                "position_ids": [row.positions()],
            },
            context={"padding": row.padding} if row.padding else {},
        )

    def start_pass(self, started: Pass) -> None:
        """Record that a pass over the prompt, or over the last chosen id, begins."""
        if not self.chosen:
            state: dict[str, Any] = {"slot": 0, "logical_length": len(self.row.ids)}
            self._event("scheduler", "prefill.started", state=state)
            return
        state = {"token_id": started.ids[-1], "position": started.positions[-1]}
        self._event("scheduler", "decode.started", state=state)

    def complete_pass(self, passed: Pass, draws: Sequence[Draw]) -> None:
        """Record what a pass has made."""
        self._cache_length = passed.cache_after
        state: dict[str, Any] = {
            "input_ids": [passed.ids],
            "position_ids": [passed.positions],
            "cache_length_before": passed.cache_before,
            "cache_length": passed.cache_after,
        }
        if passed.cache_lengths is not None:
            state["layers"] = {"cache_length": passed.cache_lengths}
        if passed.attended is not None:
            state["attended"] = passed.attended
        outputs: dict[str, Recordable] = {}
        for name, (tensor, layer) in passed.tensors.items():
            place = {} if layer is None else {"layer": layer}
            ends = [passed.positions[-1 if name == LOGITS else 0], passed.positions[-1]]
            outputs.update(self._record(name, tensor, {**place, "positions": ends}))
        self._raw = {LOGITS: outputs[LOGITS]}
        kind = "decode.completed" if self.chosen else "prefill.completed"
        self._event("model", kind, state=state, rng=draws, outputs=outputs)

    def start_selection(self, logits: torch.Tensor) -> None:
        """Take the raw logits [1, vocabulary] of the next id."""
        logical = {"step": len(self.chosen) + 1}
        self._raw = dict(self._record(LOGITS, logits, logical, self._raw.get(LOGITS)))
        self._processed = {}

    def add_processed(self, name: str, logits: torch.Tensor) -> None:
        """Take the logits that a processor made."""
        name = f"logits.{name}"
        self._processed.update(self._record(name, logits, {"step": len(self.chosen) + 1}))

    def select(
        self, token: int, logits: torch.Tensor, draws: Sequence[Draw], *, sampled: bool
    ) -> None:
        """Record which id was chosen of the processed logits [1, vocabulary]."""
        self._event(
            "decoder",
            "token.selected",
            step=len(self.chosen) + 1,
            state={"cache_length": self._cache_length, "chosen_ids": [*self.chosen]},
            inputs=self._raw,
            rng=draws,
            outputs=self._processed,
            choice={"token_id": token, "strategy": "sampled" if sampled else "greedy"}
            | _top(logits),
            note=_margin(logits) | _piece(self._text.piece(token)),
        )
        self.chosen.append(token)

    def send(self, token: int) -> None:
        """Record the text that an id, which is no end token, completes."""
        selected = self._last
        self._send(self._text.push(token))
        self._last = selected

    def end(self, reason: FinishReason | str) -> None:
        """Record why the row ended and what was returned of it."""
        self.ended = True
        stop = self._text.stop_sequence
        choice: dict[str, Any] = {"finish_reason": reason, "stop_sequence": stop}
        draining = self._event("decoder", "generation.draining", choice=choice)
        self._send("" if reason is FinishReason.STOP_SEQUENCE else self._text.finish())
        text = "".join(self._returned)
        choice = {
            "status": "FINISHED",
            "text": text,
            "sequence_no": len(self._returned),
            "output_tokens_selected": len(self.chosen),
            "output_tokens_returned": self._count_returned(reason, len(text)),
            "finish_reason": reason,
        }
        if isinstance(reason, FinishReason):
            choice["finish_reason_openai"] = OPENAI_WORDS[reason]
            choice["finish_reason_anthropic"] = ANTHROPIC_WORDS[reason]
        self._last = draining
        self._event("transport", "response.completed", choice=choice)
        state = {"cache_final_length": self._cache_length}
        self._event("scheduler", "resources.released", state=state)

    def _send(self, piece: str) -> None:
        if piece:
            choice = {"sequence_no": len(self._returned), "text": piece}
            self._event("transport", "stream.delta", choice=choice)
            self._returned.append(piece)

    def _count_returned(self, reason: FinishReason | str, length: int) -> int:
        if reason is FinishReason.EOS:
            return len(self.chosen) - 1
        if reason is FinishReason.STOP_SEQUENCE:
            return self._text.count_within(length)
        return len(self.chosen)

    def _record(
        self,
        name: str,
        tensor: torch.Tensor,
        logical: Mapping[str, Any],
        known: Recordable | None = None,
    ) -> Iterator[tuple[str, Recordable]]:
        parts = record_tensor(name, tensor, self._level, known=known, workspace=self._workspace)
        for part, recorded in parts:
            if isinstance(recorded, Snapshot | Summarised):
                yield part, replace(recorded, logical=logical)

    def _event(
        self, component: str, event_type: str, *, step: int | None = None, **sections: Any
    ) -> str:
        self._last = self._recorder.event(
            component,
            event_type,
            logical_step=len(self.chosen) if step is None else step,
            parent=self._last,
            lane=self._lane,
            **{key: value for key, value in sections.items() if value},
        )
        return self._last


def _top(logits: torch.Tensor) -> dict[str, Any]:
    """Return the ids of the highest logits with them, equal ones in order of ids."""
    row = logits[0]
    if row.isnan().any():
        return {}
    least = row.topk(min(TOP, len(row))).values[-1]
    ids = (row >= least).nonzero()[:, 0]
    order = torch.sort(row[ids], descending=True, stable=True).indices[:TOP]
    best = ids[order]
    values, _ = as_array(LOGITS, row[best])
    return {"top": [[int(token), value] for token, value in zip(best, values, strict=True)]}


def _margin(logits: torch.Tensor) -> dict[str, Any]:
    best = logits[0].double().topk(min(2, logits.shape[-1])).values
    return {"top_2_margin": float(best[0] - best[-1])}


def _piece(piece: str | None) -> dict[str, Any]:
    return {} if piece is None else {"piece": piece}


def _utf8_length(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
