"""The report's tables of one problem: mean gaps side by side, every solver in full, differences from the best."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from mlsched.benchmark import html
from mlsched.benchmark.compare import Comparison, compared
from mlsched.benchmark.cost import CostLine, cost_lines, growth
from mlsched.benchmark.formats import (
    NONE,
    apart,
    apart_notes,
    bounds,
    censored,
    count,
    difference_texts,
    duration,
    gap,
    percent,
)
from mlsched.benchmark.html import Cell
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import GapLine
from mlsched.core.gap import format_amount, format_percentage

OVERVIEW_NOTE = (
    "Mean gap to the proven optimum, a line per preset and objective, with its 95 % bootstrap interval over the "
    "instances. The best mean of a line is marked. Only solvers with a gap in percent on every instance of the line "
    "compete for it, so that all means are over the same instances; of the others, brackets say on how many they have "
    "one. Exact solvers are in the tables below."
)
PAIRED_NOTE = (
    "Paired by instance, over all presets. difference: mean over the pairs of the gap to the optimum minus the best "
    "rule's gap, in percentage points, if every pair has both gaps. Otherwise: of (value - best rule's value) / the "
    "larger of the two sizes, turned round if more is better. Above 0 is worse. CPU: geometric mean of the ratios of "
    "CPU seconds. In brackets: intervals by subset means that hold with 95 % confidence for all pairs of rules "
    "together, since the same instances chose the best rule. A verdict is given if the interval leaves out 0. apart: "
    "pairs that the primary criterion decides, which are in no mean. only one: questions for which only one of the two "
    "has a plan."
)

COST_NOTE = (
    "Median CPU time of one call over the instances of a preset, smallest instances first. ≥: a limit ended some call "
    "(censored). growth: the exponent e of time ~ size^e, by least squares over three or more sizes without a censored "
    "time; size is the number of integers in an instance."
)


def overview(problem: str, lines: Sequence[GapLine]) -> Iterator[str]:
    """Presets and objectives down, rules and policies across, the best of each line marked."""
    names = list(dict.fromkeys(line.solver for line in lines if line.label != "exact"))
    groups: dict[tuple[str, str], dict[str, GapLine]] = {}
    for line in lines:
        groups.setdefault((line.objective, line.preset), {})[line.solver] = line
    if not names or all(line.gaps.count == 0 for line in lines):
        return
    cells = [_overview_row(f"{objective}, {preset}", own, names) for (objective, preset), own in groups.items()]
    yield html.heading("Mean gaps", 3)
    yield html.text(OVERVIEW_NOTE, note=True)
    yield html.table(["objective, preset", "n", *names], cells, label=f"{problem}: mean gaps", tall=len(names) > 7)


def _overview_row(label: str, own: dict[str, GapLine], names: Sequence[str]) -> list[Cell]:
    """One line: gaps in percent, or where every optimum is 0 the differences."""
    percents = {name: (line.gaps.relative, line.gaps.mean) for name, line in own.items()}
    differences = {name: (line.gaps.absolute, line.gaps.mean_difference) for name, line in own.items()}
    in_percent = any(over for over, _ in percents.values())
    found = percents if in_percent else differences
    whole = max(over for over, _ in found.values())
    shown = [found[name] for name in names if name in found]
    least = min((mean for over, mean in shown if over == whole and mean is not None), default=None)
    if not in_percent and whole:
        label = f"{label} (optimum 0: difference, {next(iter(own.values())).unit})"
    made = [Cell(label), Cell(str(whole), whole)]
    for name in names:
        over, mean = found.get(name, (0, None))
        if mean is None:
            made.append(Cell(NONE))
            continue
        text = format_percentage(mean) if in_percent else f"{'+' if mean > 0 else ''}{format_amount(mean)}"
        if over < whole:
            made.append(Cell(f"{text} ({over})", mean))
        else:
            small = bounds(own[name].interval, "{:.1%}".format).replace("%", "") if in_percent else ""
            made.append(Cell(text, mean, "best" if mean == least else "", small))
    return made


def gap_tables(problem: str, lines: Sequence[GapLine]) -> Iterator[str]:
    """One table per objective, every solver on every preset."""
    yield html.heading("Every solver", 3)
    for objective in dict.fromkeys(line.objective for line in lines):
        own = [line for line in lines if line.objective == objective]
        yield html.folded(f"{objective} ({len(own)} lines)", list(_gap_table(problem, objective, own)))


@dataclasses.dataclass(frozen=True)
class _Column:
    """A column of the full table; shown where `wanted`, or where some line has something to show."""

    title: str
    cell: Callable[[GapLine], Cell]
    optional: bool = False


def _columns() -> list[_Column]:
    def text(title: str, value: Callable[[GapLine], str]) -> _Column:
        return _Column(title, lambda line: Cell(value(line)))

    def number(title: str, value: Callable[[GapLine], int], mark: str = "") -> _Column:
        return _Column(title, lambda x: Cell(count(value(x)), value(x) or None, mark if value(x) else ""), True)

    return [
        text("solver", lambda line: line.solver),
        text("preset", lambda line: line.preset),
        text("kind", lambda line: line.label),
        _Column("n", lambda line: Cell(line.covered, line.gaps.relative)),
        _Column("optimal", _optimal),
        _Column("mean gap", lambda x: Cell(gap(x.gaps.mean), x.gaps.mean, small=bounds(x.interval))),
        _Column("median gap", lambda line: Cell(gap(line.gaps.median), line.gaps.median)),
        _Column("largest gap", lambda line: Cell(gap(line.gaps.largest), line.gaps.largest)),
        _Column(
            "optimum 0", lambda x: Cell(apart(x.gaps.absolute, x.gaps.mean_difference), x.gaps.mean_difference), True
        ),
        _Column("behind", lambda x: Cell(apart(x.gaps.behind, x.gaps.mean_behind), x.gaps.mean_behind), True),
        _Column("proven", lambda line: Cell("" if line.proven is None else percent(line.proven), line.proven)),
        _Column(
            "confirmed", lambda line: Cell(percent(line.confirmed) if line.proven is not None else "", line.confirmed)
        ),
        _Column("CPU time", _cpu_time),
        _Column("wall time", lambda line: Cell(censored(line.seconds, line.censored), line.seconds)),
        number("no plan", lambda line: line.unsolved),
        number("failed", lambda line: line.failures, "bad"),
        number("skipped", lambda line: line.skipped),
        number("cut by a limit", lambda line: line.censored),
        number("cut by the clock", lambda line: line.wall_limited),
    ]


def _optimal(line: GapLine) -> Cell:
    share = line.gaps.optimal
    return Cell(percent(share), share, "good" if share == 1 else "")


def _cpu_time(line: GapLine) -> Cell:
    shown = censored(line.cpu_seconds, line.censored)
    return Cell(shown, line.cpu_seconds, small=bounds(line.cpu_interval, duration))


def _gap_table(problem: str, objective: str, lines: Sequence[GapLine]) -> Iterator[str]:
    columns = []
    for column in _columns():
        cells = [column.cell(line) for line in lines]
        if not column.optional or any(cell.text for cell in cells):
            columns.append((column.title, cells))
    rows = [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
    caption = f"{problem}: {objective} (unit: {lines[0].unit})"
    yield html.table([title for title, _ in columns], rows, caption=caption)
    yield from (html.text(note, note=True) for note in apart_notes(line.gaps for line in lines))


def best_rule(lines: Sequence[GapLine]) -> str | None:
    """The rule or policy with most gaps in percent by one objective, and the least mean."""
    found: dict[str, list[GapLine]] = {}
    for line in lines:
        if line.kind != "exact" and line.gaps.mean is not None:
            found.setdefault(line.solver, []).append(line)

    def rank(own: list[GapLine]) -> tuple[int, float]:
        covered = sum(line.gaps.relative for line in own)
        return -covered, sum(line.gaps.relative * (line.gaps.mean or 0.0) for line in own) / covered

    return min(found, key=lambda name: rank(found[name]), default=None)


def paired(problem: str, rows: Sequence[Row], lines: Sequence[GapLine]) -> Iterator[str]:
    """Every rule against the best one, by instance."""
    made = []
    for objective in dict.fromkeys(line.objective for line in lines):
        own = [line for line in lines if line.objective == objective]
        best = best_rule(own)
        rules = list(dict.fromkeys(line.solver for line in own if line.label != "exact"))
        asked = [row for row in rows if row.objective == objective]
        if best is None or sum(line.gaps.count for line in own if line.solver == best) < 2:
            continue
        theirs = {row.instance_hash for row in asked if row.solver == best}
        known = {row.solver for row in asked if row.instance_hash in theirs}
        wanted = [f"{best}={name}" for name in rules if name in known and name != best]
        if not wanted:
            continue
        found = compared(asked, asked, wanted, comparisons=len(rules) * (len(rules) - 1) // 2)
        header = ["solver", "verdict", "pairs", "better", "worse", "difference", "CPU", "apart", "only one"]
        caption = f"{objective}: against {best}"
        made.append(
            html.folded(caption, [html.table(header, [_paired_row(x) for x in found], label=f"{problem}: {caption}")])
        )
    if made:
        yield html.heading("Differences from the best rule", 3)
        yield html.text(PAIRED_NOTE, note=True)
        yield from made


def _paired_row(line: Comparison) -> list[Cell | str]:
    ratio = "" if line.time is None else f"{line.time:.3g}×"
    difference, interval = difference_texts(line)
    return [
        line.second,
        line.verdict,
        str(line.pairs),
        str(line.better),
        str(line.worse),
        Cell(difference, line.difference, small=interval),
        Cell(ratio, line.time, small=bounds(line.time_interval, "{:.3g}".format)),
        count(line.apart),
        count(line.only_first + line.only_second),
    ]


def cost_table(problem: str, rows: Sequence[Row]) -> Iterator[str]:
    """CPU time of everyone by preset, smallest instances first, and how it grows; of two presets or more."""
    lines = cost_lines(rows)
    cases = list(dict.fromkeys(line.case for line in sorted(lines, key=lambda line: line.size)))
    if len(cases) < 2:
        return
    groups: dict[tuple[str, str], list[CostLine]] = {}
    for line in lines:
        groups.setdefault((line.solver, line.objective), []).append(line)
    solvers = [solver for solver, _ in groups]
    cells = []
    for (solver, objective), own in groups.items():
        by_case = {line.case: line for line in own}
        name = solver if solvers.count(solver) == 1 else f"{solver}, {objective}"
        exponent = growth(own)
        shown = [censored(x.seconds, x.censored) if (x := by_case.get(case)) else NONE for case in cases]
        keys = [x.seconds if (x := by_case.get(case)) else None for case in cases]
        times = [Cell(text, key) for text, key in zip(shown, keys, strict=True)]
        cells.append([Cell(name), *times, Cell(NONE if exponent is None else f"{exponent:.2f}", exponent)])
    table = html.table(["solver", *cases, "growth"], cells, label=f"{problem}: CPU time by preset")
    yield html.heading("CPU time by preset", 3)
    yield html.folded(f"median of a call ({len(cells)} lines)", [html.text(COST_NOTE, note=True), table])
