"""The clock as a stateful Hypothesis machine: wake after wake, anything that may happen to jobs happens.

Jobs are submitted and finish as time passes; answers start, preempt, pause, resume, migrate and stop them and empty
nodes, by a world's own verbs (`Simulation.drawn`) or by the scheduler under test. After every step the world must keep
its promises, and when the run has come to its end its log must pass the replay check. Hypothesis shrinks what fails.

Not here: a node that stays down. None of the worlds has such an event; "empty a node" is the moment of its failure.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.simulation import simulation as simulation_of
from mlsched.simulation.clock import decision_rng
from mlsched.simulation.run import Drawn, Simulation
from mlsched.simulation.wake import Wake
from mlsched.testing.room import served_with_room
from mlsched.testing.subject import Subject, subject

#: Decisions after which a run of a small workload can be said not to end.
MOST_DECISIONS = 5000


class Stepped:
    """A run that is made step by step, as `clock.run` makes it at once, and what must hold after each step."""

    def __init__(
        self,
        simulation: Simulation,
        tested: Subject | None,
        workload: Any,
        readings: Any,
        scheduling_events: str,
        seed: int,
    ) -> None:
        implied = {} if tested is None else tested.solver.world_options(tested.params)
        self.simulation, self.tested, self.workload, self.seed = simulation, tested, workload, seed
        self.given = {**readings, **implied}
        self.options = simulation.options(self.given)
        self.world = simulation.world(workload, self.options)
        self.scheduling_events = Wake.parse(scheduling_events)
        self._cadence = self.scheduling_events.in_units(simulation.parts_of_second(workload))
        self._rule = None if tested is None else tested.rule()
        self.now, self.number, self.memory = -1, 0, None
        self.wanted: int | None = None
        self.starved = False
        self.question: Instance | None = None
        self._remaining = self.world.unfinished()
        self._rows: list[Any] = []

    @property
    def over(self) -> bool:
        """Whether all jobs are done, or those that are not wait for more room than there is."""
        return self.starved or not self.world.unfinished()

    def proceed(self) -> None:
        """To the next scheduling event: jobs are submitted, and finish."""
        time = self._cadence.next(self.now, self.world.next_event(), self.world.pending())
        time = min((t for t in (time, self.wanted) if t is not None), default=None)
        if time is None:
            self.starved = self.tested is not None and served_with_room(
                self.tested, self.simulation, self.workload, self.given, self.scheduling_events, self.seed
            )
            assert self.starved, "jobs wait, nothing runs and nothing will arrive; the run is stuck"
            return
        assert time > self.now, f"the clock is to go from {self.now} to {time}"
        self.now = time
        self.wanted = None if self.wanted is not None and self.wanted <= time else self.wanted
        self.world.advance(time)
        self._ask()

    def _ask(self) -> None:
        self.question = self.world.ask()
        if self.question is not None:
            read = type(self.question).from_json(self.question.to_json())
            assert read == self.question, "the question is not what a file of it would say"

    def answer(self, verb: Callable[..., Any] | None = None) -> None:
        """Answer the question, by a verb or by the scheduler under test."""
        asked = self.question
        assert asked is not None
        rng = decision_rng(self.seed, self.number)
        if verb is not None:
            plan = verb(asked, rng=rng)
        else:
            assert self._rule is not None
            plan, self.memory = self._rule.call(asked, self.memory, rng)
            json.dumps(self.memory)  # a memory is JSON-able
        wrong = asked.violations(plan)
        assert not wrong, f"decision {self.number} at {self.now}: infeasible plan: {wrong[0]}"
        self.number += 1
        wish = self.world.apply(plan)
        if wish is not None and wish > self.now:
            self.wanted = wish
        self._ask()

    def check(self) -> None:
        """What holds between any two steps."""
        world = self.world
        remaining, rows = world.unfinished(), list(world.log.rows)
        assert 0 <= remaining <= self._remaining, f"{remaining} jobs are unfinished: there were {self._remaining}"
        assert rows[: len(self._rows)] == self._rows, "the log of the past has changed"
        assert self.question == world.ask(), "asked twice, the world asks for something else"
        event = world.next_event()
        assert event is None or event >= self.now, f"the next event is at {event}, now is {self.now}"
        self._remaining, self._rows = remaining, rows

    def finish(self, verb: Callable[..., Any] | None) -> None:
        """Run on to the end and replay the log."""
        decisions = self.number
        while not self.over:
            if self.question is None:
                self.proceed()
            else:
                self.answer(verb)
            assert self.number - decisions < MOST_DECISIONS, f"after {MOST_DECISIONS} more decisions there is no end"
        if self.starved:
            return  # the replay check is of whole runs
        wrong = self.simulation.violations(self.workload, self.options, self.scheduling_events, self.world.log)
        assert not wrong, f"the replay check says: {wrong[0]}"


@validate_arguments
def clock_machine(
    problem: str,
    scheduler: str | Callable[..., Any] | None = None,
    *,
    simulator: str | None = None,
    stateful: bool = False,
    called: Question | None = "online",
) -> Any:
    """A `RuleBasedStateMachine` of one problem's world; pytest runs its `TestCase`.

    Args:
        problem: whose world.
        scheduler: the rule under test, as for `check_scheduler`; it answers every question. Rules without memory must
            also cope with what others did before: they take turns with the world's own verbs. None: the world itself is
            tested, by its verbs alone.
        simulator: which world, where a problem has several.
        stateful: whether the rule has a memory.
        called: what the rule answers, where a problem has several questions.

    Examples:
        >>> TestFifo = mlsched.testing.clock_machine("preemption", "fifo").TestCase
    """
    from hypothesis import note
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

    world = simulation_of(problem, simulator)
    if world.drawn is None:
        raise InvalidInput(f"{problem}: its world says nothing of what to draw (Simulation.drawn)")
    drawn: Drawn = world.drawn
    tested = None
    if scheduler is not None:
        goal = registry().problem(problem).instance_type.objectives[0].name
        tested = subject(scheduler, problem, goal, stateful, called)
    alone = tested is not None and tested.solver.stateful
    final = None if tested is not None else drawn.verbs["anything"]

    class ClockMachine(RuleBasedStateMachine):
        """Steps of one run."""

        steps = 0  # of all runs of this class

        @initialize(
            workload=drawn.workloads(),
            readings=drawn.options(),
            scheduling_events=st.sampled_from(drawn.wakes),
            seed=st.integers(0, 99),
        )
        def begin(self, workload: Any, readings: Any, scheduling_events: str, seed: int) -> None:
            note(f"{readings} {workload.to_json()}")
            self.run = Stepped(world, tested, workload, readings, scheduling_events, seed)

        @precondition(lambda self: not self.run.over and self.run.question is None)
        @rule()
        def proceed(self) -> None:
            self.run.proceed()

        @precondition(lambda self: tested is not None and self.run.question is not None)
        @rule()
        def ask_the_scheduler(self) -> None:
            self.run.answer()

        @precondition(lambda self: not alone and self.run.question is not None)
        @rule(verb=st.sampled_from(list(drawn.verbs)))
        def do(self, verb: str) -> None:
            self.run.answer(drawn.verbs[verb])

        @precondition(lambda self: self.run.over)
        @rule(
            workload=drawn.workloads(),
            readings=drawn.options(),
            scheduling_events=st.sampled_from(drawn.wakes),
            seed=st.integers(0, 99),
        )
        def begin_anew(self, workload: Any, readings: Any, scheduling_events: str, seed: int) -> None:
            self.run.finish(final)
            self.begin(workload, readings, scheduling_events, seed)

        @invariant()
        def the_world_keeps_its_promises(self) -> None:
            type(self).steps += 1
            self.run.check()

        def teardown(self) -> None:
            if hasattr(self, "run"):
                self.run.finish(final)

    ClockMachine.__name__ = ClockMachine.__qualname__ = f"Clock_{problem}_{simulator or world.simulator or 'world'}"
    return ClockMachine
