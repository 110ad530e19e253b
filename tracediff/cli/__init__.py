"""The command line: one module a command that parses, calls, prints and exits.

Typer stops here. Must not compute anything that the library does not offer.
"""
