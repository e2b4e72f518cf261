"""Worker processes for long work."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor


@contextlib.contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Start fresh processes (spawned: a fork would copy solver threads); an error or Ctrl-C ends them at once."""
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_ignore_interrupts)
    try:
        yield pool
    except BaseException:
        # Waiting would take as long as the running work, whose results are discarded.
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
            process.join()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C, which reaches the complete process group; the parent decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
