"""GPUs inside nodes: the judge's rule 6, what makes an instance of them, and old instances that stay as they were."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from draws import THOROUGH
from hypothesis import given
from hypothesis import strategies as st
from taskgraph_examples import GOOD, plan, running, small

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.instances.taskgraph import Instance

#: `small()` with node 0 of one GPU and node 1 of two, in hundredths; the tasks need parts that no two of share a GPU.
PARTS = {"resources": ["gpu_percent"], "node_capacity": [[100], [200]], "demand": [[60], [60], [80]], "gpu_unit": 100}
#: Tasks 0 and 1 one after the other beside task 2, all on node 1.
TOGETHER = ((0, 0, 1, 0), (1, 0, 1, 2), (2, 0, 1, 1))


def labelled(instance: Instance, labels: list[int], runs=TOGETHER):
    task, iteration, node, start = (list(column) for column in zip(*runs, strict=True))
    return instance.timetable(iteration, task, node, start, labels)


@pytest.mark.parametrize(
    ("labels", "changes", "sentences"),
    [
        ([0, 0, 1], {}, []),
        ([0, 1, 0], {"demand": [[20], [60], [80]]}, []),
        ([0, 1, 0], {}, ["node 1 at 1: 140 of GPU 0 in use, it has 100"]),
        ([0, 1, 1], {}, ["node 1 at 2: 140 of GPU 1 in use, it has 100"]),
        ([0, 2, 1], {}, ["task 1, iteration 0: names GPU 2, and node 1 has 2, numbered from 0"]),
        ([-1, 0, 1], {"demand": [[1], [60], [80]]}, ["task 0, iteration 0: needs 1 of a GPU's 100 and names no GPU"]),
        ([0, -1, 1], {}, ["task 1, iteration 0: needs 60 of a GPU's 100 and names no GPU"]),
        # Whole GPUs need no label, and one of theirs says nothing.
        ([-1, 0, 1], {"demand": [[100], [60], [80]]}, []),
        ([1, 0, 1], {"demand": [[100], [60], [80]]}, []),
        # Two labels in use while a third task holds a GPU: too many, though 60 + 40 + 100 are two GPUs.
        (
            [0, 1, -1],
            {"demand": [[60], [40], [100]], "duration": [4, 3, 4], "edge_from": [], "edge_to": [], "edge_lag": [],
             "edge_volume": [], "edge_delay": []},
            ["node 1 at 2: 1 GPUs in use whole and 2 in parts, it has 2"],
        ),
        # A GPU that is not there is all that is said.
        (
            [0, 1, 2],
            {"demand": [[60], [40], [30]], "duration": [4, 3, 4], "edge_from": [], "edge_to": [], "edge_lag": [],
             "edge_volume": [], "edge_delay": []},
            ["task 2, iteration 0: names GPU 2, and node 1 has 2, numbered from 0"],
        ),
        # A run of no time holds nothing and needs no label.
        ([-1, 0, 1], {"duration": [0, 3, 4]}, []),
    ],
)  # fmt: skip
def test_the_rule_broken_and_at_its_edge(labels, changes, sentences):
    inst = small(**{**PARTS, **changes})
    assert inst.violations(labelled(inst, labels)) == sentences


def test_what_was_over_before_now_and_whole_gpus_need_no_label():
    none = {"edge_from": [], "edge_to": [], "edge_lag": [], "edge_volume": [], "edge_delay": []}
    state = {"now": 3, "fixed_task": [0, 1, 2], "fixed_node": [1] * 3, "fixed_start": [0, 0, 2]}
    inst = small(**{**PARTS, "demand": [[60], [60], [100]], "duration": [2, 2, 4], **none, **state})
    runs = ((0, 0, 1, 0), (1, 0, 1, 0), (2, 0, 1, 2))
    for label in (-1, 1):
        assert inst.violations(labelled(inst, [-1, -1, label], runs)) == []


def test_a_run_under_way_keeps_its_gpu():
    """Task 2 has run on GPU 1 of node 1 since 1; task 0 of the first iteration ended on node 0 long ago."""
    state = {"now": 3, "fixed_task": [0, 2], "fixed_node": [1, 1], "fixed_start": [0, 1], "fixed_gpu": [-1, 1]}
    inst = small(**PARTS, **state)
    assert inst.violations(labelled(inst, [-1, 0, 1], ((0, 0, 1, 0), (1, 0, 1, 3), (2, 0, 1, 1)))) == []
    assert inst.violations(labelled(inst, [-1, 1, 0], ((0, 0, 1, 0), (1, 0, 1, 3), (2, 0, 1, 1)))) == [
        "task 2, iteration 0: started on GPU 1 of node 1; that cannot change"
    ]
    with pytest.raises(InvalidInput, match=r"fixed_gpu\[1\]: -1, must name the GPU of a part of one"):
        inst.replace(fixed_gpu=[-1, -1])
    with pytest.raises(InvalidInput, match=r"fixed_gpu\[1\]: 2, expected a GPU of the run's node"):
        inst.replace(fixed_gpu=[-1, 2])
    with pytest.raises(InvalidInput, match=r"fixed_gpu\[0\]: 0, expected -1 where gpu_unit is 0"):
        running(fixed_gpu=[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_capacity": [[100], [250]]}, "node_capacity.*250"),
        ({"demand": [[60], [160], [80]]}, "demand.*160"),
        ({"resources": ["fpga"]}, "gpu_unit = 100.*resources = fpga"),
    ],
)
def test_what_is_no_instance_is_said_in_a_line(changes, message):
    with pytest.raises(InvalidInput, match=message):
        small(**{**PARTS, **changes})


def can_have_gpus(spans: list[tuple[int, int, int]], labels: list[int], gpus: int, unit: int) -> bool:
    """Whether each run (start, end, need) can have the same GPUs from its start to its end, equal labels the same one.

    Tries every choice of GPUs for every run, tick by tick.
    """
    choices = [list(itertools.combinations(range(gpus), max(1, need // unit))) for _, _, need in spans]
    for chosen in itertools.product(*choices):
        fine = True
        for t in range(max(end for _, end, _ in spans)):
            use, label_of = [0] * gpus, {}
            for (start, end, need), held, label in zip(spans, chosen, labels, strict=True):
                if start <= t < end:
                    for g in held:
                        use[g] += min(need, unit)
                    if need < unit:
                        fine &= label_of.setdefault(held[0], label) == label
            fine &= max(use) <= unit
            together = [
                (held, label)
                for (start, end, need), held, label in zip(spans, chosen, labels, strict=True)
                if start <= t < end and need < unit
            ]
            fine &= all(a == b for (a, x), (b, y) in itertools.combinations(together, 2) if x == y)
        if fine:
            return True
    return False  # fmt: skip


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from([1, 2, 2, 3, 4, 8]), st.integers(0, 2)),
        min_size=3,
        max_size=5,
    ),
    gpus=st.integers(2, 3),
)
def test_labels_hold_exactly_where_runs_can_have_gpus(rows, gpus):
    """Rule 6 counts; that counting is enough is what interval graphs promise."""
    labels = [min(label, gpus - 1) for *_, label in rows]
    spans = [(start, start + lasts, need) for start, lasts, need, _ in rows]
    count = len(rows)
    nothing: list[int] = []
    inst = Instance(
        resources=["gpu"], node_capacity=[[4 * gpus]], arrival=[0] * count, deadline=[99] * count, urgency=[1] * count,
        required=[0] * count, min_iterations=[1] * count, max_iterations=[1] * count, accuracy=[[0, 0]] * count,
        task_job=list(range(count)), duration=[lasts for _, lasts, _, _ in rows],
        demand=[[need] for _, _, need, _ in rows], eligible=[[1]] * count, parameters=[0] * count, edge_from=nothing,
        edge_to=nothing, edge_lag=nothing, edge_volume=nothing, edge_delay=nothing, gpu_unit=4,
    )  # fmt: skip
    made = inst.timetable([0] * count, list(range(count)), [0] * count, [start for start, *_ in rows], labels)
    assert (inst.violations(made) == []) == can_have_gpus(spans, labels, gpus, 4)


def test_what_says_nothing_of_gpus_is_what_it_was():
    """Hash and files are as if there were no `gpu_unit`."""
    assert small().hash.startswith("bc6f78d0a614c81f")
    assert "gpu_unit" not in small().to_json()
    assert "fixed_gpu" not in running().to_json()
    assert "gpu" not in plan(small(), *GOOD).to_json()
    apart = small(**PARTS)
    assert Instance.from_json(apart.to_json()) == apart
    assert apart.to_json()["gpu_unit"] == 100
    assert apart.hash != apart.replace(gpu_unit=0).hash
    named = labelled(apart, [0, 0, 1])
    assert type(named).from_json(named.to_json()) == named


def test_a_pool_promises_too_much_on_the_preset(report):
    """`sharing`: the optimum of total_jct is larger than that of nodes whose GPUs are one pool."""
    lower, seeds = 0, range(6) if THOROUGH else (1, 3, 4, 5)
    for seed in seeds:
        inst = mlsched.generate("taskgraph", "sharing", seed=seed)
        assert inst.gpu_unit == 100
        assert set(np.unique(inst.demand[:, 0])) <= {0, 40, 60, 80, 100}
        true, pool = (mlsched.solve(i, "cp-sat") for i in (inst, inst.replace(gpu_unit=0)))
        assert true.status == pool.status == "optimal"
        lower += pool.sort_key < true.sort_key
    report("taskgraph: GPUs apart", [f"{lower} of {len(seeds)} `sharing` instances: smaller total_jct with pools"])
    assert lower >= 2
