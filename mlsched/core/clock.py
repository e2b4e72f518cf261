"""CPU time."""

from __future__ import annotations

import os
import time


def cpu_time() -> float:
    """CPU seconds so far of this process and of those that it started and that have ended.

    Some searches run in a process of their own.
    """
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
