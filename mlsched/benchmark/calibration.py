"""Fixed load that measures the current speed of this machine; times are quoted as multiples of it."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np


def calibration_load() -> float:
    """Run half plain Python, half small numpy arrays, the mixture of the library's own hot paths."""
    total = 0
    table: dict[int, int] = {}
    for i in range(400_000):
        table[i & 1023] = total
        total += i ^ (total & 255)
    x = np.arange(84, dtype=np.int64)
    for _ in range(60_000):
        x = np.maximum(x - 1, 0) + 1
    return float(total + int(x.sum()))


def cpu_seconds(function: Callable[[], object], repeat: int = 5) -> float:
    """Return the CPU seconds of one call, best of `repeat`."""
    best = float("inf")
    for _ in range(repeat):
        start_time = time.process_time()
        function()
        best = min(best, time.process_time() - start_time)
    return best


@functools.cache
def calibrated() -> float:
    """Return the CPU seconds of the load in this process."""
    return cpu_seconds(calibration_load)
