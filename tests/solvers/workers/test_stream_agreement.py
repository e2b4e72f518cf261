"""Backward induction against every policy, the best run in hindsight against every run, and each against the others."""

import itertools

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from workers_streams import courses, streams

import mlsched
from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.registry import registry
from mlsched.instances.workers.stream_judge import realised
from mlsched.simulation.workers.rollout import horizon_of
from mlsched.simulation.workers.tabulate import workload_of
from mlsched.solvers.workers._events import Kinds, first_finish, remaining_after
from mlsched.solvers.workers.best_run import Coming, Runs


def kinds_of(stream):
    return Kinds(stream.time, stream.worker_demand, stream.ps_demand, stream.capacity)


@settings(max_examples=draws(4, 200))
@given(streams())
def test_the_best_policy_is_the_best_of_all(stream):
    found = mlsched.solve(stream, "backward-induction")
    assert found.status == "optimal"
    assert found.sort_key == pytest.approx(found.sort_bound, rel=1e-9)
    try:
        brute = mlsched.solve(stream, "every-policy")
    except TooLarge:
        return
    assert found.sort_key == pytest.approx(brute.sort_key, rel=1e-9)


def test_agreement_is_not_for_want_of_choice(report):
    """Tiny jobs of Chic's models: policies differ, and the rules are not always best."""
    policies, rule_best, cases = [], 0, 0
    for seed in range(draws(1, 60)):
        stream = tiny(seed)
        best, brute = mlsched.solve(stream, "backward-induction"), mlsched.solve(stream, "every-policy")
        assert best.sort_key == pytest.approx(brute.sort_key, rel=1e-9)
        policies.append(brute.work["policies"])
        rule_best += mlsched.solve(stream, "optimus").sort_key <= best.sort_key * (1 + 1e-9)
        cases += 1
    report(
        "workers online: how hard agreement was",
        [f"{cases} optima; policies: median {np.median(policies):.0f}; Optimus is optimal in {rule_best}"],
    )
    assert np.median(policies) >= 100
    assert rule_best < 0.7 * cases


def tiny(seed):
    return mlsched.generate(
        "workers", "stream-2", seed=seed, types=1, short=1, long=2, gpus=2, most_workers=2, most_ps=1, load=2.0
    )


def test_no_rule_is_better_than_the_best_policy():
    for seed in range(draws(1, 20)):
        stream = mlsched.generate("workers", "stream-3", seed=seed, short=draws(2, 3), long=draws(3, 5))
        best = mlsched.solve(stream, "backward-induction").sort_key
        for rule in registry().available("workers", "heuristic"):
            if rule.name != "uniform-random":
                assert mlsched.solve(stream, rule.name).sort_key >= best * (1 - 1e-9), rule.name


@settings(max_examples=draws(5, 200))
@given(streams(jobs=3, iterations=2))
def test_who_knows_the_future_is_never_worse_and_no_run_is_better(stream):
    """In every course: clairvoyant <= best run = the best of all runs <= the best policy's run."""
    policy = mlsched.solve(stream, "backward-induction").plan
    runs = Runs(kinds_of(stream), Deadline())
    for n, (_, submit, kind) in enumerate(courses(stream, 6)):
        if n % 11 or not stream.jobs:
            continue
        jobs = [
            Coming(int(stream.type_model[k]), int(stream.type_iterations[k]), a)
            for k, a in zip(kind, submit, strict=True)
        ]
        value, _ = runs.best(jobs)
        assert value == every_run(kinds_of(stream), (), jobs, 0)
        assert value <= realised(stream, policy, submit, kind)
        horizon = horizon_of(workload_of(stream, submit, kind))
        found = mlsched.solve(horizon, "best-run")
        assert (found.status, found.sort_key) == ("feasible", value)
        assert found.work["restricted_bound"] == value
        assert mlsched.solve(horizon, "clairvoyant").sort_bound <= value * (1 + horizon.tolerance)


def every_run(kinds, there, coming, now):
    """The best run by trying everything, without memory or bounds."""
    while coming and coming[0].arrival <= now:
        there, coming = (*there, (coming[0].kind, coming[0].iterations)), coming[1:]
    if not there:
        return every_run(kinds, there, coming, coming[0].arrival) if coming else 0
    values = []
    for chosen in itertools.product(*([pair for pair, _ in kinds.choices[kind]] for kind, _ in there)):
        if chosen not in kinds.allocations(tuple(kind for kind, _ in there)):
            continue
        iteration = [kinds.iteration(kind, pair) for (kind, _), pair in zip(there, chosen, strict=True)]
        remaining = [b for _, b in there]
        lasts = min([first_finish(remaining, iteration), *(job.arrival - now for job in coming[:1])])
        after = remaining_after(remaining, iteration, lasts)
        rest = tuple((kind, b) for (kind, _), b in zip(there, after, strict=True) if b)
        values.append(len(there) * lasts + every_run(kinds, rest, coming, now + lasts))
    return min(values)
