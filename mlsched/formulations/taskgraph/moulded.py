"""The moulded variant: each job is a gang that picks one placement and a number of iterations.

A restriction of the task level: its plans are plans, its bound is none. `moulded` hands it to CP-SAT, `moulded-highs`
to HiGHS as a time-indexed MIP over (job, placement, iterations, start), in which every objective is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlsched.core.contract import entry
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, Term
from mlsched.core.registry import model_builder
from mlsched.formulations.taskgraph._columns import Mode, Moulded
from mlsched.formulations.taskgraph.highs import accuracies, posed
from mlsched.instances.taskgraph import Instance, Timetable

#: Most binary variables of the MIP; at twice as many, writing the model down alone took 15 s.
MOST_BINARIES = 20_000


class _Values:
    """What a job in a mode, started at a time, adds to each objective."""

    def __init__(self, moulded: Moulded) -> None:
        self.moulded, self.layout = moulded, moulded.layout
        self.accuracy = self.layout.instance.accuracy.tolist()
        self.required = self.layout.instance.required.tolist()
        self.on_time = self.layout.instance.on_time.tolist()
        self.final = self.layout.instance.accuracy_at == "final"

    def counted(self, mode: Mode, start: int) -> int:
        """Iterations that count towards the job's accuracy."""
        first = self.layout.finished[mode.job]
        if self.final:
            return first + mode.iterations
        sure: int = self.on_time[mode.job]
        if sure < first:
            return sure
        return sure + sum(start + end <= self.layout.deadline[mode.job] for end in self.moulded.ends(mode))

    def reached(self, mode: Mode, start: int) -> int:
        """The job's accuracy."""
        return int(self.accuracy[mode.job][self.counted(mode, start)])

    def constants(self) -> dict[str, int]:
        arrival = self.layout.arrival
        return {"total_jct": -sum(arrival), "makespan": -min(arrival, default=0)}


#: Objective -> a job's share of it, and whether shares add up or the largest counts.
SHARES: dict[str, tuple[Callable[[_Values, Mode, int], int], str]] = {
    "total_jct": (lambda values, mode, start: start + mode.duration, "sum"),
    "deadlines_met": (
        lambda values, mode, start: int(start + mode.duration <= values.layout.deadline[mode.job]),
        "sum",
    ),
    "traffic": (lambda values, mode, start: mode.traffic, "sum"),
    "accuracy_met": (lambda values, mode, start: int(values.reached(mode, start) >= values.required[mode.job]), "sum"),
    "total_accuracy": (lambda values, mode, start: values.reached(mode, start), "sum"),
    "makespan": (lambda values, mode, start: start + mode.duration, "largest"),
}


@model_builder("moulded", problem="taskgraph", solver="cp-sat", objectives=tuple(SHARES), restricted=True)
def cp_sat_model(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """Gangs by CP-SAT: each job picks a placement and runs as one block; an upper bound on the task level."""
    return _Gangs(Moulded(instance), objectives).formulation()


@model_builder("moulded-highs", problem="taskgraph", solver="highs", objectives=tuple(SHARES), restricted=True)
def highs_model(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """Gangs by HiGHS: each job picks a placement and runs as one block; an upper bound on the task level."""
    return _TimeIndexed(Moulded(instance), objectives).formulation()


def pyomo_model(instance: Instance, objective: str) -> Any:
    """The moulded MIP of one objective as a Pyomo ConcreteModel, its objective set: for any Pyomo solver, MPS or LP."""
    return posed(highs_model(instance, objectives=(objective,)), instance, objective)


class _TimeIndexed:
    """Binary s[j, m, t]: job j starts in mode m at time t."""

    def __init__(self, moulded: Moulded, objectives: Sequence[str]) -> None:
        import pyomo.environ as pyo

        self.moulded, self.values = moulded, _Values(moulded)
        self.mip = pyo.ConcreteModel()
        self.mip.rows = pyo.ConstraintList()
        self.terms: dict[str, Any] = dict.fromkeys(objectives, 0)
        self.keys: list[tuple[int, int, int]] = []
        if moulded.reason is not None:
            self.mip.none = pyo.Var(domain=pyo.Binary)
            self.mip.rows.add(self.mip.none >= 2)
            return
        for j, modes in enumerate(moulded.modes):
            for m, mode in enumerate(modes):
                last = moulded.release(mode) if mode.column is None else moulded.end - mode.duration
                self.keys += [(j, m, t) for t in range(moulded.release(mode), last + 1)]
        if len(self.keys) > MOST_BINARIES:
            raise TooLarge(f"moulded-highs: {len(self.keys)} binary variables are more than {MOST_BINARIES}")
        self.mip.s = pyo.Var(self.keys, domain=pyo.Binary)
        for j in range(len(moulded.modes)):
            self.mip.rows.add(sum(self.mip.s[key] for key in self.keys if key[0] == j) == 1)
        self._capacity()
        for name in objectives:
            share, joined = entry(SHARES, name, "SHARES of formulations/taskgraph/moulded.py")
            shares = [(key, share(self.values, moulded.modes[key[0]][key[1]], key[2])) for key in self.keys]
            if joined == "sum":
                self.terms[name] = sum(v * self.mip.s[key] for key, v in shares if v)
            elif shares:
                self.mip.last = pyo.Var(domain=pyo.Integers, bounds=(0, max(v for _, v in shares)))
                for j in range(len(moulded.modes)):
                    self.mip.rows.add(self.mip.last >= sum(v * self.mip.s[key] for key, v in shares if key[0] == j))
                self.terms[name] = self.mip.last

    def _capacity(self) -> None:
        use: dict[tuple[int, int, int], list[tuple[tuple[int, int, int], int]]] = {}
        for j, m, t in self.keys:
            mode = self.moulded.modes[j][m]
            if mode.column is None:
                continue
            held = [(n, r, h) for n, row in enumerate(mode.column.hold) for r, h in enumerate(row) if h]
            for at in range(t, t + mode.duration):
                for n, r, h in held:
                    use.setdefault((n, r, at), []).append(((j, m, t), h))
        for (n, r, _), entries in use.items():
            most: dict[int, int] = {}
            for (j, _, _), h in entries:
                most[j] = max(most.get(j, 0), h)
            if sum(most.values()) > self.moulded.layout.capacity[n][r]:
                row = sum(h * self.mip.s[key] for key, h in entries)
                self.mip.rows.add(row <= self.moulded.layout.capacity[n][r])

    def formulation(self) -> Formulation:
        terms = {name: (Term(1, expression),) for name, expression in self.terms.items()}
        return Formulation(self.mip, terms, self.decode, lambda plan: [], self.values.constants())

    def decode(self, value_of: Callable[[Any], int]) -> Timetable:
        chosen = [(self.moulded.modes[j][m], t) for j, m, t in self.keys if value_of(self.mip.s[j, m, t])]
        return self.moulded.timetable(chosen)


class _Gangs:
    """Optional intervals, one a job and mode."""

    def __init__(self, moulded: Moulded, objectives: Sequence[str]) -> None:
        from ortools.sat.python import cp_model

        self.moulded, self.values, self.cp = moulded, _Values(moulded), cp_model.CpModel()
        self.constant = self.values.constants()
        self.terms: dict[str, Any] = dict.fromkeys(objectives, 0)
        self.z: list[list[Any]] = []
        self.start: list[Any] = []
        self.end: list[Any] = []
        if moulded.reason is not None:
            self.cp.add_bool_or([])
            return
        self._modes()
        self.on_time: dict[tuple[int, int], Any] = {}
        for name in objectives:
            self.terms[name] = getattr(self, "_" + name)()

    def _modes(self) -> None:
        cp, moulded = self.cp, self.moulded
        here: dict[tuple[int, int], list[tuple[Any, int]]] = {}
        for modes in moulded.modes:
            literals = [cp.new_bool_var("") for _ in modes]
            cp.add_exactly_one(literals)
            start = cp.new_int_var(min(moulded.release(m) for m in modes), moulded.end, "")
            end = cp.new_int_var(0, moulded.end, "")
            cp.add(end == start + sum(m.duration * z for m, z in zip(modes, literals, strict=True)))
            for mode, z in zip(modes, literals, strict=True):
                if mode.column is None:
                    cp.add(start == moulded.release(mode)).only_enforce_if(z)
                    continue
                cp.add(start >= moulded.release(mode)).only_enforce_if(z)
                if not mode.duration:
                    continue
                interval = cp.new_optional_fixed_size_interval_var(start, mode.duration, z, "")
                for n, row in enumerate(mode.column.hold):
                    for r, held in enumerate(row):
                        if held:
                            here.setdefault((n, r), []).append((interval, held))
            self.z.append(literals)
            self.start.append(start)
            self.end.append(end)
        for (n, r), entries in here.items():
            room = moulded.layout.capacity[n][r]
            cp.add_cumulative([v for v, _ in entries], [h for _, h in entries], room)

    def _total_jct(self) -> Any:
        return sum(self.end)

    def _makespan(self) -> Any:
        if not self.end:
            return 0
        last = self.cp.new_int_var(0, self.moulded.end, "")
        for end in self.end:
            self.cp.add(last >= end)
        return last

    def _deadlines_met(self) -> Any:
        met = []
        for j, end in enumerate(self.end):
            met.append(self.cp.new_bool_var(""))
            self.cp.add(end <= self.moulded.layout.deadline[j]).only_enforce_if(met[-1])
        return sum(met)

    def _traffic(self) -> Any:
        return sum(
            m.traffic * z
            for modes, zs in zip(self.moulded.modes, self.z, strict=True)
            for m, z in zip(modes, zs, strict=True)
            if m.traffic
        )

    def _steps(self, j: int) -> tuple[int, list[Any]]:
        """(iterations that count in any case, literals for one more each) towards job j's accuracy, made once."""
        layout, modes = self.moulded.layout, self.moulded.modes[j]
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
                    ended = self.start[j] + sum(self.moulded.ends(m)[i] * z for m, z in runs)
                    self.cp.add(ended <= layout.deadline[j]).only_enforce_if(literal)
                self.on_time[j, i] = literal
            steps.append(self.on_time[j, i])
        return sure, steps

    def _total_accuracy(self) -> Any:
        return accuracies(self.moulded.layout.instance, [self._steps(j) for j in range(len(self.end))])[0]

    def _accuracy_met(self) -> Any:
        return accuracies(self.moulded.layout.instance, [self._steps(j) for j in range(len(self.end))])[1]

    def formulation(self) -> Formulation:
        terms = {name: (Term(1, expression),) for name, expression in self.terms.items()}
        return Formulation(self.cp, terms, self.decode, lambda plan: [], self.constant)

    def decode(self, value_of: Callable[[Any], int]) -> Timetable:
        chosen = []
        for modes, literals, start in zip(self.moulded.modes, self.z, self.start, strict=True):
            mode = next(m for m, z in zip(modes, literals, strict=True) if value_of(z))
            chosen.append((mode, value_of(start)))
        return self.moulded.timetable(chosen)
