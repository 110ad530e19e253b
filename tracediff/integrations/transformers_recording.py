"""A generation under way: what is seen of it becomes the events of its rows.

Knows the passes and choices of `generate`. Must not know how they are watched, or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Final, Self

import torch

from tracediff.errors import UsageError
from tracediff.integrations.nested import cache_lengths
from tracediff.integrations.torch_conditions import autocast_state
from tracediff.integrations.torch_contents import LOADED
from tracediff.integrations.torch_modules import record_module
from tracediff.integrations.torch_parameters import identify_parameters
from tracediff.integrations.torch_random import RandomLedger
from tracediff.integrations.torch_recording import ModuleRecording
from tracediff.integrations.transformers_row import LOGITS, Pass, RowRecording
from tracediff.integrations.transformers_rows import (
    Row,
    attended,
    find_rows,
    pick_rows,
    positions_of,
)
from tracediff.integrations.transformers_settings import (
    ids_of,
    reason_of,
    refuse_mode,
    settings_of,
    stops_of,
)
from tracediff.integrations.transformers_text import TextStream, decode
from tracediff.recording.kernels import load_kernels
from tracediff.recording.levels import TensorLevel
from tracediff.recording.recordable import Draw
from tracediff.recording.recorder import Recorder
from tracediff.recording.scratch import Workspace

HIDDEN: Final = "output_hidden_states"
EOS: Final = "eos_token"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a generation is recorded: see `record_generate`."""

    level: TensorLevel
    layers: bool
    modules: bool
    parameters: bool
    rows: Sequence[int] | None


class GenerationRecording:
    """A generation under way; what `watch_generate` sees becomes events."""

    def __init__(
        self,
        model: Any,
        recorder: Recorder,
        extent: Extent,
        tokenizer: Any,
        prompts: Sequence[str] | None,
    ) -> None:
        self.has_begun = False
        self._model = model
        self._recorder = recorder
        self._extent = extent
        self._tokenizer = tokenizer
        self._prompts = prompts
        self._modules = ExitStack()
        self._module_recording: ModuleRecording | None = None
        self._random = RandomLedger()
        self._config: Any = None
        self._mask: torch.Tensor | None = None
        self._root = ""
        self._rows: list[RowRecording] = []
        self._passes: dict[int, Pass] = {}
        self._step = 0
        self._is_selecting = False
        self._workspace = Workspace(load_kernels())
        recorder.use_kernels(self._workspace.kernels)
        self._logits: torch.Tensor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._modules.__exit__(*error)

    @property
    def _open(self) -> list[RowRecording]:
        return [row for row in self._rows if not row.ended]

    def prepare(self, config: Any, prompt_length: int, mask: torch.Tensor | None) -> None:
        """Record what is asked for and what the model consists of."""
        refuse_mode(config)
        config.disable_compile = True  # what is compiled calls no hooks
        self.has_begun, self._config, self._mask = True, config, mask
        self._recorder.event(
            "gateway",
            "request.accepted",
            artifacts={"model": type(self._model).__name__},
            settings=settings_of(config, prompt_length, torch.initial_seed()),
            context=_context(self._model),
        )
        extent = self._extent
        if extent.modules:
            recording = record_module(
                self._model, self._recorder, level=extent.level, parameters=extent.parameters
            )
            self._module_recording = self._modules.enter_context(recording)
            self._random = self._module_recording.random
            self._root = self._module_recording.loaded
        else:
            self._root = self._load()

    def _load(self) -> str:
        """Record what the model consists of; everything follows from it."""
        model, is_wanted = self._model, self._extent.parameters
        identities, sums = identify_parameters(model) if is_wanted else ({}, {})
        name = type(model).__name__
        training = [path or name for path, held in model.named_modules() if held.training]
        return self._recorder.event(
            name,
            LOADED,
            artifacts=identities,
            state={"training": training, "parameter_sums": sums, **autocast_state()},
        )

    def enter_pass(self, arguments: dict[str, Any]) -> None:
        """Record that a pass begins."""
        if self._is_selecting:
            return  # a processor asks the model
        if not self._rows:
            self._begin(arguments["input_ids"])
        if self._extent.layers:
            arguments[HIDDEN] = True
        lengths = _cache_lengths(arguments)
        if not self._step and lengths and max(lengths) > 0:
            raise UsageError(
                "record_generate records from the first id on; the cache is filled already"
            )
        for recorded in self._open:
            passed = _started(recorded.row, recorded.chosen, arguments, lengths)
            self._passes[recorded.row.index] = passed
            recorded.start_pass(passed)
        if self._module_recording is not None:
            self._module_recording.step = self._step

    def leave_pass(self, arguments: dict[str, Any], output: Any) -> None:
        """Record what a pass has made."""
        if self._is_selecting:
            return
        draws = self._random.draws()
        lengths = _cache_lengths({**arguments, **output})
        for recorded in self._open:
            row, started = recorded.row, self._passes[recorded.row.index]
            found = _row_lengths(lengths, row)
            after = max(found) if found else started.cache_before + len(started.ids)
            if found is None and not self._config.use_cache:
                # Every layer has computed anew what a cache would hold.
                found = [after] * int(getattr(self._model.config, "num_hidden_layers", 0))
            passed = replace(
                started,
                cache_after=after,
                cache_lengths=found,
                tensors=_row_tensors(output, row.index, len(started.ids), self._extent.layers),
            )
            recorded.complete_pass(passed, self._own(draws, row))

    def start_selection(self, logits: torch.Tensor) -> None:
        """Take the raw logits."""
        self._is_selecting = True
        self._logits = logits
        for recorded in self._open:
            recorded.start_selection(_row_of(logits, recorded.row))

    def add_processed(self, name: str, logits: torch.Tensor) -> None:
        """Take what a processor made of them."""
        self._logits = logits
        for recorded in self._open:
            recorded.add_processed(name, _row_of(logits, recorded.row))

    def select(self, ids: torch.Tensor, ended: dict[str, torch.Tensor]) -> None:
        """Record the choice of each row, what is returned of it, and the end of rows that end."""
        self._is_selecting = False
        self._step += 1
        assert self._logits is not None
        draws, sampled = self._random.draws(), bool(self._config.do_sample)
        for recorded in self._open:
            row = recorded.row
            token = int(ids[row.index, -1])
            logits = _row_of(self._logits, row)
            recorded.select(token, logits, self._own(draws, row), sampled=sampled)
            reasons = [name for name, rows in ended.items() if bool(rows[row.index])]
            if EOS not in reasons:
                recorded.send(token)
            if reasons:
                recorded.end(reason_of(reasons))

    def _begin(self, input_ids: torch.Tensor) -> None:
        pad_ids = ids_of(self._config.pad_token_id)
        pad_ids |= ids_of(getattr(self._tokenizer, "pad_token_id", None))
        mask = self._mask
        if mask is not None and len(mask) < len(input_ids):
            # Several answers to a prompt: older versions prepare before the rows are multiplied.
            mask = mask.repeat_interleave(len(input_ids) // len(mask), dim=0)
        found = find_rows(input_ids, mask, pad_ids)
        picked = pick_rows(found, self._extent.rows)
        for row in picked:
            recorded = RowRecording(
                self._recorder,
                self._extent.level,
                row,
                {"row": row.index} if len(picked) > 1 else None,
                TextStream(self._tokenizer, stops_of(self._config)),
                self._root,
                self._workspace,
            )
            recorded.accept(self._prompt_of(row, len(found)), attended(row, mask, len(row.ids)))
            self._rows.append(recorded)

    def _prompt_of(self, row: Row, count: int) -> str | None:
        if self._prompts is not None:
            return self._prompts[row.index * len(self._prompts) // count]
        if self._tokenizer is None:
            return None
        return decode(self._tokenizer, row.ids, is_prompt=True)

    def _own(self, draws: Sequence[Draw], row: Row) -> list[Draw]:
        """Return draws for a row: those of a batch are for all its rows together."""
        if len(self._rows) == 1:
            return [*draws]
        return [replace(draw, generator=f"{draw.generator} row {row.index}") for draw in draws]


def _started(
    row: Row, chosen: Sequence[int], arguments: Mapping[str, Any], lengths: list[int] | None
) -> Pass:
    """Return what a pass over the prompt, or over the last chosen id, begins with."""
    count = 1 if chosen else len(row.ids)
    before = len(row.ids) + len(chosen) - count
    found = _row_lengths(lengths, row)
    return Pass(
        ids=arguments["input_ids"][row.index, -count:].tolist(),
        positions=positions_of(row, arguments.get("position_ids"), before, count),
        attended=attended(row, arguments.get("attention_mask"), before + count),
        cache_before=max(found) if found else before,
    )


def _row_of(logits: torch.Tensor, row: Row) -> torch.Tensor:
    return logits[row.index : row.index + 1]


def _row_tensors(
    output: Any, index: int, count: int, layers: bool
) -> dict[str, tuple[torch.Tensor, int | None]]:
    """Return a row's tensors of a pass: what each layer gave for its last `count` ids, logits."""
    found: dict[str, tuple[torch.Tensor, int | None]] = {}
    hidden = (output.get("hidden_states") or ()) if layers else ()
    for place, tensor in enumerate(hidden):
        if place == 0:
            name, layer = "embedding", None
        elif place == len(hidden) - 1:  # models of transformers give the last one normalised
            name, layer = "final_hidden", None
        else:
            name, layer = f"layer.{place - 1}.residual_out", place - 1
        found[name] = tensor[index : index + 1, -count:], layer
    found[LOGITS] = output["logits"][index : index + 1, -1], None
    return found


def _cache_lengths(values: Mapping[str, Any]) -> list[int] | None:
    """Return the lengths of the layers of the first cache among some values."""
    found = (cache_lengths(value) for value in values.values())
    return next((lengths for lengths in found if lengths), None)


def _row_lengths(lengths: list[int] | None, row: Row) -> list[int] | None:
    """Return the lengths without a row's padding; None where no layer keeps positions."""
    if not lengths or max(lengths) < 0:
        return None
    return [length if length < 0 else max(length - row.padding, 0) for length in lengths]


def _context(model: Any) -> dict[str, Any]:
    """Return conditions that must not change the result."""
    return {
        "transformers": version("transformers"),
        "torch": torch.__version__,
        "device": str(model.device),
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": getattr(model.config, "_attn_implementation", None),
    }
