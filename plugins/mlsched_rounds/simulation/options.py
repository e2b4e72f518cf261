"""The interpretations of Gavel that change results: one field each."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """How the world of rounds behaves. Its paper's program is Gavel's simulator: what it does is the default.

    round: seconds that a round lasts at most.
    resume: seconds of which a job that did not run in the round before does not do the steps; it holds its GPUs all the
        same (Shockwave: 20). Nothing is lost in the first round, nor by a slice that ends 5 s before the round could.
    reset: seconds for which shares stand at least, before the policy is asked anew.
    seed: of the order of types, and of a policy's own draws (Gavel's --seed).
    shares: the policy that gives shares at each reset ("" - none: the solver is asked every round who runs where).
    remainder: a slice of n steps on s GPUs gives n // s to each, the last takes the rest. "dropped" - where a GPU gets
        none the slice fails, and a job with fewer steps left than GPUs is dropped after five failures; "run" - it runs.
    gaps: the time booked for a slice begins "booked" - at the end of the last round in which anything ran, so that
        idle time before it counts as work; "idle" - with the round.
    fifo: the type that `fifo` draws is "stale" - overwritten by the last one looked at, so that jobs run on the type
        last in the alphabet; "drawn" - as drawn.
    unaware: policies that know no rates see of every type that of "first" - the type that is filled first (v100);
        "average" - the mean of the types' rates, by GPUs.
    optimum: where a linear program has many optima: "interior" - a point in the middle of them, as Gavel's conic solver
        gives it; "vertex" - a corner. Average completion times differ by up to 4 % (14 % for min_total_duration).
    first: seconds of the first interval of the program of `fluid_mpc`, which sees no order among jobs that end in it
        (0: a round).
    oversized: a type with fewer GPUs than the job needs is "allocated" - given shares of like any other; "excluded" -
        one on which it cannot run.
    emptied: a job to which a change of batch size gives all that remained (`adaptation`) is "failed" - it holds its
        GPUs for five slices without a step, which fail, and ends with the last; "ended" - done at once.
    plan: who plans windows of rounds: "shockwave", or "" - nobody. Of its plans: window - rounds that one is for;
        replan - rounds after which another is made at the latest; makespan, fairness, ratio - its k, lambda and rho;
        gap - relative, at which HiGHS stops; order - what puts a window's rounds in order, a second "program" as there
        or a "list", which is quicker; `seed` is HiGHS' own.
    """

    round: Annotated[int, Range(1, 86400)] = 360
    resume: Annotated[int, Range(0, 3600)] = 0
    reset: Annotated[int, Range(0, 10**7)] = 1920
    seed: Annotated[int, Range(0, 2**31)] = 0
    shares: str = ""
    remainder: Literal["dropped", "run"] = "dropped"
    gaps: Literal["booked", "idle"] = "booked"
    fifo: Literal["stale", "drawn"] = "stale"
    unaware: Literal["first", "average"] = "first"
    optimum: Literal["interior", "vertex"] = "interior"
    oversized: Literal["allocated", "excluded"] = "allocated"
    emptied: Literal["failed", "ended"] = "failed"
    plan: Literal["", "shockwave"] = ""
    window: Annotated[int, Range(1, 200)] = 20
    replan: Annotated[int, Range(1, 200)] = 8
    makespan: Annotated[float, Range(0, 1e6)] = 1e-3
    fairness: Annotated[float, Range(0, 100)] = 12.0
    ratio: Annotated[float, Range(0.01, 1e6)] = 1.0
    gap: Annotated[float, Range(0, 1)] = 1e-3
    order: Literal["program", "list"] = "program"
    first: Annotated[int, Range(0, 10**6)] = 0
