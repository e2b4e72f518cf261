"""Better plans of total_jct on a thread of their own, while proofs run, until either meets the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import places
from mlsched.solvers.taskgraph.best import Best
from mlsched.solvers.taskgraph.plans.attempts import Attempts, possible
from mlsched.solvers.taskgraph.plans.neighbourhoods import Neighbourhoods
from mlsched.solvers.taskgraph.proofs.cutting_planes import CuttingPlanes
from mlsched.solvers.taskgraph.proofs.proof import Proof

#: Variables up to which the time-indexed model is used.
WIDE = 25_000
#: Steps of neighbourhood search without a better plan after which cutting planes attempt one, where the bound is not
#: close and where it is; and how many of these steps count when an attempt ends in nothing.
STALE, AGAIN = (10, 3), (5, 0)


class Rival:
    """Neighbourhood search, and attempts by cutting planes, beside proofs; with one thread there is none."""

    def __init__(self, best: Best, shared: Sequence[Pool]) -> None:
        self.best, self.search = best, Neighbourhoods(best)
        self._attempts = Attempts(best, shared) if worth_separating(best.layout) else None
        self._shared = shared
        self._below: Attempts | None = None
        self._proof: Proof | CuttingPlanes | None = None
        self._beside: Proof | None = None
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(2)
        self._improving: Future[None] | None = None
        self._proving: Future[Any] | None = None

    def __enter__(self) -> Rival:
        if self.best.limits.threads > 1:
            self._improving = self._pool.submit(self._improve)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        running = [future for future in (self._improving, self._proving) if future is not None]
        while not all(future.done() for future in running):
            # Again and again: a search that has not begun cannot be stopped.
            self.search.stop()
            for search in (self._attempts, self._beside):
                if search is not None:
                    search.stop()
            time.sleep(0.01)
        self._pool.shutdown()
        for future in running:
            future.result()

    def race(self, proof: Proof | CuttingPlanes) -> None:
        """Run a proof."""
        self._proof = proof
        proof.run()

    def from_below(self) -> None:
        """Refute values from the bound on, on this thread, in windows made for them; see `Attempts.from_below`."""
        self._below = Attempts(self.best, self._shared)
        self._below.from_below()

    def beside(self, proof: Proof) -> None:
        """Run a proof on yet another thread, until its limit."""
        self._beside = proof
        self._proving = self._pool.submit(proof.run)

    def finish(self) -> bool:
        """Wait for the proof on the other thread; whether there was one."""
        if self._proving is None:
            return False
        self._proving.result()
        return True

    def _improve(self) -> None:
        while not self._over.is_set():
            if not self.best.closed and not self.best.over:
                if not self._attempt():
                    self.search.step()
                if isinstance(self._proof, CuttingPlanes) and self._proof.outdated:
                    self._proof.again = True
                    self._proof.stop()
                continue
            for proof in (self._proof, self._beside, self._below):
                if proof is not None:
                    proof.stop()
            self._over.wait(0.01)

    def _attempt(self) -> bool:
        """Attempt a better plan by cutting planes, if it is time to."""
        if self._attempts is None or not possible(self.best, WIDE):
            return False
        close = self._attempts.close
        if self.search.stale < STALE[close]:
            return False
        before = self.best.upper
        self._attempts.step()
        self.search.stale = AGAIN[close] if self.best.upper == before else 0
        return True


def worth_separating(layout: Layout) -> bool:
    """Whether it matters where a job's own tasks are: with one task a job, the linear relaxation says as much, and so
    it does where the nodes of a class need not be told apart."""
    several = layout.nodes > 1 and layout.jobs > 1 and any(len(tasks) > 1 for tasks in layout.tasks_of)
    return several and not any(place.whole for place in places(layout, traffic=False))
