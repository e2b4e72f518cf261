"""Ctrl-C while a solver's own code runs.

Python handles a signal between two steps of its own, on the main thread. A search in C++ that was begun there is one
step, however long it takes: without a time limit, Ctrl-C would never come through. So such a search runs on another
thread, and the main one waits, which a signal ends at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from mlsched.core.interrupts import on_stop

T = TypeVar("T")
#: Seconds between two attempts to stop a search that an interrupt ends.
AGAIN = 0.05


def interruptible(search: Callable[[], T], stop: Callable[[], object]) -> T:
    """What `search` returns, or raises; what a signal's handler raises meanwhile ends it by `stop` and is raised here.

    stop: ends the search from any thread. It is called until the search has ended, since one that has not begun cannot
    be stopped as a rule. Where no thread can be started, as at a limit of memory, the search runs on this one. A user
    who asks for the end (`interrupts.stopping`) ends the search by `stop` as well, and what it has found is returned.
    """
    with on_stop(stop):
        if threading.current_thread() is not threading.main_thread():  # signals are handled on the main one alone
            return search()
        return _apart(search, stop)


def _apart(search: Callable[[], T], stop: Callable[[], object]) -> T:
    """Return what `search` returns on a thread of its own."""
    found: list[T] = []
    failures: list[BaseException] = []
    begun, given_up, over, lock = False, False, threading.Event(), threading.Lock()

    def run() -> None:
        nonlocal begun
        with lock:
            begun = not given_up
        if begun:
            try:
                found.append(search())
            except BaseException as failure:
                failures.append(failure)
        over.set()

    try:
        try:
            # Interrupted here, the thread may be about to begin, or not be there at all.
            threading.Thread(target=run, daemon=True).start()
        except RuntimeError:
            with lock:
                given_up = True
            if not begun:
                return search()
        over.wait()
    finally:
        with lock:
            given_up = True
        while begun and not over.is_set():
            stop()
            over.wait(AGAIN)
    if failures:
        raise failures[0]
    return found[0]
