"""The summary of a tensor: digest, statistics, and its values or a sketch, in one pass.

Knows the order of work: segments of blocks, and which thread does what. Must not know files or
events.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tracediff.events.arithmetic import usual_arithmetic
from tracediff.events.digest import TensorDigest, digest_at_once, stored_bytes
from tracediff.events.element_types import decode, resolve_element_type
from tracediff.recording.census import (
    Census,
    Extremes,
    find_extremes,
    is_finite,
    merge_extremes,
)
from tracediff.recording.decimals import Number, print_nonfinite, print_numbers
from tracediff.recording.flat_tensor import BLOCK, SEGMENT, FlatTensor, cut, flatten
from tracediff.recording.kernel_reduction import Found, KernelReduction, is_exact, reduce_rows
from tracediff.recording.kernels import Kernels
from tracediff.recording.levels import TensorLevel, parse_level
from tracediff.recording.scratch import Workspace, allocate
from tracediff.recording.sketch import (
    BUCKETS,
    SKETCH_SEED,
    Placement,
    SketchSums,
    draw_placements,
    draw_tape,
    sketch_of,
)
from tracediff.recording.statistics import RunningSums, choose_scale, mean_of, norm_of

_NEAR = 4 * BLOCK
"""Numbers that a core's cache keeps while several reductions read them."""

_STRIDE = 8 * BLOCK
"""Numbers hashed at a time where compiled loops read them next: they still are in the cache."""


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """What a trace keeps of a tensor, ready for JSON.

    `stats`: counts and float64 statistics of the real numbers in it, of which a complex element
    has two, real part first; `sketch`: 64 numbers; `values`: those real numbers in C order. Of
    `sketch` and `values` at most one is there. Non-finite numbers are strings.
    """

    dtype: str
    shape: tuple[int, ...]
    digest: str
    stats: dict[str, Number]
    sketch: tuple[Number, ...] | None = None
    values: tuple[Number, ...] | None = None


def summarise_tensor(
    array: ArrayLike,
    *,
    dtype: str | None = None,
    level: TensorLevel | str = "sketch",
    threads: int = 2,
    seed: int = SKETCH_SEED,
    workspace: Workspace | None = None,
) -> TensorSummary:
    """Return the summary of `array`: any layout, byte order and shape, also 0-d and empty.

    `dtype` names the type of raw bits (uint16 with "bfloat16"). `stats` holds, in this order and
    where they apply: `finite`, `nan`, `pos_inf`, `neg_inf`, `neg_zero` (counts, all but the first
    left out when 0), `nonfinite` (a digest of where NaN, +inf and -inf are), `min`, `max` (exact),
    `mean`, `l2` (of the finite numbers; "Infinity" where float64 cannot hold it).

    Large tensors are hashed by a second thread unless `threads` is 1; no bit of the result depends
    on it. `workspace` is memory that the calling thread keeps for several tensors, and says which
    compiled loops to use; they change no bit either. `seed` redraws the signs of the sketch, for
    tests. A contiguous tensor is not copied, another one block by block: memory beyond the tensor
    stays below 4 MB. Raises TypeError for an element type that a trace cannot hold, and UsageError
    where the processor does not compute by IEEE 754 and cannot be made to.
    """
    level = parse_level(level) if isinstance(level, str) else level
    held = np.asarray(array)
    shape = held.shape
    element, held = resolve_element_type(held, dtype)
    tensor = flatten(element, held)
    valued = level.name != "digest" and held.size <= level.values_up_to
    sketched = level.name != "digest" and not valued
    with usual_arithmetic():
        digest, found = _reduce(tensor, shape, threads, seed if sketched else None, workspace)
        values = print_numbers(element, tensor.read(0, tensor.size)) if valued else None
    return TensorSummary(element.name, shape, digest, found.stats, found.sketch, values)


def _reduce(
    tensor: FlatTensor,
    shape: tuple[int, ...],
    threads: int,
    seed: int | None,
    workspace: Workspace | None,
) -> tuple[str, Found]:
    """Return the digest and the statistics, and the sketch where there is a `seed`."""
    if workspace is not None and workspace.kernels and tensor.size and is_exact(tensor.element):
        return _reduce_compiled(workspace.kernels, tensor, shape, threads, seed, workspace)
    digest = TensorDigest(tensor.element.name, shape)
    with np.errstate(all="ignore"):
        reduction = _Reduction(tensor, seed, workspace)
        for start, stop, extremes in _read_segments(tensor, digest, threads):
            reduction.add_segment(start, stop, extremes)
        return digest.text(), reduction.finish()


def _reduce_compiled(
    kernels: Kernels,
    tensor: FlatTensor,
    shape: tuple[int, ...],
    threads: int,
    seed: int | None,
    workspace: Workspace,
) -> tuple[str, Found]:
    """Do what `_reduce` does, with compiled loops; these do not hold the interpreter's lock."""
    name, flat = tensor.element.name, tensor.flat
    if flat is not None and tensor.size <= BLOCK and flat.flags.aligned:
        (found,) = reduce_rows(kernels, tensor.element, flat[None], seed, workspace)
        if found is not None:
            return digest_at_once(name, shape, stored_bytes(flat)), found
    digest = TensorDigest(name, shape)
    reduction = KernelReduction(kernels, tensor, seed, workspace)
    if threads == 1 or tensor.size <= SEGMENT:
        for start, stop in cut(0, tensor.size, _STRIDE):
            _hash(tensor, digest, start, stop)
            reduction.add(start, stop)
        return digest.text(), reduction.finish()
    # Most recordings need no thread, and this module is slow to load.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as worker:
        hashed = worker.submit(_hash, tensor, digest, 0, tensor.size)
        reduction.add(0, tensor.size)
        hashed.result()
    return digest.text(), reduction.finish()


def _hash(tensor: FlatTensor, digest: TensorDigest, start: int, stop: int) -> None:
    for piece in tensor.pieces(start, stop):
        digest.update(piece)


def _read_segments(
    tensor: FlatTensor, digest: TensorDigest, threads: int
) -> Iterator[tuple[int, int, Extremes]]:
    """Hash the tensor and yield the bounds and the extremes of its segments, in order.

    With a second thread, that one hashes ahead. The calls it makes are few and long, because each
    ends with a wait for the interpreter's lock, which the first thread's many short calls need.
    """
    segments = list(cut(0, tensor.size, SEGMENT))
    if threads == 1 or len(segments) < 2:
        for segment in segments:
            yield *segment, _read_segment(tensor, digest, *segment)
        return
    # Most recordings need no thread, and this module is slow to load.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as worker:
        found = [worker.submit(_read_segment, tensor, digest, *segment) for segment in segments]
        for segment, extremes in zip(segments, found, strict=True):
            yield *segment, extremes.result()


def _read_segment(tensor: FlatTensor, digest: TensorDigest, start: int, stop: int) -> Extremes:
    extremes = None
    for piece in tensor.pieces(start, stop):
        digest.update(piece)  # at once: between calls, BLAKE3 loses its stride
        for begin, end in cut(0, len(piece), _NEAR):
            near = find_extremes(tensor.element, piece[begin:end])
            extremes = merge_extremes(extremes, near)
    assert extremes is not None
    return extremes


class _Reduction:
    """Statistics and sketch of one tensor while its segments come in, in ascending order."""

    def __init__(self, tensor: FlatTensor, seed: int | None, workspace: Workspace | None) -> None:
        self._tensor = tensor
        self._seed = seed
        self._wide = tensor.element.component == np.float64  # others are far from its ends
        self._census = Census(tensor.element)
        self._sums: dict[int, RunningSums] = {}
        self._sketches: dict[int, SketchSums] = {}
        if workspace is None:
            self._numbers, self._scratch = (allocate(min(tensor.size, BLOCK)) for _ in range(2))
        else:
            self._numbers, self._scratch = workspace.numbers, workspace.scratch
        self._open(0)

    def add_segment(self, start: int, stop: int, extremes: Extremes) -> None:
        """Add the numbers `start` to `stop`, whose extremes are known."""
        ordinary = not extremes.negative_zero and is_finite(self._tensor.element, extremes)
        if ordinary:
            self._census.add_finite(extremes)
        blocks = list(cut(start, stop, BLOCK))
        placements: list[Placement | None] = [None] * len(blocks)
        if self._seed is not None and self._tensor.size > BUCKETS:
            placements = [*draw_placements(self._seed, start // BLOCK, len(blocks))]
        for (begin, end), placement in zip(blocks, placements, strict=True):
            self._add_block(begin, end, extremes if ordinary else None, placement)

    def _add_block(
        self, start: int, stop: int, extremes: Extremes | None, placement: Placement | None
    ) -> None:
        """Add a block; `extremes` are None where the block is still to be examined."""
        numbers, scratch = self._numbers[: stop - start], self._scratch[: stop - start]
        block = self._tensor.read(start, stop)
        decode(self._tensor.element, block, numbers)
        if extremes is None:
            extremes, nonfinite = self._census.add_block(start // BLOCK, block)
            if nonfinite is not None:
                numbers[nonfinite] = 0.0
        scale = choose_scale(extremes.largest) if self._wide and extremes is not None else 0
        if scale:
            np.multiply(numbers, math.ldexp(1.0, -scale), numbers)
            self._open(scale)
        self._sums[scale].add(numbers, scratch)
        if self._seed is not None:
            self._sketches[scale].add(numbers, placement)

    def _open(self, scale: int) -> None:
        """Have sums of numbers divided by 2^scale."""
        if scale not in self._sums:
            self._sums[scale] = RunningSums(self._tensor.size)
            if self._seed is not None:
                self._sketches[scale] = SketchSums(draw_tape(self._seed), self._tensor.size)

    def finish(self) -> Found:
        """Return what was found; nothing can be added then."""
        stats = self._census.counts(self._tensor.size) | self._census.bounds()
        count = self._tensor.size - self._census.nonfinite
        if count:
            stats["mean"] = mean_of(self._sums, count)
        norm = norm_of(self._sums)
        stats["l2"] = norm if math.isfinite(norm) else print_nonfinite(norm)
        return Found(stats, None if self._seed is None else sketch_of(self._sketches))
