"""What tracediff must say about each pair of the field cases: outcome, place, cause, and print."""

from dataclasses import dataclass

from tracediff.diff import DiffOptions, Outcome

EQUAL, WITHIN = Outcome.EQUAL, Outcome.WITHIN_TOLERANCE
PLAIN = DiffOptions()
JOINED = DiffOptions(views=("joined-text",))
PIXELS = DiffOptions(level="pixel")
NAN_DIFFERS = DiffOptions(nan_equal=False)


@dataclass(frozen=True, slots=True)
class Parted:
    """Two files that diverge: left's event, section, cause, the end of the field's path.

    `prints` must stand in the report for a terminal.
    """

    case: str
    event: str
    check: str
    cause: str
    field: str
    left: str = "left"
    right: str = "right"
    prints: tuple[str, ...] = ()
    options: DiffOptions = PLAIN


@dataclass(frozen=True, slots=True)
class Same:
    """Two files that are equal, exactly or within the declared tolerance."""

    case: str
    right: str
    left: str = "left"
    outcome: Outcome = EQUAL
    prints: tuple[str, ...] = ()
    options: DiffOptions = PLAIN


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that one file breaks by itself, the event, words of the reason, and a file without."""

    case: str
    rule: str
    event: str
    reason: str = ""
    file: str = "right"
    kept_by: str = "left"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is no trace one can rely on: the outcome, its line, words of the reason."""

    case: str
    file: str
    outcome: Outcome
    line: int | None
    reason: str


PARTED = (
    # The top list is a set where values tie: what differs is the token.
    Parted(
        *("F002", "selected-132", "choice", "tie-break", "choice.token_id"),
        prints=("settings.tie_rule", '"lowest_id" -> "last_seen"'),
    ),
    Parted(
        *("F002", "selected-132", "structure", "truncated", "event"),
        right="cut",
        prints=("right ends after selected-131", "only left has this event"),
    ),
    Parted(
        *("F003", "filter", "choice", "tie-break", "choice.kept[2]"),
        prints=("left keeps 3, right 2", "context.batch_size", "1 -> 8"),
    ),
    Parted(
        *("F005", "forward", "outputs", "numeric-path", "[probabilities]"),
        left="left-relative",
        right="right-relative",
        prints=("rtol=0.01", "declared: probabilities", "worst"),
    ),
    Parted(
        *("F008", "forward-1", "state", "cache-length", "cache_length_before"), prints=("6", "12")
    ),
    Parted(
        *("F010", "attention", "state", "cache-length", "state.cache_length"),
        prints=("settings.max_new_tokens", "20 -> 40", "context.cache_allocated", "24 -> 44"),
    ),
    Parted("F013", "attention", "state", "mask", "attended[4]"),
    Parted(
        *("F013", "attention", "state", "mask", "attended[4]"),
        left="left-of-five",
        right="right-of-five",
    ),
    Parted(
        *("F014", "tokenized", "choice", "tokenizer", "input_ids[0][1]"),
        prints=("[151646] inserted at 1",),
    ),
    Parted("F017", "delta-0", "choice", "detokenizer", "choice.text", prints=("tokens too",)),
    Parted(
        *("F017", "delta-0", "structure", "transport-chunking", "event"),
        right="at-the-end",
        prints=("the same in the end",),
    ),
    Parted(
        *("F017", "joined-text-0", "choice", "detokenizer", "choice.text"),
        options=JOINED,
        prints=("view joined-text",),
    ),
    Parted(
        *("F019", "delta-1", "structure", "stop-rule", "event"),
        prints=("belongs to the stop sequence",),
    ),
    Parted(
        *("F019", "joined-text-0", "choice", "stop-rule", "choice.text"),
        options=JOINED,
        prints=('"ok"', "belongs to the stop sequence", "view joined-text"),
    ),
    Parted(
        *("F020", "finish", "choice", "stop-rule", "choice.finish_reason"),
        prints=("left ends by stop, right by length",),
    ),
    Parted("F026", "output", "choice", "unknown", "choice.logprobs[0]"),
    Parted(
        *("F028", "selected-0", "outputs", "processor-order", "[logits.top_p]"),
        prints=("processor-order",),
    ),
    Parted(
        *("F030", "selected-1", "rng", "rng-counter", "counter_before"),
        prints=("never comparable",),
    ),
    Parted(
        *("F033", "latents", "rng", "rng-algorithm", "algorithm"),
        prints=("never comparable", '"cpu" -> "cuda"'),
    ),
    Parted(
        *("F035", "step-1", "rng", "rng-counter", "counter_before"),
        prints=("batch_size", "1 -> 2", "lane"),
    ),
    Parted(*("F037", "step-0", "state", "schedule", "previous_timestep"), prints=("888", "899")),
    Parted(
        *("F040", "start", "state", "schedule", "timesteps[0]"),
        prints=("900", "999", "settings.spacing"),
    ),
    Parted(
        *("F040", "start", "state", "schedule", "timesteps[0]"),
        left="left-offset",
        right="right-offset",
        prints=("981", "980"),
    ),
    Parted("F043", "pooled", "state", "guidance-order", "guidance_order[0]"),
    Parted(
        *("F043", "pooled", "outputs", "guidance-order", "[pooled_negative]"),
        right="undeclared",
        prints=("pooled_negative and pooled_positive are exchanged",),
    ),
    Parted(*("F043", "step", "outputs", "guidance-order", "[epsilon_negative]"), right="exchanged"),
    Parted(
        *("F043", "step", "outputs", "guidance-order", "[epsilon_guided]"),
        right="combined-the-other-way",
    ),
    Parted(
        *("F045", "decoded", "outputs", "constant-factor", "[latent_scaled]"),
        prints=("0.18215",),
    ),
    Parted(
        *("F046", "decoded", "outputs", "nan-born", "[pixels]"),
        prints=("settings.vae_dtype", '"float32" -> "float16"'),
    ),
    Parted(
        *("F046", "decoded", "outputs", "nan-born", "[pixels]"),
        right="right-in-half",
        prints=("settings.vae_dtype", "float16"),
    ),
    Parted(
        *("F046", "decoded", "outputs", "nan-born", "[pixels]"),
        left="right",
        right="also-nan",
        options=NAN_DIFFERS,
    ),
    Parted(*("F050", "encoded", "choice", "container", "png_digest"), prints=("the pixels agree",)),
    Parted(
        *("F051", "retry", "structure", "duplicate-commit", "component"),
        prints=("k1 is committed 1 times on the left, 2 on the right",),
    ),
    Parted(
        *("F053", "dispatch-again", "commit", "commit-identity", "idempotency_key"),
        prints=("settings.durable", "true -> false", '"e1"', '"e2"'),
    ),
    Parted("F055", "answer", "choice", "unknown", "choice.status", prints=("422", "201")),
    Parted("F055", "answer", "choice", "unknown", "choice.status", right="conflict"),
    Parted(
        *("F056", "call", "choice", "non-canonical-digest", "request_digest"),
        prints=("spelled in another order",),
    ),
    Parted("F056", "call", "state", "input-changed", "arguments.b[0]", right="array-order"),
    Parted("F056", "call", "state", "input-changed", "arguments.a", right="as-float"),
    Parted(
        *("F058", "rejected", "structure", "truncated", "component"),
        prints=("the proposal was cut off",),
    ),
    Parted(
        *("F059", "dispatched", "state", "confirmation-mismatch", "arguments.to"),
        prints=('"acct-1"', '"acct-2"', "executes what nobody confirmed", "context.call"),
    ),
    Parted(
        *("F059", "dispatched", "state", "confirmation-mismatch", "state.tool"),
        right="other-tool",
    ),
    Parted(
        *("F062", "dispatched", "state", "time-shift", "arguments.start"),
        prints=("9:00:00 later",),
    ),
    Parted(
        *("F062", "dispatched", "state", "time-shift", "arguments.start"),
        right="with-offset",
        prints=("the same moment in another zone",),
    ),
    Parted(
        *("F062", "dispatched", "state", "time-shift", "arguments.start"),
        right="naive",
        prints=("a zone on one side only",),
    ),
    Parted(
        *("F063", "input", "state", "permuted", "results[0][1]"),
        prints=('"22C"', '"14:05"', "stand in other places"),
    ),
    # The minted id reaches the next model input: one divergence downstream, in its state.
    Parted(
        *("F065", "result", "choice", "unknown", "choice.value"),
        prints=("f4af", "91c0", "1 local ids renamed", "(1 in state)"),
    ),
    Parted(*("F068", "draw", "rng", "rng-counter", "draws.count"), prints=("never comparable",)),
    Parted(
        *("F068", "draw", "rng", "rng-counter", "draws.count"),
        left="left-of-seven",
        right="right-of-fourteen",
    ),
    Parted(
        *("F070", "draw", "outputs", "rng-algorithm", "[noise.from-98304]"),
        prints=("noise.from-98304", '"4090D" -> "W7900"'),
    ),
    Parted(
        *("F074", "raw", "rng", "rng-algorithm", "counter_before"), prints=("never comparable",)
    ),
    Parted("F075", "draw-1", "rng", "rng-counter", "counter_before"),
    Parted(
        *("F085", "seed", "rng", "seed", "key[0]"),
        prints=("6687881544318117707", "6687881544318118000", "looks like a float64 round trip"),
    ),
    Parted(
        *("F085", "seed", "state", "unknown", "state.element"),
        left="left-position",
        right="right-position",
        prints=("9007199254740993", "9007199254740992"),
    ),
    Parted("F086", "e1", "choice", "unknown", "choice.text", prints=("\\ud83d",)),
    Parted(
        *("F086", "e1", "choice", "unknown", "choice.text"),
        left="right",
        right="other-half",
        prints=("\\ud83d", "\\ud83e"),
    ),
)

SAME = (
    Same("F005", "right", outcome=WITHIN, prints=("atol=0.0011", "context.prefill")),
    Same("F013", "right-of-four", left="left-of-four"),
    Same("F017", "at-the-end", options=JOINED, prints=("view joined-text",)),
    Same("F019", "other-pieces", options=JOINED, prints=("view joined-text",)),
    Same("F024", "right", prints=("context.token_count", "3 -> 2", '"engine" -> "retokenize"')),
    Same(
        *("F028", "right-at-one", "left-at-one"),
        prints=("equal tensors in another order: no effect",),
    ),
    Same("F046", "also-nan", left="right", prints=("NaN counts as equal",)),
    Same("F050", "right", options=PIXELS, prints=("level pixel",)),
    Same("F056", "same-digest"),
    Same("F059", "other-call-id", prints=("context.call", '"c1" -> "c9"')),
    Same("F063", "other-arrival", prints=("2 local ids renamed",)),
    Same("F065", "renamed", prints=("1 local ids renamed",)),
    Same("F081", "right"),
    Same("F082", "right", prints=("BOM",)),
    Same("F086", "raw"),
    Same("F087", "right", prints=("byte-identical copies of events were dropped (1)",)),
    Same("F088", "child-first"),
    Same("F089", "deep", left="deep"),
    Same("F090", "right"),
)

BROKEN = (
    Broken("F008", "caches-grow-by-one", "forward-1"),
    Broken("F026", "scores-match-ids", "output"),
    Broken("F030", "rng-counters-do-not-overlap", "selected-1"),
    Broken("F037", "previous-is-the-next", "step-0"),
    Broken("F043", "negative-comes-first", "pooled"),
    Broken("F051", "one-effect-per-call", "call-again"),
    Broken("F053", "unknown-outcome-is-queried", "dispatch-again", "under another key"),
    Broken("F055", "one-request-per-key", "second", kept_by="own-key"),
    Broken("F058", "truncated-is-not-executed", "call"),
    Broken("F059", "confirmed-is-executed", "dispatched"),
    Broken("F075", "rng-counters-do-not-overlap", "draw-1"),
)

UNREADABLE = (
    Unreadable("F078", "right", Outcome.INCOMPLETE, 3, ""),
    Unreadable("F078", "ends-at-a-line", Outcome.INCOMPLETE, 2, "no `end`"),
    Unreadable("F078", "broken-in-the-middle", Outcome.CORRUPT, 2, ""),
    Unreadable("F082", "later", Outcome.CORRUPT, 2, ""),
    Unreadable("F087", "conflict", Outcome.INVALID, 3, "with other content"),
    Unreadable("F088", "right", Outcome.INVALID, 2, "no event 'x9'"),
    Unreadable("F089", "right", Outcome.INVALID, None, "its own ancestor"),
    Unreadable("F089", "self", Outcome.INVALID, 2, "its own ancestor"),
    Unreadable("F089", "long-cycle", Outcome.INVALID, None, "its own ancestor"),
    Unreadable("F090", "cut", Outcome.INCOMPLETE, None, ""),
)
