"""Stateful Hypothesis machine of the clock: arbitrary sequences of events and decisions.

Jobs are submitted and finish as time passes. Answers start, preempt, pause, resume, migrate and stop them and empty
nodes, by the simulator's own verbs (`Simulation.drawn`) or by the scheduler under test. The simulator's invariants are
checked after every step, and the log of a finished run must pass the replay. Hypothesis shrinks failures.

A node that stays down is not covered: none of the simulators has such an event, and "empty a node" is the moment of its
failure.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.record import Record
from mlsched.core.registry import registry
from mlsched.simulation import simulation as simulation_of
from mlsched.simulation.clock import decision_rng
from mlsched.simulation.run import Drawn, Simulation
from mlsched.simulation.wake import Wake
from mlsched.testing.room import serves_in_larger_cluster
from mlsched.testing.subject import Subject, subject

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine

#: Decisions after which a run of a small workload counts as endless.
MAX_DECISIONS = 5000


class SteppedRun:
    """Run made step by step, like `clock.run`, with invariants after each step."""

    def __init__(
        self,
        simulation: Simulation,
        subject_under_test: Subject | None,
        workload: Any,
        option_values: Any,
        scheduling_events: str,
        seed: int,
    ) -> None:
        implied = (
            {} if subject_under_test is None else subject_under_test.solver.world_options(subject_under_test.params)
        )
        self.simulation, self.tested, self.workload, self.seed = simulation, subject_under_test, workload, seed
        self.given = {**option_values, **implied}
        self.options = simulation.options(self.given)
        self.world = simulation.world(workload, self.options)
        self.scheduling_events = Wake.parse(scheduling_events)
        self._cadence = self.scheduling_events.in_units(simulation.parts_of_second(workload))
        self._rule = None if subject_under_test is None else subject_under_test.rule()
        self.now, self.number, self.memory = -1, 0, None
        self.requested_time: int | None = None
        self.starved = False
        self.question: Instance | None = None
        self._remaining = self.world.unfinished()
        self._rows: list[Any] = []

    @property
    def over(self) -> bool:
        """Whether all jobs are done, or the remaining ones wait for more capacity than the cluster has."""
        return self.starved or not self.world.unfinished()

    def proceed(self) -> None:
        """Advance to the next scheduling event: jobs are submitted and finish."""
        time = self._cadence.next(self.now, self.world.next_event(), self.world.pending())
        time = min((t for t in (time, self.requested_time) if t is not None), default=None)
        if time is None:
            self.starved = self.tested is not None and serves_in_larger_cluster(
                self.tested, self.simulation, self.workload, self.given, self.scheduling_events, self.seed
            )
            assert self.starved, "jobs wait, nothing runs and nothing will arrive; the run is stuck"
            return
        assert time > self.now, f"the clock is to go from {self.now} to {time}"
        self.now = time
        self.requested_time = (
            None if self.requested_time is not None and self.requested_time <= time else self.requested_time
        )
        self.world.advance(time)
        self._ask()

    def _ask(self) -> None:
        self.question = self.world.ask()
        if self.question is not None:
            restored = type(self.question).from_json(self.question.to_json())
            assert restored == self.question, "the question is not what a file of it would say"

    def answer(self, verb: Callable[..., Any] | None = None) -> None:
        """Answer the instance by a verb or by the scheduler under test."""
        instance = self.question
        assert instance is not None
        rng = decision_rng(self.seed, self.number)
        if verb is not None:
            plan = verb(instance, rng=rng)
        else:
            assert self._rule is not None
            plan, self.memory = self._rule.call(instance, self.memory, rng)
            json.dumps(self.memory)  # a memory must be JSON-able
        faults = instance.violations(plan)
        assert not faults, f"decision {self.number} at {self.now}: infeasible plan: {faults[0]}"
        self.number += 1
        requested_time = self.world.apply(plan)
        if requested_time is not None and requested_time > self.now:
            self.requested_time = requested_time
        self._ask()

    def check(self) -> None:
        """Check the invariants between two steps."""
        world = self.world
        remaining, rows = world.unfinished(), list(world.log.rows)
        assert 0 <= remaining <= self._remaining, f"{remaining} jobs are unfinished: there were {self._remaining}"
        assert rows[: len(self._rows)] == self._rows, "the log of the past has changed"
        assert self.question == world.ask(), "asked twice, the world asks for something else"
        event = world.next_event()
        assert event is None or event >= self.now, f"the next event is at {event}, now is {self.now}"
        self._remaining, self._rows = remaining, rows

    def finish(self, verb: Callable[..., Any] | None) -> None:
        """Run to the end and replay the log."""
        decisions = self.number
        while not self.over:
            if self.question is None:
                self.proceed()
            else:
                self.answer(verb)
            assert self.number - decisions < MAX_DECISIONS, f"after {MAX_DECISIONS} more decisions there is no end"
        if self.starved:
            return  # the replay check needs a complete run
        faults = self.simulation.violations(self.workload, self.options, self.scheduling_events, self.world.log)
        assert not faults, f"the replay check says: {faults[0]}"


@validate_arguments
def clock_machine(
    problem: str,
    scheduler: str | Callable[..., Any] | None = None,
    *,
    simulator: str | None = None,
    stateful: bool = False,
    called: Question | None = "online",
) -> type[RuleBasedStateMachine]:
    """Return a `RuleBasedStateMachine` of one problem's simulator; pytest runs its `TestCase`.

    Args:
        problem: Name of the problem.
        scheduler: The rule under test, as for `check_scheduler`; it answers every instance. A rule without memory must
            also handle the effects of other decisions: it takes turns with the simulator's verbs. None: only the
            simulator is tested, by its verbs.
        simulator: One of the problem's simulators if it has several.
        stateful: Whether the rule has a memory.
        called: Form of the instances that the rule answers, if the problem has several.

    Returns:
        The class of the machine.

    Examples:
        >>> TestFifo = mlsched.testing.clock_machine("preemption", "fifo").TestCase
    """
    from hypothesis import note
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

    world = simulation_of(problem, simulator)
    if world.drawn is None:
        raise InvalidInput(f"{problem}: its world does not define Simulation.drawn")
    draws: Drawn = world.drawn
    tested = None
    if scheduler is not None:
        goal = registry().problem(problem).instance_type.objectives[0].name
        tested = subject(scheduler, problem, goal, stateful, called)
    own_decisions_only = tested is not None and tested.solver.stateful
    final = None if tested is not None else draws.verbs["anything"]

    class ClockMachine(RuleBasedStateMachine):
        """Steps of one run."""

        steps = 0  # of all runs of this class

        @initialize(
            workload=draws.workloads(),
            readings=draws.options(),
            scheduling_events=st.sampled_from(draws.wakes),
            seed=st.integers(0, 99),
        )
        def begin(self, workload: Record, readings: Any, scheduling_events: str, seed: int) -> None:
            note(f"{readings} {workload.to_json()}")
            self.run = SteppedRun(world, tested, workload, readings, scheduling_events, seed)

        @precondition(lambda self: not self.run.over and self.run.question is None)
        @rule()
        def proceed(self) -> None:
            self.run.proceed()

        @precondition(lambda self: tested is not None and self.run.question is not None)
        @rule()
        def ask_the_scheduler(self) -> None:
            self.run.answer()

        @precondition(lambda self: not own_decisions_only and self.run.question is not None)
        @rule(verb=st.sampled_from(list(draws.verbs)))
        def do(self, verb: str) -> None:
            self.run.answer(draws.verbs[verb])

        @precondition(lambda self: self.run.over)
        @rule(
            workload=draws.workloads(),
            readings=draws.options(),
            scheduling_events=st.sampled_from(draws.wakes),
            seed=st.integers(0, 99),
        )
        def begin_next_run(self, workload: Record, readings: Any, scheduling_events: str, seed: int) -> None:
            self.run.finish(final)
            self.begin(workload, readings, scheduling_events, seed)

        @invariant()
        def simulator_invariants(self) -> None:
            type(self).steps += 1
            self.run.check()

        def teardown(self) -> None:
            if hasattr(self, "run"):
                self.run.finish(final)

    ClockMachine.__name__ = ClockMachine.__qualname__ = f"Clock_{problem}_{simulator or world.simulator or 'world'}"
    return ClockMachine
