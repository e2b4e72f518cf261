"""The report's tables of one problem: mean gaps side by side, every solver in full, differences from the best."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from mlsched.benchmark import html
from mlsched.benchmark.compare import Comparison, compare_rows
from mlsched.benchmark.cost import CostLine, cost_lines, growth_exponent
from mlsched.benchmark.formats import (
    NONE,
    apart_notes,
    apart_text,
    censored_duration,
    count_or_blank,
    difference_texts,
    duration,
    gap,
    interval_text,
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


def overview_table(problem: str, lines: Sequence[GapLine]) -> Iterator[str]:
    """Yield the mean gaps per preset and objective, one column per rule or policy, with the best of a row marked."""
    names = list(dict.fromkeys(line.solver for line in lines if line.label != "exact"))
    groups: dict[tuple[str, str], dict[str, GapLine]] = {}
    for line in lines:
        groups.setdefault((line.objective, line.preset), {})[line.solver] = line
    if not names or all(line.gaps.count == 0 for line in lines):
        return
    cells = [_overview_row(f"{objective}, {preset}", own, names) for (objective, preset), own in groups.items()]
    yield html.heading("Mean gaps", 3)
    yield html.paragraph(OVERVIEW_NOTE, note=True)
    yield html.table(["objective, preset", "n", *names], cells, label=f"{problem}: mean gaps", tall=len(names) > 7)


def _overview_row(label: str, own: dict[str, GapLine], names: Sequence[str]) -> list[Cell]:
    """Return one row: mean gaps in percent, or mean differences if every optimum is 0.

    Args:
        label: First cell of the row.
        own: Rule -> its line of gaps.
        names: Rules of the table, by column.

    The second cell is the largest number of gaps of a rule. Rules with fewer gaps show their number in brackets.
    """
    percents = {name: (line.gaps.relative, line.gaps.mean) for name, line in own.items()}
    differences = {name: (line.gaps.absolute, line.gaps.mean_difference) for name, line in own.items()}
    in_percent = any(over for over, _ in percents.values())
    value_of = percents if in_percent else differences
    largest_count = max(over for over, _ in value_of.values())
    visible = [value_of[name] for name in names if name in value_of]
    least = min((mean for over, mean in visible if over == largest_count and mean is not None), default=None)
    if not in_percent and largest_count:
        label = f"{label} (optimum 0: difference, {next(iter(own.values())).unit})"
    cells = [Cell(label), Cell(str(largest_count), largest_count)]
    for name in names:
        over, mean = value_of.get(name, (0, None))
        if mean is None:
            cells.append(Cell(NONE))
            continue
        text = format_percentage(mean) if in_percent else f"{'+' if mean > 0 else ''}{format_amount(mean)}"
        if over < largest_count:
            cells.append(Cell(f"{text} ({over})", mean))
        else:
            small = interval_text(own[name].interval, "{:.1%}".format).replace("%", "") if in_percent else ""
            cells.append(Cell(text, mean, "best" if mean == least else "", small))
    return cells


def gap_tables(problem: str, lines: Sequence[GapLine]) -> Iterator[str]:
    """Yield one table per objective, with every solver on every preset."""
    yield html.heading("Every solver", 3)
    for objective in dict.fromkeys(line.objective for line in lines):
        own = [line for line in lines if line.objective == objective]
        yield html.collapsible_sections(f"{objective} ({len(own)} lines)", list(_gap_table(problem, objective, own)))


@dataclasses.dataclass(frozen=True)
class _Column:
    """Column of the full table; an optional column is omitted if all cells are empty."""

    title: str
    cell: Callable[[GapLine], Cell]
    optional: bool = False


def _columns() -> list[_Column]:
    def text(title: str, value: Callable[[GapLine], str]) -> _Column:
        return _Column(title, lambda line: Cell(value(line)))

    def number(title: str, value: Callable[[GapLine], int], mark: str = "") -> _Column:
        return _Column(
            title, lambda x: Cell(count_or_blank(value(x)), value(x) or None, mark if value(x) else ""), True
        )

    return [
        text("solver", lambda line: line.solver),
        text("preset", lambda line: line.preset),
        text("kind", lambda line: line.label),
        _Column("n", lambda line: Cell(line.covered, line.gaps.relative)),
        _Column("optimal", _optimal_cell),
        _Column("mean gap", lambda x: Cell(gap(x.gaps.mean), x.gaps.mean, small=interval_text(x.interval))),
        _Column("median gap", lambda line: Cell(gap(line.gaps.median), line.gaps.median)),
        _Column("largest gap", lambda line: Cell(gap(line.gaps.largest), line.gaps.largest)),
        _Column(
            "optimum 0",
            lambda x: Cell(apart_text(x.gaps.absolute, x.gaps.mean_difference), x.gaps.mean_difference),
            True,
        ),
        _Column("behind", lambda x: Cell(apart_text(x.gaps.behind, x.gaps.mean_behind), x.gaps.mean_behind), True),
        _Column("proven", lambda line: Cell("" if line.proven is None else percent(line.proven), line.proven)),
        _Column(
            "confirmed", lambda line: Cell(percent(line.confirmed) if line.proven is not None else "", line.confirmed)
        ),
        _Column("CPU time", _cpu_time_cell),
        _Column("wall time", lambda line: Cell(censored_duration(line.seconds, line.censored), line.seconds)),
        number("no plan", lambda line: line.unsolved),
        number("failed", lambda line: line.failures, "bad"),
        number("skipped", lambda line: line.skipped),
        number("cut by a limit", lambda line: line.censored),
        number("cut by the clock", lambda line: line.wall_limited),
    ]


def _optimal_cell(line: GapLine) -> Cell:
    share = line.gaps.optimal
    return Cell(percent(share), share, "good" if share == 1 else "")


def _cpu_time_cell(line: GapLine) -> Cell:
    shown = censored_duration(line.cpu_seconds, line.censored)
    return Cell(shown, line.cpu_seconds, small=interval_text(line.cpu_interval, duration))


def _gap_table(problem: str, objective: str, lines: Sequence[GapLine]) -> Iterator[str]:
    columns = []
    for column in _columns():
        cells = [column.cell(line) for line in lines]
        if not column.optional or any(cell.text for cell in cells):
            columns.append((column.title, cells))
    rows = [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
    caption = f"{problem}: {objective} (unit: {lines[0].unit})"
    yield html.table([title for title, _ in columns], rows, caption=caption)
    yield from (html.paragraph(note, note=True) for note in apart_notes(line.gaps for line in lines))


def best_rule(lines: Sequence[GapLine]) -> str | None:
    """Return the rule or policy with most gaps in percent by one objective, and the least mean."""
    lines_by_rule: dict[str, list[GapLine]] = {}
    for line in lines:
        if line.kind != "exact" and line.gaps.mean is not None:
            lines_by_rule.setdefault(line.solver, []).append(line)

    def rank(own: list[GapLine]) -> tuple[int, float]:
        covered = sum(line.gaps.relative for line in own)
        return -covered, sum(line.gaps.relative * (line.gaps.mean or 0.0) for line in own) / covered

    return min(lines_by_rule, key=lambda name: rank(lines_by_rule[name]), default=None)


def paired_tables(problem: str, rows: Sequence[Row], lines: Sequence[GapLine]) -> Iterator[str]:
    """Yield comparisons of every rule with the best one, by instance."""
    sections = []
    for objective in dict.fromkeys(line.objective for line in lines):
        own = [line for line in lines if line.objective == objective]
        best = best_rule(own)
        rules = list(dict.fromkeys(line.solver for line in own if line.label != "exact"))
        calls = [row for row in rows if row.objective == objective]
        if best is None or sum(line.gaps.count for line in own if line.solver == best) < 2:
            continue
        instances_of_best = {row.instance_hash for row in calls if row.solver == best}
        solvers = {row.solver for row in calls if row.instance_hash in instances_of_best}
        solver_pairs = [f"{best}={name}" for name in rules if name in solvers and name != best]
        if not solver_pairs:
            continue
        comparisons_ = compare_rows(calls, calls, solver_pairs, comparisons=len(rules) * (len(rules) - 1) // 2)
        header = ["solver", "verdict", "pairs", "better", "worse", "difference", "CPU", "apart", "only one"]
        caption = f"{objective}: against {best}"
        sections.append(
            html.collapsible_sections(
                caption, [html.table(header, [_paired_row(x) for x in comparisons_], label=f"{problem}: {caption}")]
            )
        )
    if sections:
        yield html.heading("Differences from the best rule", 3)
        yield html.paragraph(PAIRED_NOTE, note=True)
        yield from sections


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
        Cell(ratio, line.time, small=interval_text(line.time_interval, "{:.3g}".format)),
        count_or_blank(line.apart),
        count_or_blank(line.only_first + line.only_second),
    ]


def cost_table(problem: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the CPU times by preset, smallest instances first, with their growth; empty for a single preset."""
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
        exponent = growth_exponent(own)
        shown = [censored_duration(x.seconds, x.censored) if (x := by_case.get(case)) else NONE for case in cases]
        keys = [x.seconds if (x := by_case.get(case)) else None for case in cases]
        times = [Cell(text, key) for text, key in zip(shown, keys, strict=True)]
        cells.append([Cell(name), *times, Cell(NONE if exponent is None else f"{exponent:.2f}", exponent)])
    table = html.table(["solver", *cases, "growth"], cells, label=f"{problem}: CPU time by preset")
    yield html.heading("CPU time by preset", 3)
    yield html.collapsible_sections(
        f"median of a call ({len(cells)} lines)", [html.paragraph(COST_NOTE, note=True), table]
    )
