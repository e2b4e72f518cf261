"""Pairs of jobs that share their GPUs: reading, runs by hand, the independent replay, the bound, and the policy."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, given, settings

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput, Stuck
from mlsched.instances.traces.throughputs import read_throughputs
from mlsched_rounds.heuristics.shares import PACKING, Asked, Readings
from mlsched_rounds.simulation import strategies as drawn
from mlsched_rounds.simulation.workload import MICRO

#: Steps per second: "a" and "b" on one GPU lose a fifth and a half beside each other, "c" spans two.
TABLE = {
    "fast": {
        "('a', 1)": {"null": 10, "('b', 1)": [8, 2], "('a', 1)": [7, 7]},
        "('b', 1)": {"null": 4, "('a', 1)": [2, 8], "('b', 1)": [0, 0]},
        "('c', 2)": {"null": 2, "('c', 2)": [1.5, 1.5]},
    },
    "slow": {
        "('a', 1)": {"null": 5, "('b', 1)": [1, 1], "('a', 1)": [1, 1]},
        "('b', 1)": {"null": 4, "('a', 1)": [1, 1]},
        "('c', 2)": {"null": 1, "('c', 2)": [0.9, 0.9]},
    },
}


def workload(folder, log: str, cluster: str = "fast=1", packing: bool = True):
    (folder / "table.json").write_text(json.dumps(TABLE))
    (folder / "log.csv").write_text("model,submit,gpus,steps\n" + log)
    options = {"throughputs": str(folder / "table.json"), "cluster": cluster}
    return mlsched.workload(folder / "log.csv", "rounds", **options, **({"packing": True} if packing else {}))


def run(folder, log: str, cluster: str = "fast=1", **options):
    return mlsched.simulate(workload(folder, log, cluster), "gavel:policy=gandiva", options=options)


def test_a_pair_runs_at_its_own_rates_until_its_later_job_is_done(tmp_path) -> None:
    """One GPU, two jobs: 360 s at 8 and 2 steps/s; then 100 s for the remaining 800, while b's last 10 take 5 s."""
    found = run(tmp_path, "a,0,1,3680\nb,0,1,730\n")
    c = found.log.columns()
    assert c["partner"].tolist() == [1, 0, 1, 0]
    assert c["steps"].tolist() == [2880, 720, 800, 10]
    assert (c["end"] / MICRO).tolist() == [360, 360, 460, 460]
    assert found.jobs["completion"].tolist() == [460, 460]
    assert found.jobs["gpu_seconds"].tolist() == [230, 230]
    assert found.violations() == []
    summary = found.summary()
    assert (summary["packed_slices"], summary["utilisation"]) == (4, 1.0)


def test_jobs_that_fit_do_not_share(tmp_path) -> None:
    found = run(tmp_path, "a,0,1,100\nb,0,1,100\n", "fast=2")
    assert found.log.columns()["partner"].tolist() == [-1, -1]
    assert "packed_slices" not in found.summary()
    assert "partner" not in found.log.to_json()


def test_jobs_on_other_numbers_of_gpus_do_not_share(tmp_path) -> None:
    found = run(tmp_path, "c,0,2,700\nc,0,2,700\na,0,1,3600\n", "fast=2")
    shared = {tuple(sorted((row[1], row[8]))) for row in found.log.rows if row[8] >= 0}
    assert shared == {(0, 1)}
    assert found.violations() == []


def test_a_pair_that_does_not_fit_does_not_run(tmp_path) -> None:
    """Two jobs of b do not fit together; as they are drawn as a pair, each fills the GPU alone."""
    found = run(tmp_path, "b,0,1,1440\nb,0,1,1440\n")
    assert found.log.columns()["partner"].tolist() == [-1, -1]
    assert found.jobs["end"].max() == 720
    assert found.violations() == []


def test_a_pair_is_kept_while_relative_rates_add_up_to_one() -> None:
    """At the second reset .5 + .49 on the only type dissolves the pair, .5 + .5 keeps it; the draws are Python's."""
    for other, kept in ((0.49, 0), (0.5, 1)):
        policy = PACKING["gandiva"].start(Readings(seed=3))
        asked = Asked(
            jobs=np.array([0, 1]),
            rate=np.ones((2, 1)),
            gpus=np.array([1, 1]),
            weight=np.ones(2),
            remaining=np.full(2, 10.0),
            age=np.zeros(2),
            served=np.zeros(2),
            capacity=np.array([1]),
            types=("fast",),
            runs=np.ones((2, 1), dtype=bool),
            units=((0,), (1,), (0, 1)),
            together=lambda first, second, other=other: np.array([[0.5], [other]]),
        )
        assert policy(asked).tolist() == [[0], [0], [1]]
        everyone_fits = dataclasses.replace(asked, capacity=np.array([2]))
        assert policy(everyone_fits).tolist() == [[1], [1], [0]]
        assert len(policy.pairs) == kept


def test_pairs_that_fail_for_ever_end_the_run_with_a_remedy(tmp_path) -> None:
    """Jobs of c do 540 steps a round in company; the last step leaves one of two GPUs without any."""
    log = "c,0,2,541\nc,0,2,541\n"
    with pytest.raises(Stuck, match=r"gandiva: since 360 s all slices fail.* give remainder=run"):
        run(tmp_path, log, "fast=2")
    found = run(tmp_path, log, "fast=2", remainder="run")
    assert found.violations() == []
    assert found.summary()["dropped"] == 0


def test_resuming_costs_steps_of_pairs(tmp_path) -> None:
    found = run(tmp_path, "a,0,1,9000\n" * 5, resume=20)
    assert found.violations() == []
    assert {2520, math.floor(2520 * 340 / 360)} <= set(found.log.columns()["steps"].tolist())


@pytest.mark.parametrize(
    ("rows", "changes", "kinds"),
    [
        ([0, 1], {}, set()),
        ([0], {"partner": -1}, {"pair", "steps"}),
        ([0, 1], {"partner": -1}, {"capacity", "steps"}),
        ([0], {"partner": 0}, {"pair", "steps"}),
        ([0], {"partner": 5}, {"log", "pair", "lost job", "steps", "time"}),
        ([0], {"steps": 2879}, {"steps", "time", "lost job"}),
        ([1], {"end": 350 * MICRO}, {"pair", "time"}),
        ([1], {"type": 1}, {"log", "pair", "steps", "lost job", "time"}),
        ([0], {"failed": 1}, {"failure", "steps", "time", "lost job"}),
    ],
)
def test_the_replay_finds_pairs_that_are_tampered_with(tmp_path, rows, changes, kinds) -> None:
    found = run(tmp_path, "a,0,1,3680\nb,0,1,730\n")
    names = found.log.names
    table = [dict(zip(names, row, strict=True)) for row in found.log.rows]
    found.log.rows[:] = [tuple((row | changes if k in rows else row).values()) for k, row in enumerate(table)]
    said = {sentence.partition(":")[0] for sentence in found.violations()}
    assert said == kinds


def test_the_bound_allows_for_pairs(tmp_path) -> None:
    """Alone two jobs of a need 2 x 70 s of the GPU; a pair at 7 steps/s each is done in 100 s."""
    log = "a,0,1,700\na,0,1,700\n"
    shared, alone = workload(tmp_path, log), workload(tmp_path, log, packing=False)
    bounds = [mlsched.simulate(one, "gavel:policy=isolated").bound["makespan_s"] for one in (shared, alone)]
    assert bounds == pytest.approx([100, 140], rel=1e-6)
    found = mlsched.simulate(shared, "gavel:policy=gandiva")
    assert found.summary()["makespan_s"] == 100
    assert found.gaps["makespan_s"] == pytest.approx(0, abs=1e-6)


@settings(max_examples=draws(30, 2000))
@given(drawn.workloads(), drawn.options())
def test_every_run_with_pairs_is_sound_and_above_its_bound(jobs, options) -> None:
    assume(jobs.packing is not None)
    given = dataclasses.asdict(options) | {"shares": "gandiva"}
    try:
        found = mlsched.simulate(jobs, "gavel:policy=gandiva", options=given)
    except Stuck:
        return
    assert found.violations() == []
    summary = found.summary()
    assert summary["utilisation"] <= 1 + 1e-9
    if not summary["dropped"]:
        assert summary["makespan_s"] >= found.bound["makespan_s"] - 1e-6
        assert summary["mean_completion_s"] >= found.bound["mean_completion_s"] - 1e-6


def test_runs_with_pairs_are_saved_and_loaded(tmp_path) -> None:
    found = run(tmp_path, "a,0,1,3680\nb,0,1,730\n")
    mlsched.save(found, tmp_path / "run.json")
    assert mlsched.load(tmp_path / "run.json") == found


def test_rates_of_pairs_are_read_on_request(tmp_path) -> None:
    jobs = workload(tmp_path, "b,0,1,10\na,0,1,10\n", "slow=1,fast=1")
    assert jobs.packing.together(0, 1).tolist() == [[1, 2], [1, 8]]
    assert jobs.packing.best.tolist() == [[1, 2], [1, 8]]  # no other job of a to share with
    assert workload(tmp_path, "b,0,1,10\n", packing=False).packing is None
    assert read_throughputs(tmp_path / "table.json").pairs == {}


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ('{"fast": {"(\'a\', 1)": {"null": 1, "(\'a\', 1)": 3}}}', "expected a list of two rates"),
        ('{"fast": {"(\'a\', 1)": {"null": 1}}}', "rates of pairs are missing; give a throughputs file of Gavel"),
        ("model,gpus,fast\na,1,2\n", "a CSV table lacks rates of pairs; give a throughputs file of Gavel"),
    ],
)
def test_tables_without_pairs_are_refused(tmp_path, table, line) -> None:
    (tmp_path / "table").write_text(table)
    with pytest.raises(InvalidFile, match=line):
        read_throughputs(tmp_path / "table", pairs=True)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"group": [0]}, "expected 2 jobs and 1 types"),
        ({"rate": [[[0]]], "fine": [[[0]]], "group": [1, 0]}, "group: expected the number of a group, below 1"),
        ({"rate": [[[0], [1]], [[0], [0]]]}, "both jobs of a pair must have a rate on a type, or neither"),
    ],
)
def test_impossible_rates_of_pairs_are_refused(tmp_path, changes, line) -> None:
    jobs = workload(tmp_path, "a,0,1,10\nb,0,1,10\n")
    arrays = {name: np.array(values) for name, values in changes.items()}
    with pytest.raises(InvalidInput, match=line):
        dataclasses.replace(jobs, packing=dataclasses.replace(jobs.packing, **arrays))


def test_only_jobs_on_as_many_gpus_that_run_alone_share(tmp_path) -> None:
    jobs = workload(tmp_path, "a,0,1,10\nb,0,1,10\n")
    with pytest.raises(InvalidInput, match="only jobs on as many GPUs share them"):
        dataclasses.replace(jobs, gpus=np.array([1, 2]))
    with pytest.raises(InvalidInput, match="must also run there without sharing"):
        dataclasses.replace(jobs, rate=np.zeros_like(jobs.rate))


def test_whoever_packs_needs_rates_of_pairs(tmp_path) -> None:
    with pytest.raises(InvalidInput, match="gandiva: rates of pairs are missing; give packing=true"):
        mlsched.simulate(workload(tmp_path, "a,0,1,10\n", packing=False), "gavel:policy=gandiva")
    with pytest.raises(InvalidInput, match="a round lacks rates of pairs; use --simulator gavel"):
        mlsched.solve(mlsched.generate("rounds", seed=1), "gavel:policy=gandiva")


def test_jobs_that_change_their_batch_sizes_do_not_share(shared_data, tmp_path) -> None:
    row = ("ResNet-18 (batch size 32)", "command", "folder", "arg", "0", "1000", "1", "accordion", "1", "0", "9", "0")
    (tmp_path / "log.trace").write_text("\t".join(row) + "\n")
    options = {"cluster": "v100=1", "throughputs": str(shared_data / "gavel/simulation_throughputs.json.gz")}
    with pytest.raises(InvalidInput, match="for jobs that change their batch sizes; give adapt=false"):
        mlsched.workload(tmp_path / "log.trace", "rounds", packing=True, **options)
    held = mlsched.workload(tmp_path / "log.trace", "rounds", packing=True, adapt=False, **options)
    assert held.packing is not None
