"""Nodes of the preemption world: free, draining and reserved resources, and first fit over the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import IntArray


class Cluster:
    """Resource books, shape (resources, nodes). `usable` is available to a job without a reservation.

    On a node a TE job may have a reservation R while victims still use D. Other jobs may then use only the free
    resources beyond the reservation's need in excess of the draining resources: free - max(0, R - D), and never less
    than 0.
    """

    def __init__(self, capacity: IntArray) -> None:
        self.free = capacity.T.copy()
        self.usable = self.free.copy()
        self.draining = np.zeros_like(self.free)
        self.reserved = np.zeros_like(self.free)
        self._holders = [0] * capacity.shape[0]

    def first_fit(self, demand: tuple[int, ...]) -> int:
        """Return the first node with `demand` usable, or -1."""
        fits = self.usable[0] >= demand[0]
        for r in range(1, len(demand)):
            fits &= self.usable[r] >= demand[r]
        node = int(fits.argmax())
        return node if fits[node] else -1

    def fits(self, node: int, demand: IntArray) -> bool:
        """Check whether `demand` is usable on `node`."""
        return bool((self.usable[:, node] >= demand).all())

    def take(self, node: int, demand: IntArray) -> None:
        """Take the resources of a job that starts on `node`."""
        self.free[:, node] -= demand
        self._refresh_usable(node)

    def give(self, node: int, demand: IntArray, *, drained: bool) -> None:
        """Return the resources of a job that leaves `node`; `drained` for a victim in its grace period."""
        self.free[:, node] += demand
        if drained:
            self.draining[:, node] -= demand
        self._refresh_usable(node)

    def drain(self, node: int, demand: IntArray) -> None:
        """Mark the resources of a new victim on `node` as draining."""
        self.draining[:, node] += demand
        self._refresh_usable(node)

    def reserve(self, node: int, demand: IntArray) -> None:
        """Reserve room on `node` for a TE job that waits there."""
        self.reserved[:, node] += demand
        self._holders[node] += 1
        self._refresh_usable(node)

    def cancel(self, node: int, demand: IntArray) -> None:
        """Cancel a reservation, to start the job or to look elsewhere."""
        self.reserved[:, node] -= demand
        self._holders[node] -= 1
        self._refresh_usable(node)

    def promised(self) -> Any:
        """Return free and draining resources without a reservation, shape (resources, nodes)."""
        return np.maximum(self.free + self.draining - self.reserved, 0)

    def _refresh_usable(self, node: int) -> None:
        """Update `usable` after any change on `node`."""
        if self._holders[node]:
            missing = np.maximum(self.reserved[:, node] - self.draining[:, node], 0)
            self.usable[:, node] = np.maximum(self.free[:, node] - missing, 0)
        else:
            self.usable[:, node] = self.free[:, node]
