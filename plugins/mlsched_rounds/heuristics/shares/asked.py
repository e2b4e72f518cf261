"""What a policy of Gavel's world is asked, and what it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched_rounds.heuristics.accounts import Unit
from mlsched_rounds.heuristics.pairs import Together
from mlsched_rounds.solvers.shares import Floats, Optimum


@dataclasses.dataclass(frozen=True)
class Asked:
    """The jobs that there are at a reset, in order of arrival.

    jobs: their numbers; rate: steps per second on each type, jobs x types; gpus: that each holds; weight: 1 is
    ordinary; remaining: steps; age: seconds since arrival; served: GPU-seconds so far; capacity: GPUs of each type;
    types: their names, in the order in which they are filled. runs: jobs x types, whether a job can run there at all,
    which `fifo` checks although it knows no rates.

    For a policy that packs, units: jobs and pairs of jobs in the order of the accounts; together: steps per second of
    two jobs that share their GPUs, 2 x types, 0 where they do not fit.
    """

    jobs: IntArray
    rate: Floats
    gpus: IntArray
    weight: Floats
    remaining: Floats
    age: Floats
    served: Floats
    capacity: IntArray
    types: tuple[str, ...]
    runs: npt.NDArray[np.bool_]
    units: Sequence[Unit] = ()
    together: Together | None = None


@dataclasses.dataclass(frozen=True)
class Readings:
    """What a policy is told of a run. seed: of its own draws. fifo: the type that `fifo` draws is "stale", overwritten
    by the last one looked at, as Gavel's program has it, or as "drawn". optimum: see `solvers/rounds/_linear`.
    first: seconds of the first interval of `fluid_mpc`, usually a round."""

    seed: int = 0
    fifo: Literal["stale", "drawn"] = "stale"
    optimum: Optimum = "interior"
    first: float = 360.0


#: Shares of the asked jobs, jobs x types; under a policy that packs, of the units. One that remembers something of jobs
#: names the fields (`remembers`), each a dictionary by the jobs' numbers.
Shares = Callable[[Asked], Floats]


def remembered(shares: Shares) -> dict[str, list[Any]]:
    """What a policy remembers, as JSON holds it: name of the field -> [[number of the job, value], ...]."""
    return {name: [list(one) for one in getattr(shares, name).items()] for name in getattr(shares, "remembers", ())}


def recall(shares: Shares, memory: Mapping[str, list[Any]]) -> None:
    """Give a policy that has just been started what another of its kind remembered."""
    for name, entries in memory.items():
        getattr(shares, name).update((job, value) for job, value in entries)


@dataclasses.dataclass(frozen=True)
class Policy:
    """A policy by name: `start(interpretations)` gives the function that is asked in one run.

    aware: it knows rates, and types are filled in their order; else in an order drawn anew for each round (whether
    "Perf" is in the name of the policy decides that in Gavel's program). strict: jobs without a priority do not run
    (FIFO). packs: two jobs may share their GPUs; only the simulator of rounds runs such a policy.
    """

    name: str
    start: Callable[[Readings], Shares]
    aware: bool = False
    strict: bool = False
    packs: bool = False
    doc: str = ""
