"""The configuration model of `_master` in Pyomo, for users.

In a complete model each server is its own class, and all configurations are included.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlsched.core.aliases import BackendModel, Expression, Variable
from mlsched.core.formulation import Formulation, Term
from mlsched.core.models import Size
from mlsched.formulations.placement._configurations import Space, TooMany
from mlsched.formulations.placement._linear import matrix
from mlsched.formulations.placement._master import Master, build, part_table, plan_of
from mlsched.instances.placement import Instance, Plan
from mlsched.instances.placement.pace import Pace

#: Most configurations that are listed for a model without a limit on its size.
MOST_CONFIGURATIONS = 400_000


def model(instance: Instance, objectives: tuple[str, ...], size: Size) -> Formulation:
    """Return the model of this module's docstring; its one objective is total_speed."""
    space = Space(instance, Pace(instance), merge=not size.complete)
    most = MOST_CONFIGURATIONS if size.most is None else size.most
    try:
        table = space.configurations(-1 if size.complete else _running_speed(space) - 1, most)
    except TooMany:
        Size(size.complete, most).check(most + 1)
        raise
    master = build(space, table)
    size.check(len(table) + len(master.cuts.job) + int((master.last == 0).sum()))
    return _write_model(master)


def _running_speed(space: Space) -> int:
    """Return the value of the plan in which all new jobs wait."""
    return int(space.best[: space.running].sum())


def _write_model(master: Master) -> Formulation:
    import pyomo.environ as pyo

    space, table, mip = master.space, master.table, pyo.ConcreteModel()
    servers = [c.servers[0] for c in space.classes]
    uses = [(servers[k], c) for c, k in enumerate(table.group.tolist())]
    cuts = list(zip(*(x.tolist() for x in (master.cuts.job, master.cuts.pattern, master.cuts.speed)), strict=True))
    links = _link_labels(master)
    spares = [link for link, last in zip(links, master.last.tolist(), strict=True) if not last]
    count = {servers[k]: len(c.servers) for k, c in enumerate(space.classes)}
    mip.use = pyo.Var(uses, domain=pyo.Integers, bounds=lambda _, s, c: (0, count[s]))
    mip.run = pyo.Var(cuts, domain=pyo.Binary)
    mip.spare = pyo.Var(spares, domain=pyo.Integers, bounds=(0, len(space.instance.server_free)))
    columns = [*(mip.use[key] for key in uses), *(mip.run[key] for key in cuts), *(mip.spare[key] for key in spares)]
    names = [
        *(("link", link) for link in links),
        *(("server", s) for s in servers),
        *(("job", j) for j in range(space.total)),
        ("most", None),
    ]
    for group in ("link", "server", "job", "most"):
        setattr(mip, group, pyo.Constraint(pyo.Any))
    rows, places, values, lower, upper, _ = matrix(master)
    terms: list[list[Expression]] = [[] for _ in names]
    for row, place, value in zip(rows.tolist(), places.tolist(), values.tolist(), strict=True):
        terms[row].append(round(value) * columns[place])
    for (group, index), own, low, high in zip(names, terms, lower.tolist(), upper.tolist(), strict=True):
        if own:
            ends = (None if low == -np.inf else round(low), round(high))
            getattr(mip, group)[index] = (ends[0], sum(own), ends[1])
        elif low > 0:  # a running job without a place
            getattr(mip, group)[index] = pyo.Constraint.Infeasible
    _add_hosted_counts(mip, master, uses)

    def decode(value_of: Callable[[Variable], int]) -> Plan:
        return plan_of(master, np.array([value_of(mip.use[key]) for key in uses], dtype=np.int64))

    def encode(plan: Plan) -> list[tuple[Variable, int]]:
        pairs = []
        for key, w, p in zip(uses, table.w[:, space.running :], table.p[:, space.running :], strict=True):
            own = next(c.servers for c in space.classes if c.servers[0] == key[0])
            same = [bool((plan.workers[:, s] == w).all() and (plan.ps[:, s] == p).all()) for s in own]
            pairs.append((mip.use[key], sum(same)))
        return pairs

    total = sum(speed * mip.run[job, pattern, speed] for job, pattern, speed in cuts)
    return Formulation(mip, {"total_speed": (Term(1, total),)}, decode, encode)


def _link_labels(master: Master) -> list[tuple[int, int, int]]:
    """Return (job, part, level) of each link row; the fastest level of a part is 0."""
    parts = part_table(master.space, master.table)
    result: dict[int, tuple[int, int]] = {}
    for c, job in np.argwhere(master.supply >= 0).tolist():
        result[int(master.supply[c, job])] = job, int(parts[c, job])
    links: list[tuple[int, int, int]] = []
    level = 0
    for row, last in enumerate(master.last.tolist()):
        links.append((*result[row], level))
        level = 0 if last else level + 1
    return links


def _add_hosted_counts(mip: BackendModel, master: Master, uses: list[tuple[int, int]]) -> None:
    """Add expressions workers[job, server] and ps[job, server] of new jobs; a class uses its first server."""
    import pyomo.environ as pyo

    for name, hosted in (("workers", master.table.w), ("ps", master.table.p)):
        sums: dict[tuple[int, int], Expression] = {}
        for c, job in np.argwhere(hosted[:, master.space.running :] > 0).tolist():
            key = job, uses[c][0]
            number = int(hosted[c, master.space.running + job])
            sums[key] = sums.get(key, 0) + number * mip.use[uses[c]]
        every = [(j, c.servers[0]) for j in range(master.space.jobs) for c in master.space.classes]
        setattr(mip, name, pyo.Expression(every, initialize={key: sums.get(key, 0) for key in every}))
