"""Classes of identical servers, and every configuration of a class that an optimal plan may use.

A configuration is the content of one server of a class: a part (w, p) of each of some jobs, besides the running jobs.
So it determines the slowdown of every job there. Its loss is the sum over its jobs of (best speed of the job) - (best
speed of the job with such a part at such a slowdown). Let UB0 be the sum of the best speeds of all jobs. A plan's
value is at most UB0 minus the loss of any of its configurations. So plans of a value above LB do not use
configurations with UB0 - loss <= LB, and these are dropped.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.fields import BoolArray, IntArray
from mlsched.instances.placement import Instance
from mlsched.instances.placement.pace import Pace, parts_of, patterns_of


class TooMany(Exception):
    """Error: there are more configurations than the caller allows."""


@dataclasses.dataclass
class Class:
    """Identical servers: the same free resources and the same tasks of running jobs."""

    servers: list[int]
    free: IntArray
    run_w: IntArray
    run_p: IntArray


@dataclasses.dataclass
class Table:
    """Configurations, one row each: class, the part (w, p) of every job, and its slowdown there (0 without a part)."""

    group: IntArray
    w: IntArray
    p: IntArray
    slowdown: IntArray

    def keep(self, rows: BoolArray) -> Table:
        """Return only the chosen rows."""
        return Table(self.group[rows], self.w[rows], self.p[rows], self.slowdown[rows])

    def __len__(self) -> int:
        return len(self.group)


class Space:
    """Classes, patterns and best speeds of an instance: all parts of the model without a lower bound.

    merge: equal servers are one class; else each server is a class.
    """

    def __init__(self, instance: Instance, pace: Pace, *, merge: bool = True) -> None:
        self.instance, self.pace = instance, pace
        self.running, self.jobs = pace.running, len(instance.job_type)
        self.total = self.running + self.jobs
        self.most = max(0, min(instance.most_new, instance.most_jobs - self.running, self.jobs))
        self.classes = _server_classes(instance, merge)
        self.apart = instance.apart[np.ix_(pace.kind, pace.kind)].astype(bool)
        self.parts: list[list[tuple[int, int]]] = []  # per new job: parts that fit some class
        self.patterns: list[list[dict[tuple[int, int], int]]] = []
        self.best_with: list[IntArray] = []  # per job: best speed if a server hosts its part (w, p)
        self.base = np.zeros(self.total, dtype=np.int64)  # slowdown of running jobs before any placement
        self.best = np.zeros(self.total, dtype=np.int64)  # best speed
        self._set_running_jobs()
        for j in range(self.jobs):
            self._add_new_job(j)
        # At most `most` new jobs are placed, so the fastest determine the upper bound.
        top = np.sort(self.best[self.running :])[::-1][: self.most]
        self.upper = int(self.best[: self.running].sum() + top.sum())

    def _set_running_jobs(self) -> None:
        for c in self.classes:
            slow = self.pace.at_server(c.run_w[None], c.run_p[None])[0]
            self.base = np.maximum(self.base, slow)
        self.best[: self.running] = self.pace.speeds(self.base)[: self.running]

    def _add_new_job(self, j: int) -> None:
        """Find the parts that fit somewhere, their patterns, and the best speed with each part."""
        instance, job = self.instance, j + self.running
        workers, ps = int(instance.job_workers[j]), int(instance.job_ps[j])
        alone: dict[tuple[int, int], int] = {}  # part -> its smallest slowdown on any class
        for part in parts_of(workers, ps):
            demand = part[0] * instance.worker_demand[j] + part[1] * instance.ps_demand[j]
            able = [c for c in self.classes if (c.free >= demand).all() and not self._must_be_apart(job, c)]
            if able:
                w, p = np.stack([c.run_w for c in able]), np.stack([c.run_p for c in able])
                w[:, job], p[:, job] = part
                alone[part] = int(self.pace.at_server(w, p)[:, job].min())
        patterns = [q for q in patterns_of(workers, ps, set(alone)) if sum(q.values()) <= len(instance.server_free)]
        slowest = [max(alone[part] for part in q) for q in patterns]
        table = np.zeros((workers + 1, ps + 1), dtype=np.int64)
        speed = int(self.pace.speed[job])
        for q, slow in zip(patterns, slowest, strict=True):
            for part in q:
                table[part] = max(table[part], speed * 1000 // slow)
        use = {part for q in patterns for part in q}
        self.parts.append(sorted(use))
        self.patterns.append(patterns)
        self.best_with.append(table)
        self.best[job] = max((speed * 1000 // slow for slow in slowest), default=0)

    def _must_be_apart(self, job: int, c: Class) -> bool:
        return bool((self.apart[job] & (c.run_w + c.run_p > 0)).any())

    def configurations(self, lower: int, most: int, deadline: Deadline | None = None) -> Table:
        """Return all configurations that a plan of value above `lower` may use.

        Raises TooMany if there are more than `most`, OutOfTime if they cannot be listed by the deadline.
        """
        deadline = deadline or Deadline()
        tables: list[Table] = []
        remaining = most
        for k, c in enumerate(self.classes):
            table = self._class_configurations(k, c, lower, remaining, deadline)
            remaining -= len(table)
            tables.append(table)
        return Table(*(np.concatenate([getattr(t, f.name) for t in tables]) for f in dataclasses.fields(Table)))

    def _class_configurations(self, k: int, c: Class, lower: int, most: int, deadline: Deadline) -> Table:
        """Return the configurations of one class, adding job after job.

        The loss only grows with more jobs, so a configuration with too much loss is dropped at once.

        Args:
            k: Number of the class.
            c: The class.
            lower: Value that a plan with the configuration must exceed.
            most: Largest number of configurations.
            deadline: Time limit.
        """
        w, p = c.run_w[None].copy(), c.run_p[None].copy()
        slowdown = self.pace.at_server(w, p)
        free = c.free[None].copy()
        count = np.zeros(1, dtype=np.int64)
        for j in range(self.jobs):
            job = j + self.running
            if self.best[job] == 0 or self._must_be_apart(job, c):
                continue
            grown = [(w, p, slowdown, free, count)]
            allowed = ~((w + p > 0) & self.apart[job]).any(axis=1) & (count < self.most)
            for part in deadline.over(self.parts[j]):
                demand = part[0] * self.instance.worker_demand[j] + part[1] * self.instance.ps_demand[j]
                rows = np.flatnonzero((free >= demand).all(axis=1) & allowed)
                if rows.size:
                    nw, np_ = w[rows], p[rows]
                    nw[:, job], np_[:, job] = part
                    slow = self.pace.at_server(nw, np_)
                    good = np.flatnonzero(self.upper - self.loss(nw, np_, slow) > lower)
                    rest = (free[rows] - demand)[good]
                    grown.append((nw[good], np_[good], slow[good], rest, count[rows][good] + 1))
            w, p, slowdown, free, count = (np.concatenate(x) for x in zip(*grown, strict=True))
            if len(w) > most:
                raise TooMany
        return Table(np.full(len(w), k, dtype=np.int64), w, p, slowdown)

    def loss(self, w: IntArray, p: IntArray, slowdown: IntArray) -> IntArray:
        """Return the loss of each configuration: its reduction of a plan's value below UB0.

        Args:
            w, p: Workers and PSs of each job, shape (configurations, jobs).
            slowdown: Slowdown of each job, same shape; 0 for a job without tasks here.
        """
        speeds = np.minimum(self.pace.speeds(slowdown), self.best)
        for j in range(self.jobs):
            job = j + self.running
            speeds[:, job] = np.minimum(speeds[:, job], self.best_with[j][w[:, job], p[:, job]])
        losses = np.where(slowdown > 0, self.best - speeds, 0)
        return np.asarray(losses.sum(axis=1))


def _server_classes(instance: Instance, merge: bool) -> list[Class]:
    """Group servers by free resources and running tasks, or return each server by itself."""
    jobs = len(instance.run_type) + len(instance.job_type)
    classes: dict[Any, Class] = {}
    for s in range(len(instance.server_free)):
        equal = (tuple(instance.server_free[s]), tuple(instance.run_workers[:, s]), tuple(instance.run_ps[:, s]))
        key: Any = equal if merge else s
        if key not in classes:
            w, p = np.zeros((2, jobs), dtype=np.int64)
            w[: len(instance.run_type)] = instance.run_workers[:, s]
            p[: len(instance.run_type)] = instance.run_ps[:, s]
            classes[key] = Class([], instance.server_free[s], w, p)
        classes[key].servers.append(s)
    return list(classes.values())
