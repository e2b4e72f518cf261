"""Which runs there are, how their workloads are made, and the paper's numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mlsched import api
from mlsched.simulation.preemption.synthetic import CALIBRATIONS
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp import measure, paper


def test_the_full_grid_is_the_papers():
    assert (g.FULL.jobs, g.FULL.seeds, g.FULL.interpretations) == (65536, 8, ("z", "a"))
    assert g.FULL.weights == (0, 0.5, 1, 2, 4, 8, 16)
    assert g.FULL.limits == ("1", "2", "4", "8", "inf")
    assert g.FULL.shares == tuple(round(0.1 * n, 1) for n in range(1, 10))
    assert g.FULL.scales == (1, 2, 4, 8)
    assert CALIBRATIONS["a"].during_grace == "paused"


@pytest.mark.parametrize("grid", [g.FULL, g.QUICK], ids=["full", "quick"])
def test_no_run_is_made_twice(grid):
    cases = g.cases(grid)
    assert len(set(cases)) == len(cases)
    per_workload = [c for c in cases if (c.interpretation, c.seed) == ("z", 0)]
    assert len(per_workload) * grid.seeds * len(grid.interpretations) == len(cases)
    assert sum(c.policy == g.RAND and (c.te_share, c.grace_scale) == (0.3, 1.0) for c in per_workload) == 4
    assert sum(c.policy == g.MINMAX for c in per_workload) == 1


def test_a_trace_adds_its_policies_first():
    grid = dataclasses.replace(g.QUICK, trace=True)
    on_trace = [c for c in g.cases(grid) if c.interpretation == g.TRACE]
    assert g.cases(grid)[: len(on_trace)] == on_trace
    assert {c.policy for c in on_trace} == {*g.PAPER, *g.BESIDE}


def test_shorter_runs_are_below_the_experiments_length():
    assert {c.jobs for c in g.cases(g.FULL)} == {0, 2**12, 2**14}
    assert {c.jobs for c in g.cases(dataclasses.replace(g.FULL, jobs=2**13))} == {0, 2**12}
    case = g.Case("z", 0, g.FIFO, jobs=128)
    assert len(measure._workload(measure.Source(jobs=512), case).submit) == 128


def test_fifo_with_te_jobs_first_suspends_nothing_and_serves_them_sooner():
    cases = [g.Case("z", 0, policy) for policy in (g.FIFO, g.FIRST)]
    fifo, first = measure.measure(cases, measure.Source(2**11)).values()
    assert fifo.values["preempted"] == first.values["preempted"] == 0
    assert first.values["te_p95"] < 0.2 * fifo.values["te_p95"]


@pytest.mark.parametrize("te_share", [0.3, 0.7])
def test_longer_grace_periods_change_nothing_else(te_share):
    source = measure.Source(jobs=512)
    case = g.Case("z", 3, g.FITGPP, te_share=te_share, grace_scale=4.0)
    base = measure._workload(source, case)
    made = measure._with_grace(base, source, case)
    whole = api.workload("synthetic:z", jobs=512, seed=3, te_share=te_share, grace_scale=4.0)
    assert made.replace(source="") == whole.replace(source="")
    assert made != base


def test_repeats_of_rand_differ_and_fitgpp_has_one():
    cases = [g.Case("z", 0, g.RAND, repeat=n) for n in (0, 1)]
    first, second = measure.measure(cases, measure.Source(2**11)).values()
    assert first.values["preempted"] > 0
    assert first.values != second.values


def test_a_run_has_its_backlog_its_drifts_and_its_intervals():
    case = g.Case("z", 0, g.RAND)
    (found,) = measure.measure([case], measure.Source(2**12)).values()
    assert found.values["growth"] is not None
    assert found.values["lost"] is not None
    minutes = [n for n, count in enumerate(found.intervals) for _ in range(count)]
    assert np.percentile(minutes, 95) == pytest.approx(found.values["interval_p95"])
    assert {"drift_te_p95", "drift_be_p50", "drift_preempted", "drift_interval_p99"} <= set(found.values)


def test_the_papers_numbers():
    assert paper.TABLE_1[paper.FITGPP] == (1.00, 1.15, 1.54, 3.28, 6.06, 10.3)
    assert paper.TABLE_1[paper.FIFO][1] == 33.4
    assert paper.TABLE_2[paper.RAND] == (4.0, 4.0, 6.0, 7.0)
    assert paper.TABLE_3[paper.FITGPP] == (0.63,)
    assert paper.TABLE_4[paper.LRTP] == (6.3, 1.2, 0.34)
    assert paper.TABLE_5[paper.FIFO] == (235, 2080, 3650, 16.2, 443, 1180)


def test_the_papers_statements_follow_from_its_tables():
    fifo, fit = paper.TABLE_1[paper.FIFO], paper.TABLE_1[paper.FITGPP]
    assert 100 * (1 - fit[1] / fifo[1]) == pytest.approx(paper.TE_P95_CUT, abs=0.1)
    assert 100 * (fit[3] / fifo[3] - 1) == pytest.approx(paper.BE_MEDIAN_RISE, abs=0.1)
    assert 100 * (fit[4] / fifo[4] - 1) == pytest.approx(paper.BE_P95_RISE, abs=0.1)
    fifo, fit = paper.TABLE_5[paper.FIFO], paper.TABLE_5[paper.FITGPP]
    assert 100 * (1 - fit[3] / fifo[3]) == pytest.approx(paper.TRACE_BE_MEDIAN_CUT, abs=0.1)
    assert 100 * (1 - fit[4] / fifo[4]) == pytest.approx(paper.TRACE_BE_P95_CUT, abs=0.1)
