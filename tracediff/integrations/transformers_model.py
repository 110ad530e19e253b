"""What a recording borrows of a model of transformers, and that it is given back.

Knows the marks that a recording and transformers leave on a model. Must not know what is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

from tracediff.errors import UsageError

PROCESSORS: Final = "_get_logits_processor"
CRITERIA: Final = "_get_stopping_criteria"

_RECORDED: Final = "_tracediff_recording"
_CAPTURES: Final = "_output_capturing_hooks_installed"
_FORWARD: Final = "forward"
_CAPTURING: Final = "transformers.utils.output_capturing"
"""Where transformers 5 has the hooks that it puts around layers for `output_hidden_states`."""


@contextmanager
def claim_model(model: Any) -> Iterator[None]:
    """Let nobody else record `model` while the block runs; raise UsageError where somebody does.

    Also for a model whose generation cannot be watched. Nothing was changed when it raises.
    """
    for name in ("generate", PROCESSORS, CRITERIA):
        if not callable(getattr(model, name, None)):
            raise UsageError(
                f"record_generate cannot look into {type(model).__name__}: it has no {name}; "
                "give a causal language model of transformers, without a wrapper around it"
            )
    own, mark = vars(model), object()
    if own.setdefault(_RECORDED, mark) is not mark:  # one step, of which one thread is the first
        raise UsageError(
            f"this {type(model).__name__} is being recorded already, and a model has one recording "
            "at a time; wait until that record_generate has returned, or record another copy"
        )
    try:
        yield
    finally:
        own.pop(_RECORDED, None)


@contextmanager
def return_hooks(model: torch.nn.Module) -> Iterator[None]:
    """Take away what transformers leaves on layers when it is asked for hidden states.

    Version 5 leaves hooks and a mark, version 4 a method that the class has anyway. What was there
    before stays.
    """
    before = {
        module: (frozenset(module._forward_hooks), frozenset(vars(module)))
        for module in model.modules()
    }
    try:
        yield
    finally:
        for module, (hooks, names) in before.items():
            _take_away(module, hooks, names)


def _take_away(module: torch.nn.Module, hooks: frozenset[int], names: frozenset[str]) -> None:
    for key, hook in [*module._forward_hooks.items()]:
        if key not in hooks and getattr(hook, "__module__", None) == _CAPTURING:
            del module._forward_hooks[key]
    own = vars(module)
    if _CAPTURES not in names:
        own.pop(_CAPTURES, None)
    left = own.get(_FORWARD) if _FORWARD not in names else None
    if left is not None and getattr(left, "__func__", None) is type(module).forward:
        del own[_FORWARD]
