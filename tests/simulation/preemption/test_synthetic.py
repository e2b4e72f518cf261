"""The paper's synthetic workload: its distributions, its closed loop, its FIFO row of Table 1."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.simulation.preemption.synthetic import synthetic

#: Table 1, FIFO: the median slowdown of TE jobs.
FIFO_TE_MEDIAN = 9.38


@pytest.mark.parametrize("calibration", ["z", "a"])
def test_the_distributions_are_those_of_the_paper(calibration):
    load = synthetic(calibration=calibration, jobs=2000, nodes=20, seed=3)
    te = load.te == 1
    assert load.demand.shape == (2000, 3)
    assert load.node_capacity.tolist() == [[32, 256, 8]] * 20
    assert te.sum() == 600
    assert (load.demand >= [1, 1, 0]).all()
    assert (load.demand <= [32, 256, 8]).all()
    for rows, high, mean in ((te, 30, 6.84), (~te, 1440, 30.0)):
        minutes = load.execution[rows] / 60
        assert minutes.min() >= 1
        assert minutes.max() <= high
        assert minutes.mean() == pytest.approx(mean, rel=0.06)
    assert (load.execution % 60 != 0).any()  # continuous: whole minutes miss Table 1
    assert set((load.grace % 60).tolist()) == {0}
    assert load.grace.min() >= 0
    assert load.grace.max() <= 1200
    assert load.grace.mean() / 60 == pytest.approx(3.5, rel=0.05)  # N(3, 1.25), rounded up


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_share_of_te_jobs_is_exact(share):
    assert synthetic(jobs=40, nodes=2, te_share=share).te.sum() == 40 * share


def test_equal_seeds_give_equal_workloads_and_others_do_not():
    arguments = {"jobs": 60, "nodes": 2}
    assert synthetic(seed=4, **arguments) == synthetic(seed=4, **arguments)
    assert synthetic(seed=4, **arguments) != synthetic(seed=5, **arguments)
    assert api.workload("synthetic:z:jobs=60,nodes=2", seed=4) == synthetic(seed=4, **arguments)
    assert api.workload("synthetic:z", seed=4, **arguments) == synthetic(seed=4, **arguments)
    assert api.workload("synthetic:a", seed=4, **arguments) == synthetic(seed=4, calibration="a", **arguments)


def test_grace_periods_scale():
    plain, longer, none = (synthetic(jobs=500, nodes=5, grace_scale=s) for s in (1, 4, 0))
    assert 3.5 < longer.grace.mean() / plain.grace.mean() < 4.1
    assert longer.grace.max() <= 4800
    assert (none.grace == 0).all()


def test_rounding_first_lets_smaller_demands_through():
    last, first = (synthetic(jobs=4000, nodes=20, rounding=r) for r in ("last", "first"))
    be = last.te == 0
    assert (first.te == last.te).all()
    assert first.demand.min(axis=0).tolist() == last.demand.min(axis=0).tolist() == [1, 1, 0]
    # Of the BE jobs' CPUs about N(-1, 6.5), [0.5, 1.5) becomes 1 in the one interpretation, [1, 1.5) in the other.
    ones = [(load.demand[be, 0] == 1).mean() for load in (last, first)]
    assert 1.5 < ones[1] / ones[0] < 2.5


@pytest.mark.parametrize(("load", "seed"), [(2.0, 0), (2.0, 1), (0.7, 2)])
def test_the_loop_keeps_the_load(load, seed):
    """At every minute a job is submitted exactly while running + queued demand is below the target, under FIFO."""
    work = synthetic(jobs=400, nodes=3, load=load, seed=seed)
    run = api.simulate(work, "fifo")
    assert run.violations() == []
    share = (work.demand / work.node_capacity.sum(axis=0)).mean(axis=1)
    finish, submit = run.jobs["finish"], work.submit
    assert set((submit % 60).tolist()) == {0}
    assert submit[0] == 0
    for job in range(len(submit)):
        present = (np.arange(len(submit)) < job) & (finish > submit[job])
        assert share[present].sum() < load + 1e-9
    for minute in range(0, int(submit[-1]), 60):  # at the last one the jobs may run out
        assert share[(submit <= minute) & (finish > minute)].sum() >= load - 1e-9


def test_fifo_has_the_papers_median_for_te_jobs():
    run = api.simulate(api.workload("synthetic:z:jobs=8192"), "fifo")
    assert run.violations() == []
    assert run.summary()["te_slowdown"]["p50"] == pytest.approx(FIFO_TE_MEDIAN, rel=0.15)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"jobs": 0}, "jobs: 0, expected between 1 and 10000000"),
        ({"nodes": 0}, "nodes: 0, expected between 1 and 100000"),
        ({"te_share": 1.5}, "te_share: 1.5, expected between 0 and 1"),
        ({"load": 0.0}, "load: 0.0, expected above 0"),
        ({"grace_scale": -1.0}, "grace_scale: -1.0, expected at least 0"),
        ({"rounding": "up"}, "rounding: 'up', expected one of last, first"),
        ({"calibration": "q"}, "calibration: 'q', expected one of z, a"),
    ],
)
def test_options_out_of_range_are_refused(options, sentence):
    with pytest.raises(InvalidInput, match=f"^{sentence}$"):
        synthetic(**options)


def test_wrong_names_and_options_of_the_source_are_refused():
    with pytest.raises(
        UnknownName, match=r"unknown synthetic workload 'q'; there are .*z .preemption., a .preemption."
    ):
        api.workload("synthetic:q")
    with pytest.raises(UnknownName, match="synthetic:z: unknown parameter 'speed'"):
        api.workload("synthetic:z:speed=3")
    with pytest.raises(InvalidInput, match="jobs: 'many', expected an integer"):
        api.workload("synthetic:z:jobs=many")
    with pytest.raises(InvalidInput, match="cluster and limit are for traces"):
        api.workload("synthetic:z", cluster="1x(8gpu)")
