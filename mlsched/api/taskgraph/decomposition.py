"""Of what the distance of a run from a bound is made: the runs that the parts are measured by."""

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

#: The rules that know the running times, by whether jobs may pause. Their best run is the schedule of a world in which
#: jobs are not free to pause and move; elsewhere it is the best schedule by ranks, which is better and sooner found.
INFORMED = {True: ("srpt:preempt=true", "srpt:size=time,preempt=true"), False: ("srpt", "srpt:size=time")}
#: Those that know the rates as well, where nodes are of several types.
RATES = {True: ("fastest-first:preempt=true",), False: ("fastest-first", "earliest-finish")}


@validate_arguments
def decompose(run: Run, references: Iterable[Reference] = ()) -> Decomposition:
    """Tell of what a run's distance from a bound is made: parts that add up, each at least and at most so much.

    They are node shape, the price of pauses, forgone preemption, and what the rule does not know. In each world from
    one large node, where pausing is free, to the run's own, a schedule that knows the running times is made, by ranks
    or by runs of rules; further runs of the same workload take it over.

    Args:
        run: of a log's workload.
        references: of the same workload, counting every job alike, recomputed (`check_reference`): they make what is
            known of the best schedule narrower.

    Raises:
        InvalidInput: the run is of no log, or of a log that cannot have been so; nodes fail, usage is drawn or work is
            lost at pauses; or a reference is of another workload.

    Examples:
        >>> work = mlsched.workload("synthetic:gangs", jobs=8)
        >>> found = mlsched.decompose(mlsched.simulate(work, "fifo"))
        >>> sum(part.value for part in found.parts) == found.total - found.bound
        True
    """
    found = [_known(world) for world in _sound(run)]
    for reference in references:
        if reference.workload_hash != proof.identity(run.workload) or reference.weights != "jobs":
            raise InvalidInput(
                f"parts: a reference is of {reference.source} on {reference.cluster}, or weights jobs; give one of the "
                "run's workload with weights jobs"
            )
        found = [_with(step, reference, run) for step in found]
    informed, rule = _best(steps.worlds(run)[-1])
    return steps.decomposed(run.solver, int(run.summary()["total_jct"]), found, informed, rule)


def _sound(run: Run) -> list[World]:
    worlds = steps.worlds(run)
    if findings := run.lint():
        raise InvalidInput(f"{run.solver}: no parts, since the log cannot have been so: {findings[0]}")
    return worlds


def _known(world: World) -> Step:
    ranked = _ranked(world.jobs) if world.pausing and world.movement == "anytime" else None
    # A bound knows of no price, and of no moves: the worlds that differ in these share one.
    alike = world.jobs.replace(pause_cost=np.zeros_like(world.jobs.pause_cost), movement="anytime")
    return Step(world.part, _bound(alike, world.pausing), _best(world)[0] if ranked is None else ranked)


def _with(step: Step, reference: Reference, run: Run) -> Step:
    """A step with what a reference says of its world."""
    whole = not reference.pausing
    holds = not whole or step.part == steps.WHOLE_RUNS
    possible = whole or step.part != steps.WHOLE_RUNS
    if step.part == steps.STAY and reference.pausing:  # its jobs may move as the workload says
        possible = run.options.movement == "given"
    return Step(
        step.part,
        max(step.bound, reference.bound) if holds and step.part else step.bound,
        min(step.value, reference.value) if possible else step.value,
    )


@functools.lru_cache(maxsize=16)
def _bound(jobs: Jobs, pausing: bool) -> int:
    return int(bounds.bound(jobs, pausing)["total_jct"])


@functools.lru_cache(maxsize=16)
def _ranked(jobs: Jobs) -> int | None:
    """The total of the best schedule by ranks, judged; None where jobs start in parts, or not all find nodes by it."""
    best: list[ByRank] = []
    try:
        asked = question(jobs, np.ones_like(jobs.arrival))
        ranks.search(asked, 0, 0, lambda *_: False, lambda found, _: best.append(found))
    except InvalidInput:
        return None
    log = log_of(asked, best[-1].rows)
    options = dataclasses.replace(files.options(True), movement="anytime")
    wrong = replay.violations(jobs, options, Wake.parse("events"), log)
    assert not wrong, f"by rank: {wrong[0]}"
    return files.total(jobs, log, "jobs")


def _best(world: World) -> tuple[int, str]:
    rules = INFORMED[world.pausing] + (RATES[world.pausing] if world.jobs.slowness.size else ())
    return min((_total(world.jobs, rule, world.pausing, world.movement), rule) for rule in rules)


@functools.lru_cache(maxsize=64)
def _total(jobs: Jobs, rule: str, pausing: bool, movement: str) -> int:
    """The total of a rule that knows the running times; its run passes the replay."""
    options = {"pausing": "keep" if pausing else "none", "movement": movement, "information": "oracle"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on load, which the run itself has said
        run = simulate(jobs, rule, options=options)
    wrong = run.violations()
    assert not wrong, f"{rule}: {wrong[0]}"
    return int(run.summary()["total_jct"])
