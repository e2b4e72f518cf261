"""A fixed load that tells how fast this machine is just now: times are quoted as multiples of it."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np


def load() -> float:
    """Half plain Python, half small numpy arrays: the mixture that the library's own hot paths are made of."""
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
    """CPU seconds of one call, best of `repeat`."""
    best = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        function()
        best = min(best, time.process_time() - started)
    return best


@functools.cache
def calibrated() -> float:
    """CPU seconds that the load takes in this process."""
    return cpu_seconds(load)
