"""Ctrl-C: separating the user's interrupt from one that a rule raises, and ending a search with its result so far.

Ctrl-C raises KeyboardInterrupt, which loses the result of a search. Within `stopping` (the command line) the first
Ctrl-C is a request instead: every `Deadline` passes, and the code that runs a solver (`on_stop`) is called to end it.
The search then returns its plan and its bound as at a time limit. A second Ctrl-C, or a search that does not end within
seconds, raises KeyboardInterrupt as usual.
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

#: Seconds between two attempts to end the running code, and seconds until it must have ended: without, and with, such
#: code.
RETRY_INTERVAL, GRACE, LONG_GRACE = 0.05, 8.0, 20.0


class _Stop:
    """State of an interrupt: whether the user requested the end, and the functions that end running code."""

    def __init__(self) -> None:
        self.within = self.came = self.requested = False
        self.until = self.last = 0.0
        self.running: dict[int, Callable[[], object]] = {}


_stop = _Stop()


def stop_requested() -> bool:
    """Return whether the user requested that the running search ends with its result so far."""
    return _stop.requested


def within_stopping() -> bool:
    """Return whether an interrupt is a request to end, because the call is within `stopping`."""
    return _stop.within


@contextlib.contextmanager
def on_stop(end: Callable[[], object]) -> Iterator[None]:
    """Register, while the block runs, a function that ends it from any thread; it is called until the block ends."""
    key = object()
    _stop.running[id(key)] = end
    try:
        yield
    finally:
        del _stop.running[id(key)]


@contextlib.contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Treat the first SIGINT or SIGTERM within the block as a request to end; yield a function that reports a request.

    This holds on the main thread. On other threads, and without a handler of the signals, they act as usual.
    """
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(n))]
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        numbers = []
    handlers = {number: signal.signal(number, _on_signal) for number in numbers}
    alarm = signal.signal(signal.SIGALRM, _on_alarm) if numbers else None
    arrived, outer = [False], _stop.within
    _stop.within = bool(numbers) or outer
    try:
        yield lambda: arrived[0] or _stop.came
    finally:
        arrived[0], _stop.came, _stop.requested, _stop.within = _stop.came, False, False, outer
        if numbers:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarm)
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """Let the block finish although the user requested an end, so that results are checked and written."""
    before, _stop.requested = _stop.requested, False
    _stop.until = float("inf")
    try:
        yield
    finally:
        _stop.requested = before


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _stop.came:
        raise KeyboardInterrupt
    _stop.came = _stop.requested = True
    _stop.until, _stop.last = time.monotonic() + GRACE, time.monotonic() + LONG_GRACE
    signal.setitimer(signal.ITIMER_REAL, RETRY_INTERVAL, RETRY_INTERVAL)


def _on_alarm(number: int, frame: FrameType | None) -> None:
    if _stop.requested:
        for end in tuple(_stop.running.values()):
            end()
            _stop.until = max(_stop.until, _stop.last)
    if time.monotonic() > _stop.until:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether a signal to stop (Ctrl-C, SIGTERM) has arrived since the block began.

    Existing handlers of these signals are called as before. A rule that raises KeyboardInterrupt or SystemExit itself
    is thus distinguished from a user who ends the run.
    """
    arrived: list[int] = []
    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # other threads receive no signal
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                previous[number] = handler
                signal.signal(number, functools.partial(_record_signal, arrived, handler))
    try:
        yield lambda: bool(arrived)
    finally:
        for one, handler in previous.items():
            signal.signal(one, handler)


def _record_signal(came: list[int], handler: Callable[..., Any], number: int, frame: FrameType | None) -> object:
    came.append(number)
    return handler(number, frame)
