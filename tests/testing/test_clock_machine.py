"""The machine of the clock: no finding in any world, each of ten injected bugs of worlds, and schedulers of users."""

from __future__ import annotations

import numpy as np
import pytest
from draws import THOROUGH, draws
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from planted_bugs import gives_up, starts_all
from unusual_rules import UNUSUAL

from mlsched.core.errors import MlschedError
from mlsched.core.registry import registry
from mlsched.instances.workers import Plan
from mlsched.simulation.placement import PlacementWorld
from mlsched.simulation.preemption import PreemptionWorld
from mlsched.simulation.preemption.cluster import Cluster
from mlsched.simulation.quality import QualityWorld
from mlsched.simulation.taskgraph import TaskgraphWorld
from mlsched.simulation.taskgraph.iterations import IterationWorld
from mlsched.simulation.workers import WorkersWorld
from mlsched.testing import clock_machine

WORLDS = [
    ("preemption", None),
    ("quality", None),
    ("placement", None),
    ("workers", None),
    ("taskgraph", "tasks"),
    ("taskgraph", "iterations"),
]
#: Steps of a run of the machine at most (by iterations, 26 on average), and steps that a thorough test makes in each
#: world: 10^5 in all.
COUNT, MANY = 30, 17_000


def run(machine, examples: int, phases=(Phase.generate,)) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=COUNT,
        deadline=None,
        database=None,
        derandomize=True,
        phases=phases,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)


@pytest.mark.parametrize(("problem", "simulator"), WORLDS)
def test_no_world_breaks_a_promise(problem, simulator, report):
    machine = clock_machine(problem, simulator=simulator)
    run(machine, draws(5, MANY // 24))
    if THOROUGH:
        assert machine.steps >= MANY
    report(f"clock machine, {problem} {simulator or ''}", [f"{machine.steps} steps without a finding"])


# -- ten bugs of worlds -----------------------------------------------------------------------------------------------


def grants_no_grace(method):
    def suspend(self, job):
        grace, self._grace[job] = self._grace[job], 0
        method(self, job)
        self._grace[job] = grace

    return suspend


def keeps_what_drained(method):
    def give(self, node, demand, *, drained):
        method(self, node, demand if not drained else demand * 0, drained=drained)

    return give


def works_twice_as_fast(method):
    def work(self, time):
        before = self._served.copy()
        method(self, time)
        self._served += (self._served - before) // 7

    return work


def counts_questions(method):
    def instance(self):
        self._preemptions += 1
        return method(self)

    return instance


def keeps_speeds(method):
    def train(self, time):
        speed = self._speed
        method(self, time)
        if 0 < len(self._speed) < len(speed):
            self._speed = speed[: len(self._speed)]

    return train


def never_loses(method):
    def left(self, job, time):
        options, self.options = self.options, self.options.__class__(window=self.options.window, floor="never")
        try:
            return method(self, job, time)
        finally:
            self.options = options

    return left


def gains_a_tick(method):
    def interrupt(self, task, outcome):
        method(self, task, outcome)
        self.progress[task] += 1

    return interrupt


def finishes_late(method):
    def schedule(self, job):
        job.segment.delay += 1
        method(self, job)
        job.segment.delay -= 1

    return schedule


BUGS = {
    "victims leave at once": ("preemption", None, PreemptionWorld, "_suspend", grants_no_grace),
    "what victims release is lost": ("preemption", None, Cluster, "give", keeps_what_drained),
    "a question counts as a preemption": ("preemption", None, PreemptionWorld, "_instance", counts_questions),
    "work is credited twice": ("quality", None, QualityWorld, "_work", works_twice_as_fast),
    "non-ML jobs hold nothing": ("quality", None, QualityWorld, "_held_by_others", lambda m: lambda self: 0),
    "speeds stay when jobs leave": ("placement", None, PlacementWorld, "_train", keeps_speeds),
    "all workers count, none is lost": ("workers", None, WorkersWorld, "_remaining_at", never_loses),
    "the window is ignored": ("workers", None, WorkersWorld, "_asked", lambda m: lambda self: self._active[:]),
    "a pause gains a tick": ("taskgraph", "tasks", TaskgraphWorld, "_interrupt", gains_a_tick),
    "jobs end a tick late": ("taskgraph", "iterations", IterationWorld, "_schedule", finishes_late),
}


@pytest.mark.parametrize("bug", BUGS)
def test_it_finds_a_bug_of_a_world(bug, monkeypatch):
    problem, simulator, world, name, change = BUGS[bug]
    monkeypatch.setattr(world, name, change(getattr(world, name)))
    with pytest.raises((AssertionError, MlschedError)):
        run(clock_machine(problem, simulator=simulator), 200)


# -- anyone's scheduler -----------------------------------------------------------------------------------------------


def test_schedulers_of_every_kind_pass():
    run(clock_machine("preemption", "fitgpp"), draws(3, 200))
    run(clock_machine("taskgraph", "tiresias"), draws(3, 200))
    run(clock_machine("quality", registry().solvers["quality", "fair"].function), draws(3, 200))


@pytest.mark.parametrize("unusual", [u for u in UNUSUAL if u.problem in ("placement", "workers")], ids=lambda u: u.name)
def test_one_that_leaves_jobs_waiting_for_more_room_passes(unusual):
    run(clock_machine(unusual.problem, unusual.rule), draws(5, 200))


def test_one_that_forgets_what_it_started_is_found():
    with pytest.raises(AssertionError, match="infeasible plan"):
        run(clock_machine("taskgraph", starts_all), 60)


def test_one_that_gives_up_is_found(monkeypatch):
    """It does so after 300 rounds; here after three."""
    import planted_bugs

    monkeypatch.setattr(planted_bugs, "PATIENCE", 3)
    with pytest.raises(AssertionError, match="stuck"):
        run(clock_machine("taskgraph", gives_up(), stateful=True), 60)


def test_one_whose_memory_is_no_json_is_found():
    def hoards(instance, *, memory, rng):
        nothing = np.zeros(len(instance.waiting), dtype=np.int64)
        return Plan(workers=nothing, ps=nothing), {1, 2}

    with pytest.raises(TypeError, match="not JSON serializable"):
        run(clock_machine("workers", hoards, stateful=True), 20)
