"""A plan as values of the variables of the interval model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.aliases import Expression, Variable
from mlsched.instances.taskgraph import Timetable

if TYPE_CHECKING:
    from mlsched.formulations.taskgraph._choices import Run
    from mlsched.formulations.taskgraph._intervals import IntervalModel


#: (task, iteration) -> (node, start)
Runs = dict[tuple[int, int], tuple[int, int]]


def encode(model: IntervalModel, plan: Timetable) -> list[tuple[Variable, int]]:
    """Return (variable, value) pairs, each variable at most once; they determine all other variables.

    Starts and places of runs that the plan leaves out are missing: any values are valid.
    """
    layout, choices = model.layout, model.choices
    runs = runs_of(plan)
    names = _node_names(model, runs)
    values: dict[int, tuple[Expression, int]] = {}

    def put(variable: Any, value: int) -> None:
        if not isinstance(variable, int) and variable.index >= 0:
            values.setdefault(variable.index, (variable, value))

    for (j, i), x in choices.runs.items():
        put(x, int(any((k, i) in runs for k in layout.tasks_of[j])))
    for run, choice in choices.where.items():
        if run in runs:
            place = choices.place_of[names[runs[run][0]]]
            for p, literal in choice.items():
                put(literal, int(p == place))
    for run, variable in model.start.items():
        if run in runs:
            put(variable, runs[run][1])
    completion = {j: _completion(model, runs, j) for j in range(layout.jobs)}
    for j, variable in model.completion.items():
        put(variable, completion[j])
    for j, variable in model.met.items():
        put(variable, int(completion[j] <= layout.deadline[j]))
    for (j, i), variable in model.measures.on_time.items():
        ends = [runs[k, i][1] + layout.duration[k] for k in layout.tasks_of[j] if (k, i) in runs]
        put(variable, int(bool(ends) and max(ends) <= layout.deadline[j]))
    if model.last is not None:
        put(model.last, max(completion.values()))
    return list(values.values())


def runs_of(plan: Timetable) -> Runs:
    """Return (task, iteration) -> (node, start)."""
    columns = (plan.task, plan.iteration, plan.node, plan.start)
    return {(k, i): (n, s) for k, i, n, s in zip(*(column.tolist() for column in columns), strict=True)}


def _completion(model: IntervalModel, runs: dict[Run, tuple[int, int]], j: int) -> int:
    layout = model.layout
    ends = [s + layout.duration[k] for (k, _), (_, s) in runs.items() if layout.job[k] == j]
    return max(ends) if ends else layout.idle_completion(j)


def _node_names(model: IntervalModel, runs: dict[Run, tuple[int, int]]) -> list[int]:
    """Return node -> its name in the order in which tasks first use the nodes of a symmetric class."""
    layout = model.layout
    names = list(range(layout.nodes))
    for nodes in model.choices.ranks:
        earlier: list[int] = []
        for k in range(layout.tasks):
            node = runs.get((k, layout.finished[layout.job[k]]), (-1, 0))[0]
            if node in nodes and node not in earlier:
                earlier.append(node)
        earlier += [n for n in nodes if n not in earlier]
        for name, node in zip(nodes, earlier, strict=True):
            names[node] = name
    return names
