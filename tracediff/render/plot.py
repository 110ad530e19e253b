"""The latents and pictures of an image trace as small pictures in the terminal.

Reads recorded tensors through their source. Must not know where they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from tracediff.events import Event, TensorRecord, Trace
from tracediff.events.tensors import tensor_from_json
from tracediff.render.escape import visible
from tracediff.render.half_blocks import Pixels, colour_latent, draw_pixels

LATENTS = ("latent", "latent_out")
PICTURES = ("pixels_uint8", "frame_uint8")
LATENT_COLUMNS = 32
PICTURE_COLUMNS = 72


def print_plots(trace: Trace, console: Console) -> int:
    """Print every latent and picture that was kept whole; return how many."""
    count = 0
    for event, record, array in _kept(trace):
        is_picture = record.name in PICTURES
        columns = min(PICTURE_COLUMNS if is_picture else LATENT_COLUMNS, console.width)
        for picture in _pictures(array, is_picture=is_picture):
            title = f"{visible(event.event_id)} {visible(record.name)}"
            console.print(Text(title, "bold"), soft_wrap=True)
            for line in draw_pixels(picture, columns, coloured=console.color_system is not None):
                console.print(line, soft_wrap=True)
            count += 1
    return count


def _kept(trace: Trace) -> Iterator[tuple[Event, TensorRecord, Any]]:
    for event in trace.events:
        for found in event.payload.get("outputs", ()):
            if found["name"] not in (*LATENTS, *PICTURES) or trace.tensors is None:
                continue
            record = tensor_from_json(found)
            array = trace.tensors.load(record)
            if array is not None:
                yield event, record, array


def _pictures(array: Any, *, is_picture: bool) -> Iterator[Pixels]:
    """Yield one picture a batch row of [batch, channels, height, width] or [.., h, w, 3]."""
    rows = np.asarray(array)
    for row in rows.reshape(-1, *rows.shape[-3:]):
        if not is_picture:
            yield colour_latent(row)
        else:
            yield row if row.shape[-1] == 3 else np.moveaxis(row, 0, -1)
