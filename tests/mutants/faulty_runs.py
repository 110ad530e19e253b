"""Runs of fixtures in which something of the engine is exchanged for something faulty.

The product has no switch for faults: an exchange replaces an attribute of a module or class while
one fixture runs, and everything else of the run is real.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tracediff.events import Trace
from tracediff.workloads.run import run_fixture

Run = Callable[[], Trace]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What to exchange, as `module:name` or `module:Class.name`, and what makes the replacement.

    `make` gets the original and returns what stands in its place.
    """

    target: str
    make: Callable[[Any], Any]


def faulty(
    fixture: str,
    *exchanges: Exchange,
    overrides: Mapping[str, Any] | None = None,
    injection: str | None = None,
    kernel: str = "ordered",
    tensors: str = "sketch",
) -> Run:
    """Return the function that runs a fixture with these exchanges in place."""

    def run() -> Trace:
        # A fault may compute with infinities: numpy's warnings about that are no findings.
        with pytest.MonkeyPatch.context() as patcher, np.errstate(all="ignore"):
            for exchange in exchanges:
                owner, name = _find(exchange.target)
                patcher.setattr(owner, name, exchange.make(getattr(owner, name)))
            return run_fixture(
                fixture, overrides, injection=injection, kernel=kernel, tensors=tensors
            )

    return run


def _find(target: str) -> tuple[Any, str]:
    module, _, path = target.partition(":")
    owner: Any = import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return owner, name


def by(target: str, replacement: Any) -> Exchange:
    """Return the exchange for something that does not need the original."""
    return Exchange(target, lambda original: replacement)


def changing_result(target: str, change: Callable[[Any], Any]) -> Exchange:
    """Return the exchange for a function whose result is changed."""
    return Exchange(
        target,
        lambda original: lambda *args, **options: change(original(*args, **options)),
    )


def changing_arguments(target: str, change: Callable[..., tuple[Any, ...]]) -> Exchange:
    """Return the exchange for a function whose positional arguments are changed."""
    return Exchange(target, lambda original: lambda *args: original(*change(*args)))


def changing_fields(target: str, **fields: Any) -> Exchange:
    """Return the exchange for a function that returns a dataclass, with other fields."""
    return changing_result(target, lambda found: replace(found, **fields))


def changing_weight(builder: str, name: str, change: Callable[[Any], Any]) -> Exchange:
    """Return the exchange for `builder(…, weights, kernel)` that changes one weight array."""

    def exchanged(first: Any, weights: Mapping[str, Any], kernel: Any) -> tuple[Any, ...]:
        return first, {**weights, name: change(weights[name])}, kernel

    return changing_arguments(builder, exchanged)
