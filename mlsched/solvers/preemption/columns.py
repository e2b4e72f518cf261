"""Preemption by column generation: the TE jobs that each node hosts, priced by knapsacks.

1. The linear relaxation over the hostings of all nodes (`formulations/preemption/nodes.py`), each TE job hosted once
or
   waiting at its cost D. Its columns are generated (`backends/columns.py`), by one table of the values of all amounts
   of resources, or greedily if that would be too large. Any prices prove a bound.
2. A dive: the largest column of the relaxation is fixed, and new columns are generated, until all TE jobs
   are hosted. On 840 nodes with 100 TE jobs, that brings the plan from 7 % above the bound to .4 to 4 %.
3. The integer program over the columns so far, by HiGHS: a plan, mostly within a percent of the bound.
4. Without a table: columns by a knapsack for each room, until every reduced cost is non-negative.
5. The priced cost of every hosting in a better plan exceeds the least of its node by less than the gap. If these
   hostings are few enough, the integer program over them gives the optimum. Otherwise it uses the hostings within a
   share of the gap; every plan outside is worse than the bound by at least that share.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable

import numpy as np

from mlsched.core.aliases import BackendModel
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray, ints
from mlsched.core.formulation import Limits, Outcome, StoppedBy
from mlsched.core.registry import exact_algorithm
from mlsched.formulations.preemption.nodes import SCALE, Priced, Rooms
from mlsched.instances.preemption import Instance, Plan
from mlsched.solvers.backends.columns import Relaxation, Relaxed
from mlsched.solvers.backends.highs import check, import_highspy, new_highs, run
from mlsched.solvers.backends.known_bugs.models import Feature
from mlsched.solvers.backends.known_bugs.trust import believed

#: Objective -> the cost of each BE job as a victim.
COSTS: dict[str, Callable[[Instance], IntArray]] = {
    "total_score": lambda instance: instance.score,
    "victim_count": lambda instance: np.ones(len(instance.job_node), dtype=np.int64),
}
#: Hostings that step 5 lists at most.
MOST_HOSTINGS = 60_000
#: Smallest share of the gap whose hostings are listed.
LEAST_SHARE = 1 / 64
#: Columns that step 4 adds at once.
MOST_AT_ONCE = 200
#: Nodes that are offered to each single TE job before the first prices; share of the limit that step 3 may take.
FIRST_NODES, SHARE = 8, 0.3
#: Fraction from which a hosting counts as fully selected; a cost below all others.
SURE, NOTHING = 1 - 1e-6, -(2**62)

#: Features of the integer program.
CHOICES: frozenset[Feature] = frozenset({"binary", "wide"})

Key = tuple[int, tuple[int, ...]]  # node, TE jobs


@exact_algorithm("columns", problem="preemption", objectives=tuple(COSTS), takes_hint=True, engine="highs")
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Columns per node: what it hosts; knapsacks price them, HiGHS solves the linear and the integer programs."""
    search = _Search(instance, objective, limits, hint)
    try:
        search.run()
    except OutOfTime:
        search.stopped = "time limit"
    return believed(search.outcome(), "highs", lambda: CHOICES)


class _Search:
    """One run: columns, incumbent, bound."""

    def __init__(self, instance: Instance, objective: str, limits: Limits, hint: Plan | None) -> None:
        self.instance, self.objective, self.limits = instance, objective, limits
        self.deadline, self.work = Deadline(limits.seconds), Counter[str]()
        self.waiting = instance.primary(objective).weight
        self.plan = Plan(te_node=ints([-1] * len(instance.te_demand)), victims=ints([]))
        self.value, self.bound = instance.evaluate(self.plan)[objective], 0
        self.stopped: StoppedBy = "proof"
        self.columns: dict[Key, int] = {}  # cost of each column
        if hint is not None:
            self.offer(hint)

    def offer(self, plan: Plan) -> None:
        """Make a plan the incumbent if it is better."""
        value = self.instance.evaluate(plan)[self.objective]
        if value < self.value:
            self.plan, self.value = plan, value

    def outcome(self) -> Outcome:
        """Return the answer so far."""
        if self.bound >= self.value:
            return Outcome("optimal", self.plan, self.value, work=dict(self.work))
        return Outcome("feasible", self.plan, self.bound, self.stopped, dict(self.work))

    def run(self) -> None:
        """Run the steps of this module's docstring."""
        self.rooms = Rooms.of(self.instance, COSTS[self.objective](self.instance), self.deadline)
        relaxed = _Relaxed(self)
        relaxed.quickly()
        if self.bound < self.value:
            relaxed.dive()
        if self.bound < self.value:
            self._solve_integer_program(self.columns, SHARE)
        if self.bound < self.value and not self.rooms.tabulable:
            relaxed.to_the_end()
            self._solve_integer_program(self.columns, SHARE)
        if self.bound < self.value:
            self._close_gap(*relaxed.best)

    def _hostings_of_plan(self, plan: Plan) -> dict[Key, int]:
        """Return the hostings of a plan, with their costs."""
        by_node: dict[int, list[int]] = {}
        for t, n in enumerate(plan.te_node.tolist()):
            if n >= 0:
                by_node.setdefault(n, []).append(t)
        result = dict[Key, int]()
        for n, jobs in by_node.items():
            row = self.rooms.cheapest(n, tuple(jobs))
            assert row is not None  # the plan is feasible
            result[n, tuple(jobs)] = int(self.rooms.cost[row])
        return result

    def _close_gap(self, proven_bound: float, price: IntArray, least: IntArray) -> None:
        """Solve with all columns within the gap (step 5).

        A plan with a column outside a slack costs at least the proven bound plus the slack.
        If the complete gap contains too many columns, a share of it is tried once. After that, larger shares are tried
        only after a better plan, which makes the gap smaller.
        """
        priced, share = Priced(self.rooms, price), 1.0
        while self.bound < self.value:
            slack, before = int(share * (SCALE * self.value - proven_bound)), self.value
            try:
                columns = priced.all_hostings(least + slack, self.deadline, MOST_HOSTINGS)
            except TooLarge:
                share /= 4
                if share < LEAST_SHARE:
                    self.stopped = "backend"
                    return
                continue
            if not self._solve_integer_program({**self.columns, **columns}, 1.0):
                return
            self.bound = max(self.bound, min(self.value, -(-int(proven_bound + slack) // SCALE)))
            if self.value == before and self.bound < self.value:
                self.stopped = "backend"
                return
            share = 1.0

    def first(self) -> dict[Key, int]:
        """Return every TE job by itself on its cheapest nodes, and the incumbent's hostings."""
        rooms, result = self.rooms, dict[Key, int]()
        for t, need in self.deadline.over(enumerate(rooms.demand)):
            fits = np.flatnonzero((rooms.amount >= need).all(axis=1))
            for row in fits[np.argsort(rooms.cost[fits], kind="stable")][:FIRST_NODES].tolist():
                result.setdefault((int(rooms.node[row]), (t,)), int(rooms.cost[row]))
        return result | self._hostings_of_plan(self.plan)

    def _solve_integer_program(self, columns: dict[Key, int], share: float) -> bool:
        """Solve the integer program over some columns from the incumbent; return whether it was solved completely."""
        self.deadline.check()
        remaining = self.deadline.remaining()
        highs = new_highs(dataclasses.replace(self.limits, work=None))
        keys = list(columns)
        check(highs.passModel(self._program(keys, columns)), "passModel")
        if remaining is not None:
            highs.setOptionValue("time_limit", max(0.01, share * remaining))
        run(highs)
        status, known_hostings = highs.getModelStatus(), import_highspy().HighsModelStatus
        self.work["nodes"] += max(0, highs.getInfo().mip_node_count)
        if highs.getInfo().primal_solution_status == import_highspy().SolutionStatus.kSolutionStatusFeasible:
            fixed_hostings = np.flatnonzero(np.asarray(highs.getSolution().col_value)[: len(keys)] > 0.5)
            self.offer(self._plan_of_hostings([keys[k] for k in fixed_hostings.tolist()]))
        if status == known_hostings.kTimeLimit:
            self.stopped = "time limit"
        return bool(status == known_hostings.kOptimal)

    def _program(self, keys: list[Key], columns: dict[Key, int]) -> BackendModel:
        """Return the integer program: at most one hosting per node, and every TE job is hosted or waits."""
        highspy = import_highspy()
        tes, nodes = len(self.instance.te_demand), len(self.instance.node_capacity)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(keys) + tes, nodes + tes
        lp.col_cost_ = np.array([*(float(columns[key]) for key in keys), *[float(self.waiting)] * tes])
        lp.col_lower_, lp.col_upper_ = np.zeros(lp.num_col_), np.ones(lp.num_col_)
        lp.row_lower_ = np.array([-highspy.kHighsInf] * nodes + [1.0] * tes)
        lp.row_upper_ = np.array([1.0] * nodes + [highspy.kHighsInf] * tes)
        index = [[n, *(nodes + t for t in jobs)] for n, jobs in keys] + [[nodes + t] for t in range(tes)]
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum([len(rows) for rows in index])])
        lp.a_matrix_.index_ = np.array([r for rows in index for r in rows], dtype=np.int32)
        lp.a_matrix_.value_ = np.ones(len(lp.a_matrix_.index_))
        lp.integrality_ = [highspy.HighsVarType.kInteger] * lp.num_col_
        return lp

    def _plan_of_hostings(self, hosted: list[Key]) -> Plan:
        """Return the plan of some hostings; a TE job in several of them uses the first."""
        te_node, victims = [-1] * len(self.instance.te_demand), list[int]()
        for n, jobs in hosted:
            own = tuple(t for t in jobs if te_node[t] < 0)
            row = self.rooms.cheapest(n, own)
            if own and row is not None:
                victims += self.rooms.victims[row]
                for t in own:
                    te_node[t] = n
        return Plan(te_node=ints(te_node), victims=ints(sorted(victims)))


class _Relaxed:
    """The linear relaxation of a search: its columns are generated, its prices prove bounds.

    Waiting costs less than D at first, which makes prices comparable at once. A bound for the smaller cost is also a
    bound for D. If a TE job waits then, its waiting cost is raised.
    """

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.tes, nodes = len(search.instance.te_demand), len(search.instance.node_capacity)
        first = search.first()
        single = [cost for (_, jobs), cost in first.items() if len(jobs) == 1]
        self.program = Relaxation([1] * nodes, [-1.0] * self.tes, 2.0 * search.waiting)
        self.program.add([(n, 0.0, (), ()) for n in range(nodes)])
        self.place: dict[Key, int] = {}  # column of each hosting
        self._add_waiting_columns(min(search.waiting, 1 + 4 * max(single, default=0)))
        self._add_new_columns(first)
        nothing = np.zeros(0, dtype=np.int64)
        self.best: tuple[float, IntArray, IntArray] = (-math.inf, nothing, nothing)

    def _add_waiting_columns(self, cost: int) -> None:
        self.waiting = cost
        self.program.add([(-1, float(cost), (t,), (-1.0,)) for t in range(self.tes)])
        self.waits = np.arange(self.program.columns - self.tes, self.program.columns, dtype=np.int64)

    def quickly(self) -> None:
        """Run step 1: add hostings by fast pricing until it finds none of negative reduced cost."""
        exact = self.search.rooms.tabulable
        while True:
            priced, least, relaxed = self._solve_relaxation()
            result = list(self._priced_hostings(priced, least))
            if exact:
                for node, cost, _ in result:
                    least[node] = cost
                self._update_bound(priced.price, least)
            if self.search.bound >= self.search.value:
                return
            if not self._add_new_columns(_columns(self.search.rooms, result)) and not self._raise_waiting_cost(relaxed):
                break
        if not exact:  # every hosting costs at least as much than the float value minus its margin
            lowest = np.zeros(len(least))
            np.minimum.at(lowest, self.search.rooms.node, priced.least - priced.margin)
            self._update_bound(priced.price, np.floor(lowest).astype(np.int64))

    def to_the_end(self) -> None:
        """Add hostings until all reduced costs are non-negative (step 4)."""
        while True:
            priced, least, relaxed = self._solve_relaxation()
            if self._add_new_columns(_columns(self.search.rooms, priced.greedy(least))):
                continue
            result = list(itertools.islice(priced.hostings(least, self.search.deadline), MOST_AT_ONCE))
            if len(result) < MOST_AT_ONCE:  # then all are known
                for node, cost, _ in result:
                    least[node] = min(int(least[node]), cost)
                self._update_bound(priced.price, least)
            if self.search.bound >= self.search.value or not (
                self._add_new_columns(_columns(self.search.rooms, result)) or self._raise_waiting_cost(relaxed)
            ):
                return

    def dive(self) -> None:
        """Run step 2: repeatedly fix the largest hosting of the relaxation, and generate columns."""
        search, fixed_hostings = self.search, dict[int, Key]()
        while True:
            relaxed = self._solve_with_selected(fixed_hostings)
            shares = {key: float(relaxed.taken[at]) for key, at in self.place.items() if key[0] not in fixed_hostings}
            most = max(shares.values(), default=0.0)
            if most < 1e-6:
                break
            for key, share in shares.items():
                if share >= min(most, SURE) and key[0] not in fixed_hostings:
                    fixed_hostings[key[0]] = key
                    self._allow_hostings(key[0], key)
        search.offer(search._plan_of_hostings(list(fixed_hostings.values())))
        for node in fixed_hostings:
            self._allow_hostings(node, None)

    def _solve_with_selected(self, fixed_hostings: Collection[int]) -> Relaxed:
        """Solve the relaxation where nodes without a selected hosting get only existing columns."""
        while True:
            priced, least, relaxed = self._solve_relaxation()
            least[list(fixed_hostings)] = NOTHING
            if not self._add_new_columns(_columns(self.search.rooms, self._priced_hostings(priced, least))):
                return relaxed

    def _allow_hostings(self, node: int, only: Key | None) -> None:
        """Allow only this hosting of a node, or all."""
        own = {None: node} | {key: at for key, at in self.place.items() if key[0] == node}
        self.program.allow(np.array(list(own.values())), np.array([only is None or key == only for key in own]))

    def _priced_hostings(self, priced: Priced, least: IntArray) -> Iterable[tuple[int, int, tuple[int, ...]]]:
        return priced.tabulated(least) if self.search.rooms.tabulable else priced.greedy(least)

    def _solve_relaxation(self) -> tuple[Priced, IntArray, Relaxed]:
        """Solve the relaxation; return the rooms at its prices, its least priced cost per node, and its solution."""
        relaxed = self.program.solve(self.search.deadline)
        self.search.work["relaxations"] += 1
        price = np.rint(np.minimum(relaxed.price, self.waiting) * SCALE).astype(np.int64)
        least = np.minimum(0, np.ceil(relaxed.of_block * SCALE)).astype(np.int64)  # the empty hosting costs 0
        return Priced(self.search.rooms, price), least, relaxed

    def _raise_waiting_cost(self, relaxed: Relaxed) -> bool:
        """Raise the waiting cost if any job waits."""
        if self.waiting == self.search.waiting or float(relaxed.taken[self.waits].sum()) < 1e-6:
            return False
        self.program.allow(self.waits, np.zeros(self.tes, dtype=bool))
        self._add_waiting_columns(min(self.search.waiting, 16 * self.waiting))
        return True

    def _update_bound(self, price: IntArray, least: IntArray) -> None:
        """Update the proven bound by prices: a TE job waits rather than pay more than D, so prices are at most D."""
        proven_bound = int(least.sum()) + int(price.sum())
        if proven_bound > self.best[0]:
            self.best = (proven_bound, price, least)
            self.search.bound = max(self.search.bound, -(-proven_bound // SCALE))

    def _add_new_columns(self, columns: dict[Key, int]) -> bool:
        """Add new columns; return whether there were any."""
        known_hostings = self.search.columns
        new = {key: cost for key, cost in columns.items() if key not in known_hostings}
        known_hostings |= new
        self.place |= {key: self.program.columns + k for k, key in enumerate(new)}
        self.program.add([(n, float(cost), jobs, [-1.0] * len(jobs)) for (n, jobs), cost in new.items()])
        return bool(new)


def _columns(rooms: Rooms, hostings: Iterable[tuple[int, int, tuple[int, ...]]]) -> dict[Key, int]:
    """Return hostings at their costs without the prices, each in its cheapest room."""
    result: dict[Key, int] = {}
    for node, _, jobs in hostings:
        if (row := rooms.cheapest(node, jobs)) is not None:
            result[node, tuple(sorted(jobs))] = int(rooms.cost[row])
    return result
