"""What a run was made with: versions, machine, threads. Goes into the timing sidecar only."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

REPORTED = ("tracediff", "numpy", "orjson", "blake3", "safetensors")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def describe_environment() -> dict[str, Any]:
    """Return versions, platform, processor count, thread settings and the time, for people."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in REPORTED},
        "platform": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "host": platform.node(),
        "processors": os.cpu_count(),
        "threads": {key: os.environ[key] for key in THREAD_VARIABLES if key in os.environ},
        "device": "cpu",
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
