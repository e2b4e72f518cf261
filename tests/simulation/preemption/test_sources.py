"""Workloads from traces, and what is said of those that cannot or can hardly be run."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.traces import Trace
from mlsched.simulation.nodes import parse_cluster
from mlsched.simulation.preemption import Workload
from mlsched.simulation.preemption.sources import from_trace
from mlsched.simulation.preemption.workload import never_start, overload

NODES = parse_cluster("2x(8cpu,16gb,2gpu)")


def trace(count: int = 4, **columns) -> Trace:
    """`count` jobs a minute apart, each of 90.4 s, 1 GPU, 2 CPU, 1 GB, unless said otherwise."""
    fields = {
        "ids": [f"j{i}" for i in range(count)],
        "submit": [60 * i for i in range(count)],
        "duration_ms": [90_400] * count,
        "gpu_count": [1] * count,
        "gpus_milli": [1000] * count,
        "cpu_milli": [2000] * count,
        "memory_mib": [1024] * count,
        "qos": [""] * count,
        "group": [""] * count,
        "status": [""] * count,
        "source": "hand-made",
    }
    return Trace(**{**fields, **columns})


QOS = ["LS", "BE", "Burstable", "", "Guaranteed", "LS"]


def test_a_trace_becomes_a_workload():
    load = from_trace(trace(gpus_milli=[500, 1000, 1000, 1000]), NODES)
    assert load.resources == ("cpu_milli", "memory_mib", "gpu_milli")
    assert load.node_capacity.tolist() == [[8000, 16384, 2000]] * 2
    assert load.submit.tolist() == [0, 60, 120, 180]
    assert load.execution.tolist() == [90] * 4
    assert load.demand.tolist() == [[2000, 1024, 500]] + [[2000, 1024, 1000]] * 3
    assert set((load.grace % 60).tolist()) == {0}
    assert "hand-made; TE jobs: a random share of 0.3; grace periods drawn (seed 0); 0 jobs dropped" in load.source


def test_a_run_of_less_than_half_a_second_takes_one():
    assert from_trace(trace(1, duration_ms=[1]), NODES).execution.tolist() == [1]


@pytest.mark.parametrize(("other", "te"), [("be", [1, 0, 0, 0, 0, 1]), ("te", [1, 0, 1, 1, 1, 1]), ("drop", [1, 0, 1])])
@pytest.mark.parametrize("kinds", ["qos", "auto"])
def test_kinds_by_quality_of_service(kinds, other, te):
    load = from_trace(trace(6, qos=QOS), NODES, kinds=kinds, other_qos=other)
    assert load.te.tolist() == te
    assert "QoS LS" in load.source
    if other == "drop":
        assert load.submit.tolist() == [0, 60, 300]
        assert "3 jobs dropped" in load.source


def test_dropping_the_first_job_moves_the_origin():
    load = from_trace(trace(3, qos=["", "LS", "BE"]), NODES, other_qos="drop")
    assert load.submit.tolist() == [0, 60]


def test_quality_of_service_that_the_trace_lacks_is_refused():
    with pytest.raises(InvalidInput, match="hand-made: the quality of service is missing; use kinds=random"):
        from_trace(trace(), NODES, kinds="qos")


def test_kinds_at_random_are_a_seeded_share():
    many = trace(2000, qos=["LS"] * 2000)
    loads = [from_trace(many, NODES, kinds="random", te_share=0.2, seed=s) for s in (1, 1, 2)]
    assert loads[0] == loads[1]
    assert loads[0].te.tolist() != loads[2].te.tolist()
    assert loads[0].te.mean() == pytest.approx(0.2, abs=0.04)
    assert from_trace(trace(), NODES, te_share=1.0).te.tolist() == [1, 1, 1, 1]  # auto, without QoS
    assert from_trace(trace(), NODES, te_share=0.0).te.tolist() == [0, 0, 0, 0]


def test_kinds_by_length():
    jobs = trace(3, duration_ms=[100_000, 100_001, 5])
    assert from_trace(jobs, NODES, kinds="short", te_longest=100).te.tolist() == [1, 0, 1]


def test_oversize_jobs_are_kept_or_dropped():
    jobs = trace(3, cpu_milli=[2000, 9000, 2000])
    kept = from_trace(jobs, NODES)
    assert never_start(kept) == [
        "1 of 3 jobs fit no node of 2x(8 cpu, 16 gb, 2 gpu); the first is job 1 (9 cpu, 1 gb, 1 gpu)"
    ]
    with pytest.raises(InvalidInput, match=r"the run could never end: 1 of 3 jobs fit no node .*oversize=drop"):
        api.simulate(kept, "fifo")
    dropped = from_trace(jobs, NODES, oversize="drop")
    assert never_start(dropped) == []
    assert dropped.submit.tolist() == [0, 120]


def test_a_job_that_fits_no_single_node_though_each_resource_is_somewhere():
    nodes = parse_cluster("1x(8cpu,16gb)+1x(1cpu,16gb,2gpu)")
    assert len(never_start(from_trace(trace(2), nodes))) == 1


def test_nothing_left_is_refused():
    with pytest.raises(InvalidInput, match="hand-made: no job is left; check other_qos, oversize and the cluster"):
        from_trace(trace(cpu_milli=[9000] * 4), NODES, oversize="drop")


def test_arrivals_come_faster_by_a_factor():
    assert from_trace(trace(), NODES, arrivals=4.0).submit.tolist() == [0, 15, 30, 45]
    assert from_trace(trace(), NODES, arrivals=0.5).submit.tolist() == [0, 120, 240, 360]
    with pytest.raises(InvalidInput, match=r"arrivals: 0\.0, expected above 0"):
        from_trace(trace(), NODES, arrivals=0.0)


def test_resources_that_the_trace_lacks_are_left_out():
    load = from_trace(trace(cpu_milli=[2000, 2000, -1, 2000], memory_mib=[-1] * 4), NODES)
    assert load.resources == ("gpu_milli",)
    assert load.node_capacity.tolist() == [[2000], [2000]]


def test_grace_periods_scale():
    assert (from_trace(trace(), NODES, grace_scale=0.0).grace == 0).all()
    many = trace(500)
    assert from_trace(many, NODES, grace_scale=8.0).grace.mean() > 6 * from_trace(many, NODES).grace.mean()


def test_a_cluster_is_made_where_none_is_given():
    """Eight jobs at once on GPUs: arrival k sees k running, three quarters of them at most 6.25 jobs of 4 GPUs."""
    jobs = trace(8, submit=[0] * 8, gpu_count=[4] * 8, gpus_milli=[4000] * 8)
    load = from_trace(jobs, None)
    assert load.node_capacity.tolist() == [[32_000, 262_144, 8_000]] * 4  # 25 GPUs
    large = from_trace(trace(1, cpu_milli=[64_000]), None)
    assert large.node_capacity.tolist() == [[64_000, 262_144, 8_000]]
    assert never_start(large) == []


def test_one_after_the_other_needs_one_node():
    # The end at 90 s counts before the start at 90 s.
    jobs = trace(50, submit=[90 * i for i in range(50)], gpu_count=[8] * 50, gpus_milli=[8000] * 50)
    assert len(from_trace(jobs, None).node_capacity) == 1


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"kinds": "x"}, "kinds: 'x', expected one of auto, qos, random, short"),
        ({"other_qos": "x"}, "other_qos: 'x', expected one of te, be, drop"),
        ({"oversize": "x"}, "oversize: 'x', expected one of keep, drop"),
        ({"te_share": 2.0}, "te_share: 2.0, expected between 0 and 1"),
        ({"grace_scale": -1.0}, "grace_scale: -1.0, expected at least 0"),
    ],
)
def test_options_out_of_range_are_refused(option, sentence):
    with pytest.raises(InvalidInput, match=f"^{sentence}$"):
        from_trace(trace(), NODES, **option)


def test_overload_is_told_with_numbers():
    # 100 jobs of 100 s and 1 GPU, one every 10 s, on 2 GPUs: 10000 GPU s asked in 990 s of 2 GPUs.
    count = 100
    load = Workload(
        resources=["cpu", "gpu"],
        node_capacity=[[0, 2]],
        submit=np.arange(count) * 10,
        te=[0] * count,
        execution=[100] * count,
        demand=[[0, 1]] * count,
        grace=[0] * count,
    )
    sentence = (
        "the offered load on gpu is 5.05 times the cluster's capacity: at the last arrival some 1.1 hours of work wait"
    )
    assert overload(load) == [sentence]
    with pytest.warns(UserWarning, match="the offered load on gpu is 5.05 times"):
        api.simulate(load, "fifo")


def test_a_burst_or_a_light_load_is_no_overload():
    count = 100
    fields = {
        "resources": ["gpu"],
        "node_capacity": [[1]],
        "te": [0] * count,
        "execution": [100] * count,
        "demand": [[1]] * count,
        "grace": [0] * count,
    }
    assert overload(Workload(submit=[0] * count, **fields)) == []
    assert overload(Workload(submit=list(range(0, 100 * count, 100)), **fields)) == []
