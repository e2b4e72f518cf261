"""CPU time and time of day."""

from __future__ import annotations

import datetime
import os
import time


def cpu_time() -> float:
    """Return the CPU seconds used so far by this process and by its finished child processes.

    Child processes count because some searches run in a process of their own.
    """
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def utc_time() -> str:
    """Return the UTC time to the second: "2026-11-23T06:27:08+00:00"."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
