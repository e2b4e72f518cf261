"""The clock: turn a workload into a sequence of instances, pass each to a solver, apply the plan, advance.

The clock is independent of the problem and counts time in units of the world (seconds, or parts of them). A `World`
owns the state and dynamics of one problem and poses an instance only if there is a choice. The clock owns the cadence
(`Wake`), the random stream (`default_rng([seed, decision_number])`, so that any decision can be replayed separately),
the memory of stateful rules, and the sampling of decisions for exact gaps.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import short_repr
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import MlschedError, SolverError, Stuck, describe_exception
from mlsched.core.interrupts import interrupts
from mlsched.core.params import Share
from mlsched.simulation.wake import Wake

#: A rule that requests this many wakes in a row, while no job runs and no event is due, is stuck.
MOST_IDLE_WISHES = 1000
#: Second entry of the seed of the stream that samples decisions; it differs from every decision's stream [seed,
#: number].
SAMPLING = 2**62


class World(Protocol):
    """Simulated cluster of one problem."""

    def next_event(self) -> int | None:
        """Return the time of the next arrival, completion or release, or None if no event is due."""

    def pending(self) -> bool:
        """Return True if a question was answered with "wait" and is to be posed again at the next tick."""

    def advance(self, time: int) -> None:
        """Process all events up to and including `time`, and carry out every step without a choice."""

    def ask(self) -> Instance | None:
        """Return the next instance at the current time, or None if no choice is left."""

    def apply(self, plan: Any) -> int | None:
        """Carry out the plan for the last instance; optionally return a time at which the solver requests a wake."""

    def unfinished(self) -> int:
        """Return the number of unfinished jobs, future arrivals included; the run ends when it is 0."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """Recorded decision, with all data for a separate replay."""

    number: int
    time: int
    instance: Instance
    plan: Plan
    memory: Any = None

    def __repr__(self) -> str:
        return short_repr(self, f"number {self.number} at time {self.time}", self.instance.kind)


@dataclasses.dataclass(frozen=True)
class Rule:
    """Solver as called by the clock: `call(instance, memory, rng) -> (plan, memory)`.

    Attributes:
        options: Options of the world that the solver implies (`Solver.world`); for adapters that build their own world.
        order: Order of jobs, if the rule is one; a world may apply it without building instances.
    """

    name: str
    call: Callable[[Instance, Any, np.random.Generator], tuple[Plan, Any]]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    order: Any = None

    def __repr__(self) -> str:
        return short_repr(self, self.name)

    def __getstate__(self) -> Data:
        """Return the pickled state; only `call` is needed for further decisions."""
        return {**self.__dict__, "order": None}


@dataclasses.dataclass(frozen=True)
class Trip:
    """Record of a run made by the clock."""

    decisions: int
    recorded: list[Decision]
    end: int


def decision_rng(seed: int, number: int) -> np.random.Generator:
    """Return the random stream of one decision of a run."""
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
    """Run `world` to its end with the decisions of `rule`.

    Args:
        world: World at its beginning.
        rule: Solver of every decision.
        scheduling_events: Cadence in seconds, whatever `unit` is.
        seed: Seed of the random streams.
        record: Share of decisions to keep (a seeded sample); 1.0 keeps all.
        progress: Called as `progress(time, unfinished)` at every scheduling event.
        unit: Units of the world's clock per second; 1/60 for minutes.

    Raises:
        SolverError: A plan is infeasible; the message names decision and time.
        Stuck: The run can no longer proceed.
    """
    cadence, seconds = scheduling_events.in_units(unit), float(1 / Fraction(unit))
    sampler = np.random.default_rng([seed, SAMPLING])
    recorded: list[Decision] = []
    now, number, memory = -1, 0, None
    next_wake: int | None = None  # earliest wake requested by an answer
    idle = 0  # consecutive wakes caused only by requests
    serves = getattr(world, "served_by", None)  # serves an order without instances, which a recorded run needs
    fruitless: Callable[[], str] | None = getattr(world, "stuck", None)
    engine = serves(rule.order, rule.name) if serves and rule.order is not None and not record else None
    with interrupts() as came:
        while world.unfinished():
            event = world.next_event()
            idle = idle + 1 if event is None else 0
            time = cadence.next(now, event, world.pending())
            time = min((t for t in (time, next_wake) if t is not None), default=None)
            if time is None or idle > MOST_IDLE_WISHES:
                wake_note = (
                    f", and the rule had itself asked {idle - 1} times to start nothing" if time is not None else ""
                )
                lost_capacity = getattr(world, "lost", "")  # capacity that the world has lost, if it can lose any
                lost_capacity = lost_capacity and f" ({lost_capacity})"
                stuck = f"jobs wait, nothing runs and nothing will arrive{wake_note}; the run is stuck{lost_capacity}"
                raise Stuck(f"{rule.name}: at {now * seconds:.10g} s {stuck}")
            now = time
            world.advance(now)
            wishes: list[int] = []
            if engine is not None:
                wishes += [wish for wish in [engine.decide()] if wish is not None]
            while engine is None and (instance := world.ask()) is not None:
                plan, after = _answer_question(rule, instance, memory, seed, number, now * seconds, came)
                if wrong := instance.violations(plan):
                    where = f"decision {number} at {now * seconds:.10g} s"
                    raise SolverError(f"{rule.name}: {where}: infeasible plan: {wrong[0]}")
                if record and sampler.random() < record:
                    recorded.append(Decision(number, now, instance, plan, memory))
                number, memory = number + 1, after
                instance = None  # frees an instance that is no longer referenced
                wish = world.apply(plan)
                if wish is not None and wish > now:
                    wishes.append(wish)
            if fruitless is not None and (reason := fruitless()):
                raise Stuck(f"{rule.name}: at {now * seconds:.10g} s {reason}")
            # A new request replaces the previous one; otherwise every answer would begin its own chain of wakes.
            next_wake = min(wishes, default=next_wake if next_wake is not None and next_wake > now else None)
            if progress is not None:
                progress(now, world.unfinished())
    if remark := getattr(world, "remark", str)():
        warnings.warn(f"{rule.name}: {remark}", stacklevel=3)  # above `checked`
    # Worlds with built-in mechanisms call policies that are not solvers; those calls count as decisions as well.
    decision_count = getattr(world, "decided", 0) if engine is None else engine.decisions
    return Trip(number + decision_count, recorded, now)


def _answer_question(
    rule: Rule, instance: Instance, memory: Any, seed: int, number: int, now: float, interrupted: Callable[[], bool]
) -> tuple[Plan, Any]:
    """Return one answer of the rule.

    An exception of the rule that is not an mlsched error becomes a SolverError, unless the user interrupted it.
    """
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
