"""Decomposition of a run's gap to a bound: the runs by which its parts are measured."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Iterable

import numpy as np

from mlsched.api.runs import simulate
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.simulation import Run
from mlsched.simulation.taskgraph.iterations import Jobs, replay
from mlsched.simulation.taskgraph.iterations import bound as bounds
from mlsched.simulation.taskgraph.iterations.reference import decomposition as steps
from mlsched.simulation.taskgraph.iterations.reference import folder as files
from mlsched.simulation.taskgraph.iterations.reference import proof, ranks
from mlsched.simulation.taskgraph.iterations.reference.by_rank import ByRank
from mlsched.simulation.taskgraph.iterations.reference.decomposition import Decomposition, Step, World
from mlsched.simulation.taskgraph.iterations.reference.folder import Reference
from mlsched.simulation.taskgraph.iterations.reference.question import log_of, question
from mlsched.simulation.wake import Wake

#: Rules that know the running times, by whether jobs may pause. Their best run is the schedule of a simulator in which
#: jobs cannot pause and move freely; otherwise the best schedule by ranks is better and found sooner.
INFORMED = {True: ("srpt:preempt=true", "srpt:size=time,preempt=true"), False: ("srpt", "srpt:size=time")}
#: Rules that also know the rates, for nodes of several types.
RATES = {True: ("fastest-first:preempt=true",), False: ("fastest-first", "earliest-finish")}


@validate_arguments
def decompose(run: Run, references: Iterable[Reference] = ()) -> Decomposition:
    """Decompose a run's gap to its lower bound into causes.

    The causes are node shape, preemption cost, forgone preemption, and information that the rule lacks. Each part has a
    lower and an upper limit; the parts add up to the gap. Between one large node with free pauses and the run's own
    simulator lies a chain of simulators. For each of them a schedule with known running times is computed, by ranks or
    by runs of rules; further runs of the same workload reuse it.

    Args:
        run: A run of a log's workload.
        references: References of the same workload with equal weights, recomputed (`check_reference`); they narrow the
            interval of the best schedule.

    Returns:
        The decomposition.

    Raises:
        InvalidInput: The run is not of a log, or its log is impossible; nodes fail, usage is random or pauses lose
            work; or a reference belongs to another workload.

    Examples:
        >>> work = mlsched.workload("synthetic:gangs", jobs=8)
        >>> found = mlsched.decompose(mlsched.simulate(work, "fifo"))
        >>> sum(part.value for part in found.parts) == found.total - found.bound
        True
    """
    chain = [_step_of(world) for world in _checked_worlds(run)]
    for reference in references:
        if reference.workload_hash != proof.identity(run.workload) or reference.weights != "jobs":
            raise InvalidInput(
                f"parts: a reference is of {reference.source} on {reference.cluster}, or weights jobs; give one of the "
                "run's workload with weights jobs"
            )
        chain = [_narrowed_step(step, reference, run) for step in chain]
    informed, rule = _best(steps.worlds(run)[-1])
    return steps.decomposed(run.solver, int(run.summary()["total_jct"]), chain, informed, rule)


def _checked_worlds(run: Run) -> list[World]:
    worlds = steps.worlds(run)
    if findings := run.lint():
        raise InvalidInput(f"{run.solver}: the log is impossible, so its gap cannot be split: {findings[0]}")
    return worlds


def _step_of(world: World) -> Step:
    total_by_ranks = _total_by_ranks(world.jobs) if world.pausing and world.movement == "anytime" else None
    # A bound ignores costs and moves: simulators that differ only in these share one.
    relaxed = world.jobs.replace(pause_cost=np.zeros_like(world.jobs.pause_cost), movement="anytime")
    return Step(
        world.part, _bound(relaxed, world.pausing), _best(world)[0] if total_by_ranks is None else total_by_ranks
    )


def _narrowed_step(step: Step, reference: Reference, run: Run) -> Step:
    """Return a step narrowed by a reference of its simulator."""
    complete_runs = not reference.pausing
    bound_applies = not complete_runs or step.part == steps.WHOLE_RUNS
    value_applies = complete_runs or step.part != steps.WHOLE_RUNS
    if step.part == steps.STAY and reference.pausing:  # its jobs may move as the workload allows
        value_applies = run.options.movement == "given"
    return Step(
        step.part,
        max(step.bound, reference.bound) if bound_applies and step.part else step.bound,
        min(step.value, reference.value) if value_applies else step.value,
    )


@functools.lru_cache(maxsize=16)
def _bound(jobs: Jobs, pausing: bool) -> int:
    return int(bounds.bound(jobs, pausing)["total_jct"])


@functools.lru_cache(maxsize=16)
def _total_by_ranks(jobs: Jobs) -> int | None:
    """Return the total of the best schedule by ranks, judged; None if jobs start in parts, or some do not fit."""
    best: list[ByRank] = []
    try:
        instance = question(jobs, np.ones_like(jobs.arrival))
        ranks.search(instance, 0, 0, lambda *_: False, lambda schedule, _: best.append(schedule))
    except InvalidInput:
        return None
    log = log_of(instance, best[-1].rows)
    options = dataclasses.replace(files.options(True), movement="anytime")
    faults = replay.violations(jobs, options, Wake.parse("events"), log)
    assert not faults, f"by rank: {faults[0]}"
    return files.total(jobs, log, "jobs")


def _best(world: World) -> tuple[int, str]:
    rules = INFORMED[world.pausing] + (RATES[world.pausing] if world.jobs.slowness.size else ())
    return min((_total(world.jobs, rule, world.pausing, world.movement), rule) for rule in rules)


@functools.lru_cache(maxsize=64)
def _total(jobs: Jobs, rule: str, pausing: bool, movement: str) -> int:
    """Return the total of a rule that knows the running times; its run must pass the replay."""
    options = {"pausing": "keep" if pausing else "none", "movement": movement, "information": "oracle"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about load, which the run itself has shown
        run = simulate(jobs, rule, options=options)
    faults = run.violations()
    assert not faults, f"{rule}: {faults[0]}"
    return int(run.summary()["total_jct"])
