"""Names of what nests in arguments and results."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

from tracediff.integrations.nested import cache_lengths, find_leaves


@dataclass
class Output:
    """Like the results of transformers' models."""

    logits: Any
    hidden: Any = None


class Cache:
    """Like a cache of keys and values."""

    def __init__(self, *lengths: int) -> None:
        self.layers = list(lengths)

    def get_seq_length(self, layer: int) -> int:
        return self.layers[layer]


class Tensor(str):
    """Stands for a tensor."""


Pair = namedtuple("Pair", ["mean", "spread"])
A, B = Tensor("a"), Tensor("b")
LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "tensors"),
    [
        pytest.param(A, {"x": A}, id="tensor"),
        pytest.param((A, B), {"x[0]": A, "x[1]": B}, id="tuple"),
        pytest.param((A, None), {"x": A}, id="one-tensor-of-a-tuple"),
        pytest.param(((A, B),), {"x[0][0]": A, "x[0][1]": B}, id="tuple-in-a-tuple"),
        pytest.param({"k": A, 3: B}, {"x.k": A, "x[3]": B}, id="mapping"),
        pytest.param(OrderedDict(k=[A]), {"x.k": A}, id="ordered-mapping"),
        pytest.param(Output(A), {"x.logits": A}, id="dataclass"),
        pytest.param(Pair(A, B), {"x.mean": A, "x.spread": B}, id="named-tuple"),
        pytest.param(None, {}, id="none"),
        pytest.param(object(), {}, id="another-object"),
        pytest.param(Output, {}, id="a-class"),
        pytest.param(LOOP, {}, id="a-list-in-itself"),
    ],
)
def test_tensors_have_names(value: Any, tensors: dict[str, Any]) -> None:
    """Every tensor is found once, under a name that says where it is."""
    found = find_leaves("x", value, lambda item: isinstance(item, Tensor))
    assert found.tensors == tensors
    assert not found.scalars


def test_plain_values_and_caches() -> None:
    """Plain values are kept apart from tensors; of a cache only the lengths are taken."""
    value = {"flag": True, "scale": 0.5, "name": "sdpa", "past": Cache(4, 4)}
    found = find_leaves("x", value, lambda item: isinstance(item, Tensor))
    assert found.scalars == {"x.flag": True, "x.scale": 0.5, "x.name": "sdpa"}
    assert found.cache_lengths == {"x.past": [4, 4]}


@pytest.mark.parametrize(
    ("value", "lengths"),
    [
        pytest.param(Cache(3, 5), [3, 5], id="cache"),
        pytest.param({"layers": []}, None, id="mapping"),
        pytest.param(Output(A), None, id="dataclass"),
    ],
)
def test_caches_are_known_by_their_form(value: Any, lengths: list[int] | None) -> None:
    """What measures its layers is a cache."""
    assert cache_lengths(value) == lengths
