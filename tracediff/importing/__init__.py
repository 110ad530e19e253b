"""Turns what other tools dumped into traces: tensors by name, msprobe dumps, DebugMode logs.

Knows the foreign formats and the recorder. Must not know how traces are compared. Files come from
anyone: no pickle is read, no link to a folder is followed, and every error names the file and the
entry. What a dump does not hold is recorded as unknown, so that it compares as
`undecidable` and never as equal.
"""
