"""Streamed answers of model servers: from raw bytes to an assembled message, layer by layer.

Knows HTTP bodies as bytes, server-sent events, the words of three APIs, and the recorder that is
told what came. Must not know files, sockets or how two traces are compared.
"""
