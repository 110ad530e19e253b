"""The rows of a batch of prompts: which of a row is padding, and what is left without it.

Knows ids, masks and positions. Must not know models or events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, takewhile

import torch

from tracediff.errors import UsageError


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt of a batch: its place, how much padding precedes it, and the rest of it.

    `ids` and `mask` (1: attended) are without the padding.
    """

    index: int
    padding: int
    ids: tuple[int, ...]
    mask: tuple[int, ...]

    def positions(self) -> list[int]:
        """Return the positions that `generate` gives the ids: those attended before each."""
        return [max(count - 1, 0) for count in accumulate(self.mask)]


def find_rows(
    input_ids: torch.Tensor, mask: torch.Tensor | None, pad_ids: frozenset[int]
) -> list[Row]:
    """Return the rows of `input_ids` [rows, length] under `mask` of the same shape (None: all 1).

    Padding is a run at the start of a row that the mask hides and that is one id throughout: one
    of `pad_ids`, or any where another row has text there. Raises UsageError for rows whose last id
    is hidden, from which nothing could be generated.
    """
    ids = [[int(token) for token in row] for row in input_ids.tolist()]
    masks = [[1] * len(row) for row in ids] if mask is None else mask.long().tolist()
    rows = []
    for index, (tokens, bits) in enumerate(zip(ids, masks, strict=True)):
        if not bits or not bits[-1]:
            raise UsageError(
                f"the attention mask hides the last id of row {index}; generate continues a row "
                "after its last id, so pad on the left"
            )
        hidden = tokens[: len([*takewhile(lambda bit: not bit, bits)])]
        is_padding = len(set(hidden)) == 1 and (
            hidden[0] in pad_ids or any(other[0] for other in masks)
        )
        padding = len(hidden) if is_padding else 0
        rows.append(Row(index, padding, tuple(tokens[padding:]), tuple(bits[padding:])))
    return rows


def pick_rows(rows: Sequence[Row], wanted: Sequence[int] | None) -> list[Row]:
    """Return the rows with the wanted indexes; raise UsageError for one that is not there."""
    if wanted is None:
        return [*rows]
    for index in wanted:
        if not 0 <= index < len(rows):
            raise UsageError(f"rows= names row {index}; the batch has rows 0 to {len(rows) - 1}")
    return [rows[index] for index in sorted(set(wanted))]


def attended(row: Row, mask: object, length: int) -> str | list[list[int]] | None:
    """Return which of a row's `length` positions the last id of a pass attends to.

    `all`, or the first and last position of each run, without the padding; None for a mask of a
    form that is not known. `mask` is [rows, length], or what is made of it for the layers:
    [rows, 1, ids, places], True or 0.0 where an id attends, or a mapping of such by kind of layer.
    """
    if isinstance(mask, Mapping):
        mask = mask.get("full_attention")
    if mask is None:
        return "all"
    bits = _bits(mask, row.index)
    if bits is None:
        return None
    bits = bits[row.padding :]
    if all(bits[:length]) and not any(bits[length:]):
        return "all"
    runs = []
    for is_seen, group in groupby(enumerate(bits), key=lambda pair: pair[1]):
        places = [place for place, _ in group]
        if is_seen:
            runs.append([places[0], places[-1]])
    return runs


def _bits(mask: object, index: int) -> list[bool] | None:
    """Return whether each place is attended to by the last id of a row."""
    if not isinstance(mask, torch.Tensor) or mask.dim() not in (2, 4):
        return None
    held = mask[index if len(mask) > 1 else 0]
    if mask.dim() == 4:
        held = held[0, -1]
        held = held if held.dtype == torch.bool else held == 0
    found: list[bool] = held.bool().tolist()
    return found


def positions_of(row: Row, position_ids: object, start: int, count: int) -> list[int]:
    """Return the positions of a row's last `count` ids, as the model was given them.

    A model that is given none counts them from `start` itself.
    """
    given = position_ids if isinstance(position_ids, torch.Tensor) else None
    if given is None or given.dim() != 2 or given.shape[-1] < count:
        return [*range(start, start + count)]
    found: list[int] = given[row.index if len(given) > 1 else 0, -count:].tolist()
    return found
