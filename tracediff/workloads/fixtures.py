"""Which fixtures there are. A fixture's module, and the engine behind it, loads when it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from tracediff.workloads.workload import Workload

_MODULES: Final = {
    "text-001": "tracediff.workloads.text_fixture",
    "image-001": "tracediff.workloads.image_fixture",
    "tool-001": "tracediff.workloads.tool_fixture",
    "agent-001": "tracediff.workloads.agent_fixture",
    "ddim-2d": "tracediff.workloads.ddim_2d_fixture",
}


class _Fixtures(Mapping[str, Workload]):
    """The workloads by the names of their fixtures; each module has one called WORKLOAD."""

    def __getitem__(self, name: str) -> Workload:
        workload = import_module(_MODULES[name]).WORKLOAD
        assert isinstance(workload, Workload)
        return workload

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


WORKLOADS: Final[Mapping[str, Workload]] = _Fixtures()
