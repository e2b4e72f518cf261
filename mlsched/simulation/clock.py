"""The clock: turns a workload into a sequence of instances, hands each to a solver, applies the plan, advances.

The clock knows no problem, and counts time in whole units of the world's choice (seconds, or parts of them). A `World`
owns the state and dynamics of one problem; it asks only when there is a choice to make. The clock owns the cadence
(`Wake`), the random stream (`default_rng([seed, decision_number])`, so that any decision can be replayed alone), the
memory of stateful rules, and the sampling of decisions for exact gaps.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import short_repr
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import MlschedError, SolverError, Stuck, describe_exception
from mlsched.core.interrupts import interrupts
from mlsched.core.params import Share
from mlsched.simulation.wake import Wake

#: A rule that has itself asked again so often, while nothing runs and nothing will arrive, is stuck.
MOST_IDLE_WISHES = 1000
#: Second word of the seed of the stream that samples decisions: apart from every decision's own stream [seed, number].
SAMPLING = 2**62


class World(Protocol):
    """One problem's simulated cluster."""

    def next_event(self) -> int | None:
        """When something next happens by itself (arrival, completion, release); None when nothing will."""

    def pending(self) -> bool:
        """Whether a question was answered with "wait" and should be asked again at the next tick."""

    def advance(self, time: int) -> None:
        """Let everything up to and including `time` happen, and do what needs no choice."""

    def ask(self) -> Instance | None:
        """The next question at the current time, None when there is no choice left to make now."""

    def apply(self, plan: Any) -> int | None:
        """Carry out the answer to the last question; may return a time at which the solver wants to be woken."""

    def unfinished(self) -> int:
        """How many jobs are not finished yet, those to come among them; the run ends when there is none."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """One recorded decision: enough to replay it alone."""

    number: int
    time: int
    instance: Instance
    plan: Plan
    memory: Any = None

    def __repr__(self) -> str:
        return short_repr(self, f"number {self.number} at time {self.time}", self.instance.kind)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A solver as the clock calls it: `call(instance, memory, rng) -> (plan, memory)`.

    options: of the world, that the solver implies (`Solver.world`); for adapters that make a world of their own.
    order: for a rule that is an order of jobs, the order; a world may serve it without making instances.
    """

    name: str
    call: Callable[[Instance, Any, np.random.Generator], tuple[Plan, Any]]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    order: Any = None

    def __repr__(self) -> str:
        return short_repr(self, self.name)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: `call` alone decides again."""
        return {**self.__dict__, "order": None}


@dataclasses.dataclass(frozen=True)
class Trip:
    """What the clock itself saw of a run."""

    decisions: int
    recorded: list[Decision]
    end: int


def decision_rng(seed: int, number: int) -> np.random.Generator:
    """The random stream of one decision of a run."""
    return np.random.default_rng([seed, number])


@validate_arguments
def run(
    world: World,
    rule: Rule,
    *,
    scheduling_events: Wake,
    seed: int,
    record: Share = 0.0,
    progress: Callable[[int, int], None] | None = None,
    unit: int | Fraction = 1,
) -> Trip:
    """Run `world` to its end, asking `rule`.

    record: share of decisions to keep (a seeded sample; 1.0 keeps all). progress(time, unfinished jobs) is called at
    every scheduling event. unit: the world counts time in so many parts of a second (1/60: minutes);
    `scheduling_events` is in seconds all the same. Raises SolverError for an infeasible plan, naming decision and time,
    and Stuck when the run can no longer proceed.
    """
    cadence, seconds = scheduling_events.in_units(unit), float(1 / Fraction(unit))
    sampler = np.random.default_rng([seed, SAMPLING])
    recorded: list[Decision] = []
    now, number, memory = -1, 0, None
    wanted: int | None = None  # when answers want to be asked again
    idle = 0  # how often in turn a wish alone has woken the clock
    serves = getattr(world, "served_by", None)  # without instances, which a recorded run needs
    fruitless: Callable[[], str] | None = getattr(world, "stuck", None)
    engine = serves(rule.order, rule.name) if serves and rule.order is not None and not record else None
    with interrupts() as came:
        while world.unfinished():
            event = world.next_event()
            idle = idle + 1 if event is None else 0
            time = cadence.next(now, event, world.pending())
            time = min((t for t in (time, wanted) if t is not None), default=None)
            if time is None or idle > MOST_IDLE_WISHES:
                asked = f", and the rule had itself asked {idle - 1} times to start nothing" if time is not None else ""
                lost = getattr(world, "lost", "")  # what the world no longer has, where it can lose something
                lost = lost and f" ({lost})"
                stuck = f"jobs wait, nothing runs and nothing will arrive{asked}; the run is stuck{lost}"
                raise Stuck(f"{rule.name}: at {now * seconds:.10g} s {stuck}")
            now = time
            world.advance(now)
            wishes: list[int] = []
            if engine is not None:
                wishes += [wish for wish in [engine.decide()] if wish is not None]
            while engine is None and (instance := world.ask()) is not None:
                plan, after = _answer(rule, instance, memory, seed, number, now * seconds, came)
                if wrong := instance.violations(plan):
                    where = f"decision {number} at {now * seconds:.10g} s"
                    raise SolverError(f"{rule.name}: {where}: infeasible plan: {wrong[0]}")
                if record and sampler.random() < record:
                    recorded.append(Decision(number, now, instance, plan, memory))
                number, memory = number + 1, after
                instance = None  # a world need not keep what nobody has any more
                wish = world.apply(plan)
                if wish is not None and wish > now:
                    wishes.append(wish)
            if fruitless is not None and (reason := fruitless()):
                raise Stuck(f"{rule.name}: at {now * seconds:.10g} s {reason}")
            # A new wish replaces what was wished for before: else every answer would begin a chain of its own.
            wanted = min(wishes, default=wanted if wanted is not None and wanted > now else None)
            if progress is not None:
                progress(now, world.unfinished())
    if remark := getattr(world, "remark", str)():
        warnings.warn(f"{rule.name}: {remark}", stacklevel=3)  # above `checked`
    # Worlds with mechanisms of their own ask policies that are no solvers; those are decisions as well.
    decided = getattr(world, "decided", 0) if engine is None else engine.decisions
    return Trip(number + decided, recorded, now)


def _answer(
    rule: Rule, instance: Instance, memory: Any, seed: int, number: int, now: float, interrupted: Callable[[], bool]
) -> tuple[Plan, Any]:
    """One answer; what a rule raises that is not ours becomes an SolverError, unless the user interrupted it."""
    try:
        plan, after = rule.call(instance, memory, decision_rng(seed, number))
    except MlschedError:
        raise
    except BaseException as error:
        if interrupted():
            raise
        raise SolverError(
            f"{rule.name}: decision {number} at {now:.10g} s: raised {describe_exception(error)}"
        ) from error
    return plan, after
