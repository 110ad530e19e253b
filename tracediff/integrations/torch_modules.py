"""Records the calls of torch modules: what each read, drew and gave.

Knows which modules are asked for, and when a recording begins and ends. Must not know what is
recorded of a call or which model it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch

from tracediff.errors import UsageError
from tracediff.integrations.torch_hooks import watch_calls
from tracediff.integrations.torch_places import find_places
from tracediff.integrations.torch_random import RandomLedger
from tracediff.integrations.torch_recording import ModuleRecording
from tracediff.integrations.torch_taking import Select
from tracediff.recording.kernels import load_kernels
from tracediff.recording.levels import TensorLevel, parse_level
from tracediff.recording.recorder import Recorder


@contextmanager
def record_module(
    module: torch.nn.Module,
    recorder: Recorder,
    *,
    include: str | Sequence[str] = "*",
    level: TensorLevel | str | None = None,
    name: str = "",
    inputs: bool = True,
    parameters: bool = True,
    select: Select | None = None,
    generators: Mapping[str, torch.Generator] | None = None,
    leave_out: str | Sequence[str] = (),
) -> Iterator[ModuleRecording]:
    """Record every call of `module` and of the modules in it while the block runs.

        with Recorder("before.jsonl") as recorder, record_module(model, recorder):
            model(ids)

    One event `module.loaded` identifies parameters and buffers (not without `parameters`). Then
    each call is one `module.called`, in the order in which calls end: its component is the path of
    the module, its step counts the calls of `module`, its outputs are named `PATH.output`, with
    `[0]`, `.key` … for what nests. Before them, `module.entered` says what arrives at a module
    with submodules from outside of what is recorded. A draw of random numbers stands with the
    call in which it was made, or as `random.drawn` before the next call.

    `include` are globs over paths (`module` itself is the empty path); `level` is that of the
    recorder if not given; `name` goes before all paths, for recordings of several modules; without
    `inputs` only what arrives at `module` is recorded of what is read, and a draw stands with the
    first call that ends after it; `select` takes the name and the tensor and returns what to record
    of it, a row of a batch for example, or None for nothing; `generators` are random generators
    beside torch's own; `leave_out` are globs over names of arguments and results that are not
    looked at. What was compiled (`torch.compile`) is recorded as one call.

    Raises UsageError for other arguments than a module and a recorder, an `include` that fits no
    module, out of the call for what a trace cannot hold, and at the end of a block in which no call
    of a recorded module gave anything to compare.
    """
    if not isinstance(module, torch.nn.Module) or not isinstance(recorder, Recorder):
        raise UsageError(
            "record_module takes a torch.nn.Module and a tracediff.Recorder, such as "
            f'Recorder("run.jsonl"), not {type(module).__name__} and {type(recorder).__name__}'
        )
    places = find_places(module, include, name)
    level = parse_level(level) if isinstance(level, str) else level or recorder.level
    ledger = RandomLedger(generators)
    left_out = (leave_out,) if isinstance(leave_out, str) else tuple(leave_out)
    recording = ModuleRecording(recorder, level, inputs, ledger, select, left_out)
    recording.load(module, places, name if parameters else None)
    recorder.use_kernels(load_kernels())
    recorder.add_source(recording.flush)
    try:
        with watch_calls(places, recording, inputs=inputs):
            yield recording
        recording.check(places[module].component)
        recording.tell_changes()
    except BaseException:
        recording.fail()
        raise
    finally:
        recorder.remove_source(recording.flush)
