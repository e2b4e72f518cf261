"""Plans of admission as values of the variables of its integer program (`_model.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched.core.formulation import Formulation, Term
from mlsched_admission.formulations._model import Model
from mlsched_admission.formulations._nodes import Kind
from mlsched_admission.formulations._pools import Pool, spread_over
from mlsched_admission.formulations._program import Sum
from mlsched_admission.formulations._spare import without_needless_changes
from mlsched_admission.instances import Plan

#: Variable of a backend.
Variable = TypeVar("Variable")


def formulation_of(
    program: Model,
    backend_model: object,
    variables: Sequence[Variable],
    sums: Mapping[str, tuple[Sum, Sum]],
    expressed: Callable[[Sum], object],
    parameters: Mapping[str, object] | None = None,
) -> Formulation:
    """Return the formulation for a backend.

    Args:
        program: Program of the instance.
        backend_model: The backend's model.
        variables: Variables of the backend, in the program's order.
        sums: Waiting rank and base value of each objective.
        expressed: Writes a sum in the backend's terms.
        parameters: Parameters of the backend.
    """

    def decode(value_of: Callable[[Variable], int]) -> Plan:
        return _decode_plan(program, lambda v: int(value_of(variables[v])))

    def encode(plan: Plan) -> list[tuple[Variable, int]]:
        return [(variables[v], value) for v, value in _encode_plan(program, plan)]

    terms = {
        name: (Term(program.instance.primary(name).weight, expressed(waiting)), Term(1, expressed(base)))
        for name, (waiting, base) in sums.items()
    }
    return Formulation(backend_model, terms, decode, encode, parameters=parameters or {})


def _decode_plan(model: Model, value_of: Callable[[int], int]) -> Plan:
    """Return the plan of values of the variables; of a model that is not complete, without needless victims."""
    instance = model.instance
    evict = ints(value_of(model.evict[u]) if u in model.evict else 0 for u in range(len(instance.unit_group)))
    leaving = [*np.flatnonzero(evict).tolist(), *(u for u, m in model.move.items() if value_of(m))]
    hosts: dict[int, list[int]] = defaultdict(list)
    move = np.full(len(instance.pod_node), -1, dtype=np.int64)
    targets: dict[int, list[int]] = defaultdict(list)
    for p, place in enumerate(model.places):
        if isinstance(place, Pool):
            sizes = [
                *(int(instance.shape_demand[k, place.resource]) for k in place.shapes),
                *(model.kinds[i].demand[place.resource] for i in place.kinds),
            ]
            pods = [value_of(v) for v in model.arriving_pods(p, place)]
            nodes = spread_over(instance, place, leaving, list(zip(pods, sizes, strict=True)), model.released)
        else:
            pods = [value_of(v) for v in model.arriving_pods(p, place)]
            most = value_of(model.each[p]) if p in model.each else max(pods, default=0)
            nodes = [[n for n in place.nodes for _ in range(most)][:count] for count in pods]
        for k, at in zip(place.shapes, nodes, strict=False):
            hosts[k] += at
        for i, at in zip(place.kinds, nodes[len(place.shapes) :], strict=True):
            targets[i] += at
    for i, at in targets.items():
        kind = model.kinds[i]
        level = int(instance.unit_level[kind.units[0]])
        domain = instance.node_domain[level].tolist() if level >= 0 else list(range(len(instance.node_free)))
        at.sort(key=domain.__getitem__)
        moved_pods = [p for m, u in enumerate(kind.units) if value_of(model.move[u]) for p in _pods_of_unit(kind, m)]
        move[moved_pods] = at
    start = np.zeros(len(instance.job_priority), dtype=np.int64)
    for j, s in model.start.items():
        start[model.alike[j][: value_of(s)]] = 1
    plan = Plan(start=start, place=_places_of_hosts(model, hosts), evict=evict, move=move)
    return plan if model.complete else without_needless_changes(instance, plan)


def _pods_of_unit(kind: Kind, m: int) -> tuple[int, ...]:
    """Return the pods of the kind's unit number m."""
    return kind.pods[m * kind.pods_per_unit : (m + 1) * kind.pods_per_unit]


def _places_of_hosts(model: Model, hosts: Mapping[int, Sequence[int]]) -> IntArray:
    """Return pods by shape and node. hosts: shape -> nodes of the pods of all jobs of the group.

    Domain by domain, each job in turn takes its number of pods, in complete slices.
    """
    instance = model.instance
    place = np.zeros(instance.shape_nodes.shape, dtype=np.int64)
    for k, nodes in hosts.items():
        level, count = int(instance.shape_level[k]), int(instance.shape_count[k])
        ordered = sorted(nodes, key=lambda n: int(instance.node_domain[level, n])) if level >= 0 else nodes
        for i, n in enumerate(ordered):
            place[model.shapes[k][i // count], n] += 1
    return place


def _encode_plan(model: Model, plan: Plan) -> list[tuple[int, int]]:
    """Return (variable, value) pairs of a plan, as far as they follow directly from it."""
    pairs = [(s, int(plan.start[model.alike[j]].sum())) for j, s in model.start.items()]
    pairs += {x: int(plan.evict[u]) for u, x in model.evict.items()}.items()
    moved_units = set(model.instance.moved(plan.move))
    pairs += [(m, int(u in moved_units)) for u, m in model.move.items()]
    pairs += [(z, int(all(plan.evict[u] for u in units))) for z, units in model.lost.values()]
    if plan.place.size:
        for (k, p), v in model.put.items():
            if p in model.each or isinstance(model.places[p], Pool):
                there = plan.place[np.ix_(model.shapes[k], model.places[p].nodes)].sum(axis=0)
                pairs.append((v, int(there.sum())))
                if p in model.each:
                    pairs.append((model.each[p], int(there.max())))
    return pairs
