"""The best plan over few configurations and few servers: enumerate plans of two halves of the servers, then join them.

A state describes the common content of some servers: the number of tasks of each new job, and the worst slowdown of
every job there. One set of states grows from the first server on and one from the last. Each step extends the smaller
set by one server and all its configurations, until every server is in one set. Then complementary states are joined:
for each job that one half hosts only partly, the other half hosts the missing tasks. A state is dropped
if it hosts too many tasks of a job, if the other servers cannot host the missing tasks of a job, or if no plan
with it is better than `above`:

- *speeds*: a job is at most as fast as its worst slowdown so far allows;
- *prices*: the Lagrangian bound of the prices, less the reduced costs of the state's configurations and, for each of
its
  jobs, of the best cut with such a slowdown (`_master.price`; valid for any prices).

Equal servers of a half get configurations in ascending order, and only one of several equal states remains.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.fields import IntArray
from mlsched.formulations.placement._configurations import Space
from mlsched.formulations.placement._master import SCALE, Bound, Master

#: More than any cost: the cost of a missing cut.
NEVER = 2**60


class TooManyStates(Exception):
    """The search would need more states than the caller allows; `states` were examined."""

    def __init__(self, states: int) -> None:
        self.states = states


@dataclasses.dataclass
class States:
    """Rows: tasks of each new job, worst slowdown of each job (0: not placed), configurations used, and their cost."""

    w: IntArray
    p: IntArray
    slowdown: IntArray
    used: IntArray  # rows x servers so far
    cost: IntArray

    def keep(self, rows: IntArray) -> States:
        """Return the chosen rows."""
        return States(*(getattr(self, f.name)[rows] for f in dataclasses.fields(self)))

    def __len__(self) -> int:
        return len(self.cost)


def nothing(space: Space) -> States:
    """Return the single state without servers."""
    w, p, slowdown = np.zeros((3, 1, space.total), dtype=np.int64)
    return States(w, p, slowdown, np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64))


class Assembly:
    """One enumeration: the bounds for its states, the number of states examined, and its limit."""

    def __init__(self, master: Master, bound: Bound, above: int, most: int) -> None:
        self.master, self.bound, self.above, self.most = master, bound, above, most
        self.states = 0
        self.space = master.space
        self.room = (bound.value + 1 - above) * SCALE - 1
        self.whole: IntArray = np.stack([self.space.pace.workers, self.space.pace.ps])
        self.is_new = np.arange(self.space.total) >= self.space.running
        self.cuts = [self._cuts_of_job(job) for job in range(self.space.total)]

    def _cuts_of_job(self, job: int) -> tuple[IntArray, IntArray]:
        """Return the speeds of the cuts of a job, ascending, and the smallest cost of a cut of at most each speed."""
        own = np.flatnonzero(self.master.cuts.job == job)
        order = own[np.argsort(self.master.cuts.speed[own], kind="stable")]
        return self.master.cuts.speed[order], np.minimum.accumulate(self.bound.cost_of_cut[order])

    def grown(self, states: States, own: IntArray, elsewhere: IntArray, ascending: bool) -> States:
        """Return the states extended by each of a server's configurations.

        Args:
            states: The states.
            own: Configurations of the server.
            elsewhere: The tasks of each new job that all other servers may host.
            ascending: Whether equal servers get configurations in ascending order.
        """
        table = self.master.table
        cost = states.cost[:, None] + self.bound.cost_of_row[own][None]
        allowed_states = cost <= self.room
        if ascending:
            allowed_states &= own[None] >= states.used[:, -1:]
        row, which = np.nonzero(allowed_states)
        self.spend(len(row))
        column = own[which]
        more = States(
            # All configurations include the running jobs, which need not be counted.
            states.w[row] + table.w[column] * self.is_new,
            states.p[row] + table.p[column] * self.is_new,
            np.maximum(states.slowdown[row], table.slowdown[column]),
            np.concatenate([states.used[row], column[:, None]], axis=1),
            cost[row, which],
        )
        more = more.keep(self._completable_rows(more, elsewhere))
        return more.keep(self._promising_rows(more, elsewhere))

    def spend(self, states: int) -> None:
        """Count examined states, or raise TooManyStates."""
        if self.states + states > self.most:
            raise TooManyStates(self.states)
        self.states += states

    def _completable_rows(self, states: States, elsewhere: IntArray) -> IntArray:
        """Return rows whose tasks do not exceed their jobs, and that the other servers may complete."""
        hosted = np.stack([states.w, states.p], axis=1)[:, :, self.space.running :]
        whole, rest = self.whole[:, self.space.running :], elsewhere[:, self.space.running :]
        begun_jobs = np.asarray((hosted > 0).any(axis=1))
        wrong = np.asarray((hosted > whole).any(axis=1) | (begun_jobs & (hosted + rest < whole).any(axis=1)))
        return np.flatnonzero(~wrong.any(axis=1) & (begun_jobs.sum(axis=1) <= self.space.most))

    def _promising_rows(self, states: States, elsewhere: IntArray) -> IntArray:
        """Return rows that a plan of value above `above` may contain, by speeds and by prices."""
        space, first = self.space, self.space.running
        begun_jobs = states.slowdown[:, first:] > 0
        waits = ~begun_jobs & (elsewhere[:, first:] < self.whole[:, first:]).any(axis=0)
        raw = space.pace.speeds(states.slowdown)
        speeds = np.where(states.slowdown > 0, np.minimum(raw, space.best), space.best)
        value = speeds[:, :first].sum(axis=1) + (speeds[:, first:] * begun_jobs).sum(axis=1)
        # Upper bound on the other new jobs: the fastest that neither have begun nor must wait, within the cap.
        others = -np.sort(-speeds[:, first:] * ~(begun_jobs | waits), axis=1).cumsum(axis=1)
        others = np.concatenate([np.zeros((len(states), 1), dtype=np.int64), others], axis=1)
        value += others[np.arange(len(states)), np.minimum(space.most - begun_jobs.sum(axis=1), space.jobs)]
        cost = states.cost + (self.bound.cost_of_waiting * waits).sum(axis=1)
        for job, (levels, least) in enumerate(self.cuts):
            at = np.searchsorted(levels, raw[:, job], side="right") - 1
            cost += np.where(states.slowdown[:, job] > 0, np.append(least, NEVER)[at], 0)  # at -1: every cut is faster
        return np.flatnonzero((value > self.above) & (cost <= self.room))

    def joined(self, one: States, other: States) -> tuple[int, IntArray] | None:
        """Return (value, configurations used) of the best joint plan above `above` of two states, or None."""
        keys, theirs = self._missing_tasks(one, hosted=True), self._missing_tasks(other, hosted=False)
        _, number = np.unique(np.concatenate([keys, theirs]), axis=0, return_inverse=True)
        keys, theirs = np.split(number.reshape(-1), [len(keys)])
        order = np.argsort(theirs, kind="stable")
        start, stop = (np.searchsorted(theirs[order], keys, side=side) for side in ("left", "right"))
        count = stop - start
        self.spend(int(count.sum()))
        # State `row` of `one` meets all states order[start[row] : stop[row]] of `other`, which have its key.
        row = np.repeat(np.arange(len(keys)), count)
        mate = order[np.arange(len(row)) - np.repeat(count.cumsum() - count, count) + np.repeat(start, count)]
        hosted = np.stack([one.w[row] + other.w[mate], one.p[row] + other.p[mate]], axis=1)[:, :, self.space.running :]
        whole = self.whole[:, self.space.running :]
        placed = (hosted > 0).any(axis=1)
        right = ((hosted == whole).all(axis=1) | ~placed).all(axis=1) & (placed.sum(axis=1) <= self.space.most)
        row, mate = row[right], mate[right]
        values = self.space.pace.speeds(np.maximum(one.slowdown[row], other.slowdown[mate])).sum(axis=1)
        if values.max(initial=self.above) <= self.above:
            return None
        best = int(values.argmax())
        used_configurations = np.concatenate([one.used[row[best]], other.used[mate[best]]])
        return int(values[best]), np.bincount(used_configurations, minlength=len(self.master.table))

    def _missing_tasks(self, states: States, hosted: bool) -> IntArray:
        """Return, for each new job that a state hosts partly, its hosted or its missing tasks; 0 for all others."""
        w, p = states.w[:, self.space.running :], states.p[:, self.space.running :]
        whole: IntArray = self.whole[:, self.space.running :]
        part = (w + p > 0) & ((w < whole[0]) | (p < whole[1]))
        number = w * 1024 + p if hosted else (whole[0] - w) * 1024 + whole[1] - p
        return np.where(part, number, 0)


def distinct(states: States, more: bool) -> IntArray:
    """Return the index of the first of each set of equal states.

    If `more` servers of the same class follow, equal states must also agree in the last used configuration.
    """
    last = [states.used[:, -1:]] if more else []
    _, first = np.unique(
        np.concatenate([states.w, states.p, states.slowdown, *last], axis=1), axis=0, return_index=True
    )
    return first


def assemble(
    master: Master, bound: Bound, above: int, most: int, deadline: Deadline
) -> tuple[tuple[int, IntArray] | None, int]:
    """Return the best plan above `above` (value, servers per configuration), and the number of states examined.

    The plan is None if such a plan does not exist. Raises TooManyStates if more than `most` states would be examined,
    OutOfTime at the deadline.
    """
    table, classes = master.table, master.space.classes
    columns = np.flatnonzero(bound.useful(above)[0])
    own = [columns[table.group[columns] == k] for k in range(len(classes))]
    servers = [k for k in sorted(range(len(classes)), key=lambda k: len(own[k])) for _ in classes[k].servers]
    hosts = np.array([[x[own[k]].max(axis=0, initial=0) for x in (table.w, table.p)] for k in servers])
    task = Assembly(master, bound, above, most)
    halves, ends = [nothing(master.space), nothing(master.space)], [0, len(servers)]
    while ends[0] < ends[1]:
        deadline.check()
        side = int(len(halves[0]) > len(halves[1]))
        at = ends[0] if side == 0 else ends[1] - 1
        before, after = (at - 1, at + 1) if side == 0 else (at + 1, at - 1)
        inside = range(at + 1) if side == 0 else range(at, len(servers))
        elsewhere = hosts.sum(axis=0) - hosts[inside].sum(axis=0)
        again = halves[side].used.shape[1] > 0 and servers[before] == servers[at]
        halves[side] = task.grown(halves[side], own[servers[at]], elsewhere, again)
        ends[side] = at + 1 if side == 0 else at
        more = ends[0] < ends[1] and servers[after] == servers[at]
        halves[side] = halves[side].keep(distinct(halves[side], more))
        if not len(halves[side]):
            return None, task.states
    return task.joined(*halves), task.states
