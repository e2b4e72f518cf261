"""What the jobs of a workload ask for at least, as bounds need it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Kinds:
    """What pieces are on each type of node, where nodes are of several: a piece is of one kind at a time.

    ticks: kinds x pieces, how long a piece takes that is of the kind throughout, not rounded; inf: it never is. demand:
    kinds x pieces x resources, what it holds meanwhile; capacity: of these resources, those of one type being others
    than those of the next.
    """

    ticks: Floats
    demand: IntArray
    capacity: IntArray


@dataclasses.dataclass(frozen=True)
class Pieces:
    """Jobs, cut into pieces of work that hold a constant amount of every resource while they run.

    Of every job: `arrival`; `running`, the fewest ticks from its first start to its end. Times are in ticks.

    Of every piece: its `job`; `release`, before which it cannot run; `length`, the fewest ticks for which it must run
    in all, at once or with pauses; `demand` (pieces x resources), what it holds whenever it runs; `after`, the fewest
    ticks from its end to the job's; `weight`, a share of the job's completion time that is charged to the piece. The
    weights of a job sum to 1. A piece runs at most once at a time, and what runs at a time holds at most `capacity`.

    What bounds rest on: a piece's *mean busy time* M is the mean of the ticks in which it runs, the last `length` of
    them if they are more. They all lie before the piece's end, so that M + length / 2 + after <= the job's completion
    time C; and with the weights of its pieces, sum of weight x (M + length / 2 + after) <= C.

    Where nodes are of several types, all this is so wherever a piece runs, and `kinds` says what it is on each.
    """

    arrival: IntArray
    running: IntArray
    capacity: IntArray
    job: IntArray
    release: IntArray
    length: IntArray
    demand: IntArray
    after: IntArray
    weight: Floats
    kinds: Kinds | None = None

    @property
    def work(self) -> IntArray:
        """pieces x resources: demand x ticks. Raises InvalidInput where sums of it could leave whole numbers."""
        most = float(self.demand.sum(axis=0).max(initial=0)) * float((self.release + self.length).max(initial=0))
        if most > 2**62:
            raise InvalidInput(f"bound: demand x time can reach {most:.0e}; use larger units of the resources")
        return np.asarray(self.demand * self.length[:, None])

    @property
    def outside(self) -> float:
        """What of the sum of (completion - arrival) lies before the pieces' releases and after their ends."""
        return float((self.weight * (self.release - self.arrival[self.job] + self.after)).sum())

    def with_gangs(self) -> Pieces:
        """The resources that some piece holds, and `halves` of the whole cluster: of these two pieces can hold one."""
        kept = np.flatnonzero(self.work.any(axis=0))
        demand, capacity = halves(self.demand[:, kept], self.capacity[None, kept])
        return dataclasses.replace(
            self,
            demand=np.hstack([self.demand[:, kept], demand]),
            capacity=np.concatenate([self.capacity[kept], capacity]),
        )


def with_halves(demand: IntArray, capacity: IntArray, column: int = -1, unit: int = 0) -> tuple[IntArray, IntArray]:
    """Demands of tasks, and the capacity of the cluster, with `halves` of its nodes as further columns.

    unit: so much of the resource in `column` is one GPU, of which a task holds a part or several; then `halves` of the
    GPUs are a column, too, in which whole GPUs count 2 each, and `thirds`, in which they count 6.
    """
    more, there = halves(demand, capacity)
    if unit:
        part, count = np.minimum(demand[:, [column]], unit), int(capacity[:, column].sum()) // unit
        for counted, room in (halves(part, np.full((count, 1), unit)), thirds(part, count, unit)):
            more = np.hstack([more, counted * np.maximum(demand[:, [column]] // unit, 1)])
            there = np.append(there, room)
    return np.hstack([demand, more]), np.concatenate([capacity.sum(axis=0), there])


def halves(demand: IntArray, capacity: IntArray) -> tuple[IntArray, IntArray]:
    """Columns that say what cannot share: demands (rows x resources) on nodes of a capacity (nodes x resources).

    For a resource whose largest node has c of it, a demand above c / 2 counts 2, of exactly c / 2 it counts 1, a
    smaller one 0; a node counts 2 if it has at least c / 2, else 0. What fits a node counts at most 2: next to a demand
    above c / 2 only smaller ones than c / 2 fit, and not three demands of c / 2. (The dual feasible function u^(1) of
    Fekete and Schepers, Mathematical Programming 91, 2001.) Columns in which no demand counts are left out.
    """
    largest = capacity.max(axis=0, initial=0)
    counted: Any = (2 * demand >= largest).astype(np.int64) + (2 * demand > largest)
    counted *= demand > 0
    there = 2 * (2 * capacity >= largest).sum(axis=0)
    kept = counted.any(axis=0)
    return np.asarray(counted[:, kept]), np.asarray(there[kept])


def thirds(demand: IntArray, count: int, unit: int) -> tuple[IntArray, IntArray]:
    """A column that says what cannot share, of demands (rows x 1) of no more than a GPU on `count` GPUs of `unit` each.

    Of 6 that a GPU counts, a demand above a third counts 3, of exactly a third 2, of exactly two thirds 4, above that
    6, a smaller one 0: so two demands above a third fill a GPU, however little they ask for. (The dual feasible
    function u^(2) of the same source.) Left out where no demand counts.
    """
    whole, rest = 3 * demand // unit, 3 * demand % unit
    counted = np.where(rest == 0, 2 * whole, 3 * whole)
    kept = counted.any(axis=0)
    return np.asarray(counted[:, kept]), np.full(int(kept.sum()), 6 * count)
