"""Streams and policies: what construction refuses, what the judge finds, values by hand, and files."""

import numpy as np
import pytest

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import ints
from mlsched.instances.workers import Policy, Stream
from mlsched.instances.workers.stream_judge import realised

NS = 10**6


def stream(**changes):
    """2 GPUs; jobs of 2 iterations, 2 ms on one GPU and 1 ms on two; two jobs, the second after 2 ms on average."""
    fields = {
        "resources": ("gpu",),
        "models": ("m",),
        "capacity": ints([2]),
        "worker_demand": [[1]],
        "ps_demand": [[0]],
        "time": [[[2 * NS], [NS]]],
        "type_model": ints([0]),
        "type_iterations": ints([2]),
        "chance": ints([1]),
        "jobs": 2,
        "gap": 2,
    }
    return Stream(**{**fields, **changes})


def policy(*rows, slots=2):
    """Rows (coming, iterations left of the jobs, workers of each); one PS for whoever has workers."""

    def column(which, free):
        return [[*row[which], *[free] * (slots - len(row[which]))] for row in rows]

    workers = np.array(column(2, 0)).reshape(len(rows), slots)
    remaining = np.array(column(1, 0)).reshape(len(rows), slots)
    return Policy(
        coming=ints(row[0] for row in rows),
        model=np.where(remaining > 0, 0, -1),
        remaining=remaining,
        workers=workers,
        ps=(workers > 0).astype(np.int64),
    )


#: Alone on both GPUs; of two jobs the first has both.
BOTH = policy((1, [2], [2]), (0, [1, 2], [2, 0]), (0, [2], [2]))


def test_the_expectation_by_hand():
    """Alone, a job takes 2 ms. The second comes after 1 ms (1/2): 1 ms alone, 1 ms with two there, 2 ms alone: 5.

    Or after 2 ms (1/4) or later (1/4): 2 + 2 = 4.
    """
    assert stream().violations(BOTH) == []
    assert stream().evaluate(BOTH)["expected_total_jct"] == pytest.approx(4.5)
    assert realised(stream(), BOTH, [0, 1], [0, 0]) == 5
    assert realised(stream(), BOTH, [0, 2], [0, 0]) == 4


def test_a_started_iteration_is_lost():
    """On one GPU each: after 1 ms nothing is done. 1 + 2 x 4 = 9 ms; after 2 or 3 ms one of two iterations is."""
    share = policy((1, [2], [1]), (0, [2, 2], [1, 1]), (0, [1, 2], [1, 1]), (0, [2], [1]), (0, [1], [1]), (1, [1], [1]))
    assert realised(stream(), share, [0, 1], [0, 0]) == 1 + 2 * 4
    assert realised(stream(), share, [0, 3], [0, 0]) == 3 + 2 * 2 + 2
    expected = 9 / 2 + 8 / 4 + 9 / 8 + 8 / 8
    assert stream().evaluate(share)["expected_total_jct"] == pytest.approx(expected)


def test_types_are_drawn_by_their_chance():
    one = stream(jobs=1, type_model=ints([0, 0]), type_iterations=ints([2, 4]), chance=ints([3, 1]))
    both = policy((0, [2], [2]), (0, [4], [2]), slots=1)
    assert one.evaluate(both)["expected_total_jct"] == pytest.approx((3 * 2 + 4) / 4)


FIRST = "model 0 with 2 iterations; 1 to come"
SECOND = "model 0 with 1 iterations, model 0 with 2 iterations; 0 to come"
WRONG = [
    (policy((1, [2], [2]), (0, [2], [2])), f"there is no row for {SECOND}"),
    (policy((1, [2], [0])), f"{FIRST}: nobody trains"),
    (policy((1, [2], [3])), f"{FIRST}: a job of model 0 cannot train with 3 workers and 1 PSs"),
    (policy((1, [2], [2]), (1, [2], [1])), f"row 1 is of a state that has a row already: {FIRST}"),
    (policy((1, [2], [2]), (0, [1, 2], [2, 1]), (0, [2], [2])), f"{SECOND}: the jobs need 3 gpu: there are 2"),
    (
        BOTH.replace(ps=np.zeros((3, 2), dtype=np.int64)),
        f"{FIRST}: a job has 2 workers and 0 PSs: must have both, or neither",
    ),
]


@pytest.mark.parametrize(("plan", "sentence"), WRONG)
def test_the_judge_names_what_is_wrong(plan, sentence):
    assert stream().violations(plan) == [sentence]
    with pytest.raises(InvalidInput, match="the plan cannot be evaluated"):
        stream().evaluate(plan)


def test_another_plan_is_no_policy():
    assert stream().violations(None) == ["the answer is a NoneType: must be a workers.policy"]


REFUSED = [
    ({"type_model": ints([1])}, r"type_model\[0\] = 1: must be below 1"),
    ({"capacity": ints([0])}, "fits in no configuration"),
    ({"type_model": ints([]), "type_iterations": ints([]), "chance": ints([])}, "there is no type of job"),
    ({"jobs": 7}, "jobs = 7: must be between 0 and 6"),
    ({"type_iterations": ints([2**52])}, "jobs may take"),
    ({"gap": 0}, "gap"),
]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_construction_refuses(changes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        stream(**changes)


def test_a_stream_without_jobs_costs_nothing():
    empty = stream(jobs=0)
    for solver in ("backward-induction", "every-policy", "optimus"):
        assert mlsched.solve(empty, solver).value == 0


def test_presets_files_and_hashes(tmp_path):
    first = mlsched.generate("workers", "stream-3", seed=3)
    assert first == mlsched.generate("workers", "stream-3", seed=3)
    assert first.hash[:12] == "81e9d0dc3eaf"
    mlsched.save(first, tmp_path / "stream.json")
    assert mlsched.load(tmp_path / "stream.json") == first
    plan = mlsched.solve(first, "optimus").plan
    mlsched.save(plan, tmp_path / "plan.json", instance=first)
    assert mlsched.load(tmp_path / "plan.json") == plan
    assert list(first.table(plan)) == ["coming", "jobs (iterations)", "workers + PSs"]
    with pytest.raises(InvalidInput, match="long = 5: must be at least short, 10"):
        mlsched.generate("workers", "stream-3", short=10, long=5)
