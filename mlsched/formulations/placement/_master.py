"""The configuration model of a placement instance, as index arrays that LP and CP-SAT share.

    lambda[c]   number of servers of its class that use configuration c   sum over a class = its number of servers
    z[j, q, v]  job j is cut as pattern q and runs at speed v             one for a running job, at most one for a new
    s[j, a, i]  spare parts a of job j at speeds v_i and above            s_i = s_(i-1) + supply_i - demand_i >= 0

The speeds v_1 > v_2 > ... are the speeds at which some configuration hosts part a. Supply_i: the configurations that
host it at v_i. Demand_i: the patterns that need it at a speed of v_i or less, but above v_(i+1). So every part that a
pattern needs is hosted at the pattern's speed or faster. The last s is 0: hosted parts are all needed by a pattern.
The sum of v z is maximised. The model does not need a big-M.

`levels` > 0 rounds speeds up to about this number of steps per job: a relaxation, whose bound is valid for the
instance.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.formulations.placement._configurations import Space, Table
from mlsched.instances.placement import Plan

#: Prices are integers in units of 1 / SCALE, so that their bounds are exact.
SCALE = 2**12


@dataclasses.dataclass
class Cuts:
    """z columns: concurrent job, pattern (index among the job's), speed."""

    job: IntArray
    pattern: IntArray
    speed: IntArray

    def keep(self, rows: BoolArray) -> Cuts:
        """Return only the chosen columns."""
        return Cuts(self.job[rows], self.pattern[rows], self.speed[rows])


@dataclasses.dataclass
class Master:
    """A model: columns (a table of configurations, cuts), and the row of the part that each of them touches."""

    space: Space
    table: Table
    cuts: Cuts
    supply: IntArray  # configurations x jobs: row, -1 if the configuration hosts no part of the job
    demand_cut: IntArray  # demand entries: cut, row, count
    demand_row: IntArray
    demand_count: IntArray
    last: IntArray  # rows: 1 if the row is the last of its part

    @property
    def rows(self) -> int:
        """Count the link rows."""
        return len(self.last)


def plan_of(master: Master, use: IntArray) -> Plan:
    """Return the plan in which `use` servers of its class use each configuration."""
    space = master.space
    table = np.zeros((2, space.jobs, len(space.instance.server_free)), dtype=np.int64)
    next_of = [iter(c.servers) for c in space.classes]
    for c in np.flatnonzero(use > 0).tolist():
        for _ in range(int(use[c])):
            s = next(next_of[int(master.table.group[c])])
            table[0, :, s] = master.table.w[c, space.running :]
            table[1, :, s] = master.table.p[c, space.running :]
    return Plan(workers=table[0], ps=table[1])


def part_table(space: Space, table: Table) -> IntArray:
    """Return the number of the part of each job in each configuration (configurations x jobs), or -1.

    A part of a new job is (w, p) on any class; a part of a running job is a class that hosts it.
    """
    parts = table.w * 1024 + table.p
    parts[:, : space.running] = table.group[:, None]
    return np.where(table.slowdown > 0, parts, -1)


def pattern_parts(space: Space, job: int) -> list[dict[int, int]]:
    """Return the patterns of a concurrent job: part number -> count."""
    if job >= space.running:
        return [{w * 1024 + p: n for (w, p), n in q.items()} for q in space.patterns[job - space.running]]
    return [{k: len(c.servers) for k, c in enumerate(space.classes) if c.run_w[job] + c.run_p[job] > 0}]


def speed_table(space: Space, table: Table) -> IntArray:
    """Return the best speed of each job with a configuration (configurations x jobs); -1 if it hosts no part."""
    speeds = np.minimum(space.pace.speeds(table.slowdown), space.best)
    for j in range(space.jobs):
        job = j + space.running
        speeds[:, job] = np.minimum(speeds[:, job], space.best_with[j][table.w[:, job], table.p[:, job]])
    return np.where(table.slowdown > 0, speeds, -1)


def coarse(speeds: IntArray, levels: int) -> IntArray:
    """Return speeds rounded up to at most `levels` distinct values, spread evenly; unchanged if there are fewer."""
    if levels <= 0 or len(speeds) <= levels:
        return speeds
    edges = np.linspace(speeds[0], speeds[-1], levels)
    group = np.searchsorted(edges, speeds, side="left")
    rounded = speeds.copy()
    for g in np.unique(group):
        rounded[group == g] = speeds[group == g].max()
    return rounded


def build(
    space: Space,
    table: Table,
    levels: int = 0,
    alive: list[dict[int, int]] | None = None,
    deadline: Deadline | None = None,
) -> Master:
    """Return the model over `table`. `alive[job]`: pattern -> its best possible speed (reduced-cost fixing), if known.

    Raises OutOfTime if it is not complete by the deadline.
    """
    parts, speeds = part_table(space, table), speed_table(space, table)
    supply = np.full(parts.shape, -1, dtype=np.int64)
    rows, last = 0, []
    cuts: list[tuple[int, int, int]] = []
    demand: list[tuple[int, int, int]] = []
    for job in (deadline or Deadline()).over(range(space.total)):
        here = np.flatnonzero(parts[:, job] >= 0)
        distinct, inverse = np.unique(speeds[here, job], return_inverse=True)
        rounded = coarse(distinct, levels)[inverse]
        first: dict[int, int] = {}
        costs: dict[int, IntArray] = {}
        for part in np.unique(parts[here, job]).tolist():
            selection = parts[here, job] == part
            steps, place = np.unique(-rounded[selection], return_inverse=True)  # fastest first
            first[part], costs[part] = rows, -steps
            supply[here[selection], job] = rows + place
            rows += len(steps)
            last += [0] * (len(steps) - 1) + [1]
        for index, pattern in enumerate(pattern_parts(space, job)):
            if any(part not in costs for part in pattern) or (alive is not None and index not in alive[job]):
                continue
            top = min(int(costs[part][0]) for part in pattern)
            if alive is not None:
                top = min(top, alive[job][index])
            for speed in np.unique(np.concatenate([costs[part] for part in pattern])).tolist():
                if speed <= top:
                    for part, count in pattern.items():
                        step = int(np.searchsorted(-costs[part], -speed, side="right")) - 1
                        demand.append((len(cuts), first[part] + step, count))
                    cuts.append((job, index, speed))
    job_of, pattern_of, speed_of = np.array(cuts, dtype=np.int64).reshape(-1, 3).T
    full, row, count_of = np.array(demand, dtype=np.int64).reshape(-1, 3).T
    columns = Cuts(job_of, pattern_of, speed_of)
    return Master(space, table, columns, supply, full, row, count_of, np.array(last, dtype=np.int64))


@dataclasses.dataclass
class Bound:
    """An exact upper bound from prices, and the reduction of the bound by the use of each column."""

    value: int
    cost_of_row: IntArray  # of each configuration, in 1 / SCALE
    cost_of_cut: IntArray
    cost_of_waiting: IntArray  # of each new job, if it waits instead of being placed

    def useful(self, lower: int) -> tuple[BoolArray, BoolArray]:
        """Return which configurations and cuts a plan of value above `lower` may still use."""
        # A plan of value lower + 1 or more loses at most this much of the bound, whose value is rounded down.
        room = (self.value + 1 - (lower + 1)) * SCALE + SCALE - 1
        return self.cost_of_row <= room, self.cost_of_cut <= room


def price(master: Master, prices: FloatArray) -> Bound:
    """Return the Lagrangian bound for any prices of the link rows, in integers: valid for any prices of a float solver.

    Relaxing the links leaves: for each class the best configuration, N_k times; for each running job its best cut;
    the best `most` of the new jobs' best cuts (or none). Prices must not fall along the levels of a part, otherwise
    spare parts would have unlimited value. So falling prices are raised.
    """
    space = master.space
    y = np.rint(np.asarray(prices) * SCALE).astype(np.int64)
    for start, stop in _part_ranges(master.last):
        y[start:stop] = np.maximum.accumulate(y[start:stop])
    padded = np.append(y, 0)
    worth = -padded[master.supply].sum(axis=1)
    total = 0
    cost_of_row = np.zeros(len(worth), dtype=np.int64)
    for k, c in enumerate(space.classes):
        mine = np.flatnonzero(master.table.group == k)
        best = int(worth[mine].max())
        total += len(c.servers) * best
        cost_of_row[mine] = best - worth[mine]
    profit = master.cuts.speed * SCALE
    np.add.at(profit, master.demand_cut, master.demand_count * y[master.demand_row])
    best_of = np.full(space.total, np.iinfo(np.int64).min, dtype=np.int64)
    np.maximum.at(best_of, master.cuts.job, profit)
    total += int(best_of[: space.running].sum())
    gains = np.maximum(best_of[space.running :], 0)
    ranking = np.sort(gains)[::-1]
    total += int(ranking[: space.most].sum())
    threshold = int(ranking[space.most - 1]) if space.most else 0
    reference = np.concatenate([best_of[: space.running], np.maximum(gains, threshold)])
    # floor: the objective is an integer. A column's cost is measured from the floor, which overstates it by less than
    # one unit; `useful` allows for that unit.
    waiting = np.maximum(gains - threshold, 0) if space.most else np.zeros(space.jobs, dtype=np.int64)
    return Bound(total // SCALE, cost_of_row, reference[master.cuts.job] - profit, waiting)


def _part_ranges(last: IntArray) -> list[tuple[int, int]]:
    stops = np.flatnonzero(last) + 1
    return list(zip([0, *stops.tolist()][:-1], stops.tolist(), strict=True))
