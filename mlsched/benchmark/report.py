"""The benchmark as one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlsched.benchmark import citation, html
from mlsched.benchmark.formats import GAP_NOTE, NONE
from mlsched.benchmark.reference import failures
from mlsched.benchmark.report_pictures import pictures
from mlsched.benchmark.report_summary import summary
from mlsched.benchmark.report_tables import best_rule, cost_table, gap_tables, overview, paired
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import HardnessLine, gap_lines, group_by, hardness_lines, verified, version_sets
from mlsched.benchmark.tasks import JUDGE
from mlsched.core.clock import utc_time
from mlsched.core.files import atomic_write

#: What the cells of the full tables mean.
CELLS = {
    "gap": GAP_NOTE.removeprefix("Gap: "),
    "n": "How many instances the mean, median and largest gap are over. “6 of 8”: of 8 instances that were put to the "
    "solver, 6 have a gap in percent. The others are counted in columns of their own: no plan, failed, skipped, "
    "optimum 0, behind; or no optimum is proved there.",
    "brackets": "95 % bootstrap interval (bias-corrected, accelerated) of the mean over the instances; from five on.",
    "optimum 0, behind": "Instances whose gap has no percentage, and the mean difference; they are in no mean gap.",
    "optimal": "Share of the answers with a known optimum that are optimal.",
    "proven": "Share of the answers that an exact solver proved itself to be optimal, or that there is no plan.",
    "confirmed": "Share of these proofs that an engine of different code agrees with, or that a checker accepted.",
    "kind": "exact: searches among all plans and proves what it finds. restricted: an exact search among some of the "
    "plans, which proves nothing about all of them. heuristic, trained: rules and trained policies.",
    "CPU time, wall time": "Mean of one call on one thread, after an untimed first call that loads the backend. “≥”: a "
    "limit ended some of the calls (censored), which would have taken longer. Times depend on the machine; nothing "
    "else here does, unless a solve was cut by the clock.",
    "no plan": "Answers without a plan: infeasible, or none found within the limits. They are in no mean gap, and stay "
    "in the whole of every profile.",
}
HARDNESS_NOTE = (
    "How often special cases occur over the instances and their optimal plans (one plan per instance, by the problem's "
    "first objective): agreement on trivial instances would be no evidence. A constraint binds where the optimum gets "
    "better without it."
)
#: Lines of the table of what was run that stand open: where there are more, the reader comes for other things.
FEW = 8
CITE_NOTE = (
    "BibTeX of mlsched, and as an example of one mean gap of each problem and objective. `mlsched export STORE -o "
    "gaps.bib` has an entry for every mean gap."
)


def write_report(rows: Sequence[Row], path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write `report(rows)` to `path`, atomically, with today's date."""
    text = report(rows, title=title, written=_minutes(utc_time()))
    with atomic_write(Path(path)) as stream:
        stream.write(text)


def report(rows: Sequence[Row], *, title: str | None = None, written: str | None = None) -> str:
    """The report on the rows that `run_suite` or `reference.with_gaps` made. written: the date that it shows.

    Some plans are made again, to be drawn; that needs the `plot` extra, and the report says so without it.
    """
    suites = ", ".join(dict.fromkeys(row.suite for row in rows)) or "no rows"
    sections = [*_trouble(rows), *_what_ran(rows, written)]
    if rows:
        sections += [html.heading("What the cells mean"), html.facts(CELLS)]
    answers = [row for row in rows if row.solver != JUDGE]
    gaps, hardness = gap_lines(answers, intervals=True), hardness_lines(answers)
    for number, (problem, group) in enumerate(group_by(answers, lambda row: row.problem).items()):
        lines = [line for line in gaps if line.problem == problem]
        first = [line for line in lines if line.objective == lines[0].objective]
        sections.append(html.heading(problem))
        sections += [*overview(problem, lines), *gap_tables(problem, lines), *paired(problem, group, lines)]
        sections += cost_table(problem, [row for row in rows if row.problem == problem])
        sections += pictures(group, best_rule(first), f"p{number}")
        sections += _hardness(problem, [line for line in hardness if line.problem == problem])
    sections += _skipped(rows)
    sections += _cite(rows)
    return html.page(title or f"mlsched bench: {suites}", sections, summary=summary(answers, gaps))


def _trouble(rows: Sequence[Row]) -> Iterator[str]:
    """Failed rows and contradictions, above every number that they put in doubt."""
    found = failures(rows)
    yield html.heading(f"Failed checks: {len(found) or 'none'}")
    if not found:
        yield html.text("No call failed, and no two answers contradict each other.")
        return
    marks = {(i, 0): "bad" for i in range(len(found))}
    yield html.table(["what is wrong"], [[sentence] for sentence in found], marks=marks, label="Failed checks")


def _what_ran(rows: Sequence[Row], written: str | None) -> Iterator[str]:
    known = verified(rows)
    yield html.heading("What was run, and what is verified")
    machines = dict.fromkeys(row.machine or "not recorded" for row in rows)
    versions = [f"{name} {' and '.join(several)}" for name, several in version_sets(rows).items()]
    yield html.facts(
        {
            **({"run": ran} if (ran := _when(rows)) else {}),
            **({"written": written} if written else {}),
            "machine": "; ".join(machines) or NONE,
            "versions": ", ".join(versions) or NONE,
            "rows": f"{len(rows)}; one thread per solve, fixed seeds",
        }
    )
    yield html.text(known.sentence)
    if known.skipped:
        yield html.text(f"Answers skipped by solvers that refuse instances of that size: {known.skipped}.")
    if known.wall_limited:
        yield html.text(
            f"Solves cut by the wall clock: {known.wall_limited}; they may end differently on another machine."
        )
    if known.optima < known.questions:
        yield html.text(
            f"Questions without an undisputed proven optimum: {known.questions - known.optima}; no gap is taken there."
        )
    found = group_by(rows, lambda row: (row.problem, row.case))
    cells = [[problem, case, *_extent(group)] for (problem, case), group in found.items()]
    header = ["problem", "preset", "instances", "objectives", "solvers", "integers per instance"]
    table = html.table(header, cells, label="What was run")
    yield table if len(cells) <= FEW else html.folded(f"Instances of {len(cells)} presets", [table])


def _when(rows: Sequence[Row]) -> str:
    """When the first and the last row were made; empty where rows do not say."""
    times = sorted(row.made for row in rows if row.made is not None)
    if not times:
        return ""
    first, last = _minutes(times[0]), _minutes(times[-1])
    return first if first == last else f"{first} to {last}"


def _minutes(time: str) -> str:
    """A time of day as people read it: "2026-11-23 06:27 UTC"."""
    return f"{time[:16].replace('T', ' ')} UTC"


def _extent(group: list[Row]) -> list[str]:
    sizes = [row.size for row in group]
    span = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    distinct = [
        len(set(values)) for values in zip(*((r.instance_hash, r.objective, r.solver) for r in group), strict=True)
    ]
    return [*map(str, distinct), span]


def _hardness(problem: str, lines: Sequence[HardnessLine]) -> Iterator[str]:
    """Properties down, presets across."""
    if not lines:
        return
    presets = list(dict.fromkeys(line.preset for line in lines))
    found = {(line.what, line.binding, line.preset): line for line in lines}
    cells: list[list[html.Cell]] = []
    for what, binding in dict.fromkeys((line.what, line.binding) for line in sorted(lines, key=lambda x: x.binding)):
        own = [found.get((what, binding, preset)) for preset in presets]
        counts = [html.Cell(f"{x.count} of {x.of}", x.count / x.of) if x else html.Cell(NONE) for x in own]
        cells.append([html.Cell(f"{what} binds" if binding else what), *counts])
    yield html.heading("How hard the instances are", 3)
    yield html.table(["special case, or constraint", *presets], cells, label=f"{problem}: how hard the instances are")
    yield html.text(HARDNESS_NOTE, note=True)


def _cite(rows: Sequence[Row]) -> Iterator[str]:
    """How to cite the software, and one mean gap of each problem and objective."""
    examples: dict[tuple[str, str], str] = {}
    for (problem, _, objective, _), entry in citation.mean_gaps(rows).items():
        examples.setdefault((problem, objective), entry)
    yield html.heading("Cite")
    yield html.text(CITE_NOTE)
    yield html.code("\n\n".join([citation.software(), *examples.values()]))


def _skipped(rows: Sequence[Row]) -> Iterator[str]:
    """Who refused what, with one reason each."""
    groups = group_by([r for r in rows if r.status == "skipped"], lambda r: (r.problem, r.case, r.solver))
    if groups:
        yield html.heading("Skipped")
        cells = [[*key, str(len(group)), _short(group[0].error or "")] for key, group in groups.items()]
        header = ["problem", "preset", "solver", "questions", "reason of the first"]
        yield html.table(header, cells, label="Skipped questions")


def _short(text: str) -> str:
    """A reason without numbers of a hundred digits."""
    words = [f"{w[:1]}e{len(w) - 1}" if w.isdigit() and len(w) > 15 else w for w in text.split(" ")]
    return " ".join(words)
