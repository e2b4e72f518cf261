"""Assumptions of a run of the task engine that change its numbers, in words."""

from __future__ import annotations

from mlsched.simulation.taskgraph.options import Options
from mlsched.simulation.taskgraph.workload import Workload

_MOVEMENT = {
    "none": "none: a task stays on the node where it first ran",
    "between_iterations": "between iterations, tasks may change their nodes",
    "anytime": "at any time: tasks may move, and resume after a pause on any nodes",
}


def assumed(workload: Workload, options: Options) -> dict[str, str]:
    """Return name -> a sentence without its final period."""
    horizon = workload.horizon
    movement = horizon.movement if options.movement == "given" else options.movement
    length = f"{horizon.tick_ms / 1000:g} s" if horizon.tick_ms else "of no stated length"
    return {
        "shape": "a job's graph says which tasks it has; each starts alone, on a node of its own or shared",
        "pause cost": _cost_text(
            workload.pause_cost, horizon.tick_ms, options.pausing != "none" or movement == "anytime"
        ),
        "movement": _MOVEMENT[movement],
        "tick": f"{length}; tasks start, pause and end at whole ticks",
    }


def _cost_text(cost: int, tick_ms: int, pauses: bool) -> str:
    if not pauses:
        return "tasks do not pause here"
    if not cost:
        return "none: tasks resume after a pause without cost"
    span = f"{cost * tick_ms / 1000:g} s" if tick_ms else f"{cost} ticks"
    return f"a task that resumes after a pause or a move occupies its node for {span} without progress"
