"""Clusters for learning an order of jobs: many at once, each with its resources in one pool.

A job runs or waits completely. It takes its demand from the sum over all nodes; a large demand of GPUs counts with the
rest that other jobs cannot use (`simulation/bound/pieces.py`, `thirds`). Unlike in the iteration engine, splitting a
job over nodes, transfers and overuse are free, except that `stretch` lengthens all running times. Clusters lack hosts,
so trained policies are measured in the engine. This simulator is about a hundred times as fast, because all clusters of
a batch advance together.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import BoolArray, IntArray
from mlsched.learned.taskgraph.plus_order import HOUR, Floats, Standing
from mlsched.simulation.taskgraph.iterations.bound import pieces
from mlsched.simulation.taskgraph.iterations.mlfs import mlfs
from mlsched_training.taskgraph._episodes import LOAD

#: Order of jobs: of a standing (clusters x jobs), a value for each, the least first.
Order = Callable[[Standing], Any]
NEVER = np.inf


@dataclasses.dataclass(frozen=True, eq=False)
class Clusters:
    """Workloads of equal numbers of jobs, shape (clusters, jobs), with times in hours.

    Attributes:
        true, told: Running times, and their estimates before an iteration is done.
        iterations: Iterations of a job.
        amount: Demand of a capacity of 1 each, shape (resources, clusters, jobs).
        share: The job's dominant share.
    """

    arrival: Floats
    true: Floats
    told: Floats
    iterations: Floats
    due: Floats
    urgency: Floats
    share: Floats
    amount: Floats

    def repeated(self, times: int) -> Clusters:
        """Return `times` copies of all clusters, one copy of all after another."""
        return Clusters(*(np.tile(getattr(self, f.name), (times, 1)) for f in dataclasses.fields(self)))


@functools.lru_cache(maxsize=4096)
def columns(seed: int, jobs: int, servers: int, hours: float, x: float) -> tuple[Floats, ...]:
    """Return a workload of MLFS' cluster at x times its load, as fields of `Clusters` without the first axis."""
    load = mlfs(jobs=jobs, seed=seed, servers=servers, hours=hours, load=LOAD * x)
    load = load.replace(min_iterations=load.max_iterations)
    found = pieces(load)
    resources = len(load.resources)
    held = found.demand[:, :resources] / found.capacity[:resources]
    true = found.length / HOUR
    told = true * load.told / load.scale
    urgency = load.urgency / 10.0
    amount = np.hstack([held, found.demand[:, [-1]] / found.capacity[-1]]).T  # the last column: `bound.pieces.thirds`
    return tuple(
        np.asarray(column, dtype=np.float32)
        for column in (
            load.arrival / HOUR,
            true,
            told,
            load.max_iterations,
            load.deadline / HOUR,
            urgency,
            held.max(axis=1),
            amount,
        )
    )


def clusters(seeds: Sequence[int], jobs: int, servers: int, hours: float, x: float) -> Clusters:
    """Return the workloads of some seeds.

    Args:
        seeds: The seeds.
        jobs: Number of jobs.
        servers: Number of servers.
        hours: Median running time in hours.
        x: Load relative to the evaluation's.
    """
    found = [columns(seed, jobs, servers, hours, x) for seed in seeds]
    names = (field.name for field in dataclasses.fields(Clusters))
    stacked: dict[str, Array] = dict(zip(names, (np.stack(each) for each in zip(*found, strict=True)), strict=True))
    return Clusters(**stacked | {"amount": np.ascontiguousarray(stacked["amount"].transpose(1, 0, 2))})


def mean_jct(batch: Clusters, order: Order, *, price: float, stretch: float, every: float) -> Floats:
    """Return the mean hours from arrival to end of the jobs served in an order, shape (clusters,).

    Args:
        batch: The clusters.
        order: The order.
        price: Cost of a pause in hours.
        stretch: Factor on true running times.
        every: Hours between recomputations of the order while jobs wait, in addition to arrivals and ends.
    """
    run = _Run(batch, price, stretch)
    while run.goes_on():
        run.step(order, every)
    return np.asarray((run.end - batch.arrival).mean(axis=1))


class _Run:
    """State of a batch; each cluster has its own clock."""

    def __init__(self, batch: Clusters, price: float, stretch: float) -> None:
        shape = batch.arrival.shape
        self.batch, self.price, self.stretch = batch, np.float32(price), np.float32(stretch)
        self.length = batch.true * self.stretch
        self.left, self.owed, self.ran = self.length.copy(), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.runs, self.begun = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        self.ended, self.end = np.zeros(shape, dtype=np.bool_), np.zeros(shape)
        self.last = batch.arrival.copy()
        self.now = batch.arrival[:, 0].astype(np.float64)
        self.arrived = batch.arrival <= self.now[:, None]
        self.rows = np.arange(shape[0])

    def goes_on(self) -> bool:
        """Return whether a job of a cluster has not ended."""
        return not bool(self.ended.all())

    def step(self, order: Order, every: float) -> None:
        """Serve all clusters, and advance each to its next event."""
        present = self.arrived & ~self.ended
        width = max(1, int(present.sum(axis=1).max()))
        # The present jobs of each cluster come first; clusters with fewer are padded with other jobs.
        jobs = np.argsort(~present, axis=1, kind="stable")[:, :width]
        present = np.take_along_axis(present, jobs, axis=1)
        key = np.where(present, order(self._standing(jobs, present)), np.inf)
        chosen = self._within(jobs, np.argsort(key, axis=1, kind="stable"), present)
        runs = np.zeros_like(self.runs)
        np.put_along_axis(runs, jobs, chosen, axis=1)
        self._change(runs)
        self._advance(every, (present & ~chosen).any(axis=1))

    def _standing(self, at: Array, there: Array) -> Standing:
        batch = self.batch

        def seen(column: Array) -> Array:
            return np.take_along_axis(column, at, axis=1)

        left, length, runs, arrival = seen(self.left), seen(self.length), seen(self.runs), seen(batch.arrival)
        part = left / length
        known = (1 - part) * seen(batch.iterations) >= 1
        now = self.now.astype(np.float32)[:, None]
        return Standing(
            left=np.where(known, left / self.stretch, part * seen(batch.told)),
            price=np.full(left.shape, self.price, dtype=np.float32),
            share=seen(batch.share),
            runs=runs,
            begun=seen(self.begun),
            ran=seen(self.ran),
            waited=np.where(runs, 0, np.maximum(now - seen(self.last), 0)).astype(np.float32),
            stayed=np.maximum(now - arrival, 0),
            due=seen(batch.due) - now,
            urgency=seen(batch.urgency),
            known=known,
            there=there,
        )

    def _within(self, at: IntArray, order: IntArray, there: BoolArray) -> BoolArray:
        """clusters x places: what there is room for in this order; what is too large at its turn is passed by."""
        places = np.take_along_axis(at, order, axis=1)
        amounts = np.ascontiguousarray(np.take_along_axis(self.batch.amount, places[None], axis=2).transpose(2, 0, 1))
        may = np.take_along_axis(there, order, axis=1).T
        room = np.full(amounts.shape[1:], 1 + 1e-5, dtype=np.float32)
        fits = np.zeros(may.shape, dtype=np.bool_)
        for place, amount in enumerate(amounts):
            np.logical_and(may[place], (amount <= room).all(axis=0), out=fits[place])
            room -= amount * fits[place]
        chosen = np.zeros(order.shape, dtype=np.bool_)
        np.put_along_axis(chosen, order, fits.T, axis=1)
        return chosen

    def _change(self, runs: BoolArray) -> None:
        """Change the running jobs; a job that continues after a pause owes the cost."""
        paused, comes = self.runs & ~runs, runs & ~self.runs
        self.last = np.where(paused, self.now[:, None].astype(np.float32), self.last)
        self.owed = np.where(comes & self.begun, self.price, self.owed)
        self.begun |= runs
        self.runs = runs

    def _advance(self, every: float, waits: Any) -> None:
        """Advance the clock of each cluster to its next arrival, end, or wake."""
        batch, after = self.batch, self.arrived.sum(axis=1)
        jobs = batch.arrival.shape[1]
        end = np.where(self.runs, self.left + self.owed, NEVER).min(axis=1)
        coming = np.where(after < jobs, batch.arrival[self.rows, np.minimum(after, jobs - 1)] - self.now, NEVER)
        scheduling_events = np.where(waits, (np.floor(self.now / every + 1e-9) + 1) * every - self.now, NEVER)
        step = np.minimum(np.minimum(end, np.maximum(coming, 0)), scheduling_events)
        step = np.where(np.isfinite(step), step, 0)
        self.now = self.now + step
        passed = np.where(self.runs, step[:, None], 0).astype(np.float32)
        self.ran = self.ran + passed
        paid = np.minimum(self.owed, passed)
        self.owed = self.owed - paid
        self.left = self.left - (passed - paid)
        over = self.runs & (self.left + self.owed <= 1e-6)
        self.end[over] = np.broadcast_to(self.now[:, None], over.shape)[over]
        self.ended |= over
        self.runs &= ~over
        self.arrived = batch.arrival <= self.now[:, None] + 1e-6
