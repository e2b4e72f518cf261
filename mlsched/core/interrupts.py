"""Ctrl-C: telling the user's interrupt from one that a rule raises, and ending a search with what it has found.

Ctrl-C raises KeyboardInterrupt, which loses what a search has found. Within `stopping` (the command line) the first
Ctrl-C is a request instead: every `Deadline` is over, and whoever runs a solver's own code (`on_stop`) is told to end
it. The search then returns its plan and its bound as at a time limit. A second Ctrl-C, and a search that does not end
within seconds, raise KeyboardInterrupt as ever.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

#: Seconds between two attempts to end what runs, and seconds for all to end: where nothing was found to be ended, and
#: where something was.
AGAIN, GRACE, LONGER = 0.05, 8.0, 20.0


class _Stop:
    """Whether the user has asked for the end, and how to end what runs."""

    def __init__(self) -> None:
        self.within = self.came = self.requested = False
        self.until = self.last = 0.0
        self.running: dict[int, Callable[[], object]] = {}


_stop = _Stop()


def stop_requested() -> bool:
    """Whether the user has asked the search that runs to end with what it has."""
    return _stop.requested


def within_stopping() -> bool:
    """Whether an interrupt of the user is a request to end, within `stopping`."""
    return _stop.within


@contextlib.contextmanager
def on_stop(end: Callable[[], object]) -> Iterator[None]:
    """While the block runs, `end` is how to end it from any thread; it is called until the block has ended."""
    key = object()
    _stop.running[id(key)] = end
    try:
        yield
    finally:
        del _stop.running[id(key)]


@contextlib.contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Within the block the first SIGINT or SIGTERM is a request to end; yields whether there was one.

    On the main thread; elsewhere, and where nobody handles the signals, they do as ever.
    """
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(n))]
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        numbers = []
    before = {number: signal.signal(number, _first) for number in numbers}
    alarm = signal.signal(signal.SIGALRM, _again) if numbers else None
    came, before_block = [False], _stop.within
    _stop.within = bool(numbers) or before_block
    try:
        yield lambda: came[0] or _stop.came
    finally:
        came[0], _stop.came, _stop.requested, _stop.within = _stop.came, False, False, before_block
        if numbers:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarm)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """Within the block a request that has come does not end anything: what was found is checked and written."""
    before, _stop.requested = _stop.requested, False
    _stop.until = float("inf")
    try:
        yield
    finally:
        _stop.requested = before


def _first(number: int, frame: FrameType | None) -> None:
    if _stop.came:
        raise KeyboardInterrupt
    _stop.came = _stop.requested = True
    _stop.until, _stop.last = time.monotonic() + GRACE, time.monotonic() + LONGER
    signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)


def _again(number: int, frame: FrameType | None) -> None:
    if _stop.requested:
        for end in tuple(_stop.running.values()):
            end()
            _stop.until = max(_stop.until, _stop.last)
    if time.monotonic() > _stop.until:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether a signal to stop (Ctrl-C, SIGTERM) has come since the block began.

    Whoever handles these signals handles them as before. A rule that raises KeyboardInterrupt or SystemExit itself can
    thus be told from a user who wants the whole run to end.
    """
    came: list[int] = []
    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # elsewhere, no signal arrives
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                previous[number] = handler
                signal.signal(number, functools.partial(_note, came, handler))
    try:
        yield lambda: bool(came)
    finally:
        for one, handler in previous.items():
            signal.signal(one, handler)


def _note(came: list[int], handler: Callable[..., Any], number: int, frame: FrameType | None) -> Any:
    came.append(number)
    return handler(number, frame)
