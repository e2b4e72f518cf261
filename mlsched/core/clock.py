"""CPU time, and the time of day."""

from __future__ import annotations

import datetime
import os
import time


def cpu_time() -> float:
    """CPU seconds so far of this process and of those that it started and that have ended.

    Some searches run in a process of their own.
    """
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def now() -> str:
    """The time of day, UTC, to the second: "2026-11-23T06:27:08+00:00"."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
