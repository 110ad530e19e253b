"""Names the cause of the first divergence: one table of small functions, the first that fits wins.

To add a cause, write a function in `causes` and put it into the table where it belongs: the more
specific before the more general.
"""

from __future__ import annotations

from collections.abc import Callable

from tracediff.diff.causes import (
    choices,
    denoising_parts,
    diffusion,
    discrete,
    effects,
    layout,
    modules,
    numeric,
    pictures,
    randomness,
    streams,
    structure,
    texts,
)
from tracediff.diff.causes.findings import Findings
from tracediff.diff.result import Cause

RECOGNISERS: tuple[Callable[[Findings], Cause | None], ...] = (
    streams.layer,
    modules.changed_parameter,
    modules.training_mode,
    modules.masked,
    modules.autocast,
    modules.changed_between,
    discrete.artifact_changed,
    effects.executed_unconfirmed,
    effects.digest_alone,
    discrete.time_shift,
    discrete.input_changed,
    effects.refused,
    effects.cut_off_proposal,
    effects.duplicate_commit,
    structure.stop_rule,
    texts.held_back,
    texts.chunking,
    structure.truncated,
    structure.lone_event,
    structure.replaced_event,
    structure.moved_event,
    discrete.identifiers,
    texts.tokenizer,
    denoising_parts.lost_guidance,
    discrete.known_state,
    randomness.random_numbers,
    choices.flip_among_steps,
    choices.processor,
    numeric.undecidable,
    layout.nan_in_another_type,
    layout.layout_only,
    layout.attributes,
    discrete.recorded_place,
    numeric.not_finite,
    numeric.sign_of_zero,
    diffusion.exchanged_halves,
    diffusion.exchanged_batch,
    numeric.constant_factor,
    numeric.permuted,
    diffusion.guidance,
    diffusion.one_sided_guidance,
    denoising_parts.clipped,
    diffusion.prediction_type,
    diffusion.schedule,
    randomness.drawn_numbers,
    discrete.handed_on,
    modules.other_settings,
    numeric.numeric_path,
    choices.token_flip,
    choices.strategy,
    choices.kept_ties,
    pictures.container,
    texts.rendered_input,
    texts.detokenizer,
    discrete.exchanged_values,
    effects.commit_identity,
    effects.other_arguments,
    discrete.one_sided,
)


_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a cause may raise where a field that it reads has another form than the usual one."""


def explain(findings: Findings) -> Cause:
    """Return the cause of the first divergence, `unknown` where nothing fits."""
    for recognise in RECOGNISERS:
        try:
            cause = recognise(findings)
        except _UNREADABLE:
            continue  # a trace may hold anything under any key: then this is not the pattern
        if cause is not None:
            return cause
    return Cause("unknown", findings.component, "no known pattern fits the evidence")
