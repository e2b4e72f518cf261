"""Ctrl-C while native solver code runs.

Python handles a signal on the main thread, between two of its own steps. A C++ search on that thread is a single step,
so Ctrl-C would only take effect at its end. Therefore the search runs on another thread while the main thread waits. A
signal ends the waiting immediately.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from mlsched.core.interrupts import on_stop

T = TypeVar("T")
#: Seconds between two attempts to stop an interrupted search.
AGAIN = 0.05


def interruptible(search: Callable[[], T], stop: Callable[[], object]) -> T:
    """Return or raise the result of `search`; a signal handler's exception stops the search and is raised here.

    Args:
        search: The native search. It runs on this thread if a thread cannot be started, for example at a memory limit.
        stop: Ends the search from any thread. It is called until the search has ended, because a search that has not
            begun usually cannot be stopped.

    If the user requests the end (`interrupts.stopping`), `stop` ends the search and its result is returned.
    """
    with on_stop(stop):
        if threading.current_thread() is not threading.main_thread():  # signals are handled only on the main thread
            return search()
        return _apart(search, stop)


def _apart(search: Callable[[], T], stop: Callable[[], object]) -> T:
    """Return the result of `search`, run on a separate thread."""
    result: list[T] = []
    failures: list[BaseException] = []
    has_begun, given_up, over, lock = False, False, threading.Event(), threading.Lock()

    def run() -> None:
        nonlocal has_begun
        with lock:
            has_begun = not given_up
        if has_begun:
            try:
                result.append(search())
            except BaseException as failure:
                failures.append(failure)
        over.set()

    try:
        try:
            # After an interrupt here, the thread may be starting, or may not exist.
            threading.Thread(target=run, daemon=True).start()
        except RuntimeError:
            with lock:
                given_up = True
            if not has_begun:
                return search()
        over.wait()
    finally:
        with lock:
            given_up = True
        while has_begun and not over.is_set():
            stop()
            over.wait(AGAIN)
    if failures:
        raise failures[0]
    return result[0]
