"""Trace <-> JSONL: canonical JSON, files that are whole or recognisably not, tensor files.

The only package that imports orjson and jsonschema. Imports `tracediff.events` and
`tracediff.errors`, nothing else of the project.
"""

from tracediff.storage.canonical import decode_json, encode_event, encode_json
from tracediff.storage.names import tensor_folder_path, timing_path, trace_name
from tracediff.storage.partial import write_beside, write_whole
from tracediff.storage.reader import LocatedEvent, read_checked_events, read_events, read_trace
from tracediff.storage.tensor_files import TensorFolder
from tracediff.storage.timing import Timing, read_timing
from tracediff.storage.writer import TraceWriter, write_trace

__all__ = [
    "LocatedEvent",
    "TensorFolder",
    "Timing",
    "TraceWriter",
    "decode_json",
    "encode_event",
    "encode_json",
    "read_checked_events",
    "read_events",
    "read_timing",
    "read_trace",
    "tensor_folder_path",
    "timing_path",
    "trace_name",
    "write_beside",
    "write_trace",
    "write_whole",
]
