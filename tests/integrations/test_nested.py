"""Names of what nests in arguments and results."""

import threading
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from tracediff.errors import UsageError
from tracediff.integrations.nested import MOST_LEVELS, cache_lengths, find_leaves


@dataclass
class Output:
    """Like the results of transformers' models."""

    logits: Any
    hidden: Any = None


class Plain:
    """An object of somebody's own."""

    def __init__(self, held: Any) -> None:
        self.held = held


class Slotted:
    """An object without a dictionary."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


class Empty:
    """Nothing to take apart."""


class Level(Enum):
    """One of a few."""

    HIGH = 2


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
        pytest.param({"a.b": A, "a": {"b": B}}, {"x['a.b']": A, "x.a.b": B}, id="a-dotted-key"),
        pytest.param(SimpleNamespace(k=A), {"x.k": A}, id="namespace"),
        pytest.param(Plain(A), {"x.held": A}, id="object"),
        pytest.param(Slotted(A), {"x.held": A}, id="object-with-slots"),
        pytest.param(deque([A, B]), {"x[0]": A, "x[1]": B}, id="deque"),
        pytest.param({"k": A}.values(), {"x": A}, id="values-of-a-mapping"),
    ],
)
def test_tensors_have_names(value: Any, tensors: dict[str, Any]) -> None:
    """Every tensor is found once, under a name that says where it is."""
    found = find_leaves("x", value, lambda item: isinstance(item, Tensor))
    assert found.tensors == tensors
    assert not found.scalars


@pytest.mark.parametrize(
    ("value", "scalars"),
    [
        pytest.param(3 + 4j, {"x": {"real": 3.0, "imaginary": 4.0}}, id="complex"),
        pytest.param(b"ab", {"x": {"bytes": "6162"}}, id="bytes"),
        pytest.param({2, 1}, {"x[0]": 1, "x[1]": 2}, id="set"),
        pytest.param(Level.HIGH, {"x": "Level.HIGH"}, id="enumeration"),
        pytest.param(
            Decimal("1.5"),
            {"x.type": "decimal.Decimal", "x.arguments": "1.5"},
            id="what-pickle-takes-apart",
        ),
        pytest.param(Empty(), {"x.type": f"{__name__}.Empty"}, id="an-object-without-parts"),
    ],
)
def test_other_values_are_recorded(value: Any, scalars: dict[str, Any]) -> None:
    """What is neither a tensor nor a container has a form that tells it from others."""
    found = find_leaves("x", value, lambda item: isinstance(item, Tensor))
    assert (found.tensors, found.scalars) == ({}, scalars)


def nested_in(levels: int) -> Any:
    value: Any = {"k": A}
    for _ in range(levels - 1):
        value = {"k": value}
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param((item for item in [A]), r"x \(generator\): reading", id="generator"),
        pytest.param(iter([A]), "x .*reading", id="iterator"),
        pytest.param(threading.Lock(), "x .*pickle", id="lock"),
        pytest.param([Output], "x .*code", id="a-class"),
        pytest.param({"f": len}, r"x\.f .*code", id="a-function"),
        pytest.param(LOOP, "x.*itself", id="a-list-in-itself"),
        pytest.param(nested_in(MOST_LEVELS + 1), "20 levels", id="too-deep"),
        pytest.param({Plain(1): 1}, "keys", id="an-address-as-key"),
        pytest.param({float("nan"): 1, float("nan"): 2}, "both called", id="one-name-twice"),
        pytest.param({Plain(1)}, "set", id="a-set-of-objects"),
    ],
)
def test_what_cannot_be_recorded_is_refused(value: Any, message: str) -> None:
    """Nothing is dropped without a word: the error names the part."""
    with pytest.raises(UsageError, match=message):
        find_leaves("x", value, lambda item: isinstance(item, Tensor))


def test_the_deepest_level_is_recorded() -> None:
    """As many containers inside each other as are allowed."""
    found = find_leaves("x", nested_in(MOST_LEVELS), lambda item: isinstance(item, Tensor))
    assert list(found.tensors.values()) == [A]


def test_code_may_be_named_and_parts_left_out() -> None:
    """Arguments that are code stand for themselves; a glob leaves out what it fits."""
    value = {"f": len, "g": Output, "lock": threading.Lock(), "k": A}
    found = find_leaves(
        "x",
        value,
        lambda item: isinstance(item, Tensor),
        names_code=True,
        leave_out=("x.lock", "*.k"),
    )
    assert found.scalars == {"x.f": "builtins.len", "x.g": f"{__name__}.Output"}
    assert not found.tensors


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


def with_extra(value: Any) -> Any:
    """Return a value on which something more was set."""
    value.extra = Tensor(7)
    return value


class OpenDict(OrderedDict[str, Any]):
    """A mapping that takes attributes, as results of transformers do."""


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param((Tensor(1), None), (None, Tensor(1)), id="place-among-none"),
        pytest.param({"a": 1, "b": []}, {"a": 1}, id="empty-list"),
        pytest.param({"a": 1, "b": {}}, {"a": 1, "b": []}, id="empty-mapping"),
        pytest.param(partial(max, 1), partial(max, 2), id="partial-argument"),
        pytest.param(partial(max, key=len), partial(max, key=abs), id="partial-keyword"),
        pytest.param(partial(max, 1), partial(min, 1), id="partial-function"),
        pytest.param(with_extra(Output(1)), Output(1), id="set-on-a-dataclass"),
        pytest.param(with_extra(OpenDict(a=1)), OpenDict(a=1), id="set-on-a-mapping"),
    ],
)
def test_what_differs_has_other_leaves(left: Any, right: Any) -> None:
    """Structure that holds no tensor is told apart too."""
    found = [
        find_leaves("x", value, lambda item: isinstance(item, Tensor), names_code=True)
        for value in (left, right)
    ]
    assert (found[0].tensors.keys(), found[0].scalars) != (
        found[1].tensors.keys(),
        found[1].scalars,
    )
