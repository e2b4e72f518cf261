"""Ten changes of the models of two problems: each script's plan is as good as the optimum of the changed instance."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from documentation import DOCS

import mlsched

SCRIPT = re.compile(r"## ([^\n]+)\n\n```python\n(.+?)```", re.DOTALL)
#: What the two scripts' values are compared in.
Value = tuple[int, ...]


def scripts(page: str) -> dict[str, str]:
    """Heading -> script, of a page."""
    return dict(SCRIPT.findall((DOCS / page).read_text(encoding="utf-8")))


def ran(script: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(script, "script", "exec"), names)
    return names


def changed_preemption(inst: Any, title: str) -> tuple[Any, int, int]:
    """The changed instance, and what its optimum lacks: victims, deferred TE jobs."""
    limit = inst.preemption_limit

    def protected(which: Any) -> Any:
        return inst.replace(job_preemptions=np.where(which, limit, inst.job_preemptions))

    def with_resource(te: list[int], node: list[int]) -> Any:
        """A further resource, which no running job uses."""
        column = {"te_demand": te, "node_capacity": node, "node_free": node}
        zero = {"node_draining": len(node), "job_demand": len(inst.job_node)}
        column |= {name: [0] * count for name, count in zero.items()}
        more = {name: np.column_stack([getattr(inst, name), np.array(own)]) for name, own in column.items()}
        return inst.replace(resources=(*inst.resources, "mark"), **more)

    nodes, tes = len(inst.node_capacity), len(inst.te_demand)
    here = np.arange(nodes)[:, None]
    if title == "Close a node":
        free = {name: np.where(here == 1, 0, getattr(inst, name)) for name in ("node_free", "node_draining")}
        return protected(inst.job_node == 1).replace(**free), 0, 0
    if title == "Protect a job":
        return protected(np.arange(len(inst.job_node)) == 5), 0, 0
    if title == "Protect the jobs of a node":
        return protected(inst.job_node == 1), 0, 0
    if title == "Suspend a job in any case":
        own = {name: np.delete(getattr(inst, name), 0, axis=0) for name in vars(inst) if name.startswith("job_")}
        free = inst.node_free.copy()
        free[inst.job_node[0]] += inst.job_demand[0]
        return inst.replace(node_free=free, **own), 1, 0
    if title == "Reserve a resource":
        free = inst.node_free.copy()
        free[1, 0] -= 1
        return inst.replace(node_free=free), 0, 0
    if title == "Keep two jobs apart":
        return with_resource([int(t in (0, 2)) for t in range(tes)], [1] * nodes), 0, 0
    if title == "Fix a node":
        return with_resource([int(t == 0) for t in range(tes)], [int(n == 2) for n in range(nodes)]), 0, 0
    if title == "Let a job wait":
        return inst.replace(te_demand=np.delete(inst.te_demand, 1, axis=0)), 0, 1
    assert title == "Limit the grace period"
    return protected(inst.job_grace > 120), 0, 0


@pytest.mark.parametrize("title", scripts("problems/preemption-model.md"))
def test_a_changed_model_is_the_model_of_the_changed_instance(title, capsys):
    names = ran(scripts("problems/preemption-model.md")[title])
    found = mlsched.plan_from(names["m"])
    assert str(found.values) in capsys.readouterr().out
    inst = names["inst"]
    if title == "Bound a second objective":
        front = mlsched.pareto(inst, ["total_score", "victim_count"])
        assert found.sort_key == front.sort_keys[np.argmin(front.sort_keys[:, 1]), 0]
        return
    changed, victims, deferred = changed_preemption(inst, title)
    best = mlsched.solve(changed, objective="victim_count").values
    expected = best["victim_count"] + victims, best["deferred"] + deferred
    assert (found.values["victim_count"], found.values["deferred"]) == expected


def changed_graphs(inst: Any, title: str) -> Iterator[Any]:
    """Instances of which the best optimum is that of the changed model."""

    def only(nodes: dict[int, int]) -> Any:
        eligible = inst.eligible.copy()
        for task, node in nodes.items():
            eligible[task] = np.arange(eligible.shape[1]) == node
        return inst.replace(eligible=eligible)

    if title == "Close a node":
        yield inst.replace(eligible=inst.eligible * (np.arange(3) != 2))
    elif title == "Cap a resource of a node":
        capacity = inst.node_capacity.copy()
        capacity[1, 1] = 3
        yield inst.replace(node_capacity=capacity)
    elif title == "Keep two tasks apart":
        yield from (only({3: a, 4: b}) for a, b in itertools.permutations(range(3), 2))
    elif title == "Keep two tasks together":
        yield from (only({3: n, 4: n}) for n in range(3))
    elif title == "Fix nodes":
        yield only({0: 0, 1: 0, 2: 0})
    elif title == "Run an optional iteration":
        least = inst.min_iterations.copy()
        least[1] = 2
        yield inst.replace(min_iterations=least)
    else:
        assert title == "Stop a job early"
        most = inst.max_iterations.copy()
        most[2] = 1
        yield inst.replace(max_iterations=most)


#: Bounds of a second objective: which it is, and whether a value of it is within them.
BOUNDS: dict[str, tuple[str, Callable[[int], bool]]] = {
    "Bound a second objective": ("traffic", lambda value: value <= 50),
    "Keep every deadline": ("deadlines_met", lambda value: value == 4),
}


@pytest.mark.parametrize("title", scripts("problems/taskgraph-model.md"))
def test_a_changed_graph_is_the_model_of_the_changed_instance(title, capsys):
    names = ran(scripts("problems/taskgraph-model.md")[title])
    found = mlsched.plan_from(names["m"], names["solver"])
    assert capsys.readouterr().out.split() == [str(found.sort_key)]
    inst, objective = names["inst"], found.objective
    if title in BOUNDS:
        second, within = BOUNDS[title]
        points = mlsched.pareto(inst, [objective, second]).sort_keys.tolist()
        assert found.sort_key == min(value for value, bound in points if within(bound))
        return
    if title == "Release a job later":
        later = inst.replace(arrival=np.where(np.arange(4) == 2, 6, inst.arrival))
        assert found.sort_key == mlsched.solve(later, objective=objective).sort_key + 6
        return
    values = [mlsched.solve(one, objective=objective).sort_key for one in changed_graphs(inst, title)]
    assert found.sort_key == (min(values) if inst.objective(objective).sense == "min" else max(values))


@pytest.mark.parametrize("page", ["problems/preemption-model.md", "problems/taskgraph-model.md"])
def test_there_are_ten_scripts_of_at_most_twenty_lines(page):
    found = scripts(page)
    assert len(found) == 10
    assert all(len(script.splitlines()) <= 20 for script in found.values())


def test_most_changes_matter():
    """A change that leaves the optimum as it is would test little."""
    for page, objective in (
        ("problems/preemption-model.md", "victim_count"),
        ("problems/taskgraph-model.md", "total_jct"),
    ):
        values = []
        for title, script in scripts(page).items():
            names = ran(script)
            result = mlsched.plan_from(names["m"], names["solver"] if "taskgraph" in page else None)
            values.append((title, result.sort_key != mlsched.solve(names["inst"], objective=result.objective).sort_key))
        assert sum(changed for _, changed in values) >= 6, (objective, values)
