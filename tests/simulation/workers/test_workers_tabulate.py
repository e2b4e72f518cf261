"""Policies of a stream: the judge follows them as the simulated world does, arrival by arrival and in expectation."""

import numpy as np
import pytest
from draws import THOROUGH, draws
from hypothesis import given, settings
from hypothesis import strategies as st
from workers_streams import courses, streams

import mlsched
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.registry import registry
from mlsched.instances.workers.stream_judge import realised
from mlsched.simulation.clock import Rule
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.wake import Wake
from mlsched.simulation.workers import replay
from mlsched.simulation.workers.options import Options
from mlsched.simulation.workers.tabulate import carried_out, tabulate, workload_of
from mlsched.simulation.workers.world import WorkersWorld

#: `uniform-random` draws: in a table it has drawn once for all. `lp-mpc` takes seconds.
LEFT_OUT = ("uniform-random",) if THOROUGH else ("uniform-random", "lp-mpc")
RULES = [a.name for a in registry().available("workers", "heuristic") if a.name not in LEFT_OUT]


def any_rule(instance, memory, rng):
    """Random numbers for everybody, as far as they fit; the first that can train gets something."""
    found = mlsched.solve(instance, "uniform-random", seed=int(rng.integers(2**31))).plan
    return (found if found.workers.any() else mlsched.solve(instance, "max-rate").plan), memory


def total(stream, log, submit, kind):
    workload = workload_of(stream, submit, kind)
    assert replay.violations(workload, Options(), Wake.parse("events"), log) == []
    return sum(max(row[2] for row in log.rows if row[0] == job) - arrival for job, arrival in enumerate(submit))


@settings(max_examples=draws(4, 300))
@given(streams(jobs=3, iterations=2), st.integers(0, 10**6))
def test_the_judge_and_the_world_carry_out_a_policy_alike(stream, seed):
    """In every course of arrivals to the ms; and the judge's expectation is the mean of the world's runs over all."""
    policy = tabulate(stream, Rule("any", any_rule), seed)
    assert stream.violations(policy) == []
    if not stream.jobs:
        return
    longest = 3 * 2 * stream.jobs
    expected = certain = 0.0
    for n, (probability, submit, kind) in enumerate(courses(stream, longest)):
        value = realised(stream, policy, submit, kind)
        if n % 7 == 0:
            assert value == total(stream, carried_out(stream, policy, submit, kind), submit, kind)
        expected, certain = expected + probability * value, certain + probability
    assert certain == pytest.approx(1)
    assert stream.evaluate(policy)["expected_total_jct"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_in_a_table_is_the_rule(name):
    """Tabulated, a rule does what it does in the simulated world, which also tells it who holds what since when."""
    stream = mlsched.generate("workers", "stream-3", seed=5, short=4, long=8)
    policy = mlsched.solve(stream, name).plan
    rng = np.random.default_rng(0)
    for _ in range(5):
        submit = np.cumsum([0, *rng.geometric(1 / stream.gap, stream.jobs - 1)]).tolist()
        kind = rng.integers(0, len(stream.chance), stream.jobs).tolist()
        entry = registry().solver("workers", name)[0]
        call = Rule(
            name,
            lambda one, memory, rng, e=entry: e.rule(one.shown(e.information), memory=memory, rng=rng, limits=None),
        )
        world = WorkersWorld(workload_of(stream, submit, kind), Options())
        run_clock(world, call, scheduling_events=Wake.parse("events"), seed=0, unit=1000)
        assert realised(stream, policy, submit, kind) == total(stream, world.log, submit, kind)


def test_policies_that_were_trained_are_tabulated_with_their_window():
    stream = mlsched.generate("workers", "stream-3", seed=1, short=4, long=8)
    assert mlsched.solve(stream, "chic-plus").sort_key >= mlsched.solve(stream, "backward-induction").sort_key * (
        1 - 1e-9
    )


def test_what_has_no_adapter_is_refused():
    stream = mlsched.generate("workers", "stream-3", seed=1)
    with pytest.raises(InvalidInput, match="clairvoyant cannot optimise expected_total_jct"):
        mlsched.solve(stream, "clairvoyant")
    decision = mlsched.generate("workers", "small")
    with pytest.raises(InvalidInput, match="backward-induction cannot optimise total_jct"):
        mlsched.solve(decision, "backward-induction")

    def nobody(instance, *, rng):
        return mlsched.solve(instance, "drf").plan.replace(
            workers=np.zeros_like(instance.model), ps=np.zeros_like(instance.model)
        )

    nobody.called = "online"
    with pytest.raises(SolverError, match="nobody: lets all 1 jobs wait"):
        mlsched.solve(stream, nobody)
