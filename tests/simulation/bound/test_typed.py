"""Pieces on nodes of several types: their cheapest ways, and when the last can end, held against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from scipy.optimize import linprog

from mlsched.simulation.bound import Pieces, cheapest
from mlsched.simulation.bound.pieces import Kinds
from mlsched.simulation.bound.prices import Prices, Ways
from mlsched.simulation.bound.span import typed_end
from mlsched.simulation.bound.typed import TypedWays
from mlsched.simulation.bound.typed import cheapest as typed

HORIZON = 12


def drawn(seed: int, kinds: int) -> tuple[TypedWays, Prices]:
    """A few pieces, and prices of a resource for each kind."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    values = rng.choice([0, 0, 1, 2, 5], (HORIZON // 2, kinds)).astype(float)
    ticks = rng.choice([1.0, 2.0, 2.5, 4.0, 7.0, np.inf], (kinds, count))
    ticks[0, ~np.isfinite(ticks).any(axis=0)] = 3.0
    demand = np.zeros((kinds, count, kinds))
    for m in range(kinds):
        demand[m, :, m] = rng.integers(1, 3, count)
    release = rng.integers(0, 6, count).astype(float)
    return TypedWays(release, rng.choice([1.0, 2.0], count), ticks, demand), Prices(0.0, 2.0, values)


def by_programs(ways: TypedWays, prices: Prices, piece: int) -> float:
    """The least cost of a piece with pauses, over every interval that its end may lie in, by linear programs.

    y[t, m]: ticks in which it is of kind m in interval t; e: how far its end is into the last interval.
    """
    kinds, count, release = len(ways.ticks), len(prices.values), ways.release[piece]
    speed = np.where(np.isfinite(ways.ticks[:, piece]), 1 / ways.ticks[:, piece], 0.0)
    least = np.inf
    for last in range(int(release // prices.step), count + 1):
        begin = np.maximum(prices.start + np.arange(last + 1) * prices.step, release)
        length = np.maximum(prices.start + (np.arange(last + 1) + 1) * prices.step - begin, 0)
        length[: int(release // prices.step)] = 0
        cost = np.append((prices.rate[: last + 1] @ ways.demand[:, piece].T).ravel(), ways.weight[piece])
        rows = np.zeros((last + 1, len(cost)))
        for t in range(last + 1):
            rows[t, t * kinds : (t + 1) * kinds] = 1
        rows[last, -1] = -1
        room = np.append(length[:last], 0.0)
        limit = [(0, None)] * (len(cost) - 1) + [(0, length[last] if last < count else None)]
        works = [np.append(np.tile(speed, last + 1), 0.0)]
        found = linprog(cost, A_ub=rows, b_ub=room, A_eq=works, b_eq=[1.0], bounds=limit)
        if found.status == 0:
            least = min(least, float(found.fun) + ways.weight[piece] * (begin[last] - release))
    return least


@pytest.mark.parametrize("seed", range(draws(15, 1000)))
def test_the_cheapest_way_among_types_is_that_of_linear_programs(seed):
    ways, prices = drawn(seed, 1 + seed % 3)
    cost, held, _ = typed(ways, prices, True)
    assert cost == pytest.approx([by_programs(ways, prices, piece) for piece in range(len(cost))], rel=1e-7, abs=1e-9)
    waits = cost - [(held_of(ways, prices, piece) * prices.values).sum() for piece in range(len(cost))]
    assert (waits >= -1e-6).all()
    assert (held >= -1e-9).all()
    assert held == pytest.approx(sum(held_of(ways, prices, piece) for piece in range(len(cost))))


def held_of(ways: TypedWays, prices: Prices, piece: int) -> np.ndarray:
    one = [piece]
    alone = TypedWays(ways.release[one], ways.weight[one], ways.ticks[:, one], ways.demand[:, one])
    return typed(alone, prices, True)[1]


@pytest.mark.parametrize("seed", range(draws(12, 300)))
def test_of_one_type_it_is_the_way_without_types(seed):
    ways, prices = drawn(seed, 1)
    plain = Ways(ways.release, np.ceil(ways.ticks[0]), ways.weight, ways.demand[0])
    whole = TypedWays(ways.release, ways.weight, np.ceil(ways.ticks), ways.demand)
    assert typed(whole, prices, True)[0] == pytest.approx(cheapest.cheapest(plain, prices)[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(draws(12, 300)))
def test_without_pauses_it_is_the_best_of_all_starts_and_types(seed):
    ways, prices = drawn(seed, 3)
    cost, held, _ = typed(ways, prices, False)
    for piece, found in enumerate(cost.tolist()):
        every = []
        for m in np.flatnonzero(np.isfinite(ways.ticks[:, piece])).tolist():
            ticks = np.ceil(ways.ticks[m, piece])
            for start in range(int(ways.release[piece]), 4 * HORIZON):
                begin, end = np.array([float(start)]), np.array([start + ticks])
                paid = prices.paid(ways.demand[m, [piece]], begin, end)[0]
                every.append(paid + ways.weight[piece] * (end[0] - ways.release[piece]))
        assert found == pytest.approx(min(every), rel=1e-9)
    assert (held >= 0).all()


@pytest.mark.parametrize("seed", range(draws(12, 300)))
def test_the_last_end_is_that_of_a_linear_program_where_all_come_at_once(seed):
    ways, _ = drawn(seed, 1 + seed % 3)
    count, kinds = len(ways.release), len(ways.ticks)
    capacity = np.random.default_rng(seed).integers(2, 5, kinds)
    zero, fastest = np.zeros(count, dtype=np.int64), np.ceil(ways.ticks.min(axis=0)).astype(np.int64)
    found = Kinds(ways.ticks, ways.demand.astype(np.int64), capacity)
    pieces = Pieces(
        zero, fastest, capacity, np.arange(count), zero, fastest, zero[:, None], zero, np.ones(count), kinds=found
    )
    # x[m, piece]: the share of its work that a piece does on type m; T: the end.
    cost = np.append(np.zeros(kinds * count), 1.0)
    rows = np.zeros((kinds + count, len(cost)))
    for m in range(kinds):
        ticks = np.where(np.isfinite(ways.ticks[m]), ways.ticks[m], 0.0)
        rows[m, m * count : (m + 1) * count] = ways.demand[m, :, m] * ticks
        rows[m, -1] = -capacity[m]
        rows[kinds + np.arange(count), m * count + np.arange(count)] = ticks
    rows[kinds:, -1] = -1
    works = [np.append(np.tile(np.arange(count) == piece, kinds), 0.0) for piece in range(count)]
    limits = [(0, None if finite else 0) for finite in np.isfinite(ways.ticks).ravel()] + [(0, None)]
    best = linprog(cost, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=works, b_eq=np.ones(count), bounds=limits).fun
    bound = typed_end(pieces, found)
    assert bound <= best * (1 + 1e-9)
    assert bound >= 0.7 * best - 1e-6  # that no piece is on two types at once is no part of it
