"""The random generators of torch as a ledger: what was drawn since one last looked.

Knows the states of torch's generators. Must not know modules or events. A generator is looked at,
never moved.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from blake3 import blake3

from tracediff.recording.recordable import Draw

_cuda_is_initialized = torch.cuda.is_initialized

WORDS: Final = 624
"""32-bit words that the Mersenne Twister makes at a time (Matsumoto and Nishimura 1998)."""

_TURNS_AT_ONCE: Final = 64
MOST_TURNS: Final = 64 * _TURNS_AT_ONCE
"""Times that the words of one state are made anew in search of another state: 2.5 million words."""

_LEFT, _NEXT, _KEY = slice(8, 12), slice(16, 24), slice(24, 24 + 8 * WORDS)
"""Where a CPU generator's state holds the words left, the place of the next one, and the words
(`CPUGeneratorImplStateLegacy` of ATen)."""

_SEED_AND_OFFSET: Final = (slice(0, 8), slice(8, 16))
"""Where the state of a CUDA generator holds them."""

_REPLACED: Final = "replaced"
"""The transform of a draw that is none: the state was set to another one."""


@dataclass(frozen=True, slots=True)
class _Twister:
    """A state of the Mersenne Twister: its seed, its words, and how many of them were drawn."""

    seed: int
    words: bytes
    drawn: int

    def mark(self) -> int:
        """Return 48 bits that tell this state from others."""
        return int.from_bytes(blake3(self.words).digest(6), "little")


class Look:
    """The states of a ledger's generators at one moment, until it is known what was drawn."""

    __slots__ = ("found", "ledger", "states")

    ledger: RandomLedger
    states: list[torch.Tensor]
    found: list[Draw] | None

    def draws(self) -> list[Draw]:
        """Return what was drawn between the look before this one and this one."""
        if self.found is None:
            self.ledger.resolve()
        return self.found or []


class RandomLedger:
    """Looks at generators, and says what was drawn from each since the last look.

    Those of the CPU and of every CUDA device in use, and those of `named`.
    """

    def __init__(self, named: Mapping[str, torch.Generator] | None = None) -> None:
        self._generators = {"cpu": torch.default_generator, **(named or {})}
        self._states = {name: held.get_state() for name, held in self._generators.items()}
        self._reads = [held.get_state for held in self._generators.values()]
        self._may_use_cuda = torch.cuda.is_available()
        self._origins: dict[str, tuple[int, int]] = {}
        self._replacements: Counter[str] = Counter()
        self._looks: list[Look] = []
        self._lock = threading.Lock()

    def draws(self) -> list[Draw]:
        """Return a draw for each generator whose state is another one than at the last look."""
        return self.look().draws()

    def look(self) -> Look:
        """Look at the generators now; what was drawn since the last look is found out when asked.

        Between two kernels of a model, comparing the states takes longer than reading them.
        """
        if self._may_use_cuda and _cuda_is_initialized():
            self._add_cuda()
        look = Look()  # without a constructor's frame: see above
        look.ledger, look.found = self, None
        look.states = [read() for read in self._reads]
        self._looks.append(look)
        return look

    def resolve(self) -> None:
        """Find out what was drawn before each look so far, in their order."""
        with self._lock:
            looks, self._looks = self._looks, []
            for look in looks:
                look.found = self._draws_before(look.states)
                look.states = []

    def _draws_before(self, states: list[torch.Tensor]) -> list[Draw]:
        found = []
        for (name, generator), held in zip(self._generators.items(), states, strict=False):
            before = self._states[name]
            if not torch.equal(held, before):
                found.append(self._draw(name, generator, _content(before), _content(held)))
                self._states[name] = held
        return found

    def _add_cuda(self) -> None:
        for index, generator in enumerate(torch.cuda.default_generators):
            if f"cuda:{index}" not in self._generators:
                self._generators[f"cuda:{index}"] = generator
                self._states[f"cuda:{index}"] = generator.get_state()
                self._reads.append(generator.get_state)

    def _draw(self, name: str, generator: torch.Generator, before: bytes, after: bytes) -> Draw:
        if generator.device.type != "cpu":
            return self._philox_draw(name, before, after)
        start, end = _twister(before), _twister(after)
        mark, base = self._origins.setdefault(name, (start.mark(), 0))
        count = _words_between(start, end)
        if count is None:
            self._origins[name] = end.mark(), 0
            key = (start.seed, start.mark(), end.seed, end.mark(), *self._replace(name))
            return Draw(name, "mt19937", base, base, 0, key=key, transform=_REPLACED)
        self._origins[name] = mark, base + count
        key = (start.seed, mark, *self._replaced(name))
        return Draw(name, "mt19937", base, base + count, count, key=key)

    def _replaced(self, name: str) -> tuple[int, ...]:
        """Return how often the state was replaced, as the end of a key, and nothing for never.

        What is drawn again after a state was set back, as torch.utils.checkpoint does, is another
        stream: the replacement stands in the trace.
        """
        count = self._replacements[name]
        return (count,) if count else ()

    def _replace(self, name: str) -> tuple[int, ...]:
        before = self._replaced(name)
        self._replacements[name] += 1
        return before

    def _philox_draw(self, name: str, before: bytes, after: bytes) -> Draw:
        """Return the draw between two states of a CUDA generator: seed and offset, 8 bytes each."""
        seed, start = (int.from_bytes(before[part], "little") for part in _SEED_AND_OFFSET)
        other, end = (int.from_bytes(after[part], "little") for part in _SEED_AND_OFFSET)
        if seed != other or end < start:
            key = (seed, other, end, *self._replace(name))
            return Draw(name, "philox4x32-10", start, start, 0, key=key, transform=_REPLACED)
        key = (seed, *self._replaced(name))
        return Draw(name, "philox4x32-10", start, end, end - start, key=key)


def _content(state: torch.Tensor) -> bytes:
    content: bytes = state.numpy().tobytes()
    return content


def _twister(state: bytes) -> _Twister:
    words = np.frombuffer(state[_KEY], "<u8").astype("<u4").tobytes()
    left, place = (int.from_bytes(state[part], "little") for part in (_LEFT, _NEXT))
    # A state that was just seeded makes its first words when the first is drawn.
    drawn = WORDS if left == 1 else place
    return _Twister(int.from_bytes(state[:8], "little"), words, drawn)


def _words_between(start: _Twister, end: _Twister) -> int | None:
    """Return how many words were drawn from one state to another; None if there is no such way.

    The words of later turns are known by what they give.
    """
    turns = 0 if start.words == end.words and end.drawn >= start.drawn else None
    if turns is None:
        twister = np.random.MT19937(0)
        key = np.frombuffer(start.words, "<u4")
        twister.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": WORDS}}
        wanted = _temper(np.frombuffer(end.words, "<u4"))
        turns = next((t for t in _turns(twister, wanted)), None)
    return None if turns is None else WORDS * turns + end.drawn - start.drawn


def _turns(twister: np.random.MT19937, wanted: npt.NDArray[np.uint64]) -> Iterator[int]:
    """Yield the turns, from 1, whose words give what is wanted."""
    for first in range(1, MOST_TURNS, _TURNS_AT_ONCE):
        given = twister.random_raw(WORDS * _TURNS_AT_ONCE).reshape(_TURNS_AT_ONCE, WORDS)
        for turn in np.flatnonzero(given[:, 0] == wanted[0]).tolist():
            if np.array_equal(given[turn], wanted):
                yield first + turn


def _temper(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """Return what the generator gives for its words (Matsumoto and Nishimura 1998, section 2)."""
    given = words ^ (words >> 11)
    given ^= (given << 7) & np.uint32(0x9D2C5680)
    given ^= (given << 15) & np.uint32(0xEFC60000)
    given ^= given >> 18
    return given.astype(np.uint64)
