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
from mlsched.benchmark.report_tables import best_rule, cost_table, gap_tables, overview_table, paired_tables
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import HardnessLine, gap_lines, group_by, hardness_lines, verification_of, version_sets
from mlsched.benchmark.tasks import JUDGE
from mlsched.core.clock import utc_time
from mlsched.core.files import atomic_write

#: Meaning of the cells of the full tables.
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
#: Largest number of lines of the table of instances that is open; longer ones are closed at first.
MAX_OPEN_LINES = 8
CITE_NOTE = (
    "BibTeX of mlsched, and as an example of one mean gap of each problem and objective. `mlsched export STORE -o "
    "gaps.bib` has an entry for every mean gap."
)


def write_report(rows: Sequence[Row], path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write `report(rows)` to `path`, atomically, with today's date."""
    text = report(rows, title=title, written=_format_minutes(utc_time()))
    with atomic_write(Path(path)) as stream:
        stream.write(text)


def report(rows: Sequence[Row], *, title: str | None = None, written: str | None = None) -> str:
    """Return the report on rows from `run_suite` or `reference.with_gaps`.

    Some plans are recomputed to be drawn. That needs the `plot` extra; without it, the report states so.

    Args:
        rows: The rows.
        title: Title; by default the suites.
        written: Date that the report shows.
    """
    suites = ", ".join(dict.fromkeys(row.suite for row in rows)) or "no rows"
    sections = [*_failed_checks(rows), *_run_description(rows, written)]
    if rows:
        sections += [html.heading("What the cells mean"), html.fact_list(CELLS)]
    answers = [row for row in rows if row.solver != JUDGE]
    gaps, hardness = gap_lines(answers, intervals=True), hardness_lines(answers)
    for number, (problem, group) in enumerate(group_by(answers, lambda row: row.problem).items()):
        lines = [line for line in gaps if line.problem == problem]
        first = [line for line in lines if line.objective == lines[0].objective]
        sections.append(html.heading(problem))
        sections += [
            *overview_table(problem, lines),
            *gap_tables(problem, lines),
            *paired_tables(problem, group, lines),
        ]
        sections += cost_table(problem, [row for row in rows if row.problem == problem])
        sections += pictures(group, best_rule(first), f"p{number}")
        sections += _hardness_table(problem, [line for line in hardness if line.problem == problem])
    sections += _skipped(rows)
    sections += _citations(rows)
    return html.page(title or f"mlsched bench: {suites}", sections, summary=summary(answers, gaps))


def _failed_checks(rows: Sequence[Row]) -> Iterator[str]:
    """Yield failed rows and contradictions, above the numbers that they affect."""
    sentences = failures(rows)
    yield html.heading(f"Failed checks: {len(sentences) or 'none'}")
    if not sentences:
        yield html.paragraph("No call failed, and no two answers contradict each other.")
        return
    marks = {(i, 0): "bad" for i in range(len(sentences))}
    yield html.table(["what is wrong"], [[sentence] for sentence in sentences], marks=marks, label="Failed checks")


def _run_description(rows: Sequence[Row], written: str | None) -> Iterator[str]:
    verification = verification_of(rows)
    yield html.heading("What was run, and what is verified")
    machines = dict.fromkeys(row.machine or "not recorded" for row in rows)
    versions = [f"{name} {' and '.join(several)}" for name, several in version_sets(rows).items()]
    yield html.fact_list(
        {
            **({"run": ran} if (ran := _time_span(rows)) else {}),
            **({"written": written} if written else {}),
            "machine": "; ".join(machines) or NONE,
            "versions": ", ".join(versions) or NONE,
            "rows": f"{len(rows)}; one thread per solve, fixed seeds",
        }
    )
    yield html.paragraph(verification.sentence)
    if verification.skipped:
        yield html.paragraph(f"Answers skipped by solvers that refuse instances of that size: {verification.skipped}.")
    if verification.wall_limited:
        yield html.paragraph(
            f"Solves cut by the wall clock: {verification.wall_limited}; they may end differently on another machine."
        )
    if verification.optima < verification.questions:
        yield html.paragraph(
            f"Questions without an undisputed proven optimum: {verification.questions - verification.optima}; no gap "
            "is taken there."
        )
    groups = group_by(rows, lambda row: (row.problem, row.case))
    cells = [[problem, case, *_case_sizes(group)] for (problem, case), group in groups.items()]
    header = ["problem", "preset", "instances", "objectives", "solvers", "integers per instance"]
    table = html.table(header, cells, label="What was run")
    yield (
        table
        if len(cells) <= MAX_OPEN_LINES
        else html.collapsible_sections(f"Instances of {len(cells)} presets", [table])
    )


def _time_span(rows: Sequence[Row]) -> str:
    """Return the times of the first and the last row, or "" if they are unknown."""
    times = sorted(row.made for row in rows if row.made is not None)
    if not times:
        return ""
    first, last = _format_minutes(times[0]), _format_minutes(times[-1])
    return first if first == last else f"{first} to {last}"


def _format_minutes(time: str) -> str:
    """Format a time for people: "2026-11-23 06:27 UTC"."""
    return f"{time[:16].replace('T', ' ')} UTC"


def _case_sizes(group: list[Row]) -> list[str]:
    sizes = [row.size for row in group]
    span = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    distinct = [
        len(set(values)) for values in zip(*((r.instance_hash, r.objective, r.solver) for r in group), strict=True)
    ]
    return [*map(str, distinct), span]


def _hardness_table(problem: str, lines: Sequence[HardnessLine]) -> Iterator[str]:
    """Yield a table with one row per property and one column per preset."""
    if not lines:
        return
    presets = list(dict.fromkeys(line.preset for line in lines))
    lines_by_key = {(line.what, line.binding, line.preset): line for line in lines}
    cells: list[list[html.Cell]] = []
    for property_name, binding in dict.fromkeys(
        (line.what, line.binding) for line in sorted(lines, key=lambda x: x.binding)
    ):
        own = [lines_by_key.get((property_name, binding, preset)) for preset in presets]
        counts = [html.Cell(f"{x.count} of {x.of}", x.count / x.of) if x else html.Cell(NONE) for x in own]
        cells.append([html.Cell(f"{property_name} binds" if binding else property_name), *counts])
    yield html.heading("How hard the instances are", 3)
    yield html.table(["special case, or constraint", *presets], cells, label=f"{problem}: how hard the instances are")
    yield html.paragraph(HARDNESS_NOTE, note=True)


def _citations(rows: Sequence[Row]) -> Iterator[str]:
    """Yield citations of the software, and of one mean gap per problem and objective."""
    examples: dict[tuple[str, str], str] = {}
    for (problem, _, objective, _), entry in citation.mean_gap_entries(rows).items():
        examples.setdefault((problem, objective), entry)
    yield html.heading("Cite")
    yield html.paragraph(CITE_NOTE)
    yield html.code_block("\n\n".join([citation.software_entry(), *examples.values()]))


def _skipped(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table of skipped calls, with one reason each."""
    groups = group_by([r for r in rows if r.status == "skipped"], lambda r: (r.problem, r.case, r.solver))
    if groups:
        yield html.heading("Skipped")
        cells = [[*key, str(len(group)), _shorten_numbers(group[0].error or "")] for key, group in groups.items()]
        header = ["problem", "preset", "solver", "questions", "reason of the first"]
        yield html.table(header, cells, label="Skipped questions")


def _shorten_numbers(text: str) -> str:
    """Shorten numbers of a hundred digits in a reason."""
    words = [f"{w[:1]}e{len(w) - 1}" if w.isdigit() and len(w) > 15 else w for w in text.split(" ")]
    return " ".join(words)
