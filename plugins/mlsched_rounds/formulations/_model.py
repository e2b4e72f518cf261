"""A round as an integer program, for both languages.

x[j, c] = 1 if job j runs in configuration c. The variable exists only if the rate is above 0:

    sum_c x[j, c] <= 1,    sum over j, c of a type of config_gpus[c] x[j, c] <= capacity.

A sum objective counts the gain of running over waiting. The worst of all jobs is expressed by levels, without a big M.
Every job's cost is smallest in its best configuration. The largest of these costs, v_0, is a lower limit. The distinct
costs above it are v_1 < v_2 < ...; z[k] = 1 if the worst cost is at least v_k, and z falls with k. A job of cost u or
more forces the z of u, unless it takes a configuration of a lower cost:

    z[rank of u] + sum over the configurations of cost below u of x[j, c] >= 1.

The value v_0 + sum (v_k - v_{k-1}) z[k] is exact in integers. If the worst job counts, running is never worse than
waiting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mlsched.core.aliases import BackendModel, Expression, Variable
from mlsched.core.contract import objective_entry
from mlsched.core.deadline import Deadline
from mlsched.core.formulation import Formulation, Term
from mlsched_rounds.formulations.tables import OBJECTIVES, Table
from mlsched_rounds.instances import Instance, Plan

#: Variable -> coefficient.
Sum = dict[int, int]


class Row(NamedTuple):
    """A row `terms <= limit`, with its group and index (`key`) in models with names."""

    terms: Sum
    limit: int
    group: str
    key: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Expressed:
    """An objective as constant + sum, and the threshold of each level variable."""

    constant: int
    terms: Sum
    levels: dict[int, int]


class Model:
    """Variables, numbered from 0 and all 0 or 1, and rows `sum <= limit`; the objectives by name.

    Attributes:
        names: Group and index of each variable.
    """

    def __init__(self, instance: Instance, objectives: tuple[str, ...], deadline: Deadline) -> None:
        self.instance = instance
        self.rows: list[Row] = []
        able = np.argwhere(instance.rate > 0)
        self.x = {(j, c): v for v, (j, c) in enumerate(able.tolist())}
        self.names: list[tuple[str, tuple[Any, ...]]] = [("run", key) for key in self.x]
        self.of_job: dict[int, dict[int, int]] = {}
        usage: dict[int, Sum] = {}
        for (j, c), v in deadline.over(self.x.items()):
            self.of_job.setdefault(j, {})[c] = v
            usage.setdefault(int(instance.config_type[c]), {})[v] = int(instance.config_gpus[c])
        for j, own in self.of_job.items():
            if len(own) > 1:
                self.rows.append(Row(dict.fromkeys(own.values(), 1), 1, "once", (j,)))
        self.rows += [Row(gpus, int(instance.capacity[m]), "capacity", (m,)) for m, gpus in usage.items()]
        self.objectives: dict[str, Expressed] = {}
        for name in objectives:
            table = objective_entry(OBJECTIVES, name, "OBJECTIVES of formulations/rounds/tables.py")(instance)
            self.objectives[name] = (
                self._worst_of_jobs(name, table, deadline) if table.worst else self._total_of_jobs(table, deadline)
            )

    def _total_of_jobs(self, table: Table, deadline: Deadline) -> Expressed:
        terms = {
            v: gain for (j, c), v in deadline.over(self.x.items()) if (gain := table.running[j][c] - table.waiting[j])
        }
        return Expressed(sum(table.waiting), terms, {})

    def _worst_of_jobs(self, name: str, table: Table, deadline: Deadline) -> Expressed:
        """Express the worst job as a cost; `table.sign` turns it into a value."""
        sign = table.sign
        cost = {
            j: {-1: sign * table.waiting[j], **{c: sign * table.running[j][c] for c in own}}
            for j, own in self.of_job.items()
        }
        if not cost:
            return Expressed(table.nobody, {}, {})
        lowest = max(min(own.values()) for own in cost.values())
        levels = sorted({lowest, *(u for own in cost.values() for u in own.values() if u > lowest)})
        rank = {level: k for k, level in enumerate(levels)}
        values = {k: table.base + sign * level for k, level in enumerate(levels)}
        z = {k: len(self.names) + k - 1 for k in range(1, len(levels))}
        self.names += [("worst", (name, values[k])) for k in z]
        for k in range(2, len(levels)):
            self.rows.append(Row({z[k]: 1, z[k - 1]: -1}, 0, "falling", (name, values[k])))
        for j, own in deadline.over(cost.items()):
            for u in {u for u in own.values() if u > lowest}:
                better = {self.x[j, c]: -1 for c, v in own.items() if c >= 0 and v < u}
                self.rows.append(Row({z[rank[u]]: -1, **better}, -1, "level", (name, j, values[rank[u]])))
        terms = {z[k]: sign * (levels[k] - levels[k - 1]) for k in z}
        return Expressed(values[0], terms, {z[k]: values[k] for k in z})

    def formulation(self, model: BackendModel, variables: Any, weighted: Callable[[Sum], Expression]) -> Formulation:
        """Build the formulation in a language from its model, its variables by number, and its weighted sum.

        The model has all its rows.
        """

        def decode(value_of: Callable[[Variable], int]) -> Plan:
            return self.plan([v for v in self.x.values() if value_of(variables[v])])

        def encode(plan: Plan) -> list[tuple[Variable, int]]:
            return [(variables[v], value) for v, value in self.values(plan)]

        return Formulation(
            model,
            {name: (Term(1, weighted(result.terms)),) for name, result in self.objectives.items()},
            decode,
            encode,
            {name: result.constant for name, result in self.objectives.items()},
        )

    def plan(self, taken: list[int]) -> Plan:
        """Return the plan of the variables that are 1."""
        choice = set(taken)
        config = np.full(len(self.instance.remaining), -1, dtype=np.int64)
        for (j, c), v in self.x.items():
            if v in choice:
                config[j] = c
        return Plan(config=config)

    def values(self, plan: Plan) -> list[tuple[int, int]]:
        """Return the values of the variables in a plan."""
        reach = self.instance.evaluate(plan)
        config = plan.config.tolist()
        result = [(v, int(config[j] == c)) for (j, c), v in self.x.items()]
        for name, expressed in self.objectives.items():
            higher = self.instance.objective(name).sense == "min"
            for z, level in expressed.levels.items():
                result.append((z, int(reach[name] >= level if higher else reach[name] <= level)))
        return result
