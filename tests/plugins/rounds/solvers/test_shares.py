"""Gavel's programs of shares: against what Gavel's own solver found, by hand, and against another formulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rounds_logs import Call, calls

from mlsched.core.errors import InvalidInput
from mlsched_rounds.solvers.finish_time import Progress, finish_time_fairness, ratios
from mlsched_rounds.solvers.max_min import max_min, served, water_filling
from mlsched_rounds.solvers.shares import Rates, isolated, proportional
from mlsched_rounds.solvers.total_duration import bisect, bisected_total_duration, duration, min_total_duration
from mlsched_rounds.solvers.total_throughput import max_sum

#: What ECOS leaves of a row, and the issue's margin.
CLOSE = 1e-6


def feasible(rates: Rates, shares: np.ndarray) -> bool:
    """Whether X satisfies the rows of `shares.py`, up to HiGHS' tolerance."""
    held = (rates.gpus[:, None] * shares).sum(axis=0)
    return bool(
        (shares >= 0).all() and (shares.sum(axis=1) <= 1 + CLOSE).all() and (held <= rates.capacity + CLOSE).all()
    )


def drawn(seed: int, jobs: int = 6, types: int = 3, scarce: float = 1.0) -> tuple[Rates, np.random.Generator]:
    rng = np.random.default_rng(seed)
    rate = rng.lognormal(1, 1, (jobs, 1)) * rng.lognormal(0, 0.7, (jobs, types)) * (rng.random((jobs, types)) > 0.2)
    capacity = rng.integers(1, max(2, int(jobs * scarce)), types)
    return Rates(rate, rng.choice([1, 1, 2, 4], jobs), capacity), rng


def known(call: Call, policy: str) -> Rates:
    """The rates that the policy was shown: all alike without `_perf`, for total durations those of V100s."""
    if policy == "max_min_fairness":
        return Rates(np.ones_like(call.rate), call.gpus, call.capacity)
    if policy == "min_total_duration":
        return Rates(np.repeat(call.rate[:, 2:], 3, axis=1), call.gpus, call.capacity)
    return Rates(call.rate, call.gpus, call.capacity)


MAX_MIN = [
    ("artifact_evaluation", "2-2-2", "max_min_fairness_perf"),
    ("max_min_fairness", "8-16-24", "max_min_fairness"),
    ("max_min_fairness", "8-16-24", "max_min_fairness_water_filling_perf"),
]


@pytest.mark.parametrize(("trace", "cluster", "policy"), MAX_MIN, ids=[policy for *_, policy in MAX_MIN])
def test_no_logged_call_serves_the_worst_better(shared_data: Path, trace: str, cluster: str, policy: str) -> None:
    seen = 0
    for call in calls(shared_data / "gavel", trace, cluster, policy):
        rates = known(call, policy)
        assert feasible(rates, np.clip(call.shares, 0, None))
        theirs = np.sort(served(rates, call.shares, call.weight))
        ours = max_min(rates, weight=call.weight)
        filled = water_filling(rates, weight=call.weight)
        assert feasible(rates, ours)
        assert feasible(rates, filled)
        assert served(rates, ours, call.weight).min() >= theirs[0] - CLOSE
        levels = np.sort(served(rates, filled, call.weight))
        apart = np.flatnonzero(np.abs(levels - theirs) > CLOSE * np.maximum(1, theirs))
        assert not apart.size or levels[apart[0]] > theirs[apart[0]], f"at {call.now} s job {apart[0]} of the sorted"
        seen += 1
    assert seen > 2


DURATION = [
    ("max_min_fairness", "8-16-24", "min_total_duration"),
    ("minimize_makespan", "8-16-24", "min_total_duration_perf"),
]


@pytest.mark.parametrize(("trace", "cluster", "policy"), DURATION, ids=[policy for *_, policy in DURATION])
def test_no_logged_call_ends_sooner(shared_data: Path, trace: str, cluster: str, policy: str) -> None:
    # Remaining steps are known at the first call; later ones are asked with all the steps of the jobs that are there.
    for number, call in enumerate(calls(shared_data / "gavel", trace, cluster, policy)):
        rates = known(call, policy)
        theirs, ours = (
            duration(rates, shares, call.steps) for shares in (call.shares, min_total_duration(rates, call.steps))
        )
        assert ours <= theirs + CLOSE
        if not number:
            # What Gavel prints comes from its bisection, whose last T ours reaches by arithmetic.
            stopped = bisect(ours)
            assert theirs <= stopped * (1 + CLOSE)
            again = bisected_total_duration(rates, call.steps)
            assert feasible(rates, again)
            assert duration(rates, again, call.steps) <= stopped * (1 + CLOSE)


def test_no_logged_call_is_fairer(shared_data: Path) -> None:
    rng = np.random.default_rng(0)
    policy = "finish_time_fairness_perf"
    for call in calls(shared_data / "gavel", "max_min_fairness", "8-16-24", policy):
        rates, age = known(call, policy), call.now - call.arrival
        progress = Progress(call.steps * (1 if not call.now else rng.random(len(age))), age, age * rng.random(len(age)))
        theirs, ours = (
            np.nanmax(ratios(rates, shares, progress))
            for shares in (call.shares, finish_time_fairness(rates, progress))
        )
        assert ours <= theirs + CLOSE


def test_two_jobs_by_hand() -> None:
    # Job 0 is three times as fast on type 0, job 1 as fast on both: job 0 should have type 0, job 1 type 1.
    rates = Rates(np.array([[3.0, 1.0], [2.0, 2.0]]), np.array([1, 1]), np.array([1, 1]))
    assert np.allclose(proportional(rates), 0.5)
    assert np.allclose(isolated(rates), 0.5)
    # With its part of both types, job 0 does 2 steps per second: alone on type 0, it has 1.5 units, job 1 has 1.
    assert np.allclose(served(rates, np.eye(2)), [1.5, 1.0])
    assert served(rates, max_min(rates)).min() == pytest.approx(1.0)
    assert np.allclose(served(rates, water_filling(rates)), [1.5, 1.0])
    assert np.allclose(max_sum(rates), np.eye(2))
    # 30 and 40 steps: 10 s and 20 s.
    assert duration(rates, min_total_duration(rates, np.array([30.0, 40.0])), np.array([30.0, 40.0])) == pytest.approx(
        20.0
    )
    progress = Progress(np.array([30.0, 40.0]), np.zeros(2), np.zeros(2))
    # Alone with halves: 15 s and 20 s.
    assert np.allclose(ratios(rates, np.eye(2), progress), [10 / 15, 1.0])
    assert np.nanmax(ratios(rates, finish_time_fairness(rates, progress), progress)) == pytest.approx(1.0)


def test_gangs_take_their_gpus() -> None:
    rates = Rates(np.ones((2, 1)), np.array([4, 1]), np.array([4]))
    shares = max_min(rates)
    assert feasible(rates, shares)
    # Units count GPUs: 4 X_0 and X_1. The single one can have no more than 1, and the gang no less.
    assert served(rates, shares).min() == pytest.approx(1.0)
    assert np.allclose(served(rates, water_filling(rates)), [3.0, 1.0])
    assert np.allclose(isolated(rates), [[0.5], [1.0]])


def linprog_level(rates: Rates, per_step: np.ndarray, floor: np.ndarray, rising: np.ndarray) -> float:
    """The highest level of the rising jobs over the floor of the others, by SciPy."""
    from scipy.optimize import linprog

    jobs, types = rates.rate.shape
    cost = np.zeros(jobs * types + 1)
    cost[-1] = -1
    upper, right = [], []
    for j in range(jobs):
        row = np.zeros(jobs * types + 1)
        row[j * types : (j + 1) * types] = 1
        upper.append(row)
        right.append(1.0)
        row = np.zeros(jobs * types + 1)
        row[j * types : (j + 1) * types] = -rates.rate[j] * per_step[j]
        row[-1] = 1.0 * rising[j]
        upper.append(row)
        right.append(0.0 if rising[j] else -floor[j] * (1 - 1e-10))
    for m in range(types):
        row = np.zeros(jobs * types + 1)
        row[m:-1:types] = rates.gpus
        upper.append(row)
        right.append(float(rates.capacity[m]))
    return float(-linprog(cost, np.array(upper), right, bounds=[(0, None)] * (jobs * types + 1)).fun)


@pytest.mark.parametrize("seed", range(12))
def test_water_filling_raises_whoever_can_be_raised(seed: int) -> None:
    rates, _ = drawn(seed, jobs=5, scarce=0.8)
    filled = water_filling(rates)
    assert feasible(rates, filled)
    units = served(rates, filled)
    able = np.isfinite(units)
    per_step = np.where(able, units / np.maximum(rates.advanced(filled), 1e-300), 0.0)
    levels = np.where(able, units, 0.0)
    for j in np.flatnonzero(able):
        # No job can be raised without lowering one that is no better off: the definition of max-min fairness.
        better_off = able & (levels > levels[j] + 1e-6)
        floor = np.where(better_off, 0.0, levels)
        alone = np.arange(len(levels)) == j
        highest = linprog_level(rates, per_step, floor, alone)
        assert highest <= levels[j] + 1e-5 * max(1, levels[j]), f"job {j} of {levels} can have {highest}"


@pytest.mark.parametrize("seed", range(8))
def test_fairness_is_the_least_ratio_that_bisection_finds(seed: int) -> None:
    rates, rng = drawn(seed)
    jobs = len(rates.gpus)
    progress = Progress(rng.lognormal(6, 1, jobs), 1000 * rng.random(jobs), 500 * rng.random(jobs))
    if not rates.able.size:
        pytest.skip("nobody can run")
    reached = np.nanmax(ratios(rates, finish_time_fairness(rates, progress), progress))
    fair = (progress.age + progress.remaining / np.maximum(rates.fastest, 1e-300)) / ratios_base(rates, progress)
    low, high = float(np.nanmax(np.where(rates.fastest > 0, fair, np.nan))), reached * 2
    for _ in range(26):  # to 2**-26 of what is sought
        rho = (low + high) / 2
        need = progress.remaining / (rho * ratios_base(rates, progress) - progress.age)
        able = rates.fastest > 0
        level = linprog_level(rates, np.where(able, 1 / need, 0.0), np.zeros(jobs), able)
        low, high = (low, rho) if level >= 1 else (rho, high)
    assert reached == pytest.approx(high, rel=1e-6)
    inside = finish_time_fairness(rates, progress, optimum="interior")
    assert feasible(rates, inside)
    assert np.nanmax(ratios(rates, inside, progress)) <= reached * (1 + 1e-6)


def ratios_base(rates: Rates, progress: Progress) -> np.ndarray:
    alone = (rates.rate * isolated(rates)).sum(axis=1)
    return np.asarray(progress.isolated + progress.remaining / np.maximum(alone, 1e-300))


@pytest.mark.parametrize("seed", range(8))
def test_a_point_in_the_middle_is_as_good(seed: int) -> None:
    rates, rng = drawn(seed)
    if not rates.able.size:
        pytest.skip("nobody can run")
    steps = rng.lognormal(6, 1, len(rates.gpus))
    steps[rates.fastest == 0] = 0
    middle = max_min(rates, optimum="interior")
    assert feasible(rates, middle)
    assert served(rates, middle).min() == pytest.approx(served(rates, max_min(rates)).min(), abs=CLOSE)
    soonest = duration(rates, min_total_duration(rates, steps), steps)
    assert duration(rates, min_total_duration(rates, steps, optimum="interior"), steps) <= soonest * (1 + 1e-6)


def test_nobody_there_and_nobody_able() -> None:
    none = Rates(np.zeros((0, 2)), np.zeros(0, dtype=np.int64), np.array([1, 1]))
    still = Rates(np.zeros((2, 2)), np.array([1, 1]), np.array([1, 1]))
    for rates in (none, still):
        steps = np.ones(len(rates.gpus))
        for shares in (
            max_min(rates),
            water_filling(rates),
            max_sum(rates),
            min_total_duration(rates, steps),
            bisected_total_duration(rates, steps),
            finish_time_fairness(rates, Progress(steps, steps, steps)),
        ):
            assert shares.shape == rates.rate.shape
            assert not shares.any()


@pytest.mark.parametrize(
    ("rate", "gpus", "capacity", "says"),
    [
        (np.ones((1, 2)), [1], [1], "expected 1 jobs x 1 types"),
        (-np.ones((1, 1)), [1], [1], "finite number >= 0"),
        (np.full((1, 1), np.nan), [1], [1], "finite number >= 0"),
        (np.ones((1, 1)), [0], [1], "at least 1 per job"),
        (np.ones((1, 1)), [1], [-1], "at least 0 per type"),
    ],
)
def test_bad_rates_are_one_line(rate: np.ndarray, gpus: list[int], capacity: list[int], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Rates(rate, np.array(gpus), np.array(capacity))


def test_the_bisection_is_gavels() -> None:
    low, high, steps = 100.0, 1e6, 0
    while 1.05 * low < high:
        middle = (low + high) / 2
        low, high = (low, middle) if middle >= 5000 else (middle, high)
        steps += 1
    assert bisect(5000.0) == high
    assert steps > 10
    assert bisect(3e6) >= 3e6


@pytest.mark.parametrize("part", [0.2, 0.5, 1.5])
def test_many_levels_are_filled(part: float) -> None:
    rates, rng = drawn(5, jobs=120)
    rates = Rates(rates.rate, rng.choice([1, 2, 4, 8], 120), np.full(3, int(120 * part)))
    filled = water_filling(rates)
    assert feasible(rates, filled)
    assert served(rates, filled).min() == pytest.approx(served(rates, max_min(rates)).min(), rel=1e-6)
    levels = np.unique(served(rates, filled).round(5)).size
    assert levels >= {0.2: 1, 0.5: 2, 1.5: 40}[part]
