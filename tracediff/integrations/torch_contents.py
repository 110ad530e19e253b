"""What a module consists of, recorded before its calls and, where they changed it, after them.

Knows parameters, buffers, gradients and modes. Must not know calls or hooks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import torch

from tracediff.integrations.torch_conditions import module_settings
from tracediff.integrations.torch_parameters import identify_parameters
from tracediff.integrations.torch_places import ModulePlace
from tracediff.integrations.torch_tensors import record_tensor
from tracediff.integrations.torch_writes import ModuleTensors
from tracediff.recording.levels import TensorLevel
from tracediff.recording.recorder import Recorder
from tracediff.recording.scratch import Workspace

LOADED: Final = "module.loaded"
CHANGED: Final = "module.changed"


class ModuleContents:
    """The contents of the modules at `places`; without `name`, not the parameters of `module`."""

    def __init__(
        self,
        recorder: Recorder,
        module: torch.nn.Module,
        places: Mapping[torch.nn.Module, ModulePlace],
        name: str | None,
    ) -> None:
        self._recorder = recorder
        self._module = module
        self._places = places
        self._name = name
        self._tensors: ModuleTensors | None = None
        self.training = frozenset(
            place.component for held, place in places.items() if held.training
        )

    def load(self, leave_out: Sequence[str]) -> str:
        """Record what is there, and what the recording leaves out; return the event's id."""
        identities: dict[str, str] = {}
        sums: dict[str, list[int]] = {}
        if self._name is not None:
            prefix = f"{self._name}." if self._name else ""
            identities, sums = identify_parameters(self._module, prefix)
            self._tensors = ModuleTensors(self._module, prefix)
        components = [place.component for place in self._places.values()]
        settings: dict[str, object] = {"modules": module_settings(self._places)}
        if leave_out:
            settings["left_out"] = list(leave_out)
        return self._recorder.event(
            self._places[self._module].component,
            LOADED,
            artifacts=identities,
            state={
                "training": [held for held in components if held in self.training],
                "parameter_sums": sums,
            },
            settings=settings,
        )

    def tell_changes(self, step: int, level: TensorLevel, workspace: Workspace) -> None:
        """Record the parameters, buffers and gradients that are other ones than before."""
        changed = {} if self._tensors is None else self._tensors.changed()
        if not changed:
            return
        gone = [name for name, held in changed.items() if held is None]
        self._recorder.event(
            self._places[self._module].component,
            CHANGED,
            logical_step=step,
            outputs={
                part: record
                for name, held in changed.items()
                if held is not None
                for part, record in record_tensor(name, held, level, workspace=workspace)
            },
            choice={"gone": gone} if gone else None,
        )
