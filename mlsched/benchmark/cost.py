"""Cost of answers and its growth with instance size: the tables of `scale` and `speed`.

A search that a limit ended has a censored cost: it would have taken at least that long. Such a cost is marked ("> 2.00
s") and excluded from the exponent.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlsched.benchmark.formats import NONE, duration
from mlsched.benchmark.row import BROKEN, Row
from mlsched.benchmark.table import group_by
from mlsched.core.solver import Kind

if TYPE_CHECKING:
    from rich.table import Table

#: Least number of sizes for an exponent.
LEAST_SIZES = 3
COST_NOTE = (
    "CPU time of one call, median over the instances. >: a limit ended at least one search, so that the time is "
    "censored: it would have been longer. growth: the exponent e of time ~ size^e, size being the number of integers "
    "in an instance, by least squares over the sizes without a censored time. load: CPU time in thousandths of that of "
    "a calibration load (`benchmark/calibration.py`), which depends less on the machine."
)


@dataclasses.dataclass(frozen=True)
class CostLine:
    """Cost of one solver on the instances of one case, by one objective.

    Attributes:
        problem: Problem of the instances.
        objective: Objective of the calls.
        case: Preset and changed sizes.
        solver: Name of the solver.
        kind: Kind of the solver.
        size: Mean number of integers in an instance.
        calls: Number of rows with a time.
        seconds: Their median CPU time in seconds.
        censored: Number of calls that a limit ended.
        load: Median multiple of the calibration load, None if it was not measured.
    """

    problem: str
    objective: str
    case: str
    solver: str
    kind: Kind
    size: float
    calls: int
    seconds: float
    censored: int
    load: float | None


def cost_lines(rows: Sequence[Row]) -> list[CostLine]:
    """Return the costs by problem, solver, objective and case; a rule's call for all objectives counts once."""
    first = {row.problem: row.objective for row in reversed(rows)}
    timed = [
        row
        for row in rows
        if row.cpu_seconds is not None
        and row.status not in BROKEN
        and (row.kind == "exact" or row.objective == first[row.problem])
    ]
    groups = group_by(timed, lambda r: (r.problem, r.solver, r.objective, r.case))
    return [_cost_line(group) for group in groups.values()]


def _cost_line(group: list[Row]) -> CostLine:
    row = group[0]
    seconds = [call.cpu_seconds for call in group if call.cpu_seconds is not None]
    loads = [
        call.cpu_seconds / call.work["calibration"]
        for call in group
        if call.cpu_seconds and call.work.get("calibration")
    ]
    return CostLine(
        problem=row.problem,
        objective=row.objective,
        case=row.case,
        solver=row.solver,
        kind=row.kind,
        size=statistics.fmean(call.size for call in group),
        calls=len(seconds),
        seconds=statistics.median(seconds),
        censored=sum(call.censored for call in group),
        load=statistics.median(loads) if loads else None,
    )


def growth_exponent(lines: Sequence[CostLine]) -> float | None:
    """Return the exponent e of seconds ~ size^e of one solver; None below three sizes without a censored time."""
    complete_lines = [line for line in lines if not line.censored and line.seconds > 0]
    if len({line.size for line in complete_lines}) < LEAST_SIZES:
        return None
    slope = statistics.linear_regression(
        [math.log(line.size) for line in complete_lines], [math.log(line.seconds) for line in complete_lines]
    ).slope
    return float(slope)


def cost_tables(rows: Sequence[Row]) -> list[Table]:
    """Return one table per problem: a row per solver and a column per case, smallest instances first."""
    lines = cost_lines(rows)
    return [
        _table(problem, [x for x in lines if x.problem == problem])
        for problem in dict.fromkeys(x.problem for x in lines)
    ]


def _table(problem: str, lines: Sequence[CostLine]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cases = [x.case for x in sorted(lines, key=lambda x: x.size)]
    cases = list(dict.fromkeys(cases))
    has_load = any(x.load is not None for x in lines)
    cost_table = Table(
        title=Text(f"{problem}: CPU time a call"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    cost_table.add_column("solver", overflow="fold")
    for name in [*cases, *["load"] * has_load, *["growth"] * (len(cases) >= LEAST_SIZES)]:
        cost_table.add_column(name, justify="right")
    for (solver, objective), own in _by_solver(lines).items():
        several = len({x.objective for x in lines if x.solver == solver}) > 1
        by_case = {x.case: x for x in own}
        cells = [_format_cost(by_case.get(case)) for case in cases]
        if has_load:
            cells.append(NONE if own[0].load is None else f"{1000 * own[0].load:.3g}")
        if len(cases) >= LEAST_SIZES:
            exponent = growth_exponent(own)
            cells.append(NONE if exponent is None else f"{exponent:.2f}")
        cost_table.add_row(Text(f"{solver}, {objective}" if several else solver), *cells)
    return cost_table


def _by_solver(lines: Sequence[CostLine]) -> dict[tuple[str, str], list[CostLine]]:
    lines_of: dict[tuple[str, str], list[CostLine]] = {}
    for line in lines:
        lines_of.setdefault((line.solver, line.objective), []).append(line)
    return lines_of


def _format_cost(line: CostLine | None) -> str:
    if line is None:
        return NONE
    return f"{'> ' if line.censored else ''}{duration(line.seconds)}"
