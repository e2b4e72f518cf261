"""Snapshots that tell the GPUs of a node apart: what is refused, what is seen, and what the judge of rounds says.

Two nodes of 4 and 2 GPUs, in thousandths. Node 0: tasks 0 and 1 share GPU 0 (400 and 500), task 2 has GPUs 1 and 2 to
itself, GPU 3 is free. Node 1: task 3 has GPU 1. Tasks 4 (600), 5 (one GPU) and 6 (two) wait.
"""

from __future__ import annotations

import numpy as np
import pytest
from snapshot_examples import horizon, snapshot_at

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.taskgraph import gpus

DEMAND = [400, 500, 2000, 1000, 600, 1000, 2000]
PLACES = [(0, 0), (1, 0), (2, 0), (3, 1)]
INST = horizon(
    [(0, 2, [(9, amount)]) for amount in DEMAND], nodes=[(4000,), (2000,)], resources=("gpu_milli",), tick_ms=60_000
)


def seen(**changes):
    first = {0: {"start": PLACES, "wake_at": 1}}
    snapshot = snapshot_at(INST, 1, first, pausing="keep", movement="anytime")
    shown = {
        "gpu_unit": 1000,
        "gpu": [0, 0, -1, 1, -1, -1, -1],
        "gpu_in_use": [[900, 1000, 1000, 0], [0, 1000, 0, 0]],
        "gpu_holder": [[-1, 2, 2, -1], [-1, 3, -1, -1]],
    }
    return snapshot.replace(**{**shown, **changes})


def test_what_is_seen(tmp_path):
    snapshot = seen(usage=[[300], [800], [1500], [900], [0], [0], [0]])
    assert snapshot.gpu_free.tolist() == [[100, 0, 0, 1000], [1000, 0, 0, 0]]
    assert snapshot.gpu_demand.tolist() == DEMAND
    assert snapshot.node_usage.tolist() == [[2600], [900]]
    assert snapshot.gpu_usage.tolist() == [[1100, 750, 750, 0], [0, 900, 0, 0]]
    api.save(snapshot, tmp_path / "s.json")
    assert api.load(tmp_path / "s.json") == snapshot
    pool = snapshot_at(INST, 1, {0: {"start": PLACES, "wake_at": 1}})
    assert (pool.gpu_free.shape, pool.gpu_demand.any(), pool.gpu_usage.shape) == ((2, 0), False, (2, 0))


BAD = {
    "no such resource": ({"resources": ["memory"]}, "gpu_unit = 1000: needs exactly one resource named gpu or"),
    "half a GPU too many": ({"gpu_unit": 3000}, r"node_capacity\[0\]: 4000, expected a multiple of gpu_unit \(3000\)"),
    "one and a half GPUs": ({"demand": [[d] for d in (*DEMAND[:6], 1500)]}, r"demand\[6\]: 1500, expected at most gpu"),
    "too few columns": (
        {"gpu_in_use": [[900, 1000], [0, 1000]], "gpu_holder": [[-1, 2], [-1, 3]]},
        r"gpu_in_use: has 2 columns, expected 4",
    ),
    "a fraction nowhere": ({"gpu": [-1, 0, -1, 1, -1, -1, -1]}, r"gpu\[0\]: -1, expected -1 but for running tasks"),
    "a GPU of what waits": ({"gpu": [0, 0, -1, 1, 0, -1, -1]}, r"gpu\[4\]: 0, expected -1 but for running tasks"),
    "a GPU that is not there": ({"gpu": [0, 0, -1, 2, -1, -1, -1]}, r"gpu\[3\]: 2, expected a GPU that the node has"),
    "use of a GPU that is not there": (
        {"gpu_in_use": [[900, 1000, 1000, 0], [0, 1000, 5, 0]]},
        r"gpu_in_use\[1\]\[2\]: 5, expected 0 for a GPU that the node does not have",
    ),
    "more than a GPU": (
        {"gpu_in_use": [[1900, 0, 1000, 0], [0, 1000, 0, 0]]},
        r"gpu_in_use\[0\]\[0\]: 1900, expected at most gpu_unit",
    ),
    "a holder elsewhere": (
        {"gpu_holder": [[-1, 2, 2, 3], [-1, 3, -1, -1]]},
        r"gpu_holder\[0\]\[3\]: 3, expected a task that runs there with whole GPUs",
    ),
    "a holder of too few": (
        {"gpu_holder": [[-1, 2, -1, -1], [-1, 3, -1, -1]]},
        r"demand\[2\]: 2000, expected what gpu_holder gives",
    ),
    "another name": ({"gpu": [0, 0, -1, 0, -1, -1, -1]}, r"expected the GPU that gpu_holder gives it"),
    "less than is held": (
        {"gpu_in_use": [[800, 1000, 1000, 100], [0, 1000, 0, 0]]},
        r"gpu_in_use\[0\]\[0\]: 800, expected at least what the running tasks hold",
    ),
    "another sum": (
        {"gpu_in_use": [[900, 1000, 1000, 100], [0, 1000, 0, 0]]},
        r"in_use\[0\]: 2900, expected the sum of gpu_in_use",
    ),
    "use without a run": ({"usage": [[1]] * 7}, r"usage\[4\]\[0\]: 1, expected 0 for a task that does not run"),
    "waits since later": ({"waiting_since": [9] * 7}, r"waiting_since\[0\]: 9, expected at most now \(1\)"),
    "a loss of no job": (
        {"sample_job": [7], "sample_iteration": [0], "sample_loss": [1]},
        r"sample_job\[0\]: 7, expected below 7",
    ),
    "a loss to come": (
        {"sample_job": [0], "sample_iteration": [1], "sample_loss": [1]},
        r"sample_iteration\[0\]: 1, expected finished",
    ),
    "losses out of order": (
        {"sample_job": [1, 0], "sample_iteration": [0, 0], "sample_loss": [1, 1]},
        r"sample_job\[1\]: 0, expected at least the entry before it",
    ),
    "a loss twice": (
        {"sample_job": [0, 0], "sample_iteration": [0, 0], "sample_loss": [1, 1]},
        r"sample_iteration\[1\]: 0, expected after the one before it",
    ),
}


@pytest.mark.parametrize("bad", list(BAD))
def test_what_is_refused(bad):
    changes, message = BAD[bad]
    with pytest.raises(InvalidInput, match=message):
        seen(**changes)


def test_too_many_losses_of_a_job_are_refused():
    past = {"max_iterations": [99] * 7, "min_iterations": [1] * 7, "stop_after": [99] * 7, "home": [0] * 7}
    columns = {"sample_job": [0] * 65, "sample_iteration": list(range(65)), "sample_loss": [1] * 65}
    with pytest.raises(InvalidInput, match="sample_job: names job 0 65 times, expected at most 64"):
        seen(**past, **columns, finished=[70] * 7)


LEGAL = {
    "a fraction on a free GPU": {"start": [(4, 0, 3)]},
    "a GPU that is not named": {"start": [(5, 0)]},
    "a GPU that is": {"start": [(5, 1, 0)]},
    "two that leave make room for two that come": {"pause": [2], "start": [(6, 0)]},
    "what was held whole is shared": {"pause": [2], "start": [(4, 0, 1), (5, 0, 2)]},
    "a fraction makes room for another": {"pause": [1], "start": [(4, 0, 0)]},
    "to another GPU of the node": {"migrate": [(1, 0, 3)], "start": [(4, 0, 0)]},
    "a fraction leaves another node": {"pause": [0], "start": [(5, 1, 0)]},
    "to another node": {"migrate": [(3, 0, 3)], "start": [(6, 1)]},
}
WRONG = {
    "a fraction that names none": ({"start": [(4, 0)]}, "task 4: takes 600 of 1000 of a GPU and must name it"),
    "a GPU too small": ({"start": [(4, 0, 0)]}, "node 0, GPU 0: 500 more in use than it has"),
    "a GPU that another has": ({"start": [(5, 1, 1)]}, "node 1, GPU 1: 1000 more in use than it has"),
    "a GPU that stays held": ({"pause": [0, 1], "start": [(4, 0, 1)]}, "node 0, GPU 1: 600 more in use than it has"),
    "no such GPU": ({"start": [(5, 1, 2)]}, "task 5: GPU 2 does not exist on node 1, which has 2"),
    "a name for two": ({"start": [(6, 0, 3)]}, "task 6: names GPU 3 and takes 2000: only a task of at most one GPU"),
    "the first name for two": (
        {"start": [(6, 0, 0)]},
        "task 6: names GPU 0 and takes 2000: only a task of at most one",
    ),
    "whole GPUs in pieces": ({"start": [(5, 0), (4, 0, 3)]}, "node 0: 1 whole GPUs are asked for, 0 are wholly free"),
    "where it is": ({"migrate": [(1, 0, 0)]}, "migrate: task 1 runs on node 0 already"),
    "where it is, by its node": ({"migrate": [(1, 0)]}, "migrate: task 1 runs on node 0 already"),
}


@pytest.mark.parametrize("legal", list(LEGAL))
def test_a_legal_round(legal):
    assert seen().violations(seen().round(**LEGAL[legal])) == []


@pytest.mark.parametrize("wrong", list(WRONG))
def test_a_wrong_round_is_named(wrong):
    columns, sentence = WRONG[wrong]
    found = seen().violations(seen().round(**columns))
    assert any(sentence in s for s in found), found


def test_where_gpus_are_one_pool_none_is_named():
    pool = snapshot_at(INST, 1, {0: {"start": PLACES, "wake_at": 1}})
    assert pool.violations(pool.round(start=[(4, 0)])) == []
    for gpu in (3, 0):
        found = pool.violations(pool.round(start=[(4, 0, gpu)]))
        assert found == [f"task 4: names GPU {gpu}: the GPUs of a node are one pool here"]


def test_what_takes_no_time_takes_no_gpu():
    snapshot = seen()
    at_once = snapshot.replace(duration=np.where(np.arange(7) == 4, 0, snapshot.duration))
    assert at_once.violations(at_once.round(start=[(4, 0)])) == []
    assert at_once.violations(at_once.round(start=[(4, 0, 3)])) == [
        "task 4: names GPU 3 and takes 0: only a task of at most one GPU names it"
    ]
    a_tick = snapshot.replace(duration=np.where(np.arange(7) == 4, 1, snapshot.duration))
    assert a_tick.violations(a_tick.round(start=[(4, 0)])) == ["task 4: takes 600 of 1000 of a GPU and must name it"]


def test_a_thousandth_of_a_gpu_is_a_part_of_one():
    little = seen().replace(demand=[[d] for d in (*DEMAND[:4], 1, *DEMAND[5:])])
    assert little.violations(little.round(start=[(4, 0, 3)])) == []
    assert little.violations(little.round(start=[(4, 0)])) == ["task 4: takes 1 of 1000 of a GPU and must name it"]


def test_gpus_need_not_be_the_first_resource():
    snapshot = seen()
    nothing = np.zeros((7, 1), dtype=np.int64)
    beside = snapshot.replace(
        resources=["cpu", "gpu_milli"],
        node_capacity=np.hstack([nothing[:2] + 9, snapshot.node_capacity]),
        in_use=np.hstack([nothing[:2], snapshot.in_use]),
        demand=np.hstack([nothing, snapshot.demand]),
        usage=np.hstack([nothing, snapshot.usage]),
        service=np.hstack([nothing, snapshot.service]),
    )
    assert beside.violations(beside.round(start=[(4, 0, 3)])) == []
    assert beside.violations(beside.round(start=[(4, 0)])) == ["task 4: takes 600 of 1000 of a GPU and must name it"]


def test_where_a_demand_finds_room_and_which_gpu_it_takes():
    free = np.array([[300, 1000, 700, 1000], [1000, 650, 0, 0]])
    room = {need: gpus.fitting(free, need, 1000).tolist() for need in (300, 700, 1000, 2000)}
    assert room == {300: [9, 5], 700: [3, 1], 1000: [2, 1], 2000: [1, 0]}
    assert [gpus.tightest(free[0], need, 1000) for need in (0, 300, 650, 800, 1000)] == [-1, 0, 2, 1, -1]
    assert [gpus.taken(free[0], *need) for need in ((0, 1000), (300, 1000, 2), (2000, 1000))] == [[], [2], [1, 3]]
