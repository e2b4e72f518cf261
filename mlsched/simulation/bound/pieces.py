"""Least demand of the jobs of a workload, as input of bounds."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class Kinds:
    """Pieces on each type of node, if there are several types; a piece is of one kind at a time.

    Attributes:
        ticks: Length of each piece if it is always of this kind, shape (kinds, pieces), not rounded; inf: impossible.
        demand: Its use meanwhile, shape (kinds, pieces, resources).
        capacity: Capacity of these resources; each type has its own resources.
    """

    ticks: FloatArray
    demand: IntArray
    capacity: IntArray


@dataclasses.dataclass(frozen=True)
class Pieces:
    """Jobs, cut into pieces of work with constant resource use while they run. Times are in ticks.

    A piece runs at most once at a time, and all running pieces together use at most `capacity`. The bounds rest on a
    piece's *mean busy time* M: the mean of the ticks in which it runs, the last `length` of them if they are more. All
    are before the piece's end, so that M + length / 2 + after <= the job's completion time C. With the weights of its
    pieces, sum of weight x (M + length / 2 + after) <= C. With several types of nodes, all this is true wherever a
    piece runs, and `kinds` has its values on each.

    Attributes:
        arrival: Arrival of each job.
        running: Fewest ticks from its first start to its end.
        job: Job of each piece.
        release: Earliest start of each piece.
        length: Fewest ticks that it must run, in one segment or with pauses.
        demand: Its use whenever it runs, shape (pieces, resources).
        after: Fewest ticks from its end to the job's.
        weight: Share of the job's completion time that is charged to the piece. The weights of a job sum to 1.
    """

    arrival: IntArray
    running: IntArray
    capacity: IntArray
    job: IntArray
    release: IntArray
    length: IntArray
    demand: IntArray
    after: IntArray
    weight: FloatArray
    kinds: Kinds | None = None

    @property
    def work(self) -> IntArray:
        """Return demand x ticks, shape (pieces, resources).

        Raises:
            InvalidInput: Sums of it could exceed exact integers.
        """
        most = float(self.demand.sum(axis=0).max(initial=0)) * float((self.release + self.length).max(initial=0))
        if most > 2**62:
            raise InvalidInput(f"bound: demand x time can reach {most:.0e}; use larger units of the resources")
        return np.asarray(self.demand * self.length[:, None])

    @property
    def outside(self) -> float:
        """Return the part of the sum of (completion - arrival) before the pieces' releases and after their ends."""
        return float((self.weight * (self.release - self.arrival[self.job] + self.after)).sum())

    def with_gangs(self) -> Pieces:
        """Return the pieces with the resources in use, and `halves` of the entire cluster as further resources.

        At most one of two pieces with more than half of the cluster can run at a time.
        """
        columns_kept = np.flatnonzero(self.work.any(axis=0))
        demand, capacity = halves(self.demand[:, columns_kept], self.capacity[None, columns_kept])
        return dataclasses.replace(
            self,
            demand=np.hstack([self.demand[:, columns_kept], demand]),
            capacity=np.concatenate([self.capacity[columns_kept], capacity]),
        )


def with_halves(demand: IntArray, capacity: IntArray, column: int = -1, unit: int = 0) -> tuple[IntArray, IntArray]:
    """Add `halves` of the nodes as further columns to demands of tasks and to the capacity of the cluster.

    Args:
        demand: Demands, shape (tasks, resources).
        capacity: Capacities, shape (nodes, resources).
        column: Column of the GPUs.
        unit: Amount of one GPU, of which a task uses a part or several. If given, `halves` of the GPUs are a further
            column, in which whole GPUs count 2 each, and `thirds`, in which they count 6.
    """
    more, there = halves(demand, capacity)
    if unit:
        part, count = np.minimum(demand[:, [column]], unit), int(capacity[:, column].sum()) // unit
        for count_column, room in (halves(part, np.full((count, 1), unit)), thirds(part, count, unit)):
            more = np.hstack([more, count_column * np.maximum(demand[:, [column]] // unit, 1)])
            there = np.append(there, room)
    return np.hstack([demand, more]), np.concatenate([capacity.sum(axis=0), there])


def halves(demand: IntArray, capacity: IntArray) -> tuple[IntArray, IntArray]:
    """Return dual feasible columns for demands (rows, resources) on nodes of a capacity (nodes, resources).

    There is a column per resource. Let c be its amount on the largest node. A demand above c / 2 becomes 2, a demand of
    c / 2 becomes 1, and a smaller demand 0. A node becomes 2 if it has at least c / 2, else 0. The new demands of tasks
    that fit a node add up to at most 2: next to a demand above c / 2 only demands below c / 2 fit, and three demands of
    c / 2 do not fit. Columns of zeros are left out.

    This is the dual feasible function u^(1) of Fekete and Schepers, Mathematical Programming 91, 2001.
    """
    largest = capacity.max(axis=0, initial=0)
    count_column: Array = (2 * demand >= largest).astype(np.int64) + (2 * demand > largest)
    count_column *= demand > 0
    there = 2 * (2 * capacity >= largest).sum(axis=0)
    columns_kept = count_column.any(axis=0)
    return np.asarray(count_column[:, columns_kept]), np.asarray(there[columns_kept])


def thirds(demand: IntArray, count: int, unit: int) -> tuple[IntArray, IntArray]:
    """Return a dual feasible column for demands (rows, 1) of at most a GPU on `count` GPUs of `unit` each.

    A GPU counts 6. A demand above a third counts 3, of exactly a third 2, of exactly two thirds 4, above that 6, a
    smaller one 0. So two demands just above a third fill a GPU. (The dual feasible function u^(2) of the same source.)
    The column is left out without a counted demand.
    """
    whole, rest = 3 * demand // unit, 3 * demand % unit
    count_column = np.where(rest == 0, 2 * whole, 3 * whole)
    columns_kept = count_column.any(axis=0)
    return np.asarray(count_column[:, columns_kept]), np.full(int(columns_kept.sum()), 6 * count)
