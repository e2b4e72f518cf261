"""Multi-objective integer programs for tests and measurements: published ones, random ones, and brute force."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from mlsched.benchmark.integer_programs import IntegerProgram, nondominated, read_program
from mlsched.solvers.front.zones import Zones


class Question(IntegerProgram):
    """An integer program with what only tests need."""

    def highs(self):
        """(model, objectives, senses) in Pyomo."""
        import pyomo.environ as pyo

        model = pyo.ConcreteModel()
        model.x = pyo.Var(
            range(len(self.low)), domain=pyo.Integers, bounds=lambda m, i: (int(self.low[i]), int(self.high[i]))
        )
        x = list(model.x.values())
        model.rows = pyo.ConstraintList()
        for row, sense, right in zip(self.rows, self.row_sense, self.right, strict=True):
            if not np.any(row):
                if (sense <= 0 and right < 0) or (sense >= 0 and right > 0):
                    model.rows.add(pyo.Constraint.Infeasible)
                continue
            body = sum(float(c) * v for c, v in zip(row, x, strict=True))
            model.rows.add(body <= right if sense < 0 else body >= right if sense > 0 else body == right)
        made = [sum(int(c) * v for c, v in zip(row, x, strict=True)) for row in self.objectives]
        return model, made, self.senses

    def feasible_values(self) -> np.ndarray:
        """The distinct objective values of all feasible solutions, in minimisation form."""
        grid = np.array(list(itertools.product(*(range(a, b + 1) for a, b in zip(self.low, self.high, strict=True)))))
        activity = grid @ self.rows.T if len(self.rows) else np.zeros((len(grid), 0))
        fits = np.ones(len(grid), dtype=bool)
        for i, (sense, right) in enumerate(zip(self.row_sense, self.right, strict=True)):
            if sense <= 0:
                fits &= activity[:, i] <= right
            if sense >= 0:
                fits &= activity[:, i] >= right
        return np.unique((grid[fits] @ self.objectives.T) * self.signs, axis=0)

    def brute_force(self) -> list[list[int]]:
        """All non-dominated values in natural senses, sorted as `Front.sort_keys` is."""
        return (nondominated(self.feasible_values()) * self.signs).tolist()


def zones_to_close(values: np.ndarray) -> int:
    """Local upper bounds of a front that its ideal point does not close (minimisation).

    A sub-problem "least f_k under bounds on the others" closes at most one: no other is inside the box it leaves empty.
    """
    zones = Zones([None] * values.shape[1], [None] * values.shape[1])
    for row in values:
        zones.insert(row)
    return int((zones.upper > values.min(axis=0)).all(axis=1).sum())


def kirlik(folder: Path, name: str) -> tuple[Question, list[list[int]]]:
    """An instance of Kirlik and Sayin (2014), format in kirlik14/FORMAT.md, and its published front, natural senses."""
    return _question(folder / "kirlik14" / f"Kirlik14-{name}.fgt")


def pyaugmecon(folder: Path, name: str) -> tuple[Question, list[list[int]]]:
    """A multi-dimensional knapsack of pyaugmecon (to maximise) and its published front."""
    return _question(folder / "pyaugmecon" / name)


def _question(path: Path) -> tuple[Question, list[list[int]]]:
    program, front = read_program(path)
    return Question(**vars(program)), front


def assignment(size: int, objectives: int, seed: int) -> Question:
    """A random assignment problem with costs in [1, 20], after Kirlik and Sayin (2014)."""
    rng = np.random.default_rng(seed)
    cost = rng.integers(1, 21, (objectives, size * size))
    one = np.eye(size, dtype=int)
    rows = np.vstack([np.kron(one, np.ones((1, size), int)), np.kron(np.ones((1, size), int), one)])
    count = len(rows)
    zeros, ones = np.zeros(size * size, int), np.ones(size * size, int)
    return Question(cost, ("min",) * objectives, rows, (0,) * count, (1,) * count, zeros, ones)


def knapsack(items: int, objectives: int, seed: int, most: int = 1000) -> Question:
    """A random knapsack with profits and weights in [1, most], after Kirlik and Sayin (2014)."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, most + 1, (1, items))
    return Question(
        rng.integers(1, most + 1, (objectives, items)),
        ("max",) * objectives,
        weight,
        (-1,),
        (int(-(-weight.sum() // 2)),),
        np.zeros(items, int),
        np.ones(items, int),
    )
