"""Comparisons as one HTML file that needs nothing else: no network, no other file.

Reads finished results and lays them out. Everything from a trace is text here, never markup.
"""

from tracediff.render.html.page import html_report

__all__ = ["html_report"]
