"""The world of rounds equals what Gavel's own simulator prints, to half a thousandth of a second for each job."""

from __future__ import annotations

import numpy as np
import pytest
from draws import THOROUGH
from gavel_examples import OURS, logged, prints, workload_of

from mlsched_rounds.heuristics.shares import PACKING, POLICIES, Policy
from mlsched_rounds.simulation import bound
from mlsched_rounds.simulation.mechanism import Mechanism, play
from mlsched_rounds.simulation.options import Options

PRINTED = 0.0005001
COMBINATORIAL = ("fifo", "fifo_perf", "isolated", "allox")


def assert_equal(mechanism: Mechanism, run: dict) -> None:
    rounds = mechanism.rounds
    for job, printed in enumerate(run["jct"]):
        assert printed is not None
        assert abs(rounds.ended[job] - rounds.arrival[job] - printed) <= PRINTED, (job, run["trace"], run["policy"])
    assert abs(rounds.now - run["makespan"]) <= PRINTED
    parts = [1.0 if one.partner < 0 else 0.5 for one in rounds.slices]  # a pair is one of Gavel's micro-tasks
    assert sum(parts) == run["microtasks"]
    assert abs(rounds.booked / sum(rounds.capacity) / rounds.now - run["utilization"]) <= PRINTED
    if run["lease"] is not None:
        assert sum(one.kept * part for one, part in zip(rounds.slices, parts, strict=True)) == run["lease"][0]


def test_fed_with_the_logged_allocations_every_job_ends_as_printed(shared_data, tmp_path) -> None:
    count = 0
    for run in prints(shared_data):
        calls = logged(shared_data, run)
        if calls is None:
            continue
        known = POLICIES[OURS.get(run["policy"], run["policy"])]
        remaining = iter(calls)

        def told(asked, remaining=remaining):
            _, shares = next(remaining)
            assert sorted(map(int, shares)) == asked.jobs.tolist()
            columns = [sorted(asked.types).index(name) for name in asked.types]
            rows = [[shares[str(job)][column] for column in columns] for job in asked.jobs.tolist()]
            return np.array(rows).reshape(-1, len(columns))

        policy = Policy("told", lambda readings, told=told: told, aware=known.aware, strict=known.strict)
        mechanism = play(workload_of(shared_data, run, tmp_path), policy, Options())
        asked = [time for time, _, _ in mechanism.calls]
        assert asked == pytest.approx([time for time, _ in calls[: len(asked)]], abs=1e-6)
        assert not any(shares for _, shares in calls[len(asked) :])  # Gavel asks once more when all jobs are done
        assert_equal(mechanism, run)
        count += 1
    assert count == 9


def test_combinatorial_policies_are_equal_end_to_end(shared_data, tmp_path) -> None:
    count = 0
    for run in prints(shared_data):
        if run["policy"] in COMBINATORIAL:
            options = Options(seed=run["seed"])
            assert_equal(play(workload_of(shared_data, run, tmp_path), POLICIES[run["policy"]], options), run)
            count += 1
    assert count == 18


def test_gandiva_packs_as_printed(shared_data, tmp_path) -> None:
    count = 0
    for run in prints(shared_data):
        if run["policy"] == "gandiva":
            workload = workload_of(shared_data, run, tmp_path, packing=True)
            mechanism = play(workload, PACKING["gandiva"], Options(seed=run["seed"]))
            assert_equal(mechanism, run)
            assert any(one.partner >= 0 for one in mechanism.rounds.slices)
            if len(run["jct"]) < 59 or THOROUGH:
                assert bound.makespan(workload) <= run["makespan"]
                assert bound.mean_completion(workload) <= run["avg_jct"]
            count += 1
    assert count == 5


def test_linear_policies_end_near_what_is_printed(shared_data, tmp_path) -> None:
    """Other optima move a mean by some percent: 5, and 15 for min_total_duration, on traces of 59 jobs and more.

    max_min, whose shares are nearly free where many jobs hold several GPUs, is 7 % off on one trace. By default one run
    of each policy.
    """
    off, seen = {}, set()
    for run in prints(shared_data):
        name = OURS.get(run["policy"], run["policy"])
        if name not in POLICIES or name in COMBINATORIAL or len(run["jct"]) < 59:
            continue
        if name in seen and not THOROUGH:
            continue
        seen.add(name)
        rounds = play(workload_of(shared_data, run, tmp_path), POLICIES[name], Options(seed=run["seed"])).rounds
        mean = np.mean([end - rounds.arrival[job] for job, end in rounds.ended.items()])
        off[run["trace"], run["cluster"], name, run["seed"]] = float(mean / run["avg_jct"] - 1)
    assert len(off) == (17 if THOROUGH else len(seen))
    assert len(seen) == 8
    for (trace, cluster, name, _), share in off.items():
        free = name == "max_min" and (trace, cluster) == ("max_min_fairness.trace", "8:16:24")
        most = 0.15 if name.startswith("min_total_duration") else 0.075 if free else 0.05
        assert abs(share) <= most, (trace, cluster, name, share)
