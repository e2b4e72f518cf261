"""Claims about placement for the prover: cuts of jobs and contents of servers, priced in NumPy.

In the linear program a row is a job, a type of task and a speed: tasks at this speed, to which faster servers also
contribute (the carried columns). Its price is the value of a task at this speed, which falls with the
speed; the differences are the prices of the claim's rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.certificates.placement.prices import Placing
from mlsched.certificates.prices.core import Sides
from mlsched.core.deadline import Deadline
from mlsched.core.fields import BoolArray, FloatArray
from mlsched.instances.placement import Plan
from mlsched.solvers.backends.columns import Column
from mlsched.solvers.prices.options import Branch, Options

#: Contents of a class of servers, and options of a job, that one round may add.
MORE = 100


class PlacingOptions(Options):
    """The options of a claim as columns: a speed and a cut of each job, and a content of each server.

    A row per job, kind of part and speed balances the tasks that servers host and those that the job's cut needs.
    """

    def __init__(self, claim: Placing, deadline: Deadline) -> None:
        self.claim = claim
        self.counts = [1] * claim.jobs + claim.count
        #: A cost above every choice.
        self.beyond = 10.0 * (1 + sum(max((s[-1] for s in kinds.values()), default=0) for kinds in claim.speeds))
        self.first: dict[tuple[int, str], int] = {}  # job and type of task -> its row of the highest speed
        self.levels: dict[tuple[int, str], Any] = {}  # its speeds, descending
        self.names: list[str] = []  # name of each row in the claim
        for job, kinds in enumerate(claim.speeds):
            for part, speeds in kinds.items():
                self.first[job, part] = len(self.names)
                self.levels[job, part] = np.array(speeds[::-1])
                self.names += [f"{job} {part} {t}" for t in [*speeds[-2::-1], -1]]
        self.names.append("new")
        self.capacities = np.zeros(len(self.names))
        self.capacities[-1] = claim.capacity["new"]
        # Contents of each class of servers: as rows, flat, the begin of each in the flat array, and if it is a column.
        row = [self._row_of_speed(*one) for one in claim.hosted]
        self.contents = [[[row[i] for i in option] for option in options] for options in claim.options]
        self.flat = [np.array([r for o in options for r in o], dtype=np.int64) for options in self.contents]
        self.starts = [np.concatenate([[0], np.cumsum([len(o) for o in options])]) for options in self.contents]
        self.inside = [np.zeros(len(options), dtype=bool) for options in self.contents]
        # Speeds that each job may have, ascending.
        self.speeds = [np.array(sorted({v for s in kinds.values() for v in s})) for kinds in claim.speeds]
        self.columns: list[tuple[int, int, int]] = []  # block, speed, cut of a job or content of a server (-1: neither)
        self.known = set[tuple[int, int, int]]()

    def _row_of_speed(self, job: int, part: str, speed: int) -> int:
        """Return the row of tasks of this speed, or of the next higher speed with a row."""
        levels = self.levels[job, part]
        return self.first[job, part] + int(np.searchsorted(-levels, -speed, side="right")) - 1

    def start(self) -> list[Column]:
        """Return the initial columns: a task of some speed may count for the next lower speed, and new jobs wait."""
        columns: list[Column] = []
        for key, first in self.first.items():
            columns += [(-1, 0.0, (first + i, first + i + 1), (1.0, -1.0)) for i in range(len(self.levels[key]) - 1)]
        self.columns = [(-1, 0, -1)] * len(columns)
        for job in range(self.claim.runs, self.claim.jobs):
            columns.append((job, 0.0, (), ()))
            self.columns.append((job, 0, -1))
        return columns

    def named(self, price: FloatArray) -> dict[str, float]:
        """Return the prices of the claim's rows: the additional value of a task over the next lower speed."""
        new_columns = {"new": float(price[-1])}
        for key, first in self.first.items():
            levels = len(self.levels[key])
            worth = np.maximum.accumulate(price[first : first + levels][::-1])  # by rising speed; never falling
            names = self.names[first : first + levels][::-1]
            new_columns |= dict(zip(names, np.diff(worth, prepend=0.0).tolist(), strict=True))
        return new_columns

    def worth(self, price: FloatArray, of_block: FloatArray, sides: dict[int, Sides]) -> tuple[Any, list[Column]]:
        """Return the least priced cost in each block, and the best options with negative reduced cost."""
        least, columns = np.zeros(len(self.counts)), list[Column]()
        for job in range(self.claim.jobs):
            least[job], more = self._cuts_of_job(job, price, float(of_block[job]), sides.get(job, ()))
            columns += more
        for k in range(len(self.contents)):
            block = self.claim.jobs + k
            least[block], more = self._hosts_of_claim(k, price, float(of_block[block]))
            columns += more
        return least, columns

    def _hosts_of_claim(self, k: int, price: FloatArray, of_block: float) -> tuple[float, list[Column]]:
        """Return the least priced cost of a content of server class `k`, and the best new contents as columns."""
        earned = np.add.reduceat(np.append(price[self.flat[k]], 0.0), self.starts[k][:-1])
        earned[np.diff(self.starts[k]) == 0] = 0.0
        good = np.flatnonzero((-earned < of_block - 1e-7 - 1e-9 * abs(of_block)) & ~self.inside[k])
        best = good[np.argsort(-earned[good], kind="stable")][:MORE]
        self.inside[k][best] = True
        block = self.claim.jobs + k
        self.columns += [(block, 0, i) for i in best.tolist()]
        rows = [self.contents[k][i] for i in best.tolist()]
        return -float(earned.max()), [(block, 0.0, r, [-1.0] * len(r)) for r in rows]

    def _cuts_of_job(self, job: int, price: FloatArray, of_block: float, sides: Sides) -> tuple[float, list[Column]]:
        """Return the least priced cost of a job's speed and cut within `sides`, and the best new ones as columns."""
        claim, speeds, new = self.claim, self.speeds[job], job >= self.claim.runs
        least = 0.0 if new and self._is_admitted(sides, 0, {}) else np.inf
        best_options: list[tuple[float, int, int]] = []
        for c, cut_number in enumerate(claim.cuts[job]):
            if not cut_number or not self._is_admitted([side for side in sides if side[0] != "speed"], 0, cut_number):
                continue  # waiting is one of the first columns
            top = min(claim.speeds[job][part][-1] for part in cut_number)
            able = speeds[speeds <= top]
            for row, sign, most in sides:
                if row == "speed":
                    able = able[sign * able <= most]
            if not len(able):
                continue
            cost = -able.astype(np.float64) + (price[-1] if new else 0.0)
            for part, n in cut_number.items():
                levels, first = self.levels[job, part], self.first[job, part]
                cost += n * price[first + np.searchsorted(-levels, -able, side="right") - 1]
            i = int(np.argmin(cost))
            least = min(least, float(cost[i]))
            if cost[i] < of_block - 1e-7 - 1e-9 * abs(of_block) and (job, int(able[i]), c) not in self.known:
                best_options.append((float(cost[i]), int(able[i]), c))
        columns: list[Column] = []
        for _, speed, c in sorted(best_options)[:MORE]:
            cut_number = claim.cuts[job][c]
            rows, amounts = (
                [self._row_of_speed(job, part, speed) for part in cut_number],
                [float(n) for n in cut_number.values()],
            )
            if new:
                rows, amounts = [*rows, len(self.names) - 1], [*amounts, 1.0]
            columns.append((job, float(-speed), rows, amounts))
            self.columns.append((job, speed, c))
            self.known.add((job, speed, c))
        return least, columns

    def _is_admitted(self, sides: Any, speed: int, cut_number: dict[str, int]) -> bool:
        return all(sign * (speed if row == "speed" else cut_number.get(row, 0)) <= most for row, sign, most in sides)

    def admitted(self, sides: dict[int, Sides]) -> BoolArray:
        """Return which columns the branches admit."""
        good = np.ones(len(self.columns), dtype=bool)
        for k, (block, speed, c) in enumerate(self.columns):
            if 0 <= block < self.claim.jobs and block in sides:
                good[k] = self._is_admitted(sides[block], speed, {} if c < 0 else self.claim.cuts[block][c])
        return good

    def branch(self, taken: FloatArray, price: FloatArray) -> Branch | None:
        """Return the job with the most fractional speed, at a separating speed, or else such a type of task."""
        by_job: dict[int, list[int]] = {}
        for k in np.flatnonzero(taken > 1e-6).tolist():
            if 0 <= self.columns[k][0] < self.claim.jobs:
                by_job.setdefault(self.columns[k][0], []).append(k)
        best: tuple[float, Branch | None] = (1e-6, None)
        for job, ks in by_job.items():
            speed, share = np.array([self.columns[k][1] for k in ks]), taken[ks] / taken[ks].sum()
            mean = float(share @ speed)
            spread = float(share @ np.abs(speed - mean))
            if spread > best[0] and len(set(speed.tolist())) > 1:
                # At an existing speed: the checker takes the limit itself for the highest speed.
                below = self.speeds[job][self.speeds[job] <= min(mean, speed.max() - 1)]
                best = (spread, (job, "speed", int(below.max(initial=0))))
        if best[1] is not None:
            return best[1]
        for job, ks in by_job.items():
            cuts = [self.claim.cuts[job][c] if (c := self.columns[k][2]) >= 0 else {} for k in ks]
            share = taken[ks] / taken[ks].sum()
            for part in sorted({part for cut_number in cuts for part in cut_number}):
                n = np.array([cut_number.get(part, 0) for cut_number in cuts])
                mean = float(share @ n)
                spread = float(share @ np.abs(n - mean))
                if spread > best[0]:
                    best = (spread, (job, part, int(min(np.floor(mean), n.max() - 1))))
        return best[1]

    def plan(self, taken: FloatArray) -> Plan:
        """Return the plan of integral columns: each task of a job on the fastest server that hosts it.

        It may be infeasible: fractions without a branch are rounded.
        """
        claim, servers = self.claim, servers_of(self.claim)
        supplies, hosts = list(claim.hosted), dict[tuple[int, str], list[tuple[int, int]]]()
        selection = [(self.columns[k], round(float(taken[k]))) for k in np.flatnonzero(taken > 0.5).tolist()]
        for (block, _, content), times in selection:
            if block >= claim.jobs:
                for s in [
                    servers[block - claim.jobs].pop() for _ in range(min(times, len(servers[block - claim.jobs])))
                ]:
                    for job, part, speed in (supplies[i] for i in claim.options[block - claim.jobs][content]):
                        hosts.setdefault((job, part), []).append((speed, s))
        workers = np.zeros((claim.jobs - claim.runs, sum(claim.count)), dtype=np.int64)
        ps = workers.copy()
        for (block, _, cut_number), _ in selection:
            if claim.runs <= block < claim.jobs and cut_number >= 0:
                for part, n in claim.cuts[block][cut_number].items():
                    for _, s in sorted(hosts.get((block, part), []), reverse=True)[:n]:
                        workers[block - claim.runs, s], ps[block - claim.runs, s] = map(int, part.split("+"))
        return Plan(workers=workers, ps=ps)


def servers_of(claim: Placing) -> list[list[int]]:
    """Return the servers of each class, in the order of the claim's classes."""
    best_options: dict[Any, list[int]] = {}
    data = claim.data
    running = list(zip(data["run_workers"], data["run_ps"], strict=True))
    for s, free in enumerate(data["server_free"]):
        best_options.setdefault((tuple(free), *((w[s], p[s]) for w, p in running)), []).append(s)
    return list(best_options.values())


#: The name that the prover imports (`solvers/prices`).
options = PlacingOptions
