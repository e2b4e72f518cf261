"""Assumptions of a run that change its numbers: shape, pause cost, movement, length of a tick."""

from __future__ import annotations

import numpy as np

from mlsched.core.brief import count_of
from mlsched.simulation.nodes import WORDS
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs


def assumed(jobs: Jobs, options: Options) -> dict[str, str]:
    """Return name -> a sentence without its final period."""
    return {
        "shape": _shape_text(jobs),
        "pause cost": _cost_text(jobs, options),
        "movement": _movement_text(jobs.moving(options.pausing, options.movement), options.pausing),
        "tick": _tick_text(jobs),
        **({"failures": _failure_text(jobs, options)} if len(jobs.failure_node) else {}),
    }


def _failure_text(jobs: Jobs, options: Options) -> str:
    """Describe the failures of nodes, and the work that jobs keep."""
    kept_work = "their whole iterations" if options.restart == "checkpoint" else "nothing"
    many = len(jobs.failure_node)
    return (
        f"{count_of(many, 'node failure')}; jobs that have a task there stop, keep {kept_work}, and resume on any nodes"
    )


def _shape_text(jobs: Jobs) -> str:
    """Describe the most nodes of a job, and their share that it uses."""
    many = np.bincount(jobs.task_template, minlength=len(jobs.gang))[jobs.template]
    if not many.size:
        return "no jobs"
    most = ", ".join(_amount_text(n, name) for n, name in zip(_largest_sizes(jobs), jobs.resources, strict=True) if n)
    low, high = int(many.min()), int(many.max())
    if low == high:
        tasks = f"each job has {count_of(low, 'task')}"
    else:
        single = f" ({100 * float((many == 1).mean()):.3g} % of the jobs: one)" if low == 1 else ""
        tasks = f"a job has {low} to {high} tasks{single}"
    return f"a task is the part of a job on one node; {tasks}, at most {most or '0 of each resource'} each"


def _largest_sizes(jobs: Jobs) -> list[int]:
    used_tasks = np.isin(jobs.task_template, jobs.template)
    return [int(amount) for amount in jobs.demand[used_tasks].max(axis=0, initial=0)]


def _amount_text(count: int, resource: str) -> str:
    word, factor = WORDS.get(resource, (resource, 1))
    return f"{count / factor:.10g} {word}"


def _cost_text(jobs: Jobs, options: Options) -> str:
    if options.pausing == "none" and options.movement != "anytime" and not len(jobs.failure_node):
        return "jobs do not pause here"
    if not jobs.pause_cost.any():
        return "none: jobs resume after a pause without cost"
    low, high = (float(cost) / WHOLE for cost in (jobs.pause_cost.min(), jobs.pause_cost.max()))
    factor, unit = (jobs.tick_ms / 1000, "s") if jobs.tick_ms else (1.0, "ticks")
    span = f"{low * factor:g}" if low == high else f"{low * factor:g} to {high * factor:g}"
    return f"a job that resumes after a pause or a move occupies its nodes for {span} {unit} without progress"


def _movement_text(movement: str, pausing: str) -> str:
    if movement == "none":
        return "none: jobs stay on their nodes" if pausing == "none" else "none: paused jobs resume on their old nodes"
    if movement == "between_iterations":
        return "between iterations, jobs may change their nodes"
    return "at any time: jobs may move, and resume after a pause on any nodes"


def _tick_text(jobs: Jobs) -> str:
    length = f"{jobs.tick_ms / 1000:g} s" if jobs.tick_ms else "of no stated length"
    return f"{length}; jobs start, pause and end at whole ticks, ends rounded up"
