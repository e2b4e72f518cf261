"""Tasks of the suite `outside` beyond problem instances: integer programs with published fronts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mlsched.benchmark.cases import Suite
from mlsched.benchmark.integer_programs import read_program
from mlsched.benchmark.row import Key, Row
from mlsched.benchmark.tasks import PUBLISHED
from mlsched.core.aliases import Data
from mlsched.core.clock import cpu_time, utc_time
from mlsched.core.errors import InvalidFile, SolverError
from mlsched.core.machine import machine
from mlsched.core.versions import versions

#: Problem name of rows of integer programs, and the enumerating solver.
PROBLEM, ENUMERATOR = "programs", "cp-sat"


@dataclasses.dataclass(frozen=True)
class FrontTask:
    """One front: the enumerated or the published one. A row's value is its number of points.

    Attributes:
        suite: Name of the suite.
        path: An .fgt file, or the folder of a knapsack.
        program_hash: Hash of the program.
        size: Number of numbers in the program.
        solver: ENUMERATOR or PUBLISHED.
    """

    suite: str
    path: str
    program_hash: str
    size: int
    solver: str

    @property
    def keys(self) -> list[Key]:
        """The key of the only row."""
        return [row.key for row in self.rows(status="unknown")]

    @property
    def content(self) -> tuple[str, int, str]:
        """Problem, size and hash of the program."""
        return PROBLEM, self.size, self.program_hash

    @property
    def limits(self) -> Data:
        """Limits of the call; fronts are unlimited."""
        return {}

    def rows(self, **details: Any) -> list[Row]:
        """Return the only row, with these details."""
        row = Row(
            suite=self.suite,
            problem=PROBLEM,
            preset=Path(self.path).parent.name,
            sizes={},
            seed=0,
            instance_hash=self.program_hash,
            size=self.size,
            objective="points",
            sense="max",
            unit="points",
            primary=None,
            solver=self.solver,
            kind="exact",
            params={},
            answer_seed=0,
            time_limit=None,
            work_limit=None,
            source=self.path,
            machine=machine(),
            made=utc_time(),
            versions=versions(),
            **details,
        )
        return [row]

    def answered(self) -> list[Row]:
        """Return the row; raise SolverError if the enumerated front differs from the published one."""
        from mlsched.solvers import enumerate_front

        program, published_points = read_program(Path(self.path))
        if program.hash != self.program_hash:
            raise InvalidFile(f"{self.path} now contains another program")
        if self.solver == PUBLISHED:
            return self.rows(
                status="optimal", sort_key=len(published_points), sort_bound=len(published_points), gap=0.0
            )
        start_time = cpu_time()
        front = enumerate_front(*program.cp_sat())
        spent = cpu_time() - start_time
        points = {tuple(point) for point in front.sort_keys.tolist()}
        published = {tuple(point) for point in published_points}
        if not front.complete or points != published:
            raise SolverError(
                f"{self.path}: {len(published - points)} points of the published front are missing, and "
                f"{len(points - published)} others were found"
            )
        return self.rows(
            status="optimal",
            sort_key=len(points),
            sort_bound=len(points),
            gap=0.0,
            stopped_by="proof",
            cpu_seconds=spent,
            work={"solves": float(front.solves)},
        )


def front_tasks(suite: Suite, solvers: Sequence[str] | None) -> Iterator[FrontTask]:
    """Yield the fronts of a suite, published and enumerated; empty if only other solvers are selected."""
    if solvers is not None and ENUMERATOR not in solvers:
        return
    for path in suite.programs:
        program, _ = read_program(Path(path))
        for solver in (PUBLISHED, ENUMERATOR):
            yield FrontTask(suite.name, path, program.hash, program.size, solver)
