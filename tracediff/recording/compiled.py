"""The arithmetic of summaries as compiled loops: one pass over numbers that numpy reads many times.

Knows numba, float32 numbers and the order in which `statistics` and `sketch` add them up: every
addition here is one of theirs, in their order, so that no bit differs. Must not know tensors or
records. Only `kernels.load_kernels` imports this module, since numba may be missing and is slow to
load. Compiled code lies in numba's cache on disk, so that a machine compiles it once. All loops
are in this one file, because numba looks for changes only in the file of the function called.

Numba's fastmath stays off: it would reorder additions. Whether a zero has a sign may differ from
what numpy adds; nothing follows from it, because lanes begin with 0.0 and so never become -0.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numba
import numpy as np
from numba import types

from tracediff.recording.decimals import (
    FACTORS,
    FEWEST_DIGITS,
    MOST_DIGITS,
    POWERS,
    decimal_places,
)
from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.kernels import (
    DONE,
    HIGH,
    LOW,
    MAXIMUM,
    MINIMUM,
    NEGATIVE_ZEROS,
    NONFINITE,
    SKETCH,
    SQUARES,
    STATE,
    SUM,
    UNCERTAIN,
    UNPRINTED,
)
from tracediff.recording.sketch import BUCKETS, LANES, SKETCH_LENGTH
from tracediff.recording.statistics import EXACT_SUMS

if TYPE_CHECKING:
    from tracediff.recording.kernels import Float32Array, Float64Array, Int64Array

_Function = TypeVar("_Function", bound=Callable[..., Any])

_PLACES, _NEXT_POWERS = decimal_places()
_LEAST_PRINTED, _PRINTED_BELOW = float(POWERS[0]), float(POWERS[-1])
_SHARE = 1.0 / SKETCH_LENGTH**0.5
_NONFINITE_FROM = 0x7F800000
_SIGN_BIT = 1 << 31

_NUMBERS = types.Array(types.float32, 1, "C", readonly=True)
_ROWS = types.Array(types.float32, 2, "C", readonly=True)
_SINGLES = types.float32[::1]
_DOUBLES = types.float64[::1]
_WORDS = types.int64[::1]
_PLACEMENTS = types.Array(types.int64, 2, "C", readonly=True)


def _compiled(signature: Any = None) -> Callable[[_Function], _Function]:
    """Compile a function, at once where it has a signature."""
    compile_it: Callable[[_Function], _Function] = numba.njit(
        signature, cache=True, nogil=True, error_model="numpy"
    )
    return compile_it


@_compiled()
def _count(numbers: Float32Array, counted: Int64Array) -> bool:
    """Count numbers as `census` does, all of them or, where one is not finite, none."""
    signed, unsigned = numbers.view(np.int32), numbers.view(np.uint32)
    least, most, most_negative = signed[0], signed[0], unsigned[0]
    for place in range(len(signed)):
        least = min(least, signed[place])
        most = max(most, signed[place])
        most_negative = max(most_negative, unsigned[place])
    low = np.int64(least) if least >= 0 else _SIGN_BIT - np.int64(most_negative)
    high = np.int64(most) if most >= 0 else -(np.int64(least) + _SIGN_BIT)
    if max(-low, high) >= _NONFINITE_FROM:
        return False
    if least == -_SIGN_BIT:
        for bits in signed:
            counted[NEGATIVE_ZEROS] += bits == -_SIGN_BIT
    counted[LOW], counted[HIGH] = min(counted[LOW], low), max(counted[HIGH], high)
    return True


@_compiled()
def _add_sums(numbers: Float32Array, sums: Float64Array, squares: Float64Array) -> None:
    """Add a block to the lanes, after folding it in halves until it is no longer than they are.

    It is at most four times as long.
    """
    size, count = len(numbers), len(sums)
    if size <= count:
        for lane in range(size):
            number = np.float64(numbers[lane])
            sums[lane] += number
            squares[lane] += number * number
        return
    half = (size + 1) // 2
    quarter = half if half <= count else (half + 1) // 2
    first, third = numbers[:half], numbers[half:]
    if quarter == half:
        done = len(third)
        for lane in range(done):
            one, other = np.float64(first[lane]), np.float64(third[lane])
            sums[lane] += one + other
            squares[lane] += one * one + other * other
    else:
        second, fourth = first[quarter:], third[quarter:]
        done = min(len(second), len(fourth))
        for lane in range(done):
            one, two = np.float64(first[lane]), np.float64(second[lane])
            three, four = np.float64(third[lane]), np.float64(fourth[lane])
            sums[lane] += (one + three) + (two + four)
            squares[lane] += (one * one + three * three) + (two * two + four * four)
    for lane in range(done, quarter):  # the last number of an odd length stands alone
        _add_last(numbers, half, quarter, lane, sums, squares)


@_compiled()
def _add_last(
    numbers: Float32Array,
    half: int,
    quarter: int,
    lane: int,
    sums: Float64Array,
    squares: Float64Array,
) -> None:
    """Add what is there of the up to four numbers of a lane."""
    total = square = 0.0
    for start in (lane, lane + quarter):
        if start < half and (start == lane or quarter < half):
            number = np.float64(numbers[start])
            part, part_square = number, number * number
            if start + half < len(numbers):
                number = np.float64(numbers[start + half])
                part += number
                part_square += number * number
            total += part
            square += part_square
    sums[lane] += total
    squares[lane] += square


@_compiled()
def _add_signed(
    numbers: Float32Array,
    signs: Float32Array,
    placement: Int64Array,
    lanes: Float64Array,
    padded: Float32Array,
) -> None:
    """Add a block to the lanes: with signs, folded in halves with rotations, from its place on."""
    size, count = len(numbers), len(lanes)
    signs = signs[placement[0] :]
    place, sign = placement[3] % count, 1.0 - 2.0 * placement[4]
    if size <= count:
        split = min(size, count - place)
        _add_ones(numbers[:split], signs[:split], sign, lanes[place:])
        _add_ones(numbers[split:], signs[split:], sign, lanes)
        return
    length = 2 * count if size <= 2 * count else 4 * count
    if size < length:
        padded[:size] = numbers
        padded[size:length] = 0.0
        numbers = padded
    if length == 2 * count:
        _add_twos(numbers, signs, placement[2], place, sign, lanes)
    else:
        _add_fours(numbers, signs, placement[1], placement[2], place, sign, lanes)


@_compiled()
def _add_ones(numbers: Float32Array, signs: Float32Array, sign: float, lanes: Float64Array) -> None:
    for lane in range(len(numbers)):
        lanes[lane] += sign * np.float64(numbers[lane] * signs[lane])


@_compiled()
def _add_twos(
    numbers: Float32Array,
    signs: Float32Array,
    rotation: int,
    place: int,
    sign: float,
    lanes: Float64Array,
) -> None:
    """Add a block of twice as many numbers as there are lanes.

    Each turn of the loop takes the numbers up to where the first of the rotations wraps around.
    """
    count, start = len(lanes), 0
    while start < count:
        other, target = (start - rotation) % count, (start + place) % count
        length = count - max(start, other, target)
        other += count
        a, b = numbers[start : start + length], numbers[other : other + length]
        s, t = signs[start : start + length], signs[other : other + length]
        kept = lanes[target : target + length]
        for lane in range(length):
            kept[lane] += sign * (np.float64(a[lane] * s[lane]) + np.float64(b[lane] * t[lane]))
        start += length


@_compiled()
def _add_fours(
    numbers: Float32Array,
    signs: Float32Array,
    first_rotation: int,
    second_rotation: int,
    place: int,
    sign: float,
    lanes: Float64Array,
) -> None:
    """Add a block of four times as many numbers as there are lanes, as `_add_twos` does."""
    count, start = len(lanes), 0
    half = 2 * count
    while start < count:
        b0 = (start - first_rotation) % half
        c0 = count + (start - second_rotation) % count
        d0 = (c0 - first_rotation) % half
        target = (start + place) % count
        length = min(count - max(start, target), half - max(b0, c0, d0))
        b0 += half
        d0 += half
        a, b = numbers[start : start + length], numbers[b0 : b0 + length]
        c, d = numbers[c0 : c0 + length], numbers[d0 : d0 + length]
        s, t = signs[start : start + length], signs[b0 : b0 + length]
        u, v = signs[c0 : c0 + length], signs[d0 : d0 + length]
        kept = lanes[target : target + length]
        for lane in range(length):
            first = np.float64(a[lane] * s[lane]) + np.float64(b[lane] * t[lane])
            second = np.float64(c[lane] * u[lane]) + np.float64(d[lane] * v[lane])
            kept[lane] += sign * (first + second)
        start += length


@_compiled(
    types.int64(_NUMBERS, _SINGLES, _PLACEMENTS, _DOUBLES, _DOUBLES, _DOUBLES, _SINGLES, _WORDS)
)
def add_blocks(
    numbers: Float32Array,
    signs: Float32Array,
    placements: Int64Array,
    sums: Float64Array,
    squares: Float64Array,
    lanes: Float64Array,
    padded: Float32Array,
    counted: Int64Array,
) -> int:
    """See `kernels.AddBlocks`."""
    blocks = (len(numbers) + BLOCK - 1) // BLOCK
    for index in range(blocks):
        block = numbers[index * BLOCK : (index + 1) * BLOCK]
        if not _count(block, counted):
            return index
        _add_sums(block, sums, squares)
        if len(lanes):
            _add_signed(block, signs, placements[index], lanes, padded)
    return blocks


@_compiled()
def _add_exactly(lanes: Float64Array) -> tuple[float, bool]:
    """Fold lanes as `statistics` does; return the sum of the rest, and whether it is rounded right.

    The rounding errors of all additions are added up too. Their sum is off by less than 2^-47 of
    their sizes; where more than that does not change the result, `math.fsum` has the same one.
    """
    size = len(lanes)
    while size > EXACT_SUMS:
        half = (size + 1) // 2
        _add_to(lanes[: size - half], lanes[half:size])
        size = half
    total = rest = sizes = 0.0
    for lane in range(size):
        total, lost = _add_two(total, lanes[lane])
        rest += lost
        sizes += abs(lost)
    total, lost = _add_two(total, rest)
    doubt = abs(lost) * 2.0**-50 + sizes * 2.0**-44
    return total, total + (lost + doubt) == total and total + (lost - doubt) == total


@_compiled()
def _add_two(left: float, right: float) -> tuple[float, float]:
    """Return a sum and, exactly, what rounding took from it. Source: Knuth, TAOCP 2, 4.2.2."""
    total = left + right
    added = total - left
    return total, (left - (total - added)) + (right - added)


@_compiled()
def _add_to(target: Float64Array, addend: Float64Array) -> None:
    for place in range(len(target)):
        target[place] += addend[place]


@_compiled()
def _project(
    lanes: Float64Array,
    rotations: Int64Array,
    rows: Int64Array,
    room: Float64Array,
    sketch: Float64Array,
) -> None:
    """Fold the lanes to buckets, transform these and leave the components, rounded to float32."""
    count, fold = len(lanes), 0
    while count << fold < LANES:
        fold += 1
    while count > BUCKETS:
        half = count // 2
        split = half - rotations[fold]
        _add_to(lanes[half - split : half], lanes[half : half + split])
        _add_to(lanes[: half - split], lanes[half + split : count])
        count, fold = half, fold + 1
    buckets, passed = lanes[:count], room[:count]
    half = 1
    while half < count:
        _transform_bit(buckets, passed)
        buckets, passed = passed, buckets
        half *= 2
    for place in range(SKETCH_LENGTH):
        sketch[place] = np.float32(buckets[rows[place] & (count - 1)] * _SHARE + 0.0)


@_compiled()
def _transform_bit(numbers: Float64Array, passed: Float64Array) -> None:
    """Transform the top bit of the place and make it the lowest one."""
    half = len(numbers) // 2
    first, second = numbers[:half], numbers[half:]
    for place in range(half):
        passed[2 * place] = first[place] + second[place]
        passed[2 * place + 1] = first[place] - second[place]


@_compiled()
def _print_all(numbers: Float64Array) -> bool:
    """Turn float32 numbers into their shortest decimals, as `decimals` does.

    Returns False, and leaves them, where one is beyond the sizes that this way is right for.
    """
    for number in numbers:
        if number != 0.0 and not _LEAST_PRINTED <= abs(number) < _PRINTED_BELOW:
            return False
    for place in range(len(numbers)):
        number = numbers[place]
        size = abs(number) if number != 0.0 else 1.0
        exponent = np.float32(size).view(np.int32) >> 23
        factor = 22 - _PLACES[exponent] - (size >= _NEXT_POWERS[exponent])
        shortest = size
        for step in range(MOST_DIGITS - FEWEST_DIGITS + 1):
            decimal = np.rint(size * FACTORS[factor - step]) / FACTORS[factor - step]
            shortest = decimal if np.float64(np.float32(decimal)) == size else shortest
        numbers[place] = math.copysign(shortest if number != 0.0 else 0.0, number)
    return True


@_compiled()
def _number_of(key: int) -> float:
    """Return the number that `census.Extremes` has as this integer."""
    size = np.float64(np.int32(abs(key)).view(np.float32))
    return size if key >= 0 else -size


@_compiled(types.int64(_DOUBLES, _DOUBLES, _DOUBLES, _WORDS, _WORDS, _DOUBLES, _DOUBLES))
def add_up(
    sums: Float64Array,
    squares: Float64Array,
    lanes: Float64Array,
    rotations: Int64Array,
    rows: Int64Array,
    room: Float64Array,
    found: Float64Array,
) -> int:
    """See `kernels.AddUp`."""
    found[SUM], certain = _add_exactly(sums)
    found[SQUARES], squares_certain = _add_exactly(squares)
    state = DONE if certain and squares_certain else UNCERTAIN
    if len(lanes):
        _project(lanes, rotations, rows, room, found[SKETCH:])
        if not _print_all(found[SKETCH:]):
            state |= UNPRINTED
    return state


@_compiled()
def _width_of_sums(size: int) -> int:
    """Return how many lanes the sums of a tensor of one block need.

    Where all lanes have one number they are folded in any case: what `_add_sums` folds at once is
    the beginning of that.
    """
    if size > LANES:
        return LANES
    return size if size <= 4 * EXACT_SUMS else ((size + 1) // 2 + 1) // 2


@_compiled()
def _clear(lanes: Float64Array) -> None:
    for place in range(len(lanes)):
        lanes[place] = 0.0


@_compiled(
    types.void(
        _ROWS,
        types.boolean,
        _SINGLES,
        _PLACEMENTS,
        _WORDS,
        _WORDS,
        _DOUBLES,
        _SINGLES,
        types.float64[:, ::1],
        types.int64[:, ::1],
    )
)
def summarise_rows(
    tensors: Float32Array,
    sketched: bool,
    signs: Float32Array,
    placements: Int64Array,
    rotations: Int64Array,
    rows: Int64Array,
    space: Float64Array,
    padded: Float32Array,
    found: Float64Array,
    counted: Int64Array,
) -> None:
    """See `kernels.SummariseRows`."""
    size = tensors.shape[1]
    width = _width_of_sums(size)
    count = 1
    while count < min(size, LANES):
        count *= 2
    sums, squares = space[:width], space[LANES : LANES + width]
    lanes = space[2 * LANES : 2 * LANES + (count if sketched else 0)]
    for row in range(len(tensors)):
        numbers, numbers_found, state = tensors[row], found[row], DONE
        counted[row, LOW], counted[row, HIGH] = _NONFINITE_FROM, -_NONFINITE_FROM
        counted[row, NEGATIVE_ZEROS] = 0
        if not _count(numbers, counted[row]):
            counted[row, STATE] = NONFINITE
            continue
        numbers_found[MINIMUM] = _number_of(counted[row, LOW])
        numbers_found[MAXIMUM] = _number_of(counted[row, HIGH])
        if not _print_all(numbers_found[MINIMUM : MAXIMUM + 1]):
            state = UNPRINTED
        _clear(sums)
        _clear(squares)
        _add_sums(numbers, sums, squares)
        if sketched:
            _clear(lanes)
            _add_signed(numbers, signs, placements[0], lanes, padded)
        room = space[3 * LANES :]
        state |= add_up(sums, squares, lanes, rotations, rows, room, numbers_found)
        counted[row, STATE] = state
