"""The generators of a pipeline's call as a ledger, shared out among the pictures of a batch.

Knows ledgers and batches. Must not know pipelines or events.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from tracediff.integrations.torch_random import RandomLedger
from tracediff.recording.recordable import Draw

GENERATOR = "noise"


class PictureLedger:
    """Says what was drawn for each picture since one last looked.

    Of one generator, every picture of a batch has an equal share of a draw, in order: that is how
    torch fills a batch. Of a list, each picture has what its own generator gave. Torch's own
    generators are looked at as well.
    """

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        unique = {id(generator): generator for generator in generators}
        names = {held: f"{GENERATOR}[{index}]" for index, held in enumerate(unique)}
        self._by_picture = [names[id(generator)] for generator in generators]
        self._ledger = RandomLedger({names[held]: unique[held] for held in unique})

    def draws(self, pictures: int, shape: Sequence[int] | None) -> list[list[Draw]]:
        """Return the draws of each picture.

        `shape` is that of the normals which were made for one picture, None if not known: then
        the words of the generator are counted.
        """
        found: list[list[Draw]] = [[] for _ in range(pictures)]
        for draw in self._ledger.draws():
            owners = [i for i, name in enumerate(self._by_picture) if name == draw.generator]
            is_own = len(self._by_picture) > 1 and owners and owners[-1] < pictures
            pieces = owners if is_own else range(pictures)
            for share, picture in enumerate(pieces):
                found[picture].append(_share(draw, share, len(pieces), shape))
        return found


def _share(draw: Draw, index: int, shares: int, shape: Sequence[int] | None) -> Draw:
    name = GENERATOR if draw.generator.startswith(f"{GENERATOR}[") else draw.generator
    span = draw.counter_after - draw.counter_before
    if span <= 0 or draw.transform is not None:  # it was set to another state
        return replace(draw, generator=name)
    before = draw.counter_before + span * index // shares
    after = draw.counter_before + span * (index + 1) // shares
    part = replace(draw, generator=name, counter_before=before, counter_after=after)
    if shape is None:
        return replace(part, count=after - before)
    return replace(part, count=math.prod(shape), shape=tuple(shape), transform="normal")
