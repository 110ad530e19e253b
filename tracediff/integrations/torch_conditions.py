"""What a call of a module meets beside tensors: settings, modes, caches, discrete values.

Knows modules and torch's modes. Must not know hooks or events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch

from tracediff.events.arithmetic import is_usual
from tracediff.integrations.nested import Leaves
from tracediff.integrations.torch_places import ModulePlace
from tracediff.recording.tensor_records import Recordable

DISCRETE_UP_TO: Final = 64
"""Integers of a tensor that a module reads, up to which they stand in `state`."""


def module_settings(places: Mapping[torch.nn.Module, ModulePlace]) -> dict[str, str]:
    """Return what modules say of their settings, such as an epsilon: no content, but a trigger."""
    return {
        place.component: f"{type(module).__name__}({said})"
        for module, place in places.items()
        if (said := module.extra_repr())
    }


def is_discrete(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds few integers or booleans, which are compared as `state`."""
    small = tensor.numel() <= DISCRETE_UP_TO and tensor.layout is torch.strided
    whole = not (tensor.is_floating_point() or tensor.is_complex() or tensor.is_quantized)
    return small and whole and not tensor.is_meta


def is_news(inputs: Mapping[str, Recordable], state: Mapping[str, Any]) -> bool:
    """Whether more than switches and caches arrives at a module."""
    return bool(inputs) or not all(isinstance(v, bool) for v in state.get("read", {}).values())


def lengths_state(leaves: Leaves) -> dict[str, Any]:
    """Return the lengths of caches as `state`, under the name that causes know."""
    found = list(leaves.cache_lengths.items())
    if len(found) == 1:
        return {"cache_length": found[0][1]}
    return {f"{name}.cache_length": lengths for name, lengths in found}


def autocast_state() -> dict[str, Any]:
    """Return the element type of each device's autocast as `state`, nothing where it is off."""
    found = {
        device: str(torch.get_autocast_dtype(device)).removeprefix("torch.")
        for device in ("cpu", "cuda")
        if torch.is_autocast_enabled(device)
    }
    return {"autocast": found} if found else {}


def call_context(module: torch.nn.Module) -> dict[str, Any]:
    """Return conditions that must not change the result."""
    if torch.is_inference_mode_enabled():
        gradients = "inference"
    else:
        gradients = "recorded" if torch.is_grad_enabled() else "off"
    devices = {str(parameter.device) for parameter in module.parameters()}
    found = {"gradients": gradients, "devices": sorted(devices)}
    if not is_usual():  # torch.set_flush_denormal, or a library that was compiled for speed
        found["arithmetic"] = "numbers near zero are flushed, or rounding is not to nearest"
    return found
