"""Opens what asking needs of the world: a connection, the clock, sleep, chance.

Knows httpx and the standard library. Must not know what is asked.
"""

from __future__ import annotations

import random
import time

import httpx

from tracediff.client.retrying import Clock

CONNECT_SECONDS = 10.0


def open_client(silence: float) -> httpx.Client:
    """Return a client that gives up after `silence` seconds in which nothing arrives.

    Redirects are not followed: a key goes to the host that was named and to no other.
    """
    return httpx.Client(timeout=httpx.Timeout(silence, connect=min(silence, CONNECT_SECONDS)))


def real_clock() -> Clock:
    """Return the machine's own clock and chance."""
    return Clock(time.time, time.monotonic, time.sleep, random.random)
