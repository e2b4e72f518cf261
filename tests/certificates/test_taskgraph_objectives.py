"""What the formulas of task graphs count, by objective: gains, horizons, claims, and what is refused."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from certificate_examples import minimum
from draws import draws
from taskgraph_formulas import drawn

from mlsched import api
from mlsched.certificates import taskgraph as translation
from mlsched.core.errors import InvalidInput
from mlsched.core.record import specs

COUNT = draws(8, 500)
PARTS = ("jobs", "tasks", "edges")
OBJECTIVES = ("total_jct", "makespan", "traffic", "deadlines_met", "accuracy_met", "total_accuracy")


def varied(number: int):
    """Optional iterations, deadlines that some meet, accuracies that count at the end or at the deadline.

    The last task sends something to its own next iteration.
    """
    instance, rng = drawn(number), np.random.default_rng([3, number])
    last = {"edge_from": len(instance.task_job) - 1, "edge_to": len(instance.task_job) - 1, "edge_lag": 1}
    edges = {name: np.append(getattr(instance, name), end) for name, end in {**last, "edge_volume": 3}.items()}
    return instance.replace(
        **edges,
        min_iterations=np.minimum(instance.max_iterations, rng.integers(0, 3, 2)),
        deadline=rng.integers(0, 9, 2),
        accuracy_at=("final", "deadline", "deadline")[number % 3],
        edge_delay=np.append(np.where(instance.edge_delay > 0, 2, 0), 1),
    )


@pytest.mark.parametrize("number", range(COUNT))
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_has_the_value_of_brute_force(number, objective):
    instance = varied(number)
    best = api.solve(instance, "brute-force", objective=objective)
    (formula,) = translation.TRANSLATION.formulas(instance, objective, best.plan)
    assert formula.value(minimum(formula)) == best.sort_key


def test_what_a_task_sends_to_itself_is_no_traffic_where_it_stays():
    instance = next(i for i in map(varied, range(0, 40, 2)) if i.max_iterations[1] == 2)
    assert instance.movement == "none"
    instance = instance.replace(min_iterations=instance.max_iterations)
    best = api.solve(instance, "brute-force", objective="traffic")
    (formula,) = translation.TRANSLATION.formulas(instance, "traffic", best.plan)
    assert formula.value(minimum(formula)) == best.sort_key


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_without_jobs_every_objective_is_zero(objective):
    instance = drawn(0)
    of_jobs = [name for name, spec in specs(type(instance)).items() if getattr(spec, "shape", (0,))[0] in PARTS]
    instance = instance.replace(**{name: getattr(instance, name)[:0] for name in of_jobs})
    best = api.solve(instance, "brute-force", objective=objective)
    (formula,) = translation.TRANSLATION.formulas(instance, objective, best.plan)
    assert formula.value(minimum(formula)) == best.sort_key == 0


def test_gains_add_up_to_what_iterations_are_worth():
    for number in range(COUNT):
        instance = varied(number)
        for j in (0, 1):
            most = int(instance.max_iterations[j])
            accuracy = instance.accuracy[j, : most + 1].tolist()
            gains = translation.GAINS["total_accuracy"](instance, j)
            assert [sum(gains[c] for c in range(n + 1)) for n in range(most + 1)] == accuracy
            gains = translation.GAINS["accuracy_met"](instance, j)
            met = [int(a >= instance.required[j]) for a in accuracy]
            assert [sum(gains[c] for c in range(n + 1)) for n in range(most + 1)] == met
            least, in_time = int(instance.min_iterations[j]), instance.arrival[j] <= instance.deadline[j]
            assert translation.GAINS["deadlines_met"](instance, j) == {least: int(least > 0 or in_time)}


@pytest.mark.parametrize(
    ("least", "deadline", "gain"), [(0, 1, {0: 1}), (0, 0, {0: 0}), (1, 0, {1: 1}), (1, 1, {1: 1})]
)
def test_a_job_that_need_not_run_meets_a_deadline_that_is_not_before_its_arrival(least, deadline, gain):
    instance = drawn(0).replace(arrival=[1, 1], deadline=[deadline] * 2, min_iterations=[least] * 2)
    assert translation.GAINS["deadlines_met"](instance, 0) == gain


def test_a_horizon_is_long_enough_for_one_run_after_the_other():
    instance = varied(1).replace(
        task_job=[0, 1], duration=[3, 2], demand=[[1, 1]] * 2, eligible=[[1, 1]] * 2, parameters=[0, 0], role=[0, 0],
        replica=[0, 0], home=[-1, -1], last_end=[0, 0], edge_from=[0, 1], edge_to=[0, 1],
        edge_lag=[1, 1], edge_volume=[1, 1], edge_delay=[5, 7], arrival=[4, 1], min_iterations=[2, 1],
        max_iterations=[2, 2], accuracy=[[0, 1, 2]] * 2,
    )  # fmt: skip
    assert translation._long_enough(instance, [2, 1]) == (4, 2 * 3 + 1 * 2, 2 * 5 + 1 * 7)
    assert translation._long_enough(instance, [0, 0]) == (4, 0, 0)


def ticks(formula, who: str) -> list[int]:
    """The ticks by which the formula asks whether something is done."""
    named = (re.fullmatch(rf"{who} (?:is|are) done by (\d+)", meaning) for meaning in formula.meanings)
    return [int(found[1]) for found in named if found]


def test_formulas_look_no_further_than_a_plan_as_good_can_reach():
    seen = Counter()
    for number in range(COUNT):
        instance = varied(number)
        counts, arrival = instance.min_iterations.tolist(), instance.arrival.tolist()
        best = api.solve(instance, "brute-force", objective="total_jct")
        paths = translation._longest_paths(instance, counts)
        (formula,) = translation.TRANSLATION.formulas(instance, "total_jct", best.plan)
        for j in (0, 1):
            end = arrival[j] + best.sort_key - sum(paths) + paths[j]
            asked = list(range(arrival[j] + paths[j], end)) if counts[j] else []
            assert ticks(formula, f"job {j}") == asked
            seen[bool(asked)] += 1
        best = api.solve(instance, "brute-force", objective="makespan")
        (formula,) = translation.TRANSLATION.formulas(instance, "makespan", best.plan)
        first = max(a + path for a, path in zip(arrival, paths, strict=True))
        assert ticks(formula, "every job") == list(range(first, min(arrival) + best.sort_key))
    assert len(seen) == 2


def test_the_longest_path_is_what_a_job_takes_alone():
    """Where all have room everywhere and no transfer takes time."""
    for number in range(COUNT):
        instance = varied(number)
        instance = instance.replace(
            node_capacity=[[99, 99]] * 2, eligible=np.ones_like(instance.eligible), edge_delay=0 * instance.edge_delay
        )
        paths = translation._longest_paths(instance, instance.min_iterations.tolist())
        assert sum(paths) == api.solve(instance, "brute-force", objective="total_jct").sort_key


def test_claims_and_lemmas_are_those_of_the_objective():
    instance = varied(2)
    for objective in OBJECTIVES:
        plan = api.solve(instance, "brute-force", objective=objective).plan
        value = instance.evaluate(plan)[objective]
        claim = translation.TRANSLATION.formulas(instance, objective, plan)[0].claim
        told = {
            "total_jct": f"the least total_jct among plans of at most {value}",
            "makespan": f"the least makespan among plans of at most {value}",
            "traffic": "the least traffic",
        }
        assert claim == told.get(objective, f"the largest {objective}")
        kind = objective if objective in told else "deadline"
        assert translation.TRANSLATION.lemma(objective) == translation.LEMMAS[kind]


@pytest.mark.parametrize(
    "changes",
    [{"now": 1}, {"finished": [1, 0]}, {"fixed_task": [0], "fixed_node": [0], "fixed_start": [0], "fixed_gpu": [-1]}],
    ids=["now", "finished", "fixed"],
)
def test_what_is_under_way_is_refused(changes):
    """`now` need not be later than 0 where something has been done in no time."""
    instance = drawn(0)
    instance = instance.replace(
        arrival=[0, 0], node_capacity=[[9, 9], [9, 9]], eligible=np.ones_like(instance.eligible), movement="none"
    )
    home = np.where(instance.task_job == 0, 0, -1) if "finished" in changes else instance.home
    with pytest.raises(InvalidInput, match="takes task graphs from their start only"):
        translation.TRANSLATION.formulas(instance.replace(**changes, home=home), "total_jct", None)
    translation._refuse_unsupported(instance)
    with pytest.raises(InvalidInput, match="takes GPUs of a node as one pool only"):
        translation._refuse_unsupported(instance.replace(gpu_unit=1))
