"""Compares traces that are files: as streams where they can be, in memory otherwise.

Knows storage and the comparator, and joins them. Must not know rendering or the command line.
"""

from tracediff.comparison.files import diff_files
from tracediff.comparison.folders import diff_folders

__all__ = ["diff_files", "diff_folders"]
