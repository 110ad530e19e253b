"""A proposed name map: on the terminal, as a rules file, as JSON-ready data.

Knows finished proposals; computes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.diff.map_suggestion import SuggestedRule, Suggestion
from tracediff.diff.renaming import NOUNS
from tracediff.render.escape import LONGEST_MESSAGE, visible
from tracediff.render.rows import counted, print_indented, print_row

SUGGESTION_FORMAT = "tracediff-map/1"
EVIDENCE_INDENT = 4
MOST_NAMES = 20

MEANINGS = {
    "digest": "equal tensors",
    "value": "equal values",
    "distance": "tensors near each other",
    "shape": "the same shapes in the same order only",
    "name": "the same name in corresponding events",
}


def print_suggestion(found: Suggestion, console: Console) -> None:
    """Print every rule with what speaks for it, then the names without a counterpart."""
    for suggested in found.rules:
        console.print(Text(visible(suggested.rule.text, LONGEST_MESSAGE), "bold"), soft_wrap=True)
        print_indented(console, evidence_text(suggested), EVIDENCE_INDENT, EVIDENCE_INDENT)
    print_row(console, "same", f"{counted(found.same, 'name')} that both traces have")
    renamed = sum(len(suggested.pairs) for suggested in found.rules)
    rules = counted(len(found.rules), "rule")
    print_row(console, "mapped", f"{counted(renamed, 'name')} by {rules}")
    for side, kind, names in _lone(found):
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        listed = ", ".join(visible(name) for name in names[:MOST_NAMES])
        print_row(console, f"only {side}", f"{counted(len(names), NOUNS[kind])}: {listed}{more}")


def rules_text(found: Suggestion) -> str:
    """Return the rules file: each rule under a comment that says what speaks for it."""
    lines = ["# Proposed by `tracediff map --suggest`: read it before you use it."]
    for suggested in found.rules:
        lines += ["", f"# {evidence_text(suggested)}", suggested.rule.text]
    for side, kind, names in _lone(found):
        lines += ["", f"# only in the {side} trace ({kind}):"]
        lines += [f"#   {visible(name, LONGEST_MESSAGE)}" for name in names]
    return "\n".join(lines) + "\n"


def suggestion_to_json(found: Suggestion) -> dict[str, Any]:
    """Return a proposal as JSON-ready data."""
    return {
        "format": SUGGESTION_FORMAT,
        "rules": [
            {
                "rule": suggested.rule.text,
                "evidence": dict(Counter(pair.evidence for pair in suggested.pairs)),
                "names": [asdict(pair) for pair in suggested.pairs],
            }
            for suggested in found.rules
        ],
        "same": found.same,
        "only_left": {kind: list(names) for kind, names in found.pairing.only_left.items()},
        "only_right": {kind: list(names) for kind, names in found.pairing.only_right.items()},
    }


def evidence_text(suggested: SuggestedRule) -> str:
    """Return how many names a rule is for and by what they were paired."""
    counts = Counter(pair.evidence for pair in suggested.pairs)
    first = suggested.pairs[0]
    example = f"{visible(first.left)} is {visible(first.right)}"
    names = counted(len(suggested.pairs), "name")
    if len(counts) == 1:
        return f"{names} by {MEANINGS[first.evidence]}; {example}"
    parts = [f"{count} by {MEANINGS[word]}" for word, count in counts.most_common()]
    return f"{names}: {', '.join(parts)}; {example}"


def _lone(found: Suggestion) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for side, only in (("left", found.pairing.only_left), ("right", found.pairing.only_right)):
        for kind, names in only.items():
            if names:
                yield side, kind, names
