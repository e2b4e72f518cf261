"""Prices of resources over time: what they prove, held against all ways of a piece and against best schedules."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.optimize import LinearConstraint, milp
from threadpoolctl import threadpool_info, threadpool_limits

from mlsched.simulation.bound import cheapest, uninterrupted
from mlsched.simulation.bound.completion import OF_RUNS, Climb, Effort, by_completion, climbed, grid
from mlsched.simulation.bound.pieces import Pieces
from mlsched.simulation.bound.prices import Prices, Ways


def alone(release, length, demand, capacity, weight=None) -> Pieces:
    """Jobs of one piece each."""
    release, length = np.array(release), np.array(length)
    count = len(release)
    return Pieces(
        arrival=release,
        running=length,
        capacity=np.array(capacity),
        job=np.arange(count),
        release=release,
        length=length,
        demand=np.array(demand).reshape(count, -1),
        after=np.zeros(count, dtype=np.int64),
        weight=np.ones(count) if weight is None else np.array(weight, dtype=float),
    )


def best_without_pauses(pieces: Pieces, end: int) -> float:
    """The least sum of weight x (end - release) where no piece is interrupted, by trying all starts."""

    def best(piece: int, free: np.ndarray, most: float) -> float:
        if piece == len(pieces.release):
            return 0.0
        a, p, found = int(pieces.release[piece]), int(pieces.length[piece]), most
        for start in range(a, end - p + 1):
            own = float(pieces.weight[piece]) * (start + p - a)
            after = free[start : start + p] - pieces.demand[piece]
            if own < found and (after >= 0).all():
                rest = free.copy()
                rest[start : start + p] = after
                found = min(found, own + best(piece + 1, rest, found - own))
        return found

    return best(0, np.tile(pieces.capacity, (end, 1)), np.inf)


def best_schedule(pieces: Pieces, end: int) -> float:
    """The least sum of weight x (end - release) where pieces may pause at every tick, by HiGHS over x[piece, tick]."""
    count = len(pieces.release)
    ticks = np.arange(1, end + 1)
    cost = np.concatenate([np.zeros(count * end), pieces.weight])  # the last columns are the ends
    rows, low, high = [], [], []

    def add(row, least, most):
        rows.append(row)
        low.append(least)
        high.append(most)

    for i, (a, p) in enumerate(zip(pieces.release.tolist(), pieces.length.tolist(), strict=True)):
        work = np.zeros((count, end))
        work[i, a:] = 1
        add(np.append(work.ravel(), np.zeros(count)), p, p)
        before = np.zeros((count, end))
        before[i, :a] = 1
        add(np.append(before.ravel(), np.zeros(count)), 0, 0)
        for t in range(end):
            late = np.zeros((count, end))
            late[i, t] = -ticks[t]
            add(np.append(late.ravel(), np.eye(count)[i]), 0, np.inf)
    for t in range(end):
        for r, capacity in enumerate(pieces.capacity.tolist()):
            held = np.zeros((count, end))
            held[:, t] = pieces.demand[:, r]
            add(np.append(held.ravel(), np.zeros(count)), 0, capacity)
    whole = np.append(np.ones(count * end), np.zeros(count))
    upper = np.append(np.ones(count * end), np.full(count, end))
    found = milp(cost, integrality=whole, bounds=(0, upper), constraints=LinearConstraint(np.array(rows), low, high))
    assert found.status == 0, found.message
    return float(found.fun - pieces.weight @ pieces.release)


def test_alone_every_piece_runs_from_its_release():
    assert by_completion(alone([0, 3], [4, 2], [1, 1], [2]), 9) == pytest.approx(4 + 2)


def test_one_job_at_a_time():
    """Jobs of 2 and 6 ticks on one GPU: they end at 2 and at 8."""
    assert 9.5 < by_completion(alone([0, 0], [2, 6], [1, 1], [1]), 8) <= 10


def test_a_job_is_no_faster_than_it_can_be():
    """Three GPUs; a gang of 2 and two single jobs, of 4 ticks each: not all have room at once."""
    pieces = alone([0, 0, 0], [4, 4, 4], [2, 1, 1], [3])
    assert 12 < by_completion(pieces, 8) <= best_schedule(pieces, 10) + 1e-9


WAYS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(1, 6), st.integers(1, 4), st.integers(0, 2), st.integers(0, 2)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=draws(36, 3000))
@given(
    pieces=WAYS,
    prices=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=5),
    step=st.integers(1, 4),
)
def test_the_cheapest_way_is_the_cheapest_of_all(pieces, prices, step):
    """Every end, and the cheapest ticks before it; what is held is what that way holds."""
    release, length, weight, one, two = (np.array(column, dtype=float) for column in zip(*pieces, strict=True))
    demand, values = np.column_stack([one, two]), np.array(prices, dtype=float)
    ways = Ways(release, length, weight, demand)
    cost, held, _ = cheapest.cheapest(ways, Prices(0.0, float(step), values))
    straight, start, holds, _ = uninterrupted.cheapest(ways, Prices(0.0, float(step), values))
    whole = np.zeros((len(prices) * step + 30, 2))
    whole[: len(prices) * step] = np.repeat(values, step, axis=0)
    for i, (a, p) in enumerate(zip(release.astype(int), length.astype(int), strict=True)):
        pays = whole @ demand[i]
        ends = range(a + p, len(whole) + 1)
        assert cost[i] == min(weight[i] * (end - a) + np.sort(pays[a:end])[:p].sum() for end in ends)
        at_once = [weight[i] * (end - a) + pays[end - p : end].sum() for end in ends]
        assert straight[i] == min(at_once) == at_once[int(start[i]) - a]
    dearer = Prices(0.0, float(step), values + 1)
    assert cheapest.cheapest(ways, dearer)[0].sum() <= cost.sum() + held.sum()
    assert uninterrupted.cheapest(ways, dearer)[0].sum() <= straight.sum() + holds.sum()
    ticks = np.arange(len(values) * step)
    runs = (start[:, None] <= ticks) & (ticks < (start + length)[:, None])
    assert (holds == (runs.T @ demand).reshape(len(values), step, 2).sum(axis=1)).all()


JOBS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(0, 3), st.integers(1, 2), st.sampled_from([0.5, 1.0])),
    min_size=1,
    max_size=4,
)


@settings(max_examples=draws(5, 300), deadline=None)
@given(jobs=JOBS, seed=st.integers(0, 99))
def test_prices_never_prove_more_than_the_best_schedule(jobs, seed):
    release, length, one, two, weight = zip(*jobs, strict=True)
    pieces = alone(release, length, np.column_stack([one, two]), [3, 4], weight)
    end = max(release) + sum(length)
    best = best_schedule(pieces, end)
    assert float(pieces.weight @ pieces.length) - 1e-6 <= by_completion(pieces, end) <= best + 1e-6
    apart = by_completion(pieces, end, pausing=False)
    assert by_completion(pieces, end) - 1e-6 <= best_without_pauses(pieces, end)
    assert apart <= best_without_pauses(pieces, end) + 1e-6
    demand = pieces.demand.astype(float)
    ways = Ways(pieces.release.astype(float), pieces.length.astype(float), pieces.weight, demand)
    for pausing in (True, False):
        step, count, levels = grid(0.0, float(end), 1)
        nothing = Prices(0.0, step, np.zeros((count, len(pieces.capacity))))
        climb = Climb(ways, pieces.capacity.astype(float), nothing, levels, pausing)
        rng = np.random.default_rng(seed)
        there, here = (Prices(0.0, climb.prices.step, rng.random(climb.prices.values.shape)) for _ in range(2))
        value, slope = climb.value(here)
        assert value <= (best if pausing else best_without_pauses(pieces, end)) + 1e-6, "whatever the prices are"
        other = climb.value(there)[0]
        change = float((slope * (there.values - here.values)).sum())
        assert other <= value + change + 1e-6, "concave, and this is its slope"


def test_finer_grids_prove_more_and_stop_where_they_no_longer_do():
    """Jobs that queue for long: each level begins at what the one before proved."""
    rng = np.random.default_rng(0)
    release, length = np.sort(rng.integers(0, 300, 7)), rng.integers(1, 250, 7)
    jobs = alone(release, length, rng.integers(1, 3, 7), [2])
    for pausing in (True, False):
        climb = climbed(jobs, 600.0, pausing=pausing, effort=Effort(2 + (not pausing), 6, 2, 10**9))
        assert climb is not None
        counts, values = zip(*climb.reached, strict=True)
        assert counts == tuple(counts[0] * 4**k for k in range(len(counts)))
        assert list(values) == sorted(values)
        assert climb.best == values[-1] == pytest.approx(climb.value(climb.prices)[0])
        enough = climbed(jobs, 600.0, pausing=pausing, effort=Effort(3, 5, 2, 10**9, gain=1.0))
        assert enough is not None
        assert [count for count, _ in enough.reached] == list(counts[:2])
        cut = climbed(jobs, 600.0, pausing=pausing, effort=Effort(3, 30, 10, 3 * len(release)))
        assert cut is not None
        assert 0 < cut.best <= climb.best
    assert by_completion(jobs, 600.0, pausing=False) > by_completion(jobs, 600.0)


def test_a_climb_takes_one_thread_and_leaves_the_others_as_they_were(monkeypatch):
    """Of SciPy's matrix products: two wait for each other, which costs half as much CPU time again."""
    pieces = alone([0, 0, 1], [2, 3, 1], [1, 1, 1], [1])
    minimize, during = optimize.minimize, list[set[int]]()

    def watched(*args, **settings):
        during.append(set(threads().values()))
        return minimize(*args, **settings)

    def threads():
        return {p["filepath"]: p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

    monkeypatch.setattr(optimize, "minimize", watched)
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        assert 2 in before.values()
        climbed(pieces, 6, pausing=True, effort=OF_RUNS[True])
        assert threads() == before
    assert during
    assert all(seen == {1} for seen in during)
