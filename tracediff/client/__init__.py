"""The client that asks a model server and records its answer.

Knows httpx, keys and when to try again. Must not know files, or what an answer says.
"""
