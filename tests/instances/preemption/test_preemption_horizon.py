"""Horizons of preemption: what construction refuses, what the judge finds, rule by rule, and files."""

import numpy as np
import pytest

import mlsched
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.fields import ints
from mlsched.instances.preemption import Decisions, Horizon
from mlsched.instances.preemption.horizon_judge import finished


def one_node(**changes):
    """4 GPUs; BE jobs of 2 GPUs (600 s, grace 90 s and 0), a TE job of 2 GPUs from 100 s on for 60 s; tick 60 s."""
    fields = {
        "resources": ("gpu",),
        "node_capacity": [[4]],
        "submit": ints([0, 0, 100]),
        "te": ints([0, 0, 1]),
        "execution": ints([600, 600, 60]),
        "demand": [[2], [2], [2]],
        "grace": ints([90, 0, 0]),
    }
    return Horizon(**{**fields, **changes})


def decisions(*given):
    """(TE job, node, victims) of each decision."""
    return Decisions(
        te=ints(te for te, _, _ in given),
        node=ints(node for _, node, _ in given),
        by=ints(k for k, (_, _, victims) in enumerate(given) for _ in victims),
        victim=ints(j for _, _, victims in given for j in victims),
    )


def test_a_victim_works_through_its_grace_period_and_comes_back_first():
    """Signal at 120 s, gone at 210, the TE job runs from 240 to 300; the victim has 390 s left and ends at 690."""
    values = one_node().evaluate(decisions((2, 0, [0])))
    assert values == {
        "total_rescheduling": 180,
        "total_te_slowdown": 10**6 + 10**6 * 140 // 60,
        "total_be_slowdown": 2 * 10**6 + 10**6 * 90 // 600,
        "victim_count": 1,
    }


def test_a_victim_that_pauses_loses_its_grace_period():
    values = one_node(during_grace="paused").evaluate(decisions((2, 0, [0])))
    assert values["total_be_slowdown"] == 2 * 10**6 + 10**6 * 180 // 600


def test_a_victim_without_grace_period_rewinds_to_its_snapshot():
    """Signal at 120 s: with snapshots of 180 s it loses 120 s of work, with 50 s 20. The TE job starts at once."""
    values = one_node().evaluate(decisions((2, 0, [1])))
    assert values["total_te_slowdown"] == 10**6 + 10**6 * 20 // 60
    assert values["total_rescheduling"] == 60
    assert values["total_be_slowdown"] == 2 * 10**6 + 10**6 * (60 + 120) // 600
    assert one_node(snapshot=50).evaluate(decisions((2, 0, [1])))["total_be_slowdown"] == 2 * 10**6 + 10**6 * 80 // 600


def test_a_victim_that_finishes_within_its_grace_period_has_no_interval():
    values = one_node(execution=ints([200, 600, 60])).evaluate(decisions((2, 0, [0])))
    assert (values["total_rescheduling"], values["victim_count"]) == (0, 1)
    paused = one_node(execution=ints([200, 600, 60]), during_grace="paused").evaluate(decisions((2, 0, [0])))
    assert paused["total_rescheduling"] == 180


def test_a_promised_job_may_start_on_another_node_that_has_room_first():
    """A second node, full until 180 s: the TE job is promised node 0 (free from 300 s on) and starts on node 1."""
    two = one_node(
        node_capacity=[[4], [2]], submit=ints([0, 0, 0, 100]), te=ints([0, 0, 0, 1]), grace=ints([180, 0, 0, 0]),
        execution=ints([600, 600, 180, 60]), demand=[[2], [2], [2], [2]],
    )  # fmt: skip
    assert two.evaluate(decisions((3, 0, [0])))["total_te_slowdown"] == 10**6 + 10**6 * 80 // 60


def test_a_promised_node_comes_before_others_with_room():
    """At 180 s both nodes are free: job 0 is done, and job 1, suspended at 120 s, has left. Node 1 was promised."""
    two = one_node(node_capacity=[[2], [2]], execution=ints([170, 600, 60]), grace=ints([0, 40, 0]))
    assert finished(two, decisions((2, 1, [1]))).stays == [
        (0, 0, 0, 170, -1),
        (1, 1, 0, 160, 120),
        (2, 1, 180, 240, -1),
        (1, 0, 180, 620, -1),
    ]


def test_a_victim_that_pauses_holds_its_node_for_the_whole_grace_period():
    """It would have been done at 170 s; it leaves at 210, so that the TE job starts at 240."""
    for what, starts in (("work", 180), ("paused", 240)):
        run = finished(one_node(execution=ints([170, 600, 60]), during_grace=what), decisions((2, 0, [0])))
        assert [start for job, _, start, _, _ in run.stays if job == 2] == [starts]


def test_one_that_was_told_to_wait_asks_again_when_a_job_has_left():
    lazy = one_node(eager=0, execution=ints([600, 200, 60]))
    assert lazy.violations(decisions((2, -1, []))) == []
    assert lazy.evaluate(decisions((2, -1, [])))["total_te_slowdown"] == 10**6 + 10**6 * 140 // 60
    large = one_node(eager=0, execution=ints([600, 200, 60]), demand=[[2], [2], [3]])
    assert large.violations(decisions((2, -1, []), (2, -1, []))) == []
    assert large.violations(decisions((2, -1, []))) == ["TE job 2 asks at 240 s: there are 1 decisions"]


WRONG = [
    ([], "TE job 2 asks at 120 s: there are 0 decisions"),
    ([(1, 0, [0])], "decision 0 is for TE job 1: at 120 s TE job 2 asks"),
    ([(2, 1, [0])], "decision 0: TE job 2 is promised node 1: there are 1"),
    ([(2, 0, [])], "decision 0: TE job 2 is promised node 0 at 120 s: it has no room there with its victims gone"),
    ([(2, 0, [2])], "decision 0: job 2 cannot be suspended at 120 s"),
    ([(2, 0, [0, 0])], "decision 0: job 0 cannot be suspended at 120 s"),
    ([(2, -1, [])], "decision 0: TE job 2 waits at 120 s: victims could make room for it"),
    ([(2, 0, [0]), (2, 0, [1])], "decision 1 is never asked for: the run has ended"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG)
def test_the_judge_names_what_is_wrong(given, sentence):
    assert one_node().violations(decisions(*given)) == [sentence]
    with pytest.raises(InvalidInput, match="the plan cannot be evaluated"):
        one_node().evaluate(decisions(*given))


def test_the_judge_knows_limits_and_useless_victims():
    assert "cannot be suspended" in one_node(preemption_limit=0).violations(decisions((2, 0, [0])))[0]
    nobody = one_node(preemption_limit=0, demand=[[2], [2], [3]])
    assert nobody.violations(decisions((2, -1, []), (2, -1, []))) != []  # both BE jobs end at once: asked but once
    assert nobody.violations(decisions((2, -1, []))) == []
    four = one_node(demand=[[2], [2], [4]], preemption_limit=1, te=ints([0, 1, 1]), execution=ints([600, 900, 60]))
    assert four.violations(decisions((2, -1, [0]), (2, -1, []))) == [
        "decision 0: TE job 2 waits at 120 s and suspends jobs: nobody is helped"
    ]
    by = Decisions(te=ints([2]), node=ints([0]), by=ints([1]), victim=ints([0]))
    assert one_node().violations(by) == ["by: [1], must not fall, and be below 1 (the number of decisions)"]
    falls = Decisions(te=ints([2, 2]), node=ints([0, 0]), by=ints([1, 0]), victim=ints([0, 1]))
    assert one_node().violations(falls) == ["by: [1, 0], must not fall, and be below 2 (the number of decisions)"]
    assert one_node().violations(None) == ["the answer is a NoneType, expected a preemption.decisions"]


def test_construction_refuses_what_cannot_run():
    with pytest.raises(InvalidInput, match=r"submit\[2\].*belongs to a job that fits no node"):
        one_node(demand=[[2], [2], [5]])
    with pytest.raises(InvalidInput, match="during_grace: 'sleep', expected one of work, paused"):
        one_node(during_grace="sleep")
    with pytest.raises(InvalidInput, match="slowdowns may add up to"):
        one_node(execution=ints([2**40, 600, 60]))


def test_presets_files_and_hashes(tmp_path):
    first = mlsched.generate("preemption", "run", seed=3)
    assert first == mlsched.generate("preemption", "run", seed=3)
    assert first.hash[:12] == "908b7610209c"
    mlsched.save(first, tmp_path / "run.json")
    assert mlsched.load(tmp_path / "run.json") == first
    plan = mlsched.solve(first, "fitgpp").plan
    mlsched.save(plan, tmp_path / "plan.json", instance=first)
    assert mlsched.load(tmp_path / "plan.json") == plan
    assert list(first.table(plan)) == ["TE job", "node", "victims"]
    assert np.array_equal(mlsched.generate("preemption", "run", seed=3, jobs=12).te, ints([0] * 12 + [1] * 6))
    with pytest.raises(UnknownName, match=r"unknown preset 'runs' of preemption.*run-small"):
        mlsched.generate("preemption", "runs")
