"""The benchmark as one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlsched.benchmark import figures, html, plots
from mlsched.benchmark.formats import GAP_NOTE, NONE, apart, apart_notes, count, duration, gap, percent
from mlsched.benchmark.reference import failures
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import GapLine, HardnessLine, gap_lines, group_by, hardness_lines, verified, version_sets
from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE_NOTE = (
    "n: instances asked. optimal: share of answers at the optimum. proven: share of an exact answerer's own proofs. "
    "agreed: share of these that an engine of different code agrees with, or a checker accepted (docs/backends.md). "
    "time: mean wall time of one call on one thread, after an untimed first call that loads the backend; it depends on "
    "the machine, nothing else here does unless a solve was cut by the clock."
)
HARDNESS_NOTE = (
    "How often special cases occur over the instances and their optimal plans (one plan an instance, by the problem's "
    "first objective): agreement on trivial instances would be no evidence. A constraint binds where the optimum gets "
    "better without it."
)


def write_report(rows: Sequence[Row], path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write `report(rows)` to `path`, atomically."""
    text = report(rows, title=title)
    with atomic_write(Path(path)) as stream:
        stream.write(text)


def report(rows: Sequence[Row], *, title: str | None = None) -> str:
    """The report on the rows that `run_suite` returned; pictures need the `plot` extra and are left out without it."""
    suites = ", ".join(dict.fromkeys(row.suite for row in rows)) or "no rows"
    sections = [*_what_ran(rows), *_trouble(rows)]
    gaps, hardness = gap_lines(rows), hardness_lines(rows)
    for problem, group in group_by(rows, lambda row: row.problem).items():
        sections += [html.heading(f"{problem}: gaps to the optimum"), html.text(GAP_NOTE)]
        sections += _gap_tables([line for line in gaps if line.problem == problem])
        sections.append(html.text(TABLE_NOTE, note=True))
        sections += _pictures(problem, group)
        sections += _hardness(problem, [line for line in hardness if line.problem == problem])
    sections += _skipped(rows)
    return html.page(title or f"mlsched bench: {suites}", sections)


def _what_ran(rows: Sequence[Row]) -> Iterator[str]:
    facts = verified(rows)
    yield html.heading("What was run, and what is verified")
    yield html.text(facts.sentence)
    if facts.skipped:
        yield html.text(f"{facts.skipped} questions were skipped by answerers that refuse instances of that size.")
    if facts.wall_limited:
        yield html.text(
            f"{facts.wall_limited} solves were cut by the wall clock: they may end differently on another machine."
        )
    if facts.optima < facts.questions:
        yield html.text(
            f"{facts.questions - facts.optima} questions have no undisputed proven optimum: no gap is taken there."
        )
    found = group_by(rows, lambda row: (row.problem, row.case))
    cells = [[problem, case, *_extent(group)] for (problem, case), group in found.items()]
    yield html.table(["problem", "preset", "instances", "objectives", "answerers", "integers an instance"], cells)
    versions = [f"{name} {' and '.join(several)}" for name, several in version_sets(rows).items()]
    yield html.text(f"Versions: {', '.join(versions) or NONE}. One thread a solve, fixed seeds.", note=True)


def _extent(group: list[Row]) -> list[str]:
    sizes = [row.size for row in group]
    span = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    distinct = [
        len(set(values)) for values in zip(*((r.instance_hash, r.objective, r.answerer) for r in group), strict=True)
    ]
    return [*map(str, distinct), span]


def _trouble(rows: Sequence[Row]) -> Iterator[str]:
    """Failed rows and contradictions, above every number they put in doubt."""
    if found := failures(rows):
        yield html.heading(f"Failed checks: {len(found)}")
        yield html.table(
            ["what is wrong"], [[sentence] for sentence in found], marks={(i, 0): "bad" for i in range(len(found))}
        )


def _gap_tables(lines: Sequence[GapLine]) -> Iterator[str]:
    """One table an objective."""
    header = ["preset", "answerer", "kind", "n", "optimal", "mean gap", "median gap", "largest gap"]
    optional: list[tuple[str, Callable[[GapLine], int]]] = [
        ("failed", lambda line: line.failures),
        ("skipped", lambda line: line.skipped),
        ("cut by the clock", lambda line: line.wall_limited),
    ]
    shown = [(name, value) for name, value in optional if any(value(line) for line in lines)]
    for objective in dict.fromkeys(line.objective for line in lines):
        own = [line for line in lines if line.objective == objective]
        zero, behind = any(x.gaps.absolute for x in own), any(x.gaps.behind for x in own)
        titles = [*header, *["optimum 0"] * zero, *["behind"] * behind, "proven", "agreed", "time"]
        yield html.text(f"{objective} (unit: {own[0].unit})")
        cells = [[*_cells(line, zero, behind), *(count(value(line)) for _, value in shown)] for line in own]
        for above, row in zip(reversed(own[:-1]), reversed(cells), strict=False):
            row[0] = "" if above.preset == row[0] else row[0]
        marks = {(i, 4): "good" for i, line in enumerate(own) if line.gaps.optimal == 1}
        for column, (name, value) in enumerate(shown, len(titles)):
            if name == "failed":
                marks |= {(i, column): "bad" for i, line in enumerate(own) if value(line)}
        yield html.table([*titles, *(name for name, _ in shown)], cells, marks=marks)
        yield from (html.text(note, note=True) for note in apart_notes(line.gaps for line in own))


def _cells(line: GapLine, zero: bool, behind: bool) -> list[str]:
    gaps = line.gaps
    cells = [line.preset, line.answerer, line.kind, str(line.instances), percent(gaps.optimal)]
    cells += map(gap, (gaps.mean, gaps.median, gaps.largest))
    cells += [apart(gaps.absolute, gaps.mean_difference)] * zero + [apart(gaps.behind, gaps.mean_behind)] * behind
    exact = line.kind == "exact"
    return [*cells, *(percent(share) if exact else "" for share in (line.proven, line.agreed)), duration(line.seconds)]


def _pictures(problem: str, rows: list[Row]) -> Iterator[str]:
    wanted: list[tuple[Callable[[Sequence[Row]], Figure | None], str]] = [
        (
            figures.gap_distribution,
            f"{problem}, all presets: the share of instances on which an answerer is within a gap of the proven "
            "optimum; higher is better, and the height at 0 is the share of optimal answers. Instances whose optimum "
            "is 0 are left out; an answer that is behind (see the tables) is within no gap.",
        ),
        (
            figures.solve_times,
            f"{problem}, all objectives: wall time of exact answerers over instance size. A mark is a solve "
            "(hollow: not proved), lines join the medians of presets.",
        ),
    ]
    try:
        for draw, caption in wanted:
            if (made := draw(rows)) is not None:
                yield html.picture(plots.svg(made), caption)
    except InvalidInput as error:  # the plot extra is missing; the numbers are all there
        yield html.text(f"No pictures: {error}", note=True)


def _hardness(problem: str, lines: Sequence[HardnessLine]) -> Iterator[str]:
    """Properties down, presets across."""
    if not lines:
        return
    presets = list(dict.fromkeys(line.preset for line in lines))
    found = {(line.what, line.binding, line.preset): line for line in lines}
    cells = []
    for what, binding in dict.fromkeys((line.what, line.binding) for line in sorted(lines, key=lambda x: x.binding)):
        own = [found.get((what, binding, preset)) for preset in presets]
        cells.append([f"{what} binds" if binding else what, *(f"{x.count} of {x.of}" if x else NONE for x in own)])
    yield html.heading(f"{problem}: how hard the instances are")
    yield html.table(["special case, or constraint", *presets], cells)
    yield html.text(HARDNESS_NOTE, note=True)


def _skipped(rows: Sequence[Row]) -> Iterator[str]:
    """Who refused what, with one reason each."""
    groups = group_by([r for r in rows if r.status == "skipped"], lambda r: (r.problem, r.case, r.answerer))
    if groups:
        yield html.heading("Skipped")
        cells = [[*key, str(len(group)), _short(group[0].error or "")] for key, group in groups.items()]
        yield html.table(["problem", "preset", "answerer", "questions", "reason of the first"], cells)


def _short(text: str) -> str:
    """A reason without numbers of a hundred digits."""
    words = [f"{w[:1]}e{len(w) - 1}" if w.isdigit() and len(w) > 15 else w for w in text.split(" ")]
    return " ".join(words)
