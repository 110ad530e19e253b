"""The field cases about tokens, caches and text, as pairs of small traces."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from trace_building import chain, event, tensor

from tracediff.events import Event, Trace

DECODER, MODEL, TRANSPORT = "decoder", "model", "transport"


def text(*events: Event, tolerances: Sequence[Mapping[str, Any]] = ()) -> Trace:
    """Return a text trace whose events follow one from another."""
    header = {"tolerances": list(tolerances)} if tolerances else {}
    return chain(*events, kind="text", header=header)


def request(**settings: Any) -> Event:
    """Return the root, with the settings that the case is about."""
    return event(
        "request", None, "request.accepted", component="gateway", state={}, settings=settings
    )


def selected(step: int, token: int, top: Any = None, **sections: Any) -> Event:
    """Return the choice of a token, with the highest logits where the case records them."""
    choice = {"token_id": token} if top is None else {"token_id": token, "top": top}
    event_type = "token.selected"
    return event(
        f"selected-{step}",
        None,
        event_type,
        component=DECODER,
        step=step,
        choice=choice,
        **sections,
    )


def delta(number: int, piece: Any) -> Event:
    """Return a piece of streamed text."""
    return event(
        f"delta-{number}", None, "stream.delta", component=TRANSPORT, choice={"text": piece}
    )


def finished(reason: str, tokens: int | None = None, **choice: Any) -> Event:
    """Return the end of a generation."""
    counted = {} if tokens is None else {"output_tokens_selected": tokens}
    found = {"finish_reason": reason, **counted, **choice}
    return event("finish", None, "generation.draining", component=DECODER, choice=found)


def tie_at_the_top(token: int, order: Sequence[int], rule: str) -> Trace:
    return text(
        request(tie_rule=rule),
        selected(131, 5, [[5, -0.2], [9, -2.1]]),
        selected(132, token, [[x, -1.0606343] for x in order]),
    )


F002 = {
    "left": tie_at_the_top(16939, [16939, 22420], "lowest_id"),
    "right": tie_at_the_top(22420, [22420, 16939], "last_seen"),
    "cut": text(request(tie_rule="lowest_id"), selected(131, 5, [[5, -0.2], [9, -2.1]])),
}


def tie_at_the_border(kept: Sequence[int], token: int, batch: int) -> Trace:
    top = [[1, 3.0], [2, 2.0], [3, 2.0], [4, 1.0]]
    return text(
        request(top_k=2),
        event(
            "filter",
            None,
            "candidates.filtered",
            component="top_k",
            choice={"top": top, "kept": list(kept)},
            context={"batch_size": batch},
        ),
        selected(0, token),
    )


F003 = {
    "left": tie_at_the_border([1, 2, 3], 3, 1),
    "right": tie_at_the_border([1, 2], 1, 8),
}

ALL_AT_ONCE = [0.000183458128, 0.00265192371, 0.0010540031, 0.995938811, 0.000171804021]
ONE_BY_ONE = [0.000254121506, 0.00367633126, 0.000852121086, 0.994978921, 0.000238505494]


def probabilities(values: Sequence[float], rule: Mapping[str, Any], prefill: str) -> Trace:
    return text(
        request(),
        event(
            "forward",
            None,
            "prefill.completed",
            component=MODEL,
            outputs=[tensor("probabilities", np.array(values, np.float64))],
            context={"prefill": prefill},
        ),
        selected(0, 3),
        tolerances=[{"match": "probabilities", "mode": "allclose", **rule}],
    )


F005 = {
    "left": probabilities(ALL_AT_ONCE, {"atol": 1.1e-3}, "batched"),
    "right": probabilities(ONE_BY_ONE, {"atol": 1.1e-3}, "token by token"),
    "left-relative": probabilities(ALL_AT_ONCE, {"rtol": 1e-2}, "batched"),
    "right-relative": probabilities(ONE_BY_ONE, {"rtol": 1e-2}, "token by token"),
}


def forward(number: int, offset: int, count: int) -> Event:
    state = {
        "cache_length_before": offset,
        "cache_length": offset + count,
        "position_ids": [list(range(offset, offset + count))],
    }
    event_type = "decode.completed" if number else "prefill.completed"
    return event(f"forward-{number}", None, event_type, component=MODEL, step=number, state=state)


F008 = {
    "left": text(request(), forward(0, 0, 6), forward(1, 6, 1), selected(1, 14880)),
    "right": text(request(), forward(0, 0, 6), forward(1, 12, 1), selected(1, 108386)),
}


def static_cache(limit: int, used: int, allocated: int, top: Any) -> Trace:
    return text(
        request(max_new_tokens=limit),
        event(
            "attention",
            None,
            "attention.computed",
            component=MODEL,
            step=1,
            state={"layer": 0, "cache_length": used},
            context={"cache_allocated": allocated},
        ),
        selected(1, top[0][0], top),
    )


F010 = {
    "left": static_cache(20, 5, 24, [[11, 7.5], [12, 6.0]]),
    "right": static_cache(40, 44, 44, [[12, 6.5], [11, 6.0]]),
}


def window(prompt: int, reach: int, token: int) -> Trace:
    """Return an attention of window 4 in which a query reaches `reach` keys, itself included."""
    attended = [min(position + 1, reach) for position in range(prompt)]
    return text(
        request(),
        event(
            "attention",
            None,
            "attention.computed",
            component=MODEL,
            state={"layer": 0, "window": 4, "attended": attended},
        ),
        selected(0, token),
    )


F013 = {
    "left": window(7, 4, 3),
    "right": window(7, 5, 3),
    "left-of-four": window(4, 4, 3),
    "right-of-four": window(4, 5, 3),
    "left-of-five": window(5, 4, 3),
    "right-of-five": window(5, 5, 3),
}


def tokenized(ids: Sequence[int], token: int) -> Trace:
    return text(
        request(),
        event(
            "tokenized",
            None,
            "input.tokenized",
            component="tokenizer",
            choice={"input_ids": [list(ids)]},
        ),
        selected(0, token),
    )


F014 = {
    "left": tokenized([151646, 151644, 14990], 271),
    "right": tokenized([151646, 151646, 151644, 14990], 198),
}


def split_character(*pieces: tuple[int, str]) -> Trace:
    """Return two tokens that make one character, and the pieces sent after each."""
    halves = {0: (501, "8J8="), 1: (502, "mYI=")}  # f0 9f and 99 82
    events: list[Event] = [request()]
    for step, (token, half) in halves.items():
        chosen = {"token_id": token, "bytes": {"b64": half}}
        name = f"selected-{step}"
        events.append(
            event(name, None, "token.selected", component=DECODER, step=step, choice=chosen)
        )
        events += [delta(step, piece) for number, piece in pieces if number == step]
    return text(*events)


F017 = {
    "left": split_character((0, ""), (1, "🙂")),
    "right": split_character((0, "\ufffd"), (1, "\ufffd\ufffd")),
    "at-the-end": split_character((1, "🙂")),
}

STOP = "\nUser:"
F019 = {
    "left": text(request(stop=[STOP]), delta(0, "ok"), finished("stop", stop_sequence=STOP)),
    "right": text(
        request(stop=[STOP]),
        delta(0, "ok"),
        delta(1, "\nUser"),
        finished("stop", stop_sequence=STOP),
    ),
    "other-pieces": text(
        request(stop=[STOP]), delta(0, "o"), delta(1, "k"), finished("stop", stop_sequence=STOP)
    ),
}


def accepted(reason: str, tokens: int, tail: Sequence[int]) -> Trace:
    return text(
        request(max_new_tokens=10),
        event(
            "accepted",
            None,
            "draft.accepted",
            component=DECODER,
            state={"accepted_before": 8},
            choice={"run": [2, 71, 72]},
        ),
        finished(reason, tokens),
        event(
            "output", None, "response.completed", component=TRANSPORT, choice={"tail": list(tail)}
        ),
    )


F020 = {"left": accepted("stop", 9, [2]), "right": accepted("length", 10, [2, 71])}


def counted(count: int, source: str) -> Trace:
    return text(
        request(),
        event(
            "output",
            None,
            "response.completed",
            component=TRANSPORT,
            choice={"token_ids": [10, 11, 12], "text": "abc"},
            context={"token_count": count, "token_count_source": source},
        ),
    )


F024 = {"left": counted(3, "engine"), "right": counted(2, "retokenize")}


def scored(logprobs: Sequence[float]) -> Trace:
    return text(
        request(),
        event(
            "output",
            None,
            "response.completed",
            component=TRANSPORT,
            choice={"token_ids": [5, 6, 7], "logprobs": list(logprobs)},
        ),
    )


F026 = {"left": scored([-0.1, -0.2, -0.3]), "right": scored([-1.7, -0.1, -0.2, -0.3])}


def filtered(order: Sequence[str], temperature: float, kept: int) -> Trace:
    """Return one choice from the logits 3, 2, 1 after top_p 0.8 and a temperature.

    Each stage records what it does to the raw logits.
    """
    raw = np.array([3.0, 2.0, 1.0], np.float32)
    stages = {
        "top_p": np.where(np.arange(3) < kept, raw, np.float32(-np.inf)),
        "temperature": raw / np.float32(temperature),
    }
    return text(
        request(top_p=0.8, temperature=temperature),
        selected(
            0,
            0,
            inputs=[tensor("next_logits", raw)],
            outputs=[tensor(f"logits.{name}", stages[name]) for name in order],
        ),
    )


F028 = {
    "left": filtered(["top_p", "temperature"], 0.5, 2),
    "right": filtered(["temperature", "top_p"], 0.5, 1),
    "left-at-one": filtered(["top_p", "temperature"], 1.0, 2),
    "right-at-one": filtered(["temperature", "top_p"], 1.0, 2),
}

TEXT_CASES = {
    "F002": F002,
    "F003": F003,
    "F005": F005,
    "F008": F008,
    "F010": F010,
    "F013": F013,
    "F014": F014,
    "F017": F017,
    "F019": F019,
    "F020": F020,
    "F024": F024,
    "F026": F026,
    "F028": F028,
}
