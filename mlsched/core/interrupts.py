"""Telling the user's interrupt from one that a rule raises."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


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
                signal.signal(number, _noting(came, handler))
    try:
        yield lambda: bool(came)
    finally:
        for one, handler in previous.items():
            signal.signal(one, handler)


def _noting(came: list[int], handler: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], Any]:
    def note(number: int, frame: FrameType | None) -> Any:
        came.append(number)
        return handler(number, frame)

    return note
