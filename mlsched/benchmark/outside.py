"""The suite `outside`: foreign instances with published optima or complete fronts, from a folder.

    stg/*.stg, stg/optima.csv                   Standard Task Graphs: file, processors, optimal_makespan
    psplib_j30/*.sm, psplib_j30/optimum.csv     PSPLIB: problem, optimum
    jsp/*.txt, jsp/optima.csv                   job shops: file, optimal_makespan
    kirlik14/*.fgt, pyaugmecon/*/               integer programs with published fronts (`integer_programs.py`)

A published optimum has its own row ("published"), and a different proven optimum is reported as a dispute. Missing
parts, and fronts of more than 100 points, are omitted.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mlsched.benchmark.cases import Case, Suite
from mlsched.benchmark.integer_programs import KNAPSACK, read_program
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.registry import registry
from mlsched.core.safe_open import open_file, shown_path

#: Location of the published instances: a folder in the one that this variable names.
VARIABLE, FOLDER = "MLSCHED_DATA", "known_optima"
#: CP-SAT's deterministic seconds per solve: four times the cost of the hardest job shop.
WORK = 60.0
#: Largest number of points of a front; larger ones take minutes.
MAX_POINTS = 100
#: Largest number of objectives of a knapsack; for more, pyaugmecon publishes only part of the front, the points of a
#: grid.
MAX_OBJECTIVES = 3


def outside(folder: Path | None = None) -> Suite:
    """Return the suite of a folder, by default `known_optima` in $MLSCHED_DATA; raise InvalidInput if it is missing."""
    if folder is None:
        if VARIABLE not in os.environ:
            raise InvalidInput(f"outside: needs published instances: give their --folder, or set {VARIABLE}")
        folder = Path(os.environ[VARIABLE]) / FOLDER
    if not folder.is_dir():
        raise InvalidInput(f"outside: {shown_path(folder)} is missing; give the --folder of published instances")
    cases = [*_cases(folder, "stg", "stg/optima.csv"), *_cases(folder, "jsp", "jsp/optima.csv")]
    cases += _cases(folder, "psplib-j30", "psplib_j30/optimum.csv")
    programs = [str(path) for path in _programs(folder)]
    if not cases and not programs:
        raise InvalidInput(
            f"outside: {shown_path(folder)}, expected a folder of published instances; give another --folder"
        )
    return Suite("outside", f"the published instances of {shown_path(folder)}", tuple(cases), tuple(programs))


def _cases(folder: Path, name: str, optima: str) -> Iterator[Case]:
    """Yield cases of the existing instances in a table of optima, one per number of processors."""
    table = folder / optima
    if not table.is_file():
        return
    published: dict[int | None, dict[str, int]] = defaultdict(dict)
    with open_file(table) as stream:
        rows = list(csv.reader(stream.read().decode().splitlines()))
    for row in rows[1:]:
        path = table.with_name(row[0])
        if path.is_file():
            try:
                processors, optimum = (None, int(row[1])) if len(row) == 2 else (int(row[1]), int(row[2]))
            except (ValueError, IndexError):
                raise InvalidFile(
                    f"{shown_path(table)}: {','.join(row)}: expected file, [processors,] optimum"
                ) from None
            published[processors][str(path)] = optimum
    for processors, optimum_of in published.items():
        suffix = Path(next(iter(optimum_of))).suffix
        problem = next(known for known in registry().problems.values() if suffix in known.readers)
        yield Case(
            problem.name,
            name,
            {} if processors is None else {"processors": processors},
            (0,),
            (problem.default, *problem.suites.published),
            ("makespan",),
            work_limit={"cp-sat": WORK},
            files=tuple(optimum_of),
            published=optimum_of,
        )


def _programs(folder: Path) -> Iterator[Path]:
    """Yield the integer programs with a completely published front of at most MAX_POINTS points."""
    for path in sorted(folder.glob("kirlik14/*.fgt")):
        if len(read_program(path)[1]) <= MAX_POINTS:
            yield path
    for path in sorted(folder.glob("pyaugmecon/*")):
        if all((path / name).is_file() for name in KNAPSACK):
            program, front = read_program(path)
            if len(program.senses) <= MAX_OBJECTIVES and len(front) <= MAX_POINTS:
                yield path
