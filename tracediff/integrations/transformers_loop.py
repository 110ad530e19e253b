"""Looks into the loop of `generate`: its processors, criteria and forward passes, as they run.

Knows where transformers lets itself be watched. Must not know what is recorded. Nothing of the
loop is copied: the lists that `generate` calls are replaced by ones that call the same members.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch

from tracediff.integrations.transformers_model import CRITERIA, PROCESSORS
from tracediff.integrations.transformers_settings import names_of, plain_name


class Watcher(Protocol):
    """What is told while `generate` runs, in this order for each token."""

    def prepare(self, config: Any, prompt_length: int, mask: torch.Tensor | None) -> None:
        """The config is resolved and no pass has begun. `mask` is that of the prompts."""

    def enter_pass(self, arguments: dict[str, Any]) -> None:
        """A forward pass begins; the arguments may be changed."""

    def leave_pass(self, arguments: dict[str, Any], output: Any) -> None:
        """A forward pass has ended."""

    def start_selection(self, logits: torch.Tensor) -> None:
        """These are the raw logits [rows, vocabulary]."""

    def add_processed(self, name: str, logits: torch.Tensor) -> None:
        """A processor has made these of them."""

    def select(self, ids: torch.Tensor, ended: dict[str, torch.Tensor]) -> None:
        """The last of the ids [rows, length] are chosen; `ended` [rows] says which criteria end."""


@contextmanager
def watch_generate(model: Any, watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` what `model.generate` does in this thread while the block runs.

    `model` is claimed (`claim_model`). What other threads do with it passes by.
    """
    own = vars(model)
    before = {name: own.get(name) for name in (PROCESSORS, CRITERIA)}
    hooks: list[Any] = []
    try:
        _replace(model, watcher, hooks)
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for name, held in before.items():
            own.pop(name, None) if held is None else own.update({name: held})


def _replace(model: Any, watcher: Watcher, hooks: list[Any]) -> None:
    make_processors, make_criteria = getattr(model, PROCESSORS), getattr(model, CRITERIA)
    thread = threading.get_ident()

    def processors(*args: Any, **kwargs: Any) -> Any:
        made = make_processors(*args, **kwargs)
        if threading.get_ident() != thread:
            return made
        mask = (kwargs.get("model_kwargs") or {}).get("attention_mask")
        watcher.prepare(kwargs["generation_config"], kwargs["input_ids_seq_length"], mask)
        # Hooks come here, after those that `prepare` may have added, to be first before a pass
        # and last after it.
        hooks.extend(_hook(model, watcher, thread))
        return WatchedProcessors(made, watcher)

    def criteria(*args: Any, **kwargs: Any) -> Any:
        made = make_criteria(*args, **kwargs)
        return WatchedCriteria(made, watcher) if threading.get_ident() == thread else made

    vars(model).update({PROCESSORS: processors, CRITERIA: criteria})


def _hook(model: torch.nn.Module, watcher: Watcher, thread: int) -> Iterator[Any]:
    def enter(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        if threading.get_ident() != thread:
            return None
        watcher.enter_pass(kwargs)
        return args, kwargs

    def leave(module: Any, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        if threading.get_ident() == thread:
            watcher.leave_pass(kwargs, output)

    if getattr(model, "_compiled_call_impl", None) is not None:
        # What `model.compile()` made would try to compile the hooks, and warn that it cannot.
        enter, leave = torch.compiler.disable(enter), torch.compiler.disable(leave)
    yield model.register_forward_pre_hook(enter, with_kwargs=True, prepend=True)
    yield model.register_forward_hook(leave, with_kwargs=True)


class WatchedProcessors(list[Any]):
    """The logits processors of a generation, each of which is watched."""

    def __init__(self, made: Any, watcher: Watcher) -> None:
        super().__init__(made)
        self._call: Callable[[list[Any]], Any] = type(made)
        self._watcher = watcher

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> Any:
        """Return what the processors make of the scores."""
        self._watcher.start_selection(scores)
        for name, processor in zip(names_of(self), self, strict=True):
            scores = self._call([processor])(input_ids, scores, **kwargs)
            self._watcher.add_processed(name, scores)
        return scores


class WatchedCriteria(list[Any]):
    """The stopping criteria of a generation, each of which is watched."""

    def __init__(self, made: Any, watcher: Watcher) -> None:
        super().__init__(made)
        self._made = made
        self._watcher = watcher

    @property
    def max_length(self) -> int | None:
        """The longest that a row may become."""
        found: int | None = self._made.max_length
        return found

    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
        """Return which rows end."""
        call = type(self._made)
        done: torch.Tensor = call([])(input_ids, scores, **kwargs)
        ended: dict[str, torch.Tensor] = {}
        for criterion in self:
            name, rows = plain_name(criterion), call([criterion])(input_ids, scores, **kwargs)
            ended[name] = ended[name] | rows if name in ended else rows
            done = done | rows
        self._watcher.select(input_ids, ended)
        return done
