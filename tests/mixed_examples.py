"""Random mixed integer programs with optima by brute force, and the witness of HiGHS issue 3090.

The continuous columns of a program are few, and its rows are such that, for fixed integers, each continuous column is
only bounded: brute force then decides feasibility in fractions.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from fractions import Fraction

import pyomo.environ as pyo

from mlsched.solvers.backends.known_bugs import models

BIG = 10**6


@dataclasses.dataclass(frozen=True)
class MixedProgram:
    """Integer columns x with bounds, continuous columns c in [low, high]; rows low <= a x + b c <= high.

    objectives: two, over x with integer coefficients, to be minimised.
    """

    bounds: tuple[tuple[int, int], ...]
    reals: tuple[tuple[Fraction, Fraction], ...]
    rows: tuple[tuple[tuple[int, ...], tuple[int, ...], Fraction | None, Fraction | None], ...]
    objectives: tuple[tuple[int, ...], tuple[int, ...]]

    def points(self):
        """All integer points that some continuous values complete, in fractions."""
        for x in itertools.product(*(range(a, b + 1) for a, b in self.bounds)):
            if self.completed(x):
                yield x

    def completed(self, x) -> bool:
        """Whether the continuous columns can be chosen: Fourier-Motzkin elimination."""
        for a, b, low, high in self.rows:
            done = sum(map(int.__mul__, a, x))
            if not any(b) and not (-BIG if low is None else low) <= done <= (BIG if high is None else high):
                return False
        unequal = []  # sum b_i c_i <= right
        for i, (low, high) in enumerate(self.reals):
            unit = tuple(Fraction(i == k) for k in range(len(self.reals)))
            unequal += [(unit, high), (tuple(-u for u in unit), -low)]
        for a, b, low, high in self.rows:
            if not any(b):
                continue
            done = sum(map(int.__mul__, a, x))
            if high is not None:
                unequal.append((tuple(map(Fraction, b)), high - done))
            if low is not None:
                unequal.append((tuple(-Fraction(k) for k in b), done - low))
        for i in range(len(self.reals)):
            above = [r for r in unequal if r[0][i] > 0]
            below = [r for r in unequal if r[0][i] < 0]
            unequal = [r for r in unequal if r[0][i] == 0]
            for (p, right), (q, other) in itertools.product(above, below):
                f, g = 1 / p[i], -1 / q[i]
                unequal.append((tuple(f * s + g * t for s, t in zip(p, q, strict=True)), f * right + g * other))
        return all(right >= 0 for _, right in unequal)

    def values(self):
        """The values of both objectives at all points."""
        return {tuple(sum(k * v for k, v in zip(o, x, strict=True)) for o in self.objectives) for x in self.points()}

    def front(self):
        """All non-dominated values, sorted."""
        return front_of(self.values())

    def pyomo(self):
        """(model, expressions of both objectives)."""
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(len(self.bounds)), domain=pyo.Integers, bounds=lambda _, i: self.bounds[i])
        model.c = pyo.Var(range(len(self.reals)), bounds=lambda _, i: tuple(map(float, self.reals[i])))
        model.rows = pyo.ConstraintList()
        for a, b, low, high in self.rows:
            body = sum(k * v for k, v in zip(a, model.x.values(), strict=True))
            body += sum(k * v for k, v in zip(b, model.c.values(), strict=True))
            if any(a) or any(b):
                model.rows.add((None if low is None else float(low), body, None if high is None else float(high)))
        return model, [sum(k * v for k, v in zip(o, model.x.values(), strict=True)) for o in self.objectives]


def front_of(values):
    """The non-dominated pairs among some, sorted."""
    return sorted([*p] for p in values if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in values))


def drawn(rng: random.Random) -> MixedProgram:
    """A random program of one to five integers and one to three continuous columns; most have a point."""
    integers, reals = rng.randint(1, 5), rng.randint(1, 3)
    wide = rng.choice((1, 1, 1, 2, 4)) if integers < 4 else 1
    bounds = tuple((low := rng.randint(-wide, wide), low + rng.randint(0, wide)) for _ in range(integers))
    ends = tuple((low := Fraction(rng.randint(-8, 8), 2), low + Fraction(rng.randint(0, 24), 2)) for _ in range(reals))
    planted = rng.random() < 0.7
    x = [rng.randint(*pair) for pair in bounds]
    c = [low + (high - low) * Fraction(rng.randint(0, 4), 4) for low, high in ends]
    rows = []
    for _ in range(rng.randint(1, 6)):
        share = rng.random()
        a = tuple(rng.choice((0, 0, 1, -1, 2, 3, -5)) if rng.random() < 0.7 else 0 for _ in range(integers))
        b = tuple(rng.choice((1, -1, 1, -1, 2, 4)) if rng.random() < share else 0 for _ in range(reals))
        if not any(a) and not any(b):
            continue
        at = sum(map(int.__mul__, a, x)) + sum(k * v for k, v in zip(b, c, strict=True))
        right = at if planted else Fraction(rng.randint(-12, 24), rng.choice((1, 1, 2, 4)))
        slack, kind = Fraction(rng.randint(0, 8), 4), rng.random()
        if kind < 0.35:
            rows.append((a, b, right, right))
        elif kind < 0.65:
            rows.append((a, b, None, right + slack))
        elif kind < 0.9:
            rows.append((a, b, right - slack, None))
        else:
            rows.append((a, b, right - slack, right + slack))
    costs = tuple(tuple(rng.randint(-4, 6) for _ in range(integers)) for _ in range(2))
    return MixedProgram(bounds, ends, tuple(rows), costs)


def witness():
    """(model, its integer variables) of HiGHS issue 3090: feasible, and called infeasible by HiGHS' presolve."""
    known_bug = next(c for c in models.known_bugs() if c.name == "highs-3090")
    model = pyo.ConcreteModel()
    model.v = pyo.Var([v.name for v in known_bug.variables])
    for v in known_bug.variables:
        model.v[v.name].domain = pyo.Integers if v.integer else pyo.Reals
        model.v[v.name].setlb(float(v.low))
        model.v[v.name].setub(float(v.high))
    model.rows = pyo.ConstraintList()
    for row in known_bug.rows:
        body = sum(float(f) * model.v[name] for name, f in row.terms.items())
        model.rows.add(
            (None if row.low is None else float(row.low), body, None if row.high is None else float(row.high))
        )
    return model, [model.v[v.name] for v in known_bug.variables if v.integer]
