"""Objectives that depend only on the deadlines, by cutting planes on the model of work due by then.

If the interval model does not prove them at once, many gangs compete to end before the same deadlines. Cutting planes
on `_due.DueModel` soon show whether they fit. That is rare: without it 2 of about 200 solves stay open that
take half a second with it (`six-replicas` 2, total_accuracy, and 1012, deadlines_met).
"""

from __future__ import annotations

import dataclasses

from mlsched.formulations.taskgraph._due import DueModel
from mlsched.formulations.taskgraph._pools import packed, pools
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.proofs.cutting_planes import Cut, run_for
from mlsched.solvers.taskgraph.state import BUILDING, State

#: Share of the limits for cutting planes, and their deterministic time without limits.
SHARE, UNLIMITED_WORK = 0.6, 20.0


def prove(state: State) -> None:
    """Search the due model for a part of the limits."""
    layout, work_spent = sharpened(state.layout, state.seconds)
    due_model = DueModel(layout, (state.objective,), pools(layout) + packed(layout))
    due_model.cp.minimize(state.sign * due_model.terms[state.objective])
    limits = state.remaining(SHARE)
    if limits.seconds is None and limits.work is None:
        limits = dataclasses.replace(limits, work=UNLIMITED_WORK)
    cut_search = Cut(due_model, limits, state.helpers)
    result = run_for(state, cut_search)
    state.spend(work_spent + cut_search.work + BUILDING * len(due_model.cp.proto.constraints))
    if result is False:
        state.refuse_all()
    if cut_search.bound is not None:
        state.raise_lower(round(cut_search.bound) + state.sign * due_model.constant[state.objective])
