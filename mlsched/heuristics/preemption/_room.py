"""Bookkeeping that every preemption rule needs: what TE jobs may still use on each node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched.instances.preemption import Instance, Plan


class Room:
    """A mutable copy of an instance's room; TE jobs are served in queue order, each by the rule's own choice."""

    def __init__(self, instance: Instance, limit: int) -> None:
        """`limit`: the rule's own P; 0 takes the instance's. A rule may be stricter than its instance, never laxer."""
        self.instance = instance
        self.free = instance.node_free + instance.node_draining
        own = instance.job_preemptions < limit if limit else np.True_
        self.preemptible = np.logical_and(instance.preemptible, own)
        self.te_node: list[int] = []
        self.victims: list[int] = []

    def first_fit(self, demand: IntArray) -> int:
        """The first node with room for `demand`, -1 if there is none."""
        fits = (self.free >= demand).all(axis=1)
        return int(fits.argmax()) if fits.any() else -1

    def suspend(self, job: int) -> int:
        """Make `job` a victim; returns its node."""
        self.victims.append(job)
        self.preemptible[job] = False
        node = int(self.instance.job_node[job])
        self.free[node] += self.instance.job_demand[job]
        return node

    def place(self, demand: IntArray, node: int) -> None:
        """Send the next TE job to `node`, or let it wait (-1)."""
        self.te_node.append(node)
        if node >= 0:
            self.free[node] -= demand

    def can_fit(self, demand: IntArray) -> bool:
        """Whether some node would have room with every job that may still be preempted suspended."""
        most = self.free.copy()
        able = np.flatnonzero(self.preemptible)
        np.add.at(most, self.instance.job_node[able], self.instance.job_demand[able])
        return bool((most >= demand).all(axis=1).any())

    def suspend_until_fit(self, demand: IntArray, order: Iterable[Any]) -> int:
        """Suspend jobs in `order`, wherever they run, until some node fits `demand`; no roll-back. Returns the node.

        Returns -1, with no further victim, when not even all of them would make room.
        """
        if not self.can_fit(demand):
            return -1
        for job in order:
            node = self.suspend(int(job))
            if (self.free[node] >= demand).all():
                return node
        raise AssertionError("suspending every preemptible job makes room if can_fit is true")

    def plan(self) -> Plan:
        """The finished plan."""
        return Plan(te_node=ints(self.te_node), victims=ints(sorted(self.victims)))
