"""Drives engine and tool calls, and tells the recorder: the only place that knows all three.

Must not know files of traces (a recorder hides them), colours or the command line.
"""
