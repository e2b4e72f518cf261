"""Lower bound on the last end of a run with nodes of several types.

Let every resource r of every type have one price q_r >= 0 for all times. For any time s, a piece can have done at most
(s - release) / p of its work before it, p being its ticks on the fastest type. The rest of it, phi, costs at least phi
x min over types m of p_m d_m . q after s; until the last end T all pieces pay at most (T - s) C . q. So T >= s + sum of
phi x (this minimum) / (C . q), for any prices and any s. The minimum is concave in q. Good prices for one s are found
by cutting planes (Kelley, J. SIAM 8, 1960), and their bound is the maximum over all s.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Array
from mlsched.core.fields import FloatArray
from mlsched.simulation.bound.pieces import Kinds, Pieces

Amounts = npt.NDArray[np.int64] | npt.NDArray[np.float64]
#: Cutting planes for the prices of a time, and number of times with own prices.
PLANES, TIMES = 30, 3


def typed_end(pieces: Pieces, kinds: Kinds) -> float:
    """Return a lower bound on the last end, by prices of each type."""
    able = np.isfinite(kinds.ticks)
    work = np.where(able[:, :, None], np.where(able, kinds.ticks, 0)[:, :, None] * kinds.demand, np.inf)
    fastest = np.where(pieces.length > 0, kinds.ticks.min(axis=0), 0.0)
    begin, end = pieces.release.astype(np.float64), pieces.release + fastest
    times = np.unique(np.concatenate([begin, end]))
    best, moment = float(end.max()), float(begin.min())
    for _ in range(TIMES):
        share = np.clip((end - moment) / np.where(fastest > 0, fastest, 1), 0, 1)
        price = _best_prices(work[:, :, kinds.capacity > 0], kinds.capacity[kinds.capacity > 0], share)
        paid = _least_cost(work[:, :, kinds.capacity > 0], price)[0]
        each = paid / np.where(fastest > 0, fastest, 1)
        # Lowered by more than the rounding error of sums of products of times.
        rest = (overlap(times, end, each) - overlap(times, begin, each)) * (1 - 1e-9)
        ends = times + rest - 1e-6 * (rest > 0)
        if ends.max() <= best and best > end.max():
            break
        best, moment = max(best, float(ends.max())), float(times[ends.argmax()])
    return best


def _least_cost(work: FloatArray, price: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return the cost of each piece's total work on the cheapest kind, and that kind."""
    cost: Array = np.where(np.isfinite(work[:, :, 0]), np.where(np.isfinite(work), work, 0) @ price, np.inf)
    kind = cost.argmin(axis=0)
    return cost[kind, np.arange(cost.shape[1])], kind


def _best_prices(work: FloatArray, capacity: npt.NDArray[np.int64], share: FloatArray) -> FloatArray:
    """Return prices q with C . q = 1 under which these shares of the work cost most, by cutting planes."""
    from scipy.optimize import linprog

    count = len(capacity)
    price = np.full(count, 1 / (count * capacity))
    best, value = price, -np.inf
    planes: list[FloatArray] = []
    for _ in range(PLANES):
        paid, kind = _least_cost(work, price)
        total = float(share @ paid)
        if total > value:
            best, value = price, total
        planes.append(share @ work[kind, np.arange(len(kind))])
        # The maximum of z with z <= plane . q for all planes.
        rows = np.column_stack([np.ones(len(planes)), -np.array(planes)])
        ends = linprog(
            np.r_[-1.0, np.zeros(count)],
            A_ub=rows,
            b_ub=np.zeros(len(planes)),
            A_eq=[np.r_[0.0, capacity]],
            b_eq=[1.0],
            bounds=[(None, None), *[(0, None)] * count],
        )
        if ends.status != 0 or ends.x[0] <= value * (1 + 1e-9):
            break
        price = np.maximum(ends.x[1:], 0)
        price = price / float(capacity @ price)
    return best


def overlap(times: Amounts, points: Amounts, amount: Amounts) -> Amounts:
    """Return for each time the sum of amount x (point - time) over the points after it."""
    order = np.argsort(points, kind="stable")
    # Sums over all points from each one on: of the amounts, and of amount x point.
    after = np.append(np.cumsum(amount[order][::-1])[::-1], 0)
    moment = np.append(np.cumsum((amount * points)[order][::-1])[::-1], 0)
    place = np.searchsorted(points[order], times, side="right")
    return np.asarray(moment[place] - after[place] * times)
