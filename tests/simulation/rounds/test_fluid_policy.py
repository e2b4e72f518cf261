"""The bound's own program as a policy of Gavel's world: no run is below the bounds."""

from __future__ import annotations

import numpy as np
from draws import draws
from gavel_examples import prints, small, workload_of

from mlsched.heuristics.rounds.shares import POLICIES
from mlsched.simulation.rounds.mechanism import play
from mlsched.simulation.rounds.options import Options
from mlsched.solvers.rounds import fluid
from mlsched.solvers.rounds.shares import Rates


def bounds(workload, intervals: int) -> tuple[float, float]:
    rates = Rates(np.asarray(workload.rates, dtype=float), workload.gpus, workload.capacity)
    steps, release = workload.steps.astype(float), workload.submit / 1e6
    release = release - release.min()
    end = fluid.makespan_bound(rates, steps, release)
    return fluid.total_jct_bound(rates, steps, release, fluid.grid(0, 1.3 * end, intervals)), end


def test_jobs_by_hand_end_no_sooner_than_the_bound(tmp_path):
    workload = small(tmp_path)
    rounds = play(workload, POLICIES["fluid_mpc"], Options(remainder="run")).rounds
    total, end = bounds(workload, 15)
    assert sum(rounds.ended[j] - a for j, a in enumerate(rounds.arrival)) >= total > 0
    assert rounds.now >= end > 0


def test_every_printed_run_is_above_the_bounds_and_the_fluid_near_them(shared_data, tmp_path):
    found = {}
    for run in prints(shared_data):
        if None in run["jct"]:
            continue
        key = (run["trace"], run["cluster"])
        if key not in found:
            found[key] = bounds(workload_of(shared_data, run, tmp_path), draws(15, 100))
        total, end = found[key]
        assert sum(run["jct"]) >= total, key
        assert run["makespan"] >= end, key
    assert len(found) >= 5
    run = next(r for r in prints(shared_data) if r["trace"] == "minimize_makespan.trace")
    workload = workload_of(shared_data, run, tmp_path)
    rounds = play(workload, POLICIES["fluid_mpc"], Options()).rounds
    mine = sum(rounds.ended[j] - a for j, a in enumerate(rounds.arrival))
    total = bounds(workload, 60)[0]
    # Gavel's policies are 54 % above it and more.
    assert total <= mine <= 1.25 * total
