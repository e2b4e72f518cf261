"""Nodes of the preemption world: what is free, what drains, what is reserved, and first fit over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import IntArray


class Cluster:
    """Resource books, resources x nodes. `usable` is what a job without a reservation may take now.

    On a node where a TE job holds a reservation R while victims still hold D, newcomers may use only what is free
    beyond what the reservation needs over and above the draining resources: free - max(0, R - D), and never less
    than 0.
    """

    def __init__(self, capacity: IntArray) -> None:
        self.free = capacity.T.copy()
        self.usable = self.free.copy()
        self.draining = np.zeros_like(self.free)
        self.reserved = np.zeros_like(self.free)
        self._holders = [0] * capacity.shape[0]

    def first_fit(self, demand: tuple[int, ...]) -> int:
        """The first node where `demand` is usable, -1 if there is none."""
        fits = self.usable[0] >= demand[0]
        for r in range(1, len(demand)):
            fits &= self.usable[r] >= demand[r]
        node = int(fits.argmax())
        return node if fits[node] else -1

    def fits(self, node: int, demand: IntArray) -> bool:
        """Whether `demand` is usable on `node`."""
        return bool((self.usable[:, node] >= demand).all())

    def take(self, node: int, demand: IntArray) -> None:
        """A job starts on `node`."""
        self.free[:, node] -= demand
        self._refresh(node)

    def give(self, node: int, demand: IntArray, *, drained: bool) -> None:
        """A job leaves `node`; `drained`: it was a victim in its grace period."""
        self.free[:, node] += demand
        if drained:
            self.draining[:, node] -= demand
        self._refresh(node)

    def drain(self, node: int, demand: IntArray) -> None:
        """A job on `node` becomes a victim."""
        self.draining[:, node] += demand
        self._refresh(node)

    def reserve(self, node: int, demand: IntArray) -> None:
        """Keep room on `node` for a TE job that waits there."""
        self.reserved[:, node] += demand
        self._holders[node] += 1
        self._refresh(node)

    def cancel(self, node: int, demand: IntArray) -> None:
        """Give a reservation up, to start the job or to look elsewhere."""
        self.reserved[:, node] -= demand
        self._holders[node] -= 1
        self._refresh(node)

    def promised(self) -> Any:
        """Free and draining resources that nobody reserved, resources x nodes."""
        return np.maximum(self.free + self.draining - self.reserved, 0)

    def _refresh(self, node: int) -> None:
        """Bring `usable` up to date after anything changed on `node`."""
        if self._holders[node]:
            missing = np.maximum(self.reserved[:, node] - self.draining[:, node], 0)
            self.usable[:, node] = np.maximum(self.free[:, node] - missing, 0)
        else:
            self.usable[:, node] = self.free[:, node]
