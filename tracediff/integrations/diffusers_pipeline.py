"""Records one call of a diffusers pipeline in the words of image-001, from prompt to picture.

Knows which methods a Stable Diffusion pipeline calls, and in which order. Must not know how their
tensors are named and cut into pictures (`diffusers_events`), nor schedulers (`diffusers_schedule`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from tracediff.errors import TracediffError, UsageError
from tracediff.integrations.diffusers_events import Noised, PipelineEvents
from tracediff.integrations.diffusers_parts import components_of, uncompiled
from tracediff.integrations.diffusers_predictions import Prediction
from tracediff.integrations.diffusers_refusals import refuse_other_latents, refuse_unknown
from tracediff.integrations.diffusers_replacing import call_through, replace_method
from tracediff.integrations.diffusers_request import Request, read_request
from tracediff.recording.recorder import Recorder


@contextmanager
def record_pipeline(
    pipe: Any,
    recorder: Recorder | str | Path,
    *,
    tensors: str = "sketch",
    parameters: bool = True,
) -> Iterator[PipelineRecording]:
    """Record the one call of `pipe` that is made while the block runs.

        with record_pipeline(pipe, "before.jsonl"):
            picture = pipe("a red umbrella", generator=generator).images[0]

    `recorder` is a path, which gives a finished trace at the end of the block, or a recorder of the
    caller's, who closes it. `tensors` is the level of a trace at a path. Without `parameters` the
    weights of the components are not identified.

    Pictures are lanes. A trace at a path is of kind `image`, whose contract `tracediff check`
    applies, if the pipeline makes a picture of noise alone by a scheduler that is known
    (`diffusers_request`); of kind `generic` otherwise, with the same events. On leaving the block,
    also by an exception, everything that was put around the pipeline's methods is taken away; an
    exception leaves an incomplete trace.

    Raises UsageError for a pipeline without UNet, scheduler, VAE, `encode_prompt` or
    `prepare_latents` and for one that makes films or sound, both before anything is computed; for a
    second call in the block, and for none. What cannot be recorded of a call does not end it: the
    call returns, and leaving the block raises UsageError.
    """
    refuse_unknown(pipe)
    recording = PipelineRecording(pipe, recorder, tensors, parameters)
    with ExitStack() as stack:
        recording.attach(stack)
        try:
            yield recording
        except BaseException:
            recording.abandon()
            raise
    recording.finish()


class PipelineRecording:
    """A recording under way: what stands around the methods of the pipeline."""

    def __init__(
        self, pipe: Any, recorder: Recorder | str | Path, tensors: str, parameters: bool
    ) -> None:
        self._pipe = pipe
        self._given = recorder
        self._tensors = tensors
        self._parameters = parameters
        self._own: Recorder | None = None
        self._events: PipelineEvents | None = None
        self._failed = False
        self._stopped: Exception | None = None
        self._noised: list[Noised] | None = None
        self._text_ids: dict[str, list[torch.Tensor]] = {}
        self._predictions: list[Prediction] = []

    def attach(self, stack: ExitStack) -> None:
        """Stand around the pipeline's methods until `stack` is left."""
        pipe = self._pipe
        call_through(stack, pipe, self._call)
        for owner, name, around in (
            (pipe, "encode_prompt", self._encode_prompt),
            (pipe, "prepare_latents", self._prepare_latents),
            (pipe, "get_timesteps", self._get_timesteps),
            (pipe.scheduler, "add_noise", self._add_noise),
            (pipe.scheduler, "step", self._step),
            (uncompiled(pipe.vae), "decode", self._decode),
        ):
            if callable(getattr(owner, name, None)):
                replace_method(stack, owner, name, around)
        unet = pipe.unet  # of one that torch.compile wraps, the wrapper: it is what is called
        stack.callback(unet.register_forward_hook(self._predict, with_kwargs=True).remove)
        for name, encoder in components_of(pipe).items():
            if name.startswith("text_encoder") and isinstance(encoder, torch.nn.Module):
                self._watch_encoder(stack, name, encoder)

    def finish(self) -> None:
        """End the trace; incomplete if the call failed.

        Raises UsageError if there was no call, or what could not be recorded of it.
        """
        if self._events is None:
            raise UsageError(
                f"the {type(self._pipe).__name__} was not called while it was recorded; call it "
                "once inside the block"
            )
        if self._own is not None:
            is_whole = not self._failed and self._stopped is None
            self._own.close() if is_whole else self._own.abandon()
        if isinstance(self._stopped, TracediffError):
            raise self._stopped
        if self._stopped is not None:
            raise UsageError(
                f"this call of {type(self._pipe).__name__} could not be recorded, though it ran to "
                f"its end: {type(self._stopped).__name__}: {self._stopped}; record its modules "
                "with record_module"
            ) from self._stopped

    def abandon(self) -> None:
        """Stop recording; what was recorded stays recognisably incomplete."""
        if self._own is not None:
            self._own.abandon()

    def _call(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._events is not None:
            raise UsageError(
                "a recording holds one call of a pipeline, and this is the second; put each call "
                "into a block of its own"
            )
        request = read_request(self._pipe, inspect.signature(call), args, kwargs)
        recorder = self._open(request)
        self._events = events = PipelineEvents(recorder, self._pipe, request)
        try:
            events.begin(self._parameters)
            result = call(*args, **kwargs)
        except BaseException as error:
            self._failed = True
            failure = error
            self._note(lambda: events.fail(failure))
            raise
        self._note(lambda: events.end(result))
        return result

    def _note(self, record: Callable[[], None]) -> None:
        """Let something be recorded; what fails there ends the recording, never the user's call."""
        if self._events is None or self._stopped is not None:
            return
        try:
            record()
        except Exception as error:
            self._stopped = error

    def _open(self, request: Request) -> Recorder:
        if isinstance(self._given, Recorder):
            return self._given
        self._own = Recorder(
            self._given,
            kind=request.kind,
            tensors=self._tensors,
            tolerances=request.tolerances,
            event_prefix="d",
        )
        return self._own

    def _encode_prompt(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._text_ids.clear()
        found = call(*args, **kwargs)
        if (events := self._events) is not None:
            self._note(lambda: events.encoded(found, self._text_ids))
        return found

    def _get_timesteps(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        found = call(*args, **kwargs)
        if (events := self._events) is not None:
            kept = found[0] if isinstance(found, tuple) else found
            self._note(lambda: events.shortened(len(kept)))
        return found

    def _prepare_latents(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        noised: list[Noised] = []
        self._noised = noised
        found = call(*args, **kwargs)
        self._noised = None
        latents = found[0] if isinstance(found, tuple) else found
        if (events := self._events) is not None:
            refuse_other_latents(self._pipe, latents)  # before the steps, which take long
            self._note(lambda: events.initialised(latents, noised[-1] if noised else None))
        return found

    def _add_noise(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        found = call(*args, **kwargs)
        noised = self._noised

        def note() -> None:
            if noised is not None:  # inpainting adds noise in every step as well
                clean, noise, *_ = inspect.signature(call).bind(*args, **kwargs).args
                noised.append((clean, noise))

        self._note(note)
        return found

    def _predict(
        self, unet: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        def note() -> None:
            bound = inspect.signature(uncompiled(unet).forward).bind(*args, **kwargs).arguments
            self._predictions.append(
                Prediction(
                    bound["sample"],
                    bound.get("encoder_hidden_states"),
                    bound.get("added_cond_kwargs") or {},
                    _first(output, "sample"),
                )
            )

        self._note(note)

    def _step(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        predictions, self._predictions = self._predictions, []
        found = call(*args, **kwargs)
        if (events := self._events) is not None:
            bound = inspect.signature(call).bind(*args, **kwargs).arguments
            self._note(
                lambda: events.updated(
                    bound["sample"], bound["timestep"], bound["model_output"], predictions, found
                )
            )
        return found

    def _decode(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        found = call(*args, **kwargs)
        if (events := self._events) is not None:
            self._note(
                lambda: events.decoded(args[0] if args else kwargs["z"], _first(found, "sample"))
            )
        return found

    def _watch_encoder(self, stack: ExitStack, name: str, encoder: torch.nn.Module) -> None:
        def note(_: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            ids = args[0] if args else kwargs.get("input_ids")
            if isinstance(ids, torch.Tensor):
                self._text_ids.setdefault(name, []).append(ids.detach().clone())

        stack.callback(encoder.register_forward_pre_hook(note, with_kwargs=True).remove)


def _first(output: Any, field: str) -> torch.Tensor:
    """Return the first value of a tuple, or the field of a model's output."""
    found: torch.Tensor = output[0] if isinstance(output, tuple) else getattr(output, field)
    return found
