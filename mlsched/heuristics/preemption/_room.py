"""Bookkeeping of all preemption rules: the room for TE jobs on each node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched.instances.preemption import Instance, Plan


class Room:
    """A mutable copy of an instance's room; TE jobs are served in queue order, each by the rule's own choice."""

    def __init__(self, instance: Instance, limit: int) -> None:
        """Set the rule's preemption limit P; 0 takes the instance's. A rule may only be stricter than its instance."""
        self.instance = instance
        self.free = instance.node_free + instance.node_draining
        own = instance.job_preemptions < limit if limit else np.True_
        self.preemptible = np.logical_and(instance.preemptible, own)
        self.te_node: list[int] = []
        self.victims: list[int] = []

    def first_fit(self, demand: IntArray) -> int:
        """Return the first node with room for `demand`, or -1."""
        fits = (self.free >= demand).all(axis=1)
        return int(fits.argmax()) if fits.any() else -1

    def suspend(self, job: int) -> int:
        """Make `job` a victim and return its node."""
        self.victims.append(job)
        self.preemptible[job] = False
        node = int(self.instance.job_node[job])
        self.free[node] += self.instance.job_demand[job]
        return node

    def place(self, demand: IntArray, node: int) -> None:
        """Place the next TE job on `node`, or let it wait (-1)."""
        self.te_node.append(node)
        if node >= 0:
            self.free[node] -= demand

    def can_fit(self, demand: IntArray) -> bool:
        """Return if some node would have room after suspending every job that may still be preempted."""
        most = self.free.copy()
        able = np.flatnonzero(self.preemptible)
        np.add.at(most, self.instance.job_node[able], self.instance.job_demand[able])
        return bool((most >= demand).all(axis=1).any())

    def suspend_until_fit(self, demand: IntArray, order: Iterable[Any]) -> int:
        """Suspend jobs in `order`, on any node, until some node fits `demand`; return that node.

        Victims are not rolled back. Returns -1, without further victims, if suspending all of the jobs would not make
        room.
        """
        if not self.can_fit(demand):
            return -1
        for job in order:
            node = self.suspend(int(job))
            if (self.free[node] >= demand).all():
                return node
        raise AssertionError("suspending every preemptible job makes room if can_fit is true")

    def plan(self) -> Plan:
        """Return the finished plan."""
        return Plan(te_node=ints(self.te_node), victims=ints(sorted(self.victims)))
