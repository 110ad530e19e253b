"""Turns finished results into text: for the terminal, or as data.

Reads results and events and computes no verdict of its own. Must not know files or exit statuses.
"""
