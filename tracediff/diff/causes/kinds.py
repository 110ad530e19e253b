"""All kinds of causes, each with one sentence that explains it to somebody who meets it first.

A kind is a stable word: reports name their rules by it. Must not know how a kind is recognised.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CAUSE_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "answer-changed": "The server's answer says something else.",
        "arguments-changed": "The same tool is called with other arguments.",
        "arguments-spelling": "The same arguments are spelled otherwise, with other blanks or in "
        "another order.",
        "artifact-changed": "An immutable artifact, such as a model or a tokenizer, is another "
        "one.",
        "cache-length": "A cache holds another number of entries.",
        "cache-position": "Entries of a cache, or tokens, sit at other positions.",
        "clipping": "The predicted clean latent of a denoising step is clipped on one side only.",
        "commit-identity": "A side effect is another one: its key, its content or its result.",
        "confirmation-mismatch": "What is to be executed is not what was confirmed.",
        "constant-factor": "Every element of a tensor differs by one and the same factor.",
        "container": "The pixels agree, only how the file holds them differs.",
        "detokenizer": "The same tokens gave other text.",
        "digest-method": "The digest of the same content is another one.",
        "dtype": "A tensor has another element type.",
        "duplicate-commit": "One side commits the same side effect more often than the other.",
        "extra-event": "Right has an event that left has not.",
        "framing": "The same pieces of an answer arrive in other server-sent events.",
        "guidance-order": "The positive and the negative half of guidance are exchanged.",
        "guidance-scale": "The two predictions of guidance are combined with another scale.",
        "identifier": "Local identifiers do not correspond one to one.",
        "infinity-sign": "Infinite elements appear on one side only, or with another sign.",
        "input-changed": "What goes into the execution, or into one of its steps, differs.",
        "layout-only": "The elements are the same, the shape or the order of the axes differs.",
        "log-probabilities": "The same answer comes with other log-probabilities of its tokens.",
        "mask": "Other elements or positions are masked out.",
        "missing-event": "Right lacks an event that left has.",
        "missing-field": "Only one side has a section, a field or a tensor.",
        "nan-born": "NaN appears in a tensor on one side only, or where it is to count.",
        "near-tie": "Another token was chosen, and the gap between the two best ones is not larger "
        "than the observed drift.",
        "non-canonical-digest": "The same content is spelled in another order, and its digest "
        "depends on the spelling.",
        "numeric-path": "Inputs and state agree and the computed numbers do not: the weights or "
        "the numeric path differ.",
        "permuted": "The same values stand in another order or in other places.",
        "prediction-type": "The same prediction is taken for noise on one side and for velocity on "
        "the other.",
        "processor": "The raw logits agree and a logits processor makes them differ.",
        "processor-order": "The same logits processors run in another order.",
        "protocol": "One side breaks a rule of its API that the other one keeps, or its stream "
        "ends otherwise.",
        "refused": "One side refuses what the other one carries on with.",
        "reordered": "The same event stands under another parent, in another lane or at another "
        "step.",
        "replaced-event": "Another event stands in the place of one.",
        "retry": "One side needed other tries until it was answered.",
        "rng-algorithm": "The random numbers come from another algorithm or transform.",
        "rng-counter": "The random numbers are drawn at another counter, or another number of "
        "them.",
        "sampler": "The logits agree, and the choice that is made from them differs.",
        "schedule": "The timesteps, or the factors that belong to them, are other ones.",
        "schema-rejected": "One side refuses arguments that break the schema of the tool.",
        "seed": "The random generator has another key.",
        "server-error": "One side answers with an error, or with another one.",
        "shape": "A tensor has another shape.",
        "sign-of-zero": "The values are equal but for the signs of zeros.",
        "status": "The servers answer with other statuses or content types.",
        "stop-rule": "One side stops where the other goes on.",
        "tie-break": "Candidates tie exactly, and each side breaks the tie its own way.",
        "time-shift": "Two moments differ, or only one of them says which zone it is in.",
        "tokenizer": "The same text was tokenized to other ids.",
        "training-mode": "A module is in training mode on one side only.",
        "transport-chunking": "The same text arrives in other pieces.",
        "truncated": "Something was cut off: one trace ends early, or a proposal is not complete.",
        "tool-call": "Another tool is called, or another number of calls is made.",
        "undecidable": "Not enough was recorded of two tensors to say whether they agree.",
        "unknown": "The traces diverge, and no known pattern fits the evidence.",
        "usage": "The same answer is counted as another number of tokens.",
    }
)
