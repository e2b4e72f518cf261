"""Multi-objective integer programs with published fronts, on which other enumerators were evaluated.

    KIRLIK/Kirlik14-NAME.fgt, Kirlik14-NAME.front.csv     Kirlik and Sayin (2014), as in MOrepo-Kirlik14
    FOLDER/a.csv, b.csv, c.csv, pareto_sols.csv           multi-dimensional knapsacks, as in pyaugmecon

An .fgt file is a sequence of numbers: n, m and p; p senses ("maxsum", "minsum"); p x n coefficients of the objectives,
m x n of the rows; m pairs of a row's kind (0: >=, 1: <=, 2: =) and its right side; n lower and n upper bounds of the
variables. The front is in minimisation form.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import numpy as np

from mlsched.core.aliases import BackendModel, Expression
from mlsched.core.errors import InvalidFile
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.safe_open import MOST_TEXT, open_file, shown_path

#: Files that identify the folder of a knapsack.
KNAPSACK = ("a.csv", "b.csv", "c.csv", "pareto_sols.csv")
#: Kinds of rows in an .fgt file, as `row_sense`.
_KIND = {0: 1, 1: -1, 2: 0}


@dataclasses.dataclass(frozen=True)
class IntegerProgram:
    """Integer program: objectives @ x by senses, subject to rows @ x (sense: -1 <=, 0 =, 1 >=) right, low <= x <= high.

    Attributes:
        objectives: Coefficients of the objectives, shape (objectives, variables).
        senses: "min" or "max" of each objective.
        rows: Coefficients of the rows, shape (rows, variables).
        row_sense: Sense of each row.
        right: Right side of each row.
        low: Lower bounds, shape (variables,).
        high: Upper bounds, shape (variables,).
    """

    objectives: IntArray
    senses: tuple[str, ...]
    rows: FloatArray | IntArray
    row_sense: tuple[int, ...]
    right: tuple[float, ...]
    low: IntArray
    high: IntArray

    @property
    def signs(self) -> IntArray:
        """Sign of each objective: 1 to minimise, -1 to maximise."""
        return np.array([1 if sense == "min" else -1 for sense in self.senses])

    @property
    def hash(self) -> str:
        """SHA-256 of its numbers."""
        digest = hashlib.sha256(repr((self.senses, self.row_sense, self.right)).encode())
        for part in (self.objectives, self.rows, self.low, self.high):
            digest.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        return digest.hexdigest()

    @property
    def size(self) -> int:
        """Number of numbers in the program."""
        return int(self.objectives.size + self.rows.size + len(self.right) + 2 * len(self.low))

    def cp_sat(self) -> tuple[BackendModel, list[Expression], tuple[str, ...]]:
        """Return model, objectives and senses for CP-SAT."""
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        x = [
            model.new_int_var(int(a), int(b), f"x{i}") for i, (a, b) in enumerate(zip(self.low, self.high, strict=True))
        ]
        for row, sense, right in zip(self.rows, self.row_sense, self.right, strict=True):
            body = cp_model.LinearExpr.weighted_sum(x, [int(c) for c in row])
            if sense <= 0:
                model.add(body <= int(np.floor(right)))
            if sense >= 0:
                model.add(body >= int(np.ceil(right)))
        expressions = [cp_model.LinearExpr.weighted_sum(x, [int(c) for c in row]) for row in self.objectives]
        return model, expressions, self.senses


def read_program(path: Path) -> tuple[IntegerProgram, list[list[int]]]:
    """Return the program of an .fgt file or of a knapsack's folder, and its published front in natural senses, sorted.

    Raises:
        InvalidFile: The path is neither.
    """
    try:
        return _read_knapsack(path) if path.is_dir() else _read_kirlik(path)
    except (ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InvalidFile(f"{shown_path(path)}: is not an integer program with a front: {reason}") from None


def _read_kirlik(path: Path) -> tuple[IntegerProgram, list[list[int]]]:
    words = _read_text(path).split()
    n, m, p = (int(word) for word in words[:3])
    senses = tuple(word[:3] for word in words[3 : 3 + p])
    numbers = np.array([int(word) for word in words[3 + p :]])
    objectives, rows, right, low, high = np.split(numbers, np.cumsum([p * n, m * n, 2 * m, n]))
    pairs = right.reshape(m, 2)
    program = IntegerProgram(
        objectives.reshape(p, n),
        senses,
        rows.reshape(m, n),
        tuple(_KIND[int(kind)] for kind in pairs[:, 0]),
        tuple(pairs[:, 1].tolist()),
        low,
        high,
    )
    front = _read_numbers(path.with_suffix(".front.csv")).astype(np.int64)
    return program, (nondominated(front) * program.signs).tolist()


def _read_knapsack(folder: Path) -> tuple[IntegerProgram, list[list[int]]]:
    weight, right, profit, solutions = (_read_numbers(folder / name)[:, 1:] for name in KNAPSACK)
    n = profit.shape[1]
    program = IntegerProgram(
        profit.astype(np.int64),
        ("max",) * len(profit),
        weight,
        (-1,) * len(weight),
        tuple(right[:, 0].tolist()),
        np.zeros(n, int),
        np.ones(n, int),
    )
    return program, (nondominated(-np.unique(solutions.astype(np.int64), axis=0)) * -1).tolist()


def nondominated(values: IntArray) -> IntArray:
    """Return the non-dominated rows (minimisation), sorted, shape (points, objectives)."""
    points = [v for v in values if not ((values <= v).all(axis=1) & (values < v).any(axis=1)).any()]
    return np.array(sorted(map(tuple, points)), dtype=np.int64).reshape(-1, values.shape[1])


def _read_numbers(path: Path) -> FloatArray:
    """Return the numbers of a CSV file below its header, shape (rows, columns)."""
    return np.loadtxt(_read_text(path).splitlines(), delimiter=",", skiprows=1, ndmin=2)


def _read_text(path: Path) -> str:
    with open_file(path, most=MOST_TEXT) as stream:
        return stream.read().decode()
