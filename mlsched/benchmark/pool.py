"""Worker processes for long work."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor


@contextlib.contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes (spawned: a fork would copy solver threads). On an error or Ctrl-C they are ended at once."""
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_ignore_interrupts)
    try:
        yield pool
    except BaseException:
        # Waiting would take as long as the work that runs; nothing of it is kept.
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
            process.join()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ctrl-C reaches the whole process group; the parent alone decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
