"""The interpretations of Gavel that change results: one field each."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """Options of the simulator of `rounds`. The defaults follow the program that Gavel's authors published.

    Attributes:
        round: Maximum length of a round in seconds.
        resume: Seconds of steps that a job loses if it did not run in the previous round (Shockwave: 20). The first
            round is free, and so is a slice that ends 5 s before the round could.
        reset: Minimum time between two calls of the policy for shares, in seconds.
        seed: Seed of the order of types, of random policies (Gavel's `--seed`) and of HiGHS.
        shares: Policy that computes shares at each reset; empty: the solver decides every round.
        remainder: Job with fewer steps left than GPUs. "dropped": dropped after five failed slices. "run": it runs.
        gaps: Idle time before a slice. "booked": counts as work. "idle": does not.
        fifo: Type that `fifo` draws. "stale": overwritten by the last type in the alphabet. "drawn": as drawn.
        unaware: Rates that policies without rates see. "first": the rates of the type that is filled first (v100).
            "average": the mean over all GPUs.
        optimum: Optimum of a linear program. "interior": a point in the middle, as Gavel's conic solver. "vertex": a
            corner. Mean completion times differ by up to 4 percent (14 for `min_total_duration`).
        first: Seconds of the first interval of `fluid_mpc`; 0: one round. Jobs that end in it are not ordered.
        oversized: Type with fewer GPUs than a job needs. "allocated": gets a share. "excluded": gets none.
        emptied: Job that a change of batch size completes. "failed": it uses its GPUs for five empty slices. "ended":
            it ends.
        plan: Planner of windows of rounds: "shockwave" or "".
        window: Rounds in a window of Shockwave.
        replan: Maximum number of rounds between two plans of Shockwave.
        makespan: k, Shockwave's weight of the makespan.
        fairness: lambda, the power of Shockwave's weights.
        ratio: rho of Shockwave: a job with a larger finish-time ratio is behind.
        gap: Relative gap at which HiGHS stops in Shockwave.
        order: Order of the rounds in a window. "program": a second integer program. "list": a faster heuristic.
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
