"""The moulded variant: each job is a gang that picks one placement and a number of iterations.

It restricts the task level: its plans are valid there, its bound is not. `moulded` uses CP-SAT; `moulded-highs` uses
HiGHS, with a time-indexed MIP over (job, placement, iterations, start), in which every objective is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlsched.core.aliases import Expression, Variable
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, Term
from mlsched.core.registry import model_builder
from mlsched.formulations.taskgraph._columns import Mode, Moulded
from mlsched.formulations.taskgraph._gang_schedule import Gangs, latest_ends, list_schedules, scheduled
from mlsched.formulations.taskgraph._gang_starts import Start, starts
from mlsched.formulations.taskgraph._gang_values import SHARES, Values, best_of
from mlsched.formulations.taskgraph.highs import accuracies
from mlsched.instances.taskgraph import Instance, Timetable


@model_builder("moulded", problem="taskgraph", backend="cp-sat", objectives=tuple(SHARES), restricted=True)
def cp_sat_model(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """Gangs by CP-SAT: each job picks a placement and runs as one block; an upper bound on the task level."""
    return _Gangs(Moulded(instance, objectives), objectives).formulation()


@model_builder("moulded-highs", problem="taskgraph", backend="highs", objectives=tuple(SHARES), restricted=True)
def highs_model(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """Gangs by HiGHS: each job picks a placement and runs as one block; an upper bound on the task level."""
    return _TimeIndexed(Moulded(instance, objectives), objectives).formulation()


class _TimeIndexed:
    """Binary s[i]: the job of the i-th start (`_gang_starts`) uses this start."""

    def __init__(self, moulded: Moulded, objectives: Sequence[str]) -> None:
        import pyomo.environ as pyo

        self.moulded, self.values = moulded, Values(moulded)
        self.mip = pyo.ConcreteModel()
        self.mip.rows = pyo.ConstraintList()
        self.terms: dict[str, Expression] = dict.fromkeys(objectives, 0)
        self.starts: list[Start] = []
        if moulded.reason is not None:
            self.mip.none = pyo.Var(domain=pyo.Binary)
            self.mip.rows.add(self.mip.none >= 2)
            return
        self.starts = starts(moulded, self.values, objectives)
        self.mip.s = pyo.Var(range(len(self.starts)), domain=pyo.Binary)
        self.s = list(self.mip.s.values())
        of_job: list[list[int]] = [[] for _ in moulded.modes]
        for i, start in enumerate(self.starts):
            of_job[start.job].append(i)
        for mine in of_job:
            self.mip.rows.add(self._weighted_sum([(1, i) for i in mine]) == 1)
        self._add_capacity()
        for number, name in enumerate(objectives):
            shares = [start.shares[number] for start in self.starts]
            if SHARES[name][1] == "sum":
                self.terms[name] = self._weighted_sum(list(zip(shares, range(len(shares)), strict=True)))
            elif shares:
                self.mip.last = pyo.Var(domain=pyo.Integers, bounds=(0, max(shares)))
                for mine in of_job:
                    self.mip.rows.add(self.mip.last >= self._weighted_sum([(shares[i], i) for i in mine]))
                self.terms[name] = self.mip.last

    def _weighted_sum(self, weighted: list[tuple[int, int]]) -> Expression:
        """Return a sum of weight * s[i]; the number 0 if every weight is 0."""
        from pyomo.core.expr import LinearExpression

        survivors = [(weight, i) for weight, i in weighted if weight]
        if not survivors:
            return 0
        return LinearExpression(linear_coefs=[w for w, _ in survivors], linear_vars=[self.s[i] for _, i in survivors])

    def _add_capacity(self) -> None:
        use: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        for i, start in enumerate(self.starts):
            mode = self.moulded.modes[start.job][start.mode]
            if mode.column is None or start.time is None:
                continue
            usage = [(n, r, h) for n, row in enumerate(mode.column.hold) for r, h in enumerate(row) if h]
            for at in range(start.time, start.time + mode.duration):
                for n, r, h in usage:
                    use.setdefault((n, r, at), []).append((h, i))
        for (n, r, _), entries in use.items():
            most: dict[int, int] = {}
            for h, i in entries:
                job = self.starts[i].job
                most[job] = max(most.get(job, 0), h)
            if sum(most.values()) > self.moulded.layout.capacity[n][r]:
                self.mip.rows.add(self._weighted_sum(entries) <= self.moulded.layout.capacity[n][r])

    def formulation(self) -> Formulation:
        terms = {name: (Term(1, expression),) for name, expression in self.terms.items()}
        return Formulation(self.mip, terms, self.decode, lambda plan: [], self.values.constants())

    def decode(self, value_of: Callable[[Variable], int]) -> Timetable:
        selection = [start for start, s in zip(self.starts, self.s, strict=True) if value_of(s)]
        selection.sort(key=lambda start: self.moulded.end if start.time is None else start.time)
        return self.moulded.timetable(scheduled(self.moulded, [[self.moulded.modes[c.job][c.mode]] for c in selection]))


class _Gangs:
    """A mode and a start for each job; optional intervals for the reserved amounts of its modes on a node.

    Modes with equal amounts on a node for the same time share its interval: of 2,000 modes of a job, 40 may have
    distinct amounts on the first node.
    """

    def __init__(self, moulded: Moulded, objectives: Sequence[str]) -> None:
        from ortools.sat.python import cp_model

        self.moulded, self.values, self.cp = moulded, Values(moulded), cp_model.CpModel()
        self.constant = self.values.constants()
        self.terms: dict[str, Expression] = dict.fromkeys(objectives, 0)
        self.objectives, self.known = objectives, list[Gangs]()
        self.modes: list[list[Mode]] = []
        self.z: list[list[Any]] = []
        self.start: list[Expression] = []
        self.end: list[Expression] = []
        if moulded.reason is not None:
            self.cp.add_bool_or([])
            return
        self.known = list_schedules(moulded)
        self._add_modes(latest_ends(moulded, objectives, self.known))
        self.on_time: dict[tuple[int, int], Any] = {}
        for name in objectives:
            self.terms[name] = getattr(self, "_" + name)()

    def _add_modes(self, latest: list[int]) -> None:
        cp, moulded = self.cp, self.moulded
        here: dict[tuple[int, int], list[tuple[Expression, int]]] = {}
        for of_job, until in zip(moulded.modes, latest, strict=True):
            modes = [m for m in of_job if moulded.release(m) + m.duration <= until]
            literals = [cp.new_bool_var("") for _ in modes]
            cp.add_exactly_one(literals)
            start = cp.new_int_var(min(map(moulded.release, modes)), until, "")
            end = cp.new_int_var(0, until, "")
            cp.add(end == start + sum(m.duration * z for m, z in zip(modes, literals, strict=True)))
            alike: dict[tuple[int, tuple[int, ...], int], list[Any]] = {}
            for mode, z in zip(modes, literals, strict=True):
                if mode.column is None:
                    cp.add(start == moulded.release(mode)).only_enforce_if(z)
                    continue
                cp.add(start >= moulded.release(mode)).only_enforce_if(z)
                for n, row in enumerate(mode.column.hold if mode.duration else ()):
                    if any(row):
                        alike.setdefault((n, row, mode.duration), []).append(z)
            for (n, row, duration), either in alike.items():
                usage = cp.new_bool_var("") if len(either) > 1 else either[0]
                if len(either) > 1:
                    cp.add(sum(either) == usage)
                interval = cp.new_optional_fixed_size_interval_var(start, duration, usage, "")
                for r, amount in enumerate(row):
                    if amount:
                        here.setdefault((n, r), []).append((interval, amount))
            self.modes.append(modes)
            self.z.append(literals)
            self.start.append(start)
            self.end.append(end)
        for (n, r), entries in here.items():
            room = moulded.layout.capacity[n][r]
            cp.add_cumulative([v for v, _ in entries], [h for _, h in entries], room)

    def _total_jct(self) -> Expression:
        return sum(self.end)

    def _makespan(self) -> Expression:
        if not self.end:
            return 0
        last = self.cp.new_int_var(0, self.moulded.end, "")
        for end in self.end:
            self.cp.add(last >= end)
        return last

    def _deadlines_met(self) -> Expression:
        success = []
        for j, end in enumerate(self.end):
            success.append(self.cp.new_bool_var(""))
            self.cp.add(end <= self.moulded.layout.deadline[j]).only_enforce_if(success[-1])
        return sum(success)

    def _traffic(self) -> Expression:
        return sum(
            m.traffic * z
            for modes, zs in zip(self.modes, self.z, strict=True)
            for m, z in zip(modes, zs, strict=True)
            if m.traffic
        )

    def _accuracy_steps(self, j: int) -> tuple[int, list[Expression]]:
        """Return (iterations that certainly count, literals for one more each) towards job j's accuracy."""
        layout, modes = self.moulded.layout, self.modes[j]
        sure = layout.finished[j] if self.values.final else self.values.on_time[j]
        steps: list[Any] = []
        if sure < layout.finished[j]:
            return sure, steps
        for i in range(max(m.iterations for m in modes)):
            if (j, i) not in self.on_time:
                literal = self.cp.new_bool_var("")
                runs = [(m, z) for m, z in zip(modes, self.z[j], strict=True) if m.iterations > i]
                self.cp.add_bool_or([z for _, z in runs]).only_enforce_if(literal)
                if i:
                    self.cp.add_implication(literal, self.on_time[j, i - 1])
                if not self.values.final:
                    end_literals = self.start[j] + sum(self.moulded.ends(m)[i] * z for m, z in runs)
                    self.cp.add(end_literals <= layout.deadline[j]).only_enforce_if(literal)
                self.on_time[j, i] = literal
            steps.append(self.on_time[j, i])
        return sure, steps

    def _total_accuracy(self) -> Expression:
        return accuracies(self.moulded.layout.instance, [self._accuracy_steps(j) for j in range(len(self.end))])[0]

    def _accuracy_met(self) -> Any:
        return accuracies(self.moulded.layout.instance, [self._accuracy_steps(j) for j in range(len(self.end))])[1]

    def formulation(self) -> Formulation:
        terms = {name: (Term(1, expression),) for name, expression in self.terms.items()}
        return Formulation(self.cp, terms, self.decode, self.encode, self.constant)

    def decode(self, value_of: Callable[[Variable], int]) -> Timetable:
        selection = []
        for modes, literals, start in zip(self.modes, self.z, self.start, strict=True):
            mode = next(m for m, z in zip(modes, literals, strict=True) if value_of(z))
            selection.append((mode, value_of(start)))
        return self.moulded.timetable(selection)

    def encode(self, plan: Timetable) -> list[tuple[Variable, int]]:
        """Return a list schedule of gangs: most plans of the task level are invalid here."""
        if not self.known or len(self.objectives) != 1:
            return []
        pairs = []
        for mode, start in best_of(self.known, self.values, self.objectives[0]):
            j = mode.job
            pairs += [(z, int(other is mode)) for other, z in zip(self.modes[j], self.z[j], strict=True)]
            pairs += [(self.start[j], start), (self.end[j], start + mode.duration)]
        return pairs
