"""Compares traces that are files: as streams where they can be, in memory otherwise.

Knows storage and the comparator, and joins them. Must not know rendering or the command line.
"""

from tracediff.comparison.files import diff_files
from tracediff.comparison.folders import diff_folders
from tracediff.comparison.lines import with_line
from tracediff.comparison.side_by_side import (
    SideBySide,
    compare_side_by_side,
    first_panel,
    pair_up,
    show_pairs,
)

__all__ = [
    "SideBySide",
    "compare_side_by_side",
    "diff_files",
    "diff_folders",
    "first_panel",
    "pair_up",
    "show_pairs",
    "with_line",
]
