"""The two models of a task graph with names, for users."""

from __future__ import annotations

import itertools

from mlsched.core.aliases import Data
from mlsched.core.formulation import Formulation
from mlsched.core.models import NamedModel, Size
from mlsched.formulations.taskgraph import highs
from mlsched.formulations.taskgraph._intervals import IntervalModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance


def linear(instance: Instance, objectives: tuple[str, ...], size: Size) -> Formulation:
    """Return the time-indexed program."""
    return highs.model(Layout.of(instance), objectives, size=size)


def intervals(instance: Instance, objectives: tuple[str, ...], size: Size) -> NamedModel:
    """Return the interval model; a complete model has each node for itself, and equal nodes in any order."""
    built_object = IntervalModel(Layout.of(instance), objectives, named=size.complete, single=size.complete)
    size.check(len(built_object.cp.proto.variables))
    names = _names(built_object)
    proto = built_object.cp.proto
    for name, variable in reversed(names.items()):
        if not isinstance(variable, int) and variable.index >= 0:
            proto.variables[variable.index].name = name
    ends = [*built_object.phases, ("", len(proto.constraints))]
    for (group, first), (_, end) in itertools.pairwise(ends):
        for number in range(first, end):
            proto.constraints[number].name = f"{group}[{number - first}]"
    return NamedModel(built_object.formulation(), names)


def _names(made: IntervalModel) -> Data:
    """Return name -> variable, literal or number."""
    choices = made.choices
    names: Data = {f"start[{k},{i}]": start for (k, i), start in made.start.items()}
    for (k, i), where in choices.where.items():
        names.update({f"on[{k},{i},{choices.places[p].nodes[0]}]": literal for p, literal in where.items()})
    names.update({f"run[{j},{i}]": literal for (j, i), literal in choices.runs.items()})
    names.update({f"completion[{j}]": variable for j, variable in made.completion.items()})
    if made.last is not None:
        names["last"] = made.last
    names.update({f"met[{j}]": literal for j, literal in made.met.items()})
    names.update({f"counts[{j},{i}]": literal for (j, i), literal in made.measures.on_time.items()})
    return names
