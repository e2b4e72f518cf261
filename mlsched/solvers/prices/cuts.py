"""Chvátal-Gomory cuts for a claim of listed options whose rows each require one supply (`certificates/fixing.py`).

A fractional solution supplies three rows by halves: an option for the first and the second, another for the second and
the third, another for the first and the third. An integer solution needs at least two options. With weights of 1 for
the three rows and a divisor of 2, an option that supplies k of them counts as k / 2, rounded up, and 2 must be
supplied. The same is true for two rows and a block, which takes only one option, and for larger odd sets.
(Subset-row cuts: Jepsen, Petersen, Spoorendonk and Pisinger, Operations Research 56 (2008).)
"""

from __future__ import annotations

import numpy as np

from mlsched.certificates.prices.core import SCALE
from mlsched.certificates.prices.fixing import Fixed
from mlsched.core.deadline import Deadline
from mlsched.core.fields import FloatArray
from mlsched.solvers.backends.columns import Relaxation
from mlsched.solvers.prices.listed import ListedOptions

#: A cut: weights of rows, shifts of blocks, a divisor.
Cut = tuple[dict[str, int], dict[str, int], int]
#: Rounds of cuts, cuts per round, and the least violation of a cut.
ROUNDS, MOST, LEAST = 30, 40, 0.02
#: Pairs that a set grows by.
MOST_PAIRS = 7


def cuts_of(claim: Fixed, deadline: Deadline) -> list[Cut]:
    """Return cuts that raise the bound of the linear relaxation, limited to cuts with a positive price at its end."""
    options = ListedOptions(claim)
    first = len(options.rows)
    violated_sets: list[Cut] = []
    for _ in range(ROUNDS):
        amounts, price, value = _solve_relaxation(options, deadline)
        if value >= claim.target - 1 + 1e-3:
            break
        more = [cut_row for cut_row in _violated_cuts(options, claim, amounts) if cut_row not in violated_sets]
        if not more:
            break
        violated_sets += more
        options.add_rows([_row_of_cut(options, cut_row) for cut_row in more])
    else:
        amounts, price, value = _solve_relaxation(options, deadline)
    return [
        cut_row for cut_row, worth in zip(violated_sets, price[first:].tolist(), strict=False) if worth * SCALE >= 1
    ]


def _solve_relaxation(options: ListedOptions, deadline: Deadline) -> tuple[FloatArray, FloatArray, float]:
    """Return the solution of the linear relaxation: the amount of each of its columns, prices, and the value."""
    relaxation = Relaxation(options.counts, options.capacities.tolist(), options.beyond)
    relaxation.add(options.known())
    while True:
        relaxed = relaxation.solve(deadline)
        _, columns = options.worth(relaxed.price, relaxed.of_block, {})
        if not columns:
            return relaxed.taken, relaxed.price, relaxed.value
        relaxation.add(columns)


def _violated_cuts(options: ListedOptions, claim: Fixed, amounts: FloatArray) -> list[Cut]:
    """Return the cuts that the fractional `amounts` of the options violate most.

    A cut is an odd set of rows and blocks with weights of 1, and the divisor 2.
    """
    part = np.flatnonzero((amounts > 1e-6) & (amounts < 1 - 1e-6))
    selection, share = np.array(options.options, dtype=np.int64)[part], amounts[part]
    own = np.flatnonzero([claim.capacity.get(row) == -1 for row in options.rows])
    supplied = options.use[np.ix_(selection, own)] < 0
    some = supplied.any(axis=1)
    supplied, selection, share = supplied[some], selection[some], share[some]
    rows = np.flatnonzero(supplied.any(axis=0))
    blocks = np.unique(options.block[selection])
    has = np.hstack([supplied[:, rows], options.block[selection][:, None] == blocks]).astype(np.float64)
    new_cuts: list[Cut] = []
    for members in odd_sets(has, share)[:MOST]:
        weights = {options.rows[own[rows[e]]]: 1 for e in members if e < len(rows)}
        new_cuts.append((weights, {str(blocks[e - len(rows)]): 1 for e in members if e >= len(rows)}, 2))
    return new_cuts


def odd_sets(has: FloatArray, share: FloatArray) -> list[tuple[int, ...]]:
    """Return odd sets S of elements that options use more than integers can, the most violated first.

    has[k, e]: whether option k uses element e, which exists once; share[k]: amount of k. Integer options
    use at most (|S| - 1) / 2 pairs from S. Every set grows from one element, by the two that add most.
    """
    count = has.shape[1]
    together = has.T @ (has * share[:, None])
    violated_sets: dict[tuple[int, ...], float] = {}
    for first in range(count):
        members, excess = [first], 0.0
        for _ in range(MOST_PAIRS):
            odd = share * (has[:, members].sum(axis=1) % 2)
            at_odd = has.T @ (has * odd[:, None])
            single = np.diag(at_odd)
            gain = together + single[:, None] + single[None, :] - 2 * at_odd
            gain[members], gain[:, members] = -1.0, -1.0
            np.fill_diagonal(gain, -1.0)
            a, b = divmod(int(np.argmax(gain)), count)
            excess += float(gain[a, b]) - 1
            members += [a, b]
            if gain[a, b] < 0.5 or excess < -1:
                break
            if excess > LEAST:
                violated_sets[tuple(sorted(members))] = excess
                break
    return sorted(violated_sets, key=lambda members: (-violated_sets[members], members))


def _row_of_cut(options: ListedOptions, cut_row: Cut) -> tuple[FloatArray, float]:
    """Return the use of a cut's row by each option, and its capacity."""
    weights, shifts, divisor = cut_row
    at = [options.rows.index(row) for row in weights]
    factor = np.array(list(weights.values()), dtype=np.float64)
    shift = np.array([shifts.get(str(block), 0) for block in range(options.claim.blocks)])
    use = np.floor((shift[options.block] + options.use[:, at] @ factor) / divisor)
    return use, float((shift.sum() + options.capacities[at] @ factor) // divisor)
