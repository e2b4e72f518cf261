"""Limits of time and memory for code that reads untrusted files.

Checks count their own steps and look at the clock. These limits catch the rest: a parser or an array that fills the
memory, a call that does not return. They apply to the complete process, so only programs (the command line) set them; a
library must not limit its caller.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from mlsched.core.deadline import OutOfTime

#: Bytes that a check may use beyond those of the program itself.
MAX_MEMORY = 800 * 2**20
#: Seconds that a check gets beyond its limit to end by itself.
GRACE = 2.0
#: How often a check is interrupted, once per second.
ATTEMPTS = 100


class OutOfMemory(Exception):
    """Raised if the block needs more memory than it may use."""


@contextlib.contextmanager
def resource_guard(seconds: float | None, memory: int = MAX_MEMORY) -> Iterator[None]:
    """Raise OutOfTime some time after `seconds`, and OutOfMemory if the block uses more than `memory` bytes.

    Time is limited on the main thread of systems with an interval timer, memory on Linux.
    """
    with _time_limit(seconds), _memory_limit(memory):
        try:
            yield
        except MemoryError:
            raise OutOfMemory(f"needs more than {memory // 2**20} MiB") from None


@contextlib.contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return
    attempts_left = [ATTEMPTS]

    def raise_timeout(number: int, frame: object) -> None:
        attempts_left[0] -= 1
        if attempts_left[0] <= 0:
            signal.setitimer(signal.ITIMER_REAL, 0)
        raise OutOfTime

    before = signal.getsignal(signal.SIGALRM)
    try:
        signal.signal(signal.SIGALRM, raise_timeout)
        # Raised repeatedly, because an exception inside a finalizer, for example, is discarded.
        signal.setitimer(signal.ITIMER_REAL, min(seconds + GRACE, 1e8), 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _memory_limit(memory: int) -> Iterator[None]:
    in_use = _used_memory()
    if in_use is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = in_use + memory
    soft = limit if before[0] == resource.RLIM_INFINITY else min(limit, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _used_memory() -> int | None:
    """Return the bytes of data of this process, or None if the system does not report them."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmData:")]
    return int(sizes[0]) * 1024 if sizes else None
