"""The judge of rounds against values by hand, and each of its sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from mlsched.core.errors import InvalidInput
from mlsched.instances import strategies
from mlsched_rounds.formulations.tables import OBJECTIVES, steps
from mlsched_rounds.instances import Instance, Plan, judge


def two_jobs(**changes) -> Instance:
    """Two types of 1 and 2 GPUs. Job 0 needs one GPU, 4 times as fast on type 0; job 1 two of type 1."""
    fields = {
        "capacity": [1, 2],
        "config_type": [0, 1, 1],
        "config_gpus": [1, 1, 2],
        "rate": [[4000, 1000, 0], [0, 0, 2000]],
        "remaining": [1000, 100],
        "done": [200, 0],
        "age": [100_000, 0],
        "current": [1, -1],
        "usual": [2000, 1000],
        "fair": [1000, 500],
        "isolated": [200_000, 0],
        "goodput_cost": [[500_000, 1_000_000, 9], [9, 9, 1_000_000]],
        "weight": [1, 2],
        "length": 100_000,
        "pause": 10_000,
    }
    return Instance(**{k: v if isinstance(v, int) else np.array(v) for k, v in (fields | changes).items()})


def plan(*configs: int) -> Plan:
    return Plan(config=np.array(configs))


def test_the_first_configuration_is_judged_like_any_other():
    assert two_jobs().violations(plan(-1, 0)) == ["job 1 runs in configuration 0: its rate there is 0"]
    full = two_jobs(rate=[[4000, 1000, 0], [4000, 0, 2000]]).violations(plan(0, 0))
    assert full == ["the jobs hold 2 GPUs of type 0: there are 1"]


def test_a_round_that_is_shorter_than_a_pause_has_no_steps():
    for pause in (99_999, 100_000, 100_001):
        short = two_jobs(pause=pause, rate=[[10**6, 1000, 0], [0, 0, 2000]])
        assert judge.steps(short, 0, 0) == max(0, 100_000 - pause)


def test_values_by_hand():
    instance = two_jobs()
    # Job 0 moves: 90 s at 4 steps/s; job 1 starts: 90 s at 2 steps/s would be 180, but only 100 remain.
    assert instance.evaluate(plan(0, 2)) == {
        "goodput_cost": 1_500_000,
        "total_steps": 360 + 100,
        # Job 0: 560 steps in 200 s at 2 steps/s; job 1: 100 in 100 s at 1 step/s, per weight 2.
        "least_served": 500_000,
        # Job 0: 200 s + 640 s of 200 s + 1000 s; job 1: 100 s of 200 s.
        "worst_ratio": 700,
        # 640 steps at 4 steps/s after 100 s.
        "last_end": 260_000,
    }
    # Job 0 stays: 100 s at 1 step/s; job 1 waits.
    assert instance.evaluate(plan(1, -1)) == {
        "goodput_cost": 2_100_000,
        "total_steps": 100,
        "least_served": 0,
        "worst_ratio": 1500,
        "last_end": 325_000,
    }
    assert instance.violations(plan(0, 2)) == []
    table = instance.table(plan(0, -1))
    assert {name: list(column) for name, column in table.items()} == {
        "job": [0, 1], "type": [0, -1], "gpus": [1, 0], "steps": [360, 0]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (plan(1, 2), ["the jobs hold 3 GPUs of type 1: there are 2"]),
        (plan(2, -1), ["job 0 runs in configuration 2: its rate there is 0"]),
        (plan(3, -1), ["job 0 runs in configuration 3: there are 3"]),
        (plan(0), ["config has 1 entries, expected 2, one for each job"]),
        (7, ["the answer is an int, expected a rounds.plan"]),
    ],
)
def test_what_is_wrong_is_said(answer, says):
    assert two_jobs().violations(answer) == says


def test_plans_of_other_instances_are_not_evaluated():
    with pytest.raises(InvalidInput, match="has 1 entries"):
        two_jobs().evaluate(plan(0))
    with pytest.raises(InvalidInput, match="configuration 3 of 3"):
        two_jobs().evaluate(plan(3, -1))


def test_a_job_that_can_run_nowhere_pins_nothing_down():
    instance = two_jobs(rate=[[4000, 1000, 0], [0, 0, 0]], current=[-1, -1])
    assert instance.evaluate(plan(0, -1))["last_end"] == 260_000
    nobody = two_jobs(rate=[[0, 0, 0], [0, 0, 0]], current=[-1, -1])
    values = nobody.evaluate(plan(-1, -1))
    assert [values[name] for name in ("least_served", "worst_ratio", "last_end")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"config_type": [0, 1, 2]}, r"config_type\[2\]: 2, expected below 2"),
        ({"current": [3, -1]}, r"current\[0\]: 3, expected below 3"),
        ({"current": [2, -1]}, r"current\[0\] = 2: the job's rate there is 0"),
        ({"usual": [0, 1]}, r"usual\[0\]"),
        ({"remaining": [0, 1]}, r"remaining\[0\]"),
        ({"done": [10**12, 0], "usual": [1, 1]}, "least_served can reach"),
        ({"goodput_cost": [[10**12] * 3] * 2, "rate": [[1, 1]] * 2}, "configs"),
    ],
)
def test_bad_instances_are_one_line(changes, says):
    with pytest.raises(InvalidInput, match=says):
        two_jobs(**changes)


@given(instance=strategies.rounds())
def test_tables_say_what_the_judge_says(instance):
    jobs = len(instance.remaining)
    for name, make in OBJECTIVES.items():
        table = make(instance)
        waits = instance.evaluate(instance.plan(np.full(jobs, -1)))[name]
        able = [j for j in range(jobs) if instance.rate[j].any()]
        worth = [table.waiting[j] for j in (able if table.worst else range(jobs))]
        if not worth:
            assert waits == 0
        elif table.worst:
            assert waits == table.base + table.sign * max(table.sign * w for w in worth)
        else:
            assert waits == sum(worth)
    did = steps(instance)
    for j in range(jobs):
        for c in range(len(instance.config_type)):
            assert did[j, c] == judge.steps(instance, j, c)
