"""Contributions of gangs to the objectives: values of a job in a mode, started at a time."""

from __future__ import annotations

from collections.abc import Callable

from mlsched.core.contract import objective_entry
from mlsched.formulations.taskgraph._columns import Mode, Moulded
from mlsched.formulations.taskgraph._gang_schedule import Gangs


class Values:
    """Contribution to each objective of a job in a mode, started at a time."""

    def __init__(self, moulded: Moulded) -> None:
        self.moulded, self.layout = moulded, moulded.layout
        self.accuracy = self.layout.instance.accuracy.tolist()
        self.required = self.layout.instance.required.tolist()
        self.on_time = self.layout.instance.on_time.tolist()
        self.final = self.layout.instance.accuracy_at == "final"

    def counted(self, mode: Mode, start: int) -> int:
        """Count the iterations that contribute to the job's accuracy."""
        first = self.layout.finished[mode.job]
        if self.final:
            return first + mode.iterations
        sure: int = self.on_time[mode.job]
        if sure < first:
            return sure
        return sure + sum(start + end <= self.layout.deadline[mode.job] for end in self.moulded.ends(mode))

    def reached(self, mode: Mode, start: int) -> int:
        """Return the job's accuracy."""
        return int(self.accuracy[mode.job][self.counted(mode, start)])

    def constants(self) -> dict[str, int]:
        """Return the constant that is added to the shares of all jobs, by objective."""
        arrival = self.layout.arrival
        return {"total_jct": -sum(arrival), "makespan": -min(arrival, default=0)}


#: Objective -> a job's share of it, and whether shares add up or the largest counts.
SHARES: dict[str, tuple[Callable[[Values, Mode, int], int], str]] = {
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


def share_of(objective: str) -> tuple[Callable[[Values, Mode, int], int], str]:
    """Return the objective's entry of SHARES."""
    return objective_entry(SHARES, objective, "SHARES of formulations/taskgraph/_gang_values.py")


def best_of(plans: list[Gangs], values: Values, objective: str) -> Gangs:
    """Return the plan that is best in an objective, of equal plans the first."""
    share, has_edges = share_of(objective)
    best = min if values.layout.instance.objective(objective).sense == "min" else max
    total = sum if has_edges == "sum" else max
    return best(plans, key=lambda plan: total([share(values, mode, start) for mode, start in plan] or [0]))
