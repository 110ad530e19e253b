"""The vocabulary: what a trace consists of, and what makes one valid.

Knows events, payload sections, tensor records, tolerances and traces as plain data. Must not know
files, colours, engines or how two traces are compared. Everything else may import it; it imports
only `tracediff.errors`.
"""

from tracediff.events.event import Event, JsonValue, Payload
from tracediff.events.tensors import TensorRecord
from tracediff.events.tolerances import ToleranceRule, Tolerances
from tracediff.events.trace import Trace

__all__ = [
    "Event",
    "JsonValue",
    "Payload",
    "TensorRecord",
    "ToleranceRule",
    "Tolerances",
    "Trace",
]
