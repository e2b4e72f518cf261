"""CPU time."""

from __future__ import annotations

import os
import time


def cpu_time() -> float:
    """CPU seconds of this process so far, and of the processes that it started and waited for (some searches run in a
    process of their own)."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
