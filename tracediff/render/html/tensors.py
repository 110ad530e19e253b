"""Tensor panels as data for a page: every number printed, grids and pictures as bytes.

Reads finished panels. Computes nothing.
"""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any, Final

from tracediff.diff.panels import ElementError, PicturePair, TensorPanel
from tracediff.events import TensorRecord
from tracediff.render.escape import LONGEST_MESSAGE, visible, visible_value
from tracediff.render.report_lines import tensor_lines
from tracediff.render.rows import counted

if TYPE_CHECKING:
    from tracediff.diff.error_grid import ErrorGrid, Picture

STATISTICS: Final = (
    *("finite", "min", "max", "mean", "l2", "nan", "pos_inf", "neg_inf", "neg_zero"),
)


def panel_to_json(panel: TensorPanel) -> dict[str, Any]:
    """Return what a page shows of two tensors that are not the same."""
    return {
        "name": visible(panel.name),
        "section": panel.section,
        "kind": f"{visible(panel.left.dtype)} {list(panel.left.shape)}",
        "failed": panel.difference is not None,
        "facts": _facts(panel),
        "statistics": _statistics(panel.left, panel.right),
        "worst": [_element(error) for error in panel.worst],
        "grid": None if panel.grid is None else _grid(panel.grid),
        "axes": _axes(panel),
        "pictures": None if panel.pictures is None else _pictures(panel.pictures),
    }


def _facts(panel: TensorPanel) -> list[tuple[str, str]]:
    if panel.difference is not None:
        facts = [(label.strip(), text) for label, text in tensor_lines(panel.difference)]
        # The table of worst elements says the others.
        facts = [fact for fact in facts if fact[0] != "worst" or fact[1].startswith("ULP")]
    elif panel.distance is None:
        facts = [("distance", "not known: neither values nor sketches of both sides are kept")]
    else:
        measured = panel.differing is not None
        how = "from all values" if measured else "estimated from sketches"
        facts = [("distance", f"relative L2 {panel.distance:.3g}, {how}")]
    if panel.differing is not None:
        size = counted(panel.left.size, "element")
        facts.append(("differing", f"{panel.differing} of {size}"))
    if panel.trouble:
        facts.append(("trouble", visible(panel.trouble, LONGEST_MESSAGE)))
    return facts


def _statistics(left: TensorRecord, right: TensorRecord) -> list[tuple[str, str, str]]:
    names = [name for name in STATISTICS if name in left.stats or name in right.stats]
    return [
        (name.replace("_", " "), _number(left.stats.get(name)), _number(right.stats.get(name)))
        for name in names
    ]


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.8g}" if isinstance(value, float) else visible_value(value, 40)


def _element(error: ElementError) -> tuple[str, ...]:
    values = f"{error.left:.9g}", f"{error.right:.9g}"
    relative = f"{error.relative:.3g}" if math.isfinite(error.relative) else "–"
    return str(list(error.index)), *values, f"{error.absolute:.4g}", relative


def _axes(panel: TensorPanel) -> str:
    shape, grid = panel.left.shape, panel.grid
    if grid is None:
        return ""
    if len(shape) <= 1:
        return "in C order, row by row" if grid.height > 1 else "in C order"
    across = f"columns are axis {len(shape) - 1} ({shape[-1]})"
    outer = " × ".join(str(extent) for extent in shape[:-1])
    axes = "axis 0" if len(shape) == 2 else f"axes 0–{len(shape) - 2}"
    return f"rows are {axes} ({outer}), {across}"


def _grid(grid: ErrorGrid) -> dict[str, Any]:
    shrunk = (grid.rows, grid.columns) != (grid.height, grid.width)
    return {
        "rows": grid.rows,
        "columns": grid.columns,
        "height": grid.height,
        "width": grid.width,
        "levels": _bytes(grid.levels),
        "low": grid.low,
        "high": grid.high,
        "lowText": f"{grid.low:.3g}",
        "highText": f"{grid.high:.3g}",
        "shrunk": shrunk,
    }


def _pictures(pair: PicturePair) -> dict[str, Any]:
    what = "false colours, the same scale on both sides" if pair.is_latent else "as recorded"
    which = f"picture {pair.number} of {pair.count}, the one that differs most; "
    return {
        "caption": f"{which if pair.count > 1 else ''}{what}",
        "left": _picture(pair.left),
        "right": _picture(pair.right),
        "difference": _grid(pair.difference),
    }


def _picture(picture: Picture) -> dict[str, Any]:
    return {"height": picture.height, "width": picture.width, "pixels": _bytes(picture.pixels)}


def _bytes(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
