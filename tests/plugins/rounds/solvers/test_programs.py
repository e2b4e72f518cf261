"""The programs of Sia, AlloX and Shockwave, and the bound with types: against enumeration on tiny cases."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from draws import draws

from mlsched.core.errors import InvalidInput
from mlsched_rounds.instances.goodput import Configurations, costs, kept, usual
from mlsched_rounds.solvers import fluid
from mlsched_rounds.solvers.allox import allox
from mlsched_rounds.solvers.shares import Rates
from mlsched_rounds.solvers.shockwave import Jobs, Window, logarithm, shockwave, value, weights
from mlsched_rounds.solvers.sia import assign, sia


def test_sia_is_the_best_of_all_choices() -> None:
    rng, waits, moves = np.random.default_rng(0), 0, 0
    for _ in range(draws(40, 600)):
        jobs, capacity = int(rng.integers(1, 5)), rng.integers(1, 5, 2)
        options = usual(capacity, np.array([2, 4]))
        goodput = rng.lognormal(1, 1, (jobs, len(options.type))) * (rng.random((jobs, len(options.type))) > 0.3)
        current = rng.integers(-1, len(options.type), jobs)
        keeps = kept(rng.uniform(0, 1000, jobs), rng.integers(0, 4, jobs), rng.uniform(10, 100, jobs))
        chosen = sia(goodput, options, current, keeps)
        cost = np.hstack([costs(goodput, current, keeps), np.full((jobs, 1), 1.1)])
        best = min(
            sum(cost[j, c] for j, c in enumerate(plan))
            for plan in itertools.product(range(len(options.type) + 1), repeat=jobs)
            if (held(plan, options) <= capacity).all()
        )
        assert (held(chosen, options) <= capacity).all()
        assert sum(cost[j, c] for j, c in enumerate(chosen)) == pytest.approx(best, abs=1e-7)
        waits += (chosen < 0).any()
        moves += ((chosen >= 0) & (chosen != current)).any()
    assert waits > 10
    assert moves > 10


def held(plan: object, options: Configurations) -> np.ndarray:
    """GPUs of each type that a choice holds; the last option, or -1, is none."""
    used = np.zeros(len(options.capacity), dtype=np.int64)
    for c in np.asarray(plan).tolist():
        if 0 <= c < len(options.type):
            used[options.type[c]] += options.gpus[c]
    return used


def test_sias_configurations_and_costs_by_hand() -> None:
    options = usual(np.array([3, 12]), np.array([4, 4]))
    assert options.type.tolist() == [0, 0, 1, 1, 1, 1, 1]
    assert options.gpus.tolist() == [1, 2, 1, 2, 4, 8, 12]
    # Four times the goodput of the smallest costs half; half of it is lost by moving: 2 and 1 / sqrt(2).
    cost = costs(np.array([[1.0, 4.0, 0.0]]), np.array([0]), np.array([0.5]))
    assert np.allclose(cost, [[1.0, 2**-0.5, np.inf]])
    assert kept(np.array([100.0, 5.0]), np.array([2, 1]), np.array([10.0, 10.0])).tolist() == [80 / 110, 0.0]
    # As the paper prints it, p = .5 is a reward.
    assert sia(np.array([[1.0, 4.0]]), _two(), np.array([-1]), np.ones(1), power=0.5).tolist() == [1]
    with pytest.raises(InvalidInput, match="power: 0"):
        costs(np.ones((1, 1)), np.array([0]), np.ones(1), power=0)
    assert assign(np.ones((2, 2)), _two(), np.ones(2)).tolist() == [-1, -1]


def _two() -> Configurations:
    return Configurations(np.array([0, 0]), np.array([1, 2]), np.array([2]))


def test_allox_is_the_best_of_all_queues() -> None:
    rng, queued = np.random.default_rng(1), 0
    for _ in range(draws(40, 600)):
        jobs, machines = int(rng.integers(1, 6)), rng.integers(1, 3, 2)
        seconds = rng.integers(1, 20, (jobs, 2)).astype(float)
        seconds[rng.random((jobs, 2)) < 0.2] = np.inf
        waited = rng.integers(0, 50, jobs).astype(float)
        found = allox(seconds, machines, waited)
        able = np.isfinite(seconds).any(axis=1)
        spots = [(m, i) for m, count in enumerate(machines.tolist()) for i in range(count)]
        best = (
            min(total(seconds, plan) for plan in itertools.product(spots, repeat=jobs) if total(seconds, plan) < np.inf)
            if able.all()
            else None
        )
        if best is not None:
            assert found.total == pytest.approx(best + waited.sum())
            assert found.total == pytest.approx(
                total(seconds, list(zip(found.type.tolist(), found.machine.tolist(), strict=True))) + waited.sum()
            )
        # Places on a machine are 1, 2 ..., and whoever has the highest runs first.
        places: dict[tuple[int, int], list[int]] = {}
        for m, i, k in zip(found.type.tolist(), found.machine.tolist(), found.place.tolist(), strict=True):
            if m >= 0:
                places.setdefault((m, i), []).append(k)
        assert all(sorted(ks) == list(range(1, len(ks) + 1)) for ks in places.values())
        assert len(found.first()) == len(places)
        assert ((found.type >= 0) == able).all()
        queued += any(len(ks) > 1 for ks in places.values())
    assert queued > 10


def total(seconds: np.ndarray, plan: object) -> float:
    """The sum of completion times when each machine runs its jobs by their durations, shortest first."""
    machines: dict[tuple[int, int], list[float]] = {}
    for job, spot in enumerate(plan):  # type: ignore[call-overload]
        machines.setdefault(spot, []).append(float(seconds[job, spot[0]]))
    return sum(float(np.cumsum(sorted(queue)).sum()) for queue in machines.values())


def windows(rng: np.random.Generator) -> tuple[Window, Jobs]:
    jobs = int(rng.integers(1, 4))
    window = Window(
        rounds=int(rng.integers(1, 4)),
        gpus=int(rng.integers(2, 5)),
        makespan=float(rng.choice([0.0, 1e-3, 1e-2])),
        ratio=float(rng.choice([1.0, 3.0])),
    )
    epochs, epoch = rng.integers(1, 9, jobs).astype(float), rng.uniform(20, 200, jobs)
    done = np.floor(epochs * rng.random(jobs))
    left = (epochs - done) * epoch
    age = rng.uniform(0, 1000, jobs)
    return window, Jobs(rng.integers(1, 3, jobs), epochs, done, epoch, left, age, rng.uniform(300, 4000, jobs))


def test_shockwave_is_the_best_of_all_timetables() -> None:
    rng, fair, tight = np.random.default_rng(2), 0, 0
    for _ in range(draws(40, 600)):
        window, jobs = windows(rng)
        n, served = len(jobs.gpus), min(1.0, window.gpus / len(jobs.gpus))
        counts = {
            tuple(sum(column) for column in zip(*rounds, strict=True))
            for rounds in itertools.product(
                [s for s in itertools.product((0, 1), repeat=n) if np.dot(s, jobs.gpus) <= window.gpus],
                repeat=window.rounds,
            )
        }
        found = shockwave(window, jobs)
        assert (found.runs.T @ jobs.gpus <= window.gpus).all()

        def in_time(count: tuple[int, ...], window: Window = window, jobs: Jobs = jobs, served: float = served) -> bool:
            run = np.minimum(window.seconds * np.array(count), jobs.epoch * (jobs.epochs - jobs.done))
            end = jobs.age + window.rounds * window.seconds + np.maximum(jobs.remaining - run, 0) / served
            return bool((end <= window.ratio * jobs.fair + 1e-6).all())

        fitting = [count for count in counts if in_time(count)]
        assert found.fair == bool(fitting)
        pi = np.ones(n) if fitting else weights(window, jobs)
        best = max(value(window, jobs, np.array(count), pi) for count in fitting or counts)
        scale = max(1.0, float(pi.max()))
        assert found.value == pytest.approx(value(window, jobs, found.runs.sum(axis=1), pi))
        assert found.value >= best - 2e-6 * scale * 15
        fair += found.fair
        tight += found.runs.sum() < n * window.rounds
    assert 5 < fair < draws(37, 590)
    assert tight > 10


def test_shockwaves_weights_by_hand() -> None:
    window = Window(rounds=2, gpus=1)
    jobs = Jobs(
        np.array([1, 1, 1]), np.full(3, 10.0), np.zeros(3), np.full(3, 100.0), np.array([1000.0, 1000.0, 100.0]),
        np.array([100.0, 1200.0, 0.0]), np.array([4000.0, 2100.0, 200.0]),
    )  # fmt: skip
    # Three share one GPU: 3,100 s of 4,000; 4,200 s of 2,100: twice as much; 300 s of 200, and less than a round.
    assert weights(window, jobs).tolist() == [1.0, 2.0**12, 1e6]
    assert np.allclose(logarithm(np.array([0.0, 0.1, 1.0])), [np.log(1e-6), (np.log(1e-6) + np.log(0.2)) / 2, 0.0])
    assert shockwave(window, jobs).runs[2, 0] == 1
    with pytest.raises(InvalidInput, match="more than the 1"):
        shockwave(window, Jobs(np.array([2]), *(np.ones(1) for _ in range(6))))
    assert shockwave(window, Jobs(np.zeros(0, dtype=np.int64), *(np.zeros(0) for _ in range(6)))).runs.shape == (0, 2)


def gaps() -> tuple[Window, Jobs]:
    """Three jobs of 2 GPUs on 3: 2 rounds have room for 6 GPUs, and only one job runs at a time."""
    return Window(rounds=2, gpus=3, makespan=0.0), Jobs(
        np.array([2, 2, 2]), np.full(3, 4.0), np.zeros(3), np.full(3, 100.0), np.full(3, 400.0), np.zeros(3),
        np.full(3, 100.0),
    )  # fmt: skip


def test_jobs_that_leave_gaps_are_planned_round_by_round() -> None:
    window, jobs = gaps()
    found = shockwave(window, jobs)
    assert found.runs.sum() == 2
    assert (found.runs.sum(axis=0) == 1).all()


def exact(
    rates: np.ndarray, gpus: np.ndarray, capacity: np.ndarray, steps: np.ndarray, release: np.ndarray, sums: bool
):
    """The best schedule whose jobs change types at whole seconds alone, by dynamic programming over what remains."""
    jobs, types = rates.shape

    @functools.cache
    def best(now: int, left: tuple[int, ...]) -> float:
        if not any(left):
            return 0.0
        found = np.inf
        choices = [
            [-1, *(m for m in range(types) if rates[j, m])] if left[j] and release[j] <= now else [-1]
            for j in range(jobs)
        ]
        for plan in itertools.product(*choices):
            used = np.zeros(types, dtype=np.int64)
            for j, m in enumerate(plan):
                if m >= 0:
                    used[m] += gpus[j]
            idle = all(m < 0 for m in plan)
            if (used > capacity).any() or (idle and (release <= now).all()):
                continue
            after, cost = list(left), 0.0
            for j, m in enumerate(plan):
                if m >= 0:
                    after[j] = max(0, left[j] - int(rates[j, m]))
                    if not after[j]:
                        end = now + left[j] / rates[j, m]
                        cost = cost + end - release[j] if sums else max(cost, end - release.min())
            rest = best(now + 1, tuple(after))
            found = min(found, cost + rest if sums else max(cost, rest))
        return float(found)

    return best(int(release.min()), tuple(steps.tolist()))


def test_the_bound_is_below_exact_optima_with_types() -> None:
    rng, ratio, spans = np.random.default_rng(3), [], []
    for _ in range(draws(40, 500)):
        jobs, types = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        rates = rng.integers(0, 4, (jobs, types))
        capacity, gpus = rng.integers(1, 3, types), rng.integers(1, 3, jobs)
        rates = np.where(gpus[:, None] > capacity, 0, rates)
        rates[(rates == 0).all(axis=1), int(capacity.argmax())] = 1
        gpus = np.minimum(gpus, np.where(rates > 0, capacity, 9).min(axis=1))
        steps, release = rng.integers(1, 7, jobs), rng.integers(0, 3, jobs)
        asked = Rates(rates.astype(float), gpus, capacity)
        best = exact(rates, gpus, capacity, steps, release, True)
        bound = fluid.total_jct_bound(asked, steps * 1.0, release * 1.0, fluid.grid(0, 12, 24))
        assert bound <= best + 1e-6
        ratio.append(bound / best)
        last = exact(rates, gpus, capacity, steps, release, False)
        span = fluid.makespan_bound(asked, steps * 1.0, (release - release.min()) * 1.0)
        assert span <= last + 1e-6
        spans.append(span / last)
    # Close to the optima, or the test would be passed by zeros.
    assert np.mean(ratio) > 0.8
    assert np.mean(spans) > 0.8


def test_the_fluid_runs_short_jobs_first_on_fast_types() -> None:
    rates = Rates(np.array([[2.0, 1.0], [2.0, 1.0]]), np.array([1, 1]), np.array([1, 1]))
    shares = fluid.fluid_shares(rates, np.array([10.0, 100.0]), fluid.grid(0, 200, 40))
    assert np.allclose(shares, np.eye(2), atol=1e-6)
    # 5 s, and (100 - 5) / 2 s more once the fast GPU is free.
    bound = fluid.total_jct_bound(rates, np.array([10.0, 100.0]), np.zeros(2), fluid.grid(0, 200, 4000))
    assert bound == pytest.approx(5 + 5 + 95 / 2, rel=0.25)
    assert bound <= 5 + 5 + 95 / 2
    assert fluid.makespan_bound(rates, np.array([10.0, 100.0]), np.zeros(2)) == pytest.approx(50.0)


def test_nothing_to_bound_and_bad_grids() -> None:
    none = Rates(np.zeros((2, 1)), np.array([1, 1]), np.array([1]))
    assert fluid.total_jct_bound(none, np.ones(2), np.zeros(2), fluid.grid(0, 1, 2)) == 0.0
    assert fluid.makespan_bound(none, np.ones(2), np.zeros(2)) == 0.0
    assert not fluid.fluid_shares(none, np.ones(2), fluid.grid(0, 1, 2)).any()
    borders = fluid.grid(0, 1000, 5, first=10)
    assert borders[1] == pytest.approx(10)
    assert borders[-1] == 1000
    assert (np.diff(np.diff(borders)) > 0).all()
    with pytest.raises(InvalidInput, match="of time > 0"):
        fluid.grid(1, 1, 3)
    able = Rates(np.ones((1, 1)), np.array([1]), np.array([1]))
    with pytest.raises(InvalidInput, match="at or after the first border"):
        fluid.total_jct_bound(able, np.ones(1), np.array([-1.0]), fluid.grid(0, 1, 2))
    with pytest.raises(InvalidInput, match="finite number"):
        fluid.makespan_bound(able, np.array([np.inf]), np.zeros(1))
