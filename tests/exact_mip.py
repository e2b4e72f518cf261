"""Mixed-integer programs solved in exact fractions: branch and bound over a simplex method with Bland's rule.

Slow and plain, for models of a few dozen variables; no float is compared with anything.
"""

from __future__ import annotations

import math
from fractions import Fraction

from mlsched.solvers.backends.known_bugs.models import KnownBug

ZERO = Fraction(0)


def optimum(known_bug: KnownBug) -> Fraction | str:
    """The optimum of a model, "infeasible" or "unbounded"."""
    sign = 1 if known_bug.sense == "min" else -1
    cost = {name: sign * value for name, value in known_bug.cost.items()}
    best: Fraction | None = None
    open_nodes = [{v.name: (v.low, v.high) for v in known_bug.variables}]
    while open_nodes:
        bounds = open_nodes.pop()
        found = _relaxed(known_bug, cost, bounds)
        if found == "unbounded":
            # With rational data, a relaxation that is unbounded and a point that is feasible make the model unbounded.
            return "unbounded" if optimum_is_feasible(known_bug) else "infeasible"
        if found == "infeasible":
            continue
        value, point = found
        if best is not None and value >= best:
            continue
        split = next((v.name for v in known_bug.variables if v.integer and point[v.name].denominator != 1), None)
        if split is None:
            best = value
            continue
        below, (low, high) = math.floor(point[split]), bounds[split]
        open_nodes.append({**bounds, split: (Fraction(below + 1), high)})
        open_nodes.append({**bounds, split: (low, Fraction(below))})
    return "infeasible" if best is None else sign * best


def optimum_is_feasible(known_bug: KnownBug) -> bool:
    """Whether the model has a point at all."""
    import dataclasses

    return optimum(dataclasses.replace(known_bug, cost={})) == 0


def _relaxed(known_bug: KnownBug, cost, bounds):
    """(value, point) of the linear relaxation within `bounds`, "infeasible" or "unbounded".

    Every variable is written as `base + factor * new`, new >= 0; a free one as the difference of two.
    """
    parts: dict[str, list[tuple[int, int]]] = {}
    base: dict[str, Fraction] = {}
    rows: list[tuple[dict[int, Fraction], Fraction]] = []
    count = 0
    for v in known_bug.variables:
        low, high = bounds[v.name]
        if v.integer:
            low, high = (
                low if low is None else Fraction(math.ceil(low)),
                high if high is None else Fraction(math.floor(high)),
            )
        if low is not None and high is not None and low > high:
            return "infeasible"
        if low is not None:
            parts[v.name], base[v.name] = [(count, 1)], low
            if high is not None:
                rows.append(({count: Fraction(1)}, high - low))
            count += 1
        elif high is not None:
            parts[v.name], base[v.name] = [(count, -1)], high
            count += 1
        else:
            parts[v.name], base[v.name] = [(count, 1), (count + 1, -1)], ZERO
            count += 2

    def written(terms):
        new, constant = {}, ZERO
        for name, factor in terms.items():
            constant += factor * base[name]
            for index, sign in parts[name]:
                new[index] = new.get(index, ZERO) + sign * factor
        return new, constant

    for row in known_bug.rows:
        new, constant = written(row.terms)
        if row.high is not None:
            rows.append((new, row.high - constant))
        if row.low is not None:
            rows.append(({i: -f for i, f in new.items()}, constant - row.low))
    goal, constant = written(cost)
    solved = _simplex(count, rows, goal)
    if isinstance(solved, str):
        return solved
    value, new = solved
    point = {name: base[name] + sum(s * new[i] for i, s in parts[name]) for name in parts}
    return value + constant, point


def _simplex(count, rows, goal):
    """min goal x with rows (terms <= right side) and x >= 0: (value, x), "infeasible" or "unbounded".

    A tableau with a slack per row; where right sides are negative, the artificial variable `count + len(rows)` first.
    """
    size = len(rows)
    width = count + size + 1
    table = []
    for k, (terms, right) in enumerate(rows):
        line = [ZERO] * (width + 1)
        for i, factor in terms.items():
            line[i] = factor
        line[count + k] = Fraction(1)
        line[width - 1] = Fraction(-1)
        line[width] = right
        table.append(line)
    basis = list(range(count, count + size))
    if table and min(line[width] for line in table) < 0:
        worst = min(range(size), key=lambda k: table[k][width])
        objective = [ZERO] * (width + 1)
        objective[width - 1] = Fraction(1)
        _pivot(table, objective, basis, worst, width - 1)
        _descend(table, objective, basis, width)
        if objective[width] != 0:
            return "infeasible"
        if width - 1 in basis:
            row = basis.index(width - 1)
            entering = next((j for j in range(width - 1) if table[row][j] != 0), None)
            if entering is not None:
                _pivot(table, objective, basis, row, entering)
    for line in table:
        line[width - 1] = ZERO
    objective = [ZERO] * (width + 1)
    for i, factor in goal.items():
        objective[i] = factor
    for row, column in enumerate(basis):
        factor = objective[column]
        if factor:
            objective = [a - factor * b for a, b in zip(objective, table[row], strict=True)]
    if not _descend(table, objective, basis, width - 1):
        return "unbounded"
    x = [ZERO] * width
    for row, column in enumerate(basis):
        x[column] = table[row][width]
    return -objective[width], x


def _descend(table, objective, basis, columns) -> bool:
    """Pivot by Bland's rule until no reduced cost is negative; False where the objective is unbounded."""
    while True:
        entering = next((j for j in range(columns) if objective[j] < 0), None)
        if entering is None:
            return True
        rows = [(line[-1] / line[entering], basis[k], k) for k, line in enumerate(table) if line[entering] > 0]
        if not rows:
            return False
        _pivot(table, objective, basis, min(rows)[2], entering)


def _pivot(table, objective, basis, row, column) -> None:
    pivot = table[row][column]
    table[row] = [a / pivot for a in table[row]]
    lead = table[row]
    for k, line in enumerate(table):
        if k != row and line[column]:
            factor = line[column]
            table[k] = [a - factor * b if b else a for a, b in zip(line, lead, strict=True)]
    factor = objective[column]
    if factor:
        objective[:] = [a - factor * b if b else a for a, b in zip(objective, lead, strict=True)]
    basis[row] = column
