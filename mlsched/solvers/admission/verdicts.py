"""The verdict on a scheduler's decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlsched.instances.admission import Instance, Plan
from mlsched.solvers.admission._verdict import Needs, Verdict


def judge_decision(
    instance: Instance,
    decision: Plan | Iterable[int],
    *,
    jobs: Sequence[int] | None = None,
    objectives: Sequence[str] | None = None,
    first: Sequence[str] = ("top_priority",),
    time_limit: float | None = None,
    seed: int = 0,
    confirm: bool = False,
) -> Verdict:
    """Judge what a scheduler decided: whom it evicts so that jobs start.

    decision: a plan, or the numbers of the units that are evicted (none: the scheduler lets the jobs wait). jobs: those
    that the decision is meant to start; by default the plan's, or all where somebody is evicted, or none. objectives:
    those of the front (default: victims, lost, and budget_violations and moves where the instance has any). first:
    objectives that are compared before the front, after the jobs that wait. confirm: HiGHS must agree with CP-SAT.
    """
    raise NotImplementedError


def what_it_takes(
    instance: Instance, *, jobs: Sequence[int] | None = None, time_limit: float | None = None, seed: int = 0
) -> Needs:
    """The smallest changes with which the jobs (default: all) start and nobody is evicted, each proved minimal."""
    raise NotImplementedError
