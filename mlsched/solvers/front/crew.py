"""Concurrent questions: one per searcher, each on its own thread."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any

from mlsched.core.aliases import Array
from mlsched.core.fields import IntArray
from mlsched.solvers.front.search import Explored, Search, Stop

#: The objective to minimise and the bounds on the others, see `Search.explore`.
Asked = tuple[int, Any]


class Crew:
    """A queue of questions: `submit` adds one, `next` returns the first answer (or computes it itself).

    Leaving the crew waits for the running questions. Only an exception other than `Stop` (a limit) ends them at once.
    """

    def __init__(self, search: Search) -> None:
        self._search, self._pool = search, None
        if search.workers > 1:
            self._pool = ThreadPoolExecutor(search.workers)
        self._waiting: list[Asked] = []
        self._running: dict[Future[Explored], Asked] = {}

    @property
    def asked(self) -> list[Asked]:
        """Return the running questions."""
        return [*self._waiting, *self._running.values()]

    @property
    def room(self) -> bool:
        """Return whether another question can be submitted."""
        return len(self.asked) < self._search.workers

    def submit(self, k: int, bounds: IntArray) -> None:
        """Request the smallest f_k within the bounds."""
        if self._pool is None:
            self._waiting.append((k, bounds))
        else:
            self._running[self._pool.submit(self._search.explore, k, bounds)] = (k, bounds)

    def next(self) -> tuple[int, Array, Explored]:
        """Return the first answered question and its answer; an exception of `explore` is raised here."""
        if self._pool is None:
            k, bounds = self._waiting.pop(0)
            return k, bounds, self._search.explore(k, bounds)
        finished, _ = wait(self._running, return_when=FIRST_COMPLETED)
        first = min(finished, key=list(self._running).index)
        k, bounds = self._running.pop(first)
        return k, bounds, first.result()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        while kind is not None and not issubclass(kind, Stop) and not all(f.done() for f in self._running):
            # Repeatedly, since a solve that has not begun cannot be stopped.
            self._search.end()
            time.sleep(0.01)
        self._pool.shutdown()
        for future in self._running if kind is None else ():
            # A limit that ended one of them is irrelevant now; any other error does.
            if (wrong := future.exception()) is not None and not isinstance(wrong, Stop):
                raise wrong
