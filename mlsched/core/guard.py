"""Limits of time and memory for code that reads the files of strangers, whatever is in them.

Checks count their own steps and look at the clock; this catches the rest: a parser or an array that fills the memory, a
call that does not return to its loop. The limits are the process's own, so only programs set them (the command line);
a library must not limit its caller.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlsched.core.deadline import OutOfTime

#: Bytes that a check may take beyond those of the program itself.
MOST_MEMORY = 800 * 2**20
#: Seconds that a check has beyond its limit to end by itself.
GRACE = 2.0
#: How often a check is told that its time is over, a second apart.
ATTEMPTS = 100


class OutOfMemory(Exception):
    """The block needs more memory than it may take."""


@contextlib.contextmanager
def guarded(seconds: float | None, memory: int = MOST_MEMORY) -> Iterator[None]:
    """Raise OutOfTime some time after `seconds`, OutOfMemory where the block takes more than `memory` bytes.

    Time is limited on the main thread and where the system has an interval timer; memory on Linux.
    """
    with _timer(seconds), _limit(memory):
        try:
            yield
        except MemoryError:
            raise OutOfMemory(f"needs more than {memory // 2**20} MiB") from None


@contextlib.contextmanager
def _timer(seconds: float | None) -> Iterator[None]:
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return
    left = [ATTEMPTS]

    def over(number: int, frame: Any) -> None:
        left[0] -= 1
        if left[0] <= 0:
            signal.setitimer(signal.ITIMER_REAL, 0)
        raise OutOfTime

    before = signal.getsignal(signal.SIGALRM)
    try:
        signal.signal(signal.SIGALRM, over)
        # Once is not enough: what is raised where nothing may be raised, such as in a finalizer, is lost.
        signal.setitimer(signal.ITIMER_REAL, min(seconds + GRACE, 1e8), 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _limit(memory: int) -> Iterator[None]:
    taken = _taken()
    if taken is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    most = taken + memory
    soft = most if before[0] == resource.RLIM_INFINITY else min(most, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _taken() -> int | None:
    """Bytes of data that this process has; None where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmData:")]
    return int(sizes[0]) * 1024 if sizes else None
