"""Of what the distance of a run from a bound is made: the runs that the parts are measured by."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable

from mlsched.api.runs import simulate
from mlsched.core.arguments import explained
from mlsched.core.errors import InvalidInput
from mlsched.simulation import Run
from mlsched.simulation.taskgraph.iterations import Jobs
from mlsched.simulation.taskgraph.iterations import bound as bounds
from mlsched.simulation.taskgraph.iterations.reference import decomposition as steps
from mlsched.simulation.taskgraph.iterations.reference import proof
from mlsched.simulation.taskgraph.iterations.reference.decomposition import Decomposition, Step, World
from mlsched.simulation.taskgraph.iterations.reference.folder import Reference

#: The rules whose best run is the schedule of a world, by whether jobs may pause there: all know the running times.
INFORMED = {True: ("srpt:preempt=true", "srpt:size=time,preempt=true"), False: ("srpt", "srpt:size=time")}


@explained
def decompose(run: Run, references: Iterable[Reference] = ()) -> Decomposition:
    """Tell of what a run's distance from a bound is made: parts that add up, each at least and at most so much.

    They are node shape, the price of pauses, forgone preemption, and what the rule does not know. In each world from
    one large node, where pausing is free, to the run's own, rules that know the running times are run: some eight runs
    the first time, fewer for further runs of the same workload.

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
    return steps.decomposed(run.answerer, int(run.summary()["total_jct"]), found, informed, rule)


def _sound(run: Run) -> list[World]:
    worlds = steps.worlds(run)
    if findings := run.lint():
        raise InvalidInput(f"{run.answerer}: no parts, since the log cannot have been so: {findings[0]}")
    return worlds


def _known(world: World) -> Step:
    return Step(world.part, _bound(world.jobs, world.pausing), _best(world)[0])


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


def _best(world: World) -> tuple[int, str]:
    return min((_total(world.jobs, rule, world.pausing, world.movement), rule) for rule in INFORMED[world.pausing])


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
