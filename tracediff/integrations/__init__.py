"""Recorders for what people run already; each needs its own optional package.

Knows the engines and the recorder. Must not know how traces are stored or compared. Nothing here
is imported by the rest of tracediff, and no engine is imported before it is asked for.
"""
