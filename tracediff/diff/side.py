"""One trace as the aligner sees it: its graph, and keys and fingerprints of its events.

Knows one side only. Keys are computed once: a search looks at them again and again.
"""

from __future__ import annotations

from collections.abc import Hashable

from tracediff.diff.fingerprints import Fingerprints
from tracediff.diff.siblings import full_key, type_key
from tracediff.diff.topology import Topology


class Side:
    """One trace's graph, keys and fingerprints, by index of the event."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.fingerprints = Fingerprints(topology)
        self._keys: dict[int, Hashable] = {}
        self._types: dict[int, Hashable] = {}

    def key(self, node: int) -> Hashable:
        """Return lane, component, type and step of an event."""
        found = self._keys.get(node)
        if found is None:
            found = self._keys[node] = full_key(self.topology.events[node])
        return found

    def kind(self, node: int) -> Hashable:
        """Return lane, component and type of an event."""
        found = self._types.get(node)
        if found is None:
            found = self._types[node] = type_key(self.topology.events[node])
        return found
