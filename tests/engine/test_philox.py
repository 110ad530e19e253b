"""Philox4x32-10 against published answers, and the stream: keys, counters, whole blocks."""

import numpy as np
import pytest

from tracediff.engine.boxmuller import box_muller, u01
from tracediff.engine.philox import PhiloxGenerator, philox4x32


def parse_words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def as_integer(words: str) -> int:
    """Read words, lowest first, as one integer."""
    return sum(word << (32 * place) for place, word in enumerate(parse_words(words)))


# rounds, counter, key, block; source: Random123, tests/kat_vectors, lines "philox4x32"
KNOWN_ANSWERS = [
    pytest.param(
        7,
        "00000000 00000000 00000000 00000000",
        "00000000 00000000",
        "5f6fb709 0d893f64 4f121f81 4f730a48",
        id="7-rounds-zeros",
    ),
    pytest.param(
        7,
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "5207ddc2 45165e59 4d8ee751 8c52f662",
        id="7-rounds-ones",
    ),
    pytest.param(
        7,
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "4dfccaba 190a87f0 c47362ba b6b5242a",
        id="7-rounds-digits-of-pi",
    ),
    pytest.param(
        10,
        "00000000 00000000 00000000 00000000",
        "00000000 00000000",
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        id="10-rounds-zeros",
    ),
    pytest.param(
        10,
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
        id="10-rounds-ones",
    ),
    pytest.param(
        10,
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
        id="10-rounds-digits-of-pi",
    ),
]


@pytest.mark.parametrize(("rounds", "counter", "key", "block"), KNOWN_ANSWERS)
def test_known_answers(rounds: int, counter: str, key: str, block: str) -> None:
    """The pure function gives the published block."""
    counters = np.array(parse_words(counter), np.uint32)
    keys = np.array(parse_words(key), np.uint32)
    result = philox4x32(counters, keys, rounds)
    assert result.dtype == np.uint32
    assert result.tolist() == parse_words(block)


@pytest.mark.parametrize(("rounds", "counter", "key", "block"), KNOWN_ANSWERS)
def test_generator_has_ten_rounds(rounds: int, counter: str, key: str, block: str) -> None:
    """Seed and counter, integers of the published words lowest first, give the 10-round answer."""
    generator = PhiloxGenerator(as_integer(key), as_integer(counter))
    assert generator.key == tuple(parse_words(key))
    assert (generator.blocks(1).tolist() == [parse_words(block)]) == (rounds == 10)


def test_leading_dimensions_broadcast() -> None:
    """Counters [3, 1, 4] and keys [2, 2] give blocks [3, 2, 4], each as if alone."""
    counters = np.arange(12, dtype=np.uint32).reshape(3, 1, 4)
    keys = np.array([[1, 2], [3, 4]], np.uint32)
    result = philox4x32(counters, keys)
    assert result.shape == (3, 2, 4)
    for i, j in np.ndindex(3, 2):
        assert result[i, j].tolist() == philox4x32(counters[i, 0], keys[j]).tolist()


def test_no_rounds_give_the_counter() -> None:
    """With 0 rounds the block is the counter itself."""
    counter = np.array([1, 2, 3, 2**32 - 1], np.uint32)
    assert philox4x32(counter, np.zeros(2, np.uint32), 0).tolist() == counter.tolist()


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(0, id="zero"),
        pytest.param(2**32 - 2, id="first-carry"),
        pytest.param(2**64 - 2, id="second-carry"),
        pytest.param(2**96 - 2, id="third-carry"),
        pytest.param(2**128 - 2, id="wraps"),
    ],
)
def test_counter_is_one_128_bit_number(first: int) -> None:
    """Block i of a draw is the block of counter first + i, carries and the wrap included."""
    generator = PhiloxGenerator(5, first)
    drawn = generator.blocks(4)
    assert generator.counter == (first + 4) % 2**128
    for i, block in enumerate(drawn):
        assert PhiloxGenerator(5, (first + i) % 2**128).blocks(1)[0].tolist() == block.tolist()


@pytest.mark.parametrize(
    ("seed", "key"),
    [
        pytest.param(0, (0, 0), id="zero"),
        pytest.param(314159, (314159, 0), id="one-word"),
        pytest.param(2**32, (0, 1), id="second-word"),
        pytest.param(2**64 - 1, (2**32 - 1, 2**32 - 1), id="largest"),
    ],
)
def test_key_is_the_seed(seed: int, key: tuple[int, int]) -> None:
    """The seed's low word comes first in the key."""
    generator = PhiloxGenerator(seed)
    assert (generator.seed, generator.key, generator.counter) == (seed, key, 0)


@pytest.mark.parametrize("method", ["uniforms", "normals"])
@pytest.mark.parametrize(
    ("n", "blocks"),
    [(0, 0), (1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (16_384, 4096)],
)
def test_draws_consume_whole_blocks(method: str, n: int, blocks: int) -> None:
    """A draw of n takes ceil(n / 4) blocks, and is the beginning of any longer draw."""
    generator = PhiloxGenerator(314159)
    drawn = getattr(generator, method)(n)
    assert (drawn.dtype, drawn.shape) == (np.dtype(np.float32), (n,))
    assert generator.counter == blocks
    longer = getattr(PhiloxGenerator(314159), method)(n + 9)
    assert drawn.tobytes() == longer[:n].tobytes()


def test_draws_follow_the_words() -> None:
    """Uniforms take the words in order; normals take pairs, the sine before the cosine."""
    block = PhiloxGenerator(9).blocks(1)[0]
    assert PhiloxGenerator(9).uniforms(4).tolist() == u01(block).tolist()
    expected = [*box_muller(block[:1], block[1:2])[0], *box_muller(block[2:3], block[3:])[0]]
    assert PhiloxGenerator(9).normals(4).tolist() == expected


def test_moments_of_normals() -> None:
    """Mean, variance, skewness and kurtosis of 400,000 normals are within 5 standard errors."""
    x = PhiloxGenerator(2718).normals(400_000).astype(np.float64)
    moments = [np.mean(x**power) for power in (1, 2, 3, 4)]
    # The standard error of the mean of x^p is sqrt((E x^2p - (E x^p)^2) / n).
    errors = [np.sqrt(variance / x.size) for variance in (1, 2, 15, 96)]
    for moment, expected, error in zip(moments, (0, 1, 0, 3), errors, strict=True):
        assert abs(moment - expected) < 5 * error


@pytest.mark.parametrize(
    ("seed", "counter", "message"),
    [
        pytest.param(-1, 0, r"seed is an integer from 0 to 2\^64 - 1, not -1", id="low-seed"),
        pytest.param(2**64, 0, "seed is an integer", id="high-seed"),
        pytest.param(0, -1, r"counter is an integer from 0 to 2\^128 - 1, not -1", id="low"),
        pytest.param(0, 2**128, "counter is an integer", id="high"),
    ],
)
def test_ranges_of_a_generator(seed: int, counter: int, message: str) -> None:
    """A seed or counter out of range is named with the allowed range."""
    with pytest.raises(ValueError, match=message):
        PhiloxGenerator(seed, counter)


@pytest.mark.parametrize("method", ["blocks", "uniforms", "normals"])
def test_negative_draws_are_refused(method: str) -> None:
    """A negative number of draws is an error and leaves the counter alone."""
    generator = PhiloxGenerator(1)
    with pytest.raises(ValueError, match="draws 0 or more values, not -"):
        getattr(generator, method)(-8)
    assert generator.counter == 0


@pytest.mark.parametrize(
    ("counter", "key", "rounds", "error", "message"),
    [
        pytest.param(np.zeros(4, int), np.zeros(2, np.uint32), 10, TypeError, "uint32", id="dtype"),
        pytest.param(
            np.zeros(3, np.uint32),
            np.zeros(2, np.uint32),
            10,
            ValueError,
            r"counter has shape \[\.\.\., 4\], not \(3,\)",
            id="counter-shape",
        ),
        pytest.param(
            np.zeros(4, np.uint32),
            np.array(0, np.uint32),
            10,
            ValueError,
            r"key has shape \[\.\.\., 2\], not \(\)",
            id="key-shape",
        ),
        pytest.param(
            np.zeros(4, np.uint32),
            np.zeros(2, np.uint32),
            17,
            ValueError,
            "0 to 16 rounds, not 17",
            id="rounds",
        ),
    ],
)
def test_arguments_of_philox(
    counter: np.ndarray, key: np.ndarray, rounds: int, error: type[Exception], message: str
) -> None:
    """Another dtype, shape or number of rounds is refused by name."""
    with pytest.raises(error, match=message):
        philox4x32(counter, key, rounds)
