"""The bound's own program as a policy of Gavel's world: no run is below the bounds."""

from __future__ import annotations

import numpy as np
import pytest
from draws import THOROUGH, draws
from gavel_examples import prints, small, workload_of

from mlsched_rounds.heuristics.shares import POLICIES, Asked, Readings
from mlsched_rounds.heuristics.shares import fluid as fluid_mpc
from mlsched_rounds.simulation.mechanism import play
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.solvers import fluid
from mlsched_rounds.solvers.shares import Rates


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


#: A trace whose jobs come at many times, on its largest cluster: as dear as all others together.
DEAR = ("max_min_fairness.trace", "8:16:24")


def test_every_printed_run_is_above_the_bounds_and_the_fluid_near_them(shared_data, tmp_path, monkeypatch):
    found = {}
    for run in prints(shared_data):
        key = (run["trace"], run["cluster"])
        if run["policy"] == "gandiva":
            continue  # pairs share GPUs there: see test_gavel_prints
        if None in run["jct"] or (key == DEAR and not THOROUGH):
            continue
        if key not in found:
            found[key] = bounds(workload_of(shared_data, run, tmp_path), draws(15, 100))
        total, end = found[key]
        assert sum(run["jct"]) >= total, key
        assert run["makespan"] >= end, key
    assert len(found) >= 5
    run = next(r for r in prints(shared_data) if r["trace"] == "minimize_makespan.trace")
    workload = workload_of(shared_data, run, tmp_path)
    monkeypatch.setattr(fluid_mpc, "INTERVALS", draws(8, 30))
    rounds = play(workload, POLICIES["fluid_mpc"], Options()).rounds
    mine = sum(rounds.ended[j] - a for j, a in enumerate(rounds.arrival))
    total = bounds(workload, draws(30, 60))[0]
    # Gavel's policies are 54 % above it and more.
    assert total <= mine <= 1.25 * total


def test_a_shorter_first_interval_sees_the_order_of_short_jobs():
    """One GPU: both jobs would end within 1,920 s, where their order costs nothing; the shorter one comes first."""
    asked = Asked(
        jobs=np.arange(2),
        rate=np.ones((2, 1)),
        gpus=np.ones(2, dtype=np.int64),
        weight=np.ones(2),
        remaining=np.array([1000.0, 10.0]),
        age=np.zeros(2),
        served=np.zeros(2),
        capacity=np.ones(1, dtype=np.int64),
        types=("all",),
        runs=np.ones((2, 1), dtype=np.bool_),
    )
    shares = POLICIES["fluid_mpc"].start(Readings(first=5.0))(asked)
    assert shares[:, 0].tolist() == pytest.approx([0.0, 1.0], abs=1e-6)
    assert POLICIES["fluid_mpc"].start(Readings())(asked).sum() <= 1 + 1e-9


#: A long job and a short one on one GPU.
TWO = "model,submit,gpus,steps\nvision,0,1,9000\ntext,0,1,40\n"


def test_the_world_hands_it_on(tmp_path):
    workload = small(tmp_path, log=TWO, cluster="fast=1")
    ended = [play(workload, POLICIES["fluid_mpc"], Options(remainder="run", first=f)).rounds.ended for f in (5, 1920)]
    assert ended[0][1] == min(ended[0].values())
    assert sum(ended[0].values()) <= sum(ended[1].values())


def test_by_default_it_is_as_long_as_a_round(tmp_path):
    workload = small(tmp_path, log=TWO, cluster="fast=1")

    def asked(**told: int) -> list[list[float]]:
        calls = play(workload, POLICIES["fluid_mpc"], Options(remainder="run", **told)).calls
        return [shares.ravel().tolist() for _, _, shares in calls]

    for length in (5, 360, 1920):
        assert asked(round=length) == asked(round=length, first=length)
    assert asked(round=5) != asked(round=5, first=1920)
