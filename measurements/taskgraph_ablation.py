"""Effect of each step of the exact search for total_jct, by leaving it out on fresh seeds.

    python measurements/taskgraph_ablation.py --preset six-replicas --seeds 1020-1039
    python measurements/taskgraph_ablation.py --preset eight-replicas --seeds 1000-1007 --without counts annealing

One thread and a limit of CP-SAT's deterministic time: a busy machine gives the same plans and bounds. Only seeds
that the first second of the interval model leaves open are searched, from what comes after it on: all others never come
to these steps. Deterministic time is summed over the instances that both searches prove.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import mlsched
from mlsched.core.formulation import Limits, Outcome
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import LinearBound
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.solvers.backends.limits import WORK
from mlsched.solvers.taskgraph import completion, one_objective
from mlsched.solvers.taskgraph.intervals import solve_intervals
from mlsched.solvers.taskgraph.plans import improvement, schedule
from mlsched.solvers.taskgraph.proofs import values
from mlsched.solvers.taskgraph.state import State


def uncounted(original: Callable[..., TimeIndexed]) -> Callable[..., TimeIndexed]:
    """The time-indexed model without counts."""
    return lambda *args, **kwargs: original(*args, **{**kwargs, "counting": False})


class OneByOne(values.Steps):
    """Values refuted one by one."""

    def refuted(self, value: int, work: float) -> None:
        """The next value is always the next larger one."""


#: Step -> what to replace to do without it: (object, attribute, replacement).
STEPS: dict[str, tuple[Any, str, Any]] = {
    "jobs alone": (completion, "sharpened", lambda layout: (layout, 0.0)),
    "packing": (completion, "packed", lambda layout: []),
    "annealing": (schedule, "DECODINGS", 0),
    "linear relaxation": (completion, "relax", lambda *_: (None, 0.0)),
    "windows from prices": (LinearBound, "windows", lambda self, value: None),
    "counts": (values, "TimeIndexed", uncounted(TimeIndexed)),
    "steps of several values": (values, "Steps", OneByOne),
    "neighbourhoods": (improvement, "STALE", (0, 0)),
    "attempts by cutting planes": (improvement, "STALE", (10**9, 10**9)),
    "attempts near the incumbent": (improvement.Improvement, "_attempt_near", lambda self: None),
    "better plans": (improvement.Improvement, "step", lambda self: self._state.spend(1.0)),
}


@contextlib.contextmanager
def without(step: str) -> Iterator[None]:
    """The search without a step ("nothing": the whole search)."""
    with mock.patch.object(*STEPS[step]) if step in STEPS else contextlib.nullcontext():
        yield


def is_hard(instance: Any) -> bool:
    """Whether half a unit of deterministic time, about a second, leaves it open."""
    state = State(Layout.of(one_objective._mandatory(instance)), "total_jct", Limits(), 0.0)
    solve_intervals(state, state.at_most(0.5))
    return not state.closed


def measure(step: str, instances: dict[int, Any], work: float) -> dict[int, Outcome]:
    """The outcome by seed, without a step."""
    with without(step):
        return {
            seed: one_objective.search(instance, "total_jct", Limits(work=work), None, time.perf_counter(), first=False)
            for seed, instance in instances.items()
        }


def shown(instance: Any, found: Outcome) -> str:
    """Value and bound."""
    value = None if found.plan is None else instance.evaluate(found.plan)["total_jct"]
    return f"{value}/{found.bound}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="six-replicas")
    parser.add_argument("--seeds", default="1020-1039")
    parser.add_argument("--work", type=float, default=6.0)
    parser.add_argument("--without", nargs="*", default=list(STEPS), choices=list(STEPS))
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    drawn = {s: mlsched.generate("taskgraph", preset=options.preset, seed=s) for s in range(first, last + 1)}
    hard = {seed: instance for seed, instance in drawn.items() if is_hard(instance)}
    print(f"{options.preset}: {len(hard)} of {len(drawn)} seeds are hard: {list(hard)}", flush=True)
    whole: dict[int, Outcome] = {}
    for step in ["nothing", *options.without]:
        found = measure(step, hard, options.work)
        whole = whole or found
        both = [s for s in hard if whole[s].status == found[s].status == "optimal"]
        used, base = (sum(part[s].work[WORK] for s in both) for part in (found, whole))
        proved = sum(outcome.status == "optimal" for outcome in found.values())
        open_ = [f"{s}: {shown(hard[s], outcome)}" for s, outcome in found.items() if outcome.status != "optimal"]
        print(
            f"without {step:28} proved {proved}/{len(hard)}  work {used:6.1f} ({used / max(base, 1e-9):.2f}x of "
            f"{len(both)} proved by both)  open {', '.join(open_) or 'none'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
