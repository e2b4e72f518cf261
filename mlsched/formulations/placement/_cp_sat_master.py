"""The configuration model for CP-SAT."""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import BackendModel, Expression, Variable
from mlsched.formulations.placement._master import Master


def model(master: Master, above: int) -> tuple[BackendModel, list[Variable], list[Variable]]:
    """Return (model, lambda variables, z variables); only solutions of value above `above` are feasible."""
    from ortools.sat.python import cp_model

    cp, space = cp_model.CpModel(), master.space
    count = [len(c.servers) for c in space.classes]
    groups = master.table.group.tolist()
    use = [cp.new_int_var(0, count[k], "") for k in groups]
    full = [cp.new_bool_var("") for _ in range(len(master.cuts.job))]
    for k, n in enumerate(count):
        cp.add(sum(use[c] for c in np.flatnonzero(master.table.group == k).tolist()) == n)
    by_job: list[list[Expression]] = [[] for _ in range(space.total)]
    for variable, job in zip(full, master.cuts.job.tolist(), strict=True):
        by_job[job].append(variable)
    for job, variables in enumerate(by_job):
        if job < space.running:
            cp.add_exactly_one(variables)
        else:
            cp.add_at_most_one(variables)
    if space.most < space.jobs:
        cp.add(sum(v for job in range(space.running, space.total) for v in by_job[job]) <= space.most)
    # Implied by the links, but CP-SAT reasons better with it: all workers and all PSs of a placed job are hosted.
    for job in range(space.running, space.total):
        placed = sum(by_job[job])
        for hosted, whole in ((master.table.w, space.pace.workers), (master.table.p, space.pace.ps)):
            here = np.flatnonzero(hosted[:, job]).tolist()
            cp.add(sum(int(hosted[c, job]) * use[c] for c in here) == int(whole[job]) * placed)
    terms: list[list[Expression]] = [[] for _ in range(master.rows)]
    for c, job in zip(*(x.tolist() for x in np.nonzero(master.supply >= 0)), strict=True):
        terms[int(master.supply[c, job])].append(use[c])
    for z, row, n in zip(
        master.demand_cut.tolist(), master.demand_row.tolist(), master.demand_count.tolist(), strict=True
    ):
        terms[row].append(-n * full[z])
    spare: Expression = 0
    for row in range(master.rows):
        balance = spare + sum(terms[row])
        if master.last[row]:
            cp.add(balance == 0)
            spare = 0
        else:
            spare = cp.new_int_var(0, len(space.instance.server_free), "")
            cp.add(balance == spare)
    value = sum(int(v) * z for v, z in zip(master.cuts.speed, full, strict=True))
    cp.add(value >= above + 1)
    cp.maximize(value)
    return cp, use, full
