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
    layout, spent = sharpened(state.layout, state.seconds)
    made = DueModel(layout, (state.objective,), pools(layout) + packed(layout))
    made.cp.minimize(state.sign * made.terms[state.objective])
    limits = state.remaining(SHARE)
    if limits.seconds is None and limits.work is None:
        limits = dataclasses.replace(limits, work=UNLIMITED_WORK)
    cut = Cut(made, limits, state.helpers)
    result = run_for(state, cut)
    state.spend(spent + cut.work + BUILDING * len(made.cp.proto.constraints))
    if result is False:
        state.refuse_all()
    if cut.bound is not None:
        state.raise_lower(round(cut.bound) + state.sign * made.constant[state.objective])
