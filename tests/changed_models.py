"""Every plan of a small instance, those of its model, and changed models against the changed instance."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import mlsched

#: Adds constraints to the model of an instance. Returns the instance that is changed in the same way, or the condition
#: of the plans that remain, given a plan and the judge's values of it.
Change = Callable[[Any, Any], Any]


def every_plan(instance: Any) -> Iterator[Any]:
    """All plans that the judge accepts."""
    return (plan for plan in CANDIDATES[instance.problem](instance) if not instance.violations(plan))


def _quality(instance: Any) -> Iterator[Any]:
    most = int(instance.most.max())
    for cores in itertools.product(range(most + 1), repeat=len(instance.most)):
        yield instance.plan_type(cores=np.array(cores))


def _workers(instance: Any) -> Iterator[Any]:
    jobs, workers, ps = instance.cost.shape
    choices = [(0, 0), *itertools.product(range(1, workers + 1), range(1, ps + 1))]
    for chosen in itertools.product(choices, repeat=jobs):
        yield instance.plan_type(workers=np.array([w for w, _ in chosen]), ps=np.array([p for _, p in chosen]))


def _rounds(instance: Any) -> Iterator[Any]:
    configurations = range(-1, len(instance.config_type))
    for chosen in itertools.product(configurations, repeat=len(instance.remaining)):
        yield instance.plan_type(config=np.array(chosen))


def _preemption(instance: Any) -> Iterator[Any]:
    hosts = itertools.product(range(-1, len(instance.node_capacity)), repeat=len(instance.te_demand))
    victims = [
        list(itertools.compress(range(len(instance.job_node)), marks))
        for marks in itertools.product((0, 1), repeat=len(instance.job_node))
    ]
    for te, chosen in itertools.product(hosts, victims):
        yield instance.plan_type(te_node=np.array(te), victims=np.array(chosen, dtype=np.int64))


def _spread(count: int, places: int) -> list[tuple[int, ...]]:
    """All ways to put `count` equal things on `places` places."""
    return [way for way in itertools.product(range(count + 1), repeat=places) if sum(way) == count]


def _placement(instance: Any) -> Iterator[Any]:
    servers = len(instance.server_free)
    nowhere = (0,) * servers
    choices = [
        [(nowhere, nowhere), *itertools.product(_spread(workers, servers), _spread(ps, servers))]
        for workers, ps in zip(instance.job_workers.tolist(), instance.job_ps.tolist(), strict=True)
    ]
    for chosen in itertools.product(*choices):
        yield instance.plan_type(workers=np.array([w for w, _ in chosen]), ps=np.array([p for _, p in chosen]))


def _admission(instance: Any) -> Iterator[Any]:
    nodes, units = len(instance.node_free), len(instance.unit_group)
    able = (instance.may > 0).any(axis=0).tolist()
    evictions = list(itertools.product(*((0, 1) if can else (0,) for can in able)))
    movable = [p for p, u in enumerate(instance.pod_unit.tolist()) if instance.unit_movable[u]]
    for start in itertools.product((0, 1), repeat=len(instance.job_priority)):
        counts = [count * start[job] for job, count in zip(instance.shape_job, instance.shape_count, strict=True)]
        for place in itertools.product(*(_spread(int(count), nodes) for count in counts)):
            for evict, hosts in itertools.product(evictions, itertools.product(range(-1, nodes), repeat=len(movable))):
                move = np.full(len(instance.pod_node), -1)
                move[movable] = hosts
                assert len(evict) == units
                yield instance.plan_type(start=np.array(start), place=np.array(place), evict=np.array(evict), move=move)


#: Problem -> a superset of the plans of an instance.
CANDIDATES: dict[str, Callable[[Any], Iterator[Any]]] = {
    "quality": _quality,
    "workers": _workers,
    "rounds": _rounds,
    "preemption": _preemption,
    "placement": _placement,
    "admission": _admission,
}


def key(plan: Any) -> tuple[Any, ...]:
    """The columns of a plan's fields."""
    return tuple(repr(column) for column in plan.to_json().values() if isinstance(column, list))


def model_plans(instance: Any) -> set[tuple[Any, ...]]:
    """The plans of all solutions of an instance's complete model."""
    from ortools.sat.python import cp_model

    model = mlsched.model(instance)
    model.cp_sat.clear_objective()
    plans = set()

    class Collect(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            plans.add(key(mlsched.plan_from(model, self).plan))

    solver = cp_model.CpSolver()
    solver.parameters.enumerate_all_solutions = True
    solver.solve(model.cp_sat, Collect())
    return plans


class Changes:
    """An instance, and the optima of its model after changes."""

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        self._optima: dict[tuple[str, Change | None], tuple[list[Any], Any]] = {}

    @functools.cached_property
    def plans(self) -> list[tuple[Any, dict[str, int]]]:
        """Every plan, with the judge's values."""
        return [(plan, self.instance.evaluate(plan)) for plan in every_plan(self.instance)]

    def compared(self, objective: str, values: dict[str, Any]) -> list[Any]:
        """The values that must agree: those of the objective, and of its primary criterion if it has one."""
        primary = set(values) - {other.name for other in self.instance.objectives}
        return [values[objective], *(values[name] for name in sorted(primary))]

    def optimum(self, objective: str, change: Change | None = None) -> tuple[list[Any], Any]:
        """The judge's value of the optimum that HiGHS finds for the changed model, and what the change returned."""
        if (objective, change) not in self._optima:
            self._optima[objective, change] = self._solved(objective, change)
        return self._optima[objective, change]

    def _solved(self, objective: str, change: Change | None) -> tuple[list[Any], Any]:
        import pyomo.environ as pyo

        also = [other.name for other in self.instance.objectives]
        made = mlsched.model(self.instance, objective, also=also)
        equivalent = change(self.instance, made.pyomo) if change else None
        solver = pyo.SolverFactory("appsi_highs")
        solver.highs_options["mip_rel_gap"] = 0
        solver.solve(made.pyomo)
        return self.compared(objective, mlsched.plan_from(made).values), equivalent

    def expected(self, objective: str, equivalent: Any) -> list[Any]:
        """The optimum of a changed instance, or of the plans under a condition."""
        if not callable(equivalent):
            return self.compared(objective, mlsched.solve(equivalent, objective=objective).values)
        values = [value for plan, value in self.plans if equivalent(plan, value)]
        assert 0 < len(values) < len(self.plans), "the condition must leave some plans, not all"
        best = min if self.instance.objective(objective).sense == "min" else max
        return self.compared(objective, self.instance.values(best(values, key=lambda value: value[objective])))

    def check(self, objective: str, change: Change) -> None:
        """Assert that the changed model has the optimum of what is equivalent."""
        found, equivalent = self.optimum(objective, change)
        assert found == self.expected(objective, equivalent)

    def matter(self, objective: str, changes: list[Change]) -> int:
        """How many of these changes alter the optimum."""
        before, _ = self.optimum(objective)
        return sum(self.optimum(objective, change)[0] != before for change in changes)
