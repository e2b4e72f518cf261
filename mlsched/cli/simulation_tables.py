"""Tables of `mlsched simulate`, from the descriptions of its runs: policies and parts of gaps."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from mlsched.benchmark.formats import GAP_NOTE, apart_notes, apart_text, gap, percent
from mlsched.benchmark.text_table import TextTable
from mlsched.cli import problems
from mlsched.cli.output import number, table
from mlsched.cli.simulation_comparisons import scenario_tables
from mlsched.cli.simulation_report import Report, unit_of
from mlsched.cli.simulation_runs import Entry, gap_notes, regret_lines
from mlsched.cli.simulation_windows import of_groups, of_windows
from mlsched.core.aliases import Data
from mlsched.core.brief import count_of, with_singulars
from mlsched.core.gap import Gaps
from mlsched.instances.traces.builder import DATES
from mlsched.instances.traces.columns import POINTS
from mlsched.instances.traces.values import TIMES
from mlsched.simulation.nodes import called

#: Assumption -> beginning of the source's clause with the same content.
REPEATED_CLAUSES = {"pause cost": "a pause costs ", "movement": "movement=", "tick": "ticks of "}
#: Beginning of the source's clause on errors of estimates: up to twice the share that it names.
ERROR_CLAUSE = "estimates off by "
#: A column of points in time in the source, with its unit, which dates lack.
_POINT = re.compile(rf"\b((?:{'|'.join(POINTS)})=[^,;()]+) in (?:{'|'.join(TIMES)})\b")
#: The source's clause, without its number, about jobs that request only resources without a capacity.
UNSTATED_CLAUSE = "jobs that ask for nothing else left out"


def render_report(report: Report) -> list[Any]:
    """Return the tables for the terminal, then the lines on the source and the assumptions."""
    details = report.ran
    lines: list[Any] = []
    for block in blocks(report):
        lines += [block.title] if block.title else []
        lines += [table("", block.header, block.rows), *block.notes]
    gaps_of_decisions = [Gaps(**entry["optimality"]) for entry in details if entry["optimality"] is not None]
    lines += [GAP_NOTE, *apart_notes(gaps_of_decisions)] if gaps_of_decisions else []
    lines += why_not(report)
    if not report.failures:
        lines.append("every run passed the independent replay check")
    return [*lines, "", *about(report)]


def about(report: Report) -> list[str]:
    """Return the lines below the tables: source, cluster, rows used and assumptions."""
    workload, details = report.workload, report.ran
    ticks = details[0]["summary"].get("tick_seconds")
    unit = f"; times in {unit_of(report)}" if ticks and len(report.scenarios) == 1 else ""
    simulated, logged = len(workload.submit), report.account.jobs if report.account else 0
    jobs = f"{simulated} of the log's {logged} jobs" if simulated < logged else count_of(simulated, "job")
    dated = getattr(workload, "clock", 0) >= DATES
    origin = _origin(workload.source, details[0]["assumed"], dated=dated)
    lines = [with_singulars(origin), f"{jobs} on {workload.cluster}{unit}"]
    lines += [f"rows: {with_singulars(sentence)}" for sentence in report.account.sentences()] if report.account else []
    return lines + _assumed(details)


def _origin(source: str, assumed: Collection[str], *, dated: bool) -> str:
    """Return the source of a workload without the clauses that the lines on assumptions repeat.

    dated: The points in time of the log are dates, not numbers.
    """
    below = tuple(begin for name, begin in REPEATED_CLAUSES.items() if name in assumed)
    return "; ".join(_rewritten(clause, dated=dated) for clause in source.split("; ") if not clause.startswith(below))


def _rewritten(clause: str, *, dated: bool) -> str:
    """Rewrite a clause of a source for readers; the source itself is hashed, so its words stay."""
    if clause.startswith(ERROR_CLAUSE):
        error = clause.removeprefix(ERROR_CLAUSE)
        return "estimated running times are " + ("exact" if error == "0" else f"off by up to {200 * float(error):g} %")
    if dated:
        clause = _POINT.sub(r"\1 (dates)", clause)
    number, _, rest = clause.partition(" ")
    if rest != UNSTATED_CLAUSE:
        return clause
    request = "it requests" if number == "1" else "they request"
    return f"{count_of(int(number), 'job')} left out: {request} only resources that the cluster does not state"


def as_data(report: Report) -> list[Data]:
    """Return the tables as plain data, each with its name or title."""
    return [{"name": b.name or b.title, "title": b.title, "header": b.header, "rows": b.rows} for b in blocks(report)]


def blocks(report: Report) -> list[TextTable]:
    """Return the tables of policies, of windows and groups, or of several scenarios; then those of parts."""
    if len(report.scenarios) > 1:
        tables = scenario_tables(report)
    else:
        tables = [*of_windows(report), *of_groups(report)] if report.windows.used else [_of_policies(report)]
    return tables + [block for label in report.scenarios for block in _of_parts(report, label)]


def _of_policies(report: Report) -> TextTable:
    """Return one column per policy and one row per measure; a row `status` if a policy did not run."""
    header, rows = list[str](), list[dict[str, Any]]()
    failed = len(report.ran) < len(report.details)
    for entry in report.details:
        flat: Data = {"status": entry.get("status", "ran")} if failed else {}
        flat |= measures_of(entry) if "summary" in entry else {}
        header += [key for key in flat if key not in header]
        rows.append({"policy": entry["policy"], **flat})
    names = [row["policy"] for row in rows]
    cells = ([c if isinstance(c := row.get(key), str) else number(c) for row in rows] for key in header)
    body = [[line_name(key), *row] for key, row in zip(header, cells, strict=True)]
    return TextTable("", ["", *names], body, gap_notes(report.ran), "policies")


def measures_of(entry: Entry) -> Data:
    """Return the measures of a run by name: its summary, gaps, regrets and the gaps of decisions."""
    flat = flatten_measures({key: value for key, value in entry["summary"].items() if key != "tick_seconds"})
    flat |= {f"{name} above its bound": gap(share) for name, share in entry.get("gaps", {}).items()}
    flat |= regret_lines(entry)
    if entry["optimality"] is not None:
        flat |= _gap_lines(Gaps(**entry["optimality"]))
    return flat


def _of_parts(report: Report, label: str) -> list[TextTable]:
    """Return the parts of the gaps to the bound in a scenario: one row per part."""
    entries = [entry for entry in report.ran if entry.get("scenario", "") == label]
    with_parts = [entry for entry in entries if "parts" in entry]
    sentences = tuple(f"{e['policy']}: no parts: {e['no_parts']}" for e in entries if "no_parts" in e)
    if not with_parts:
        return [TextTable("", ["", "parts"], [], sentences, "no parts")] if sentences else []
    parts = problems.module("run_references")
    title = parts.PARTS_TITLE + (f", {label}" if label else "")
    header = ["", *(entry["policy"] for entry in with_parts)]
    return [TextTable(title, header, parts.part_rows(with_parts), (parts.PARTS_NOTE, *sentences), "parts")]


def why_not(report: Report) -> list[str]:
    """Return one line with the reason for each policy that did not run."""
    return [
        f"{entry['policy']}{' on ' + entry['scenario'] if entry.get('scenario') else ''} {entry['status']}: "
        f"{entry['reason']}"
        for entry in report.details
        if "reason" in entry
    ]


def _assumed(details: list[Entry]) -> list[str]:
    """Return one line per assumption; if policies differ, one line for each version with their names."""
    lines = []
    for name in details[0]["assumed"]:
        policies_by_assumption: dict[str, list[str]] = {}
        for entry in details:
            policies_by_assumption.setdefault(entry["assumed"][name], []).append(entry["policy"])
        for assumption, policies in policies_by_assumption.items():
            lines.append(
                f"{name}: {assumption}" + (f" ({', '.join(policies)})" if len(policies_by_assumption) > 1 else "")
            )
    return lines


def line_name(key: str) -> str:
    """Return the name of a line with its resources under their common names."""
    return " ".join(called(word) for word in key.split())


def _gap_lines(gaps: Gaps) -> dict[str, object]:
    """Return the lines on recorded decisions: the mean gap, and separately the gaps without a percentage."""
    lines = {"decisions compared": gaps.count, "decisions optimal": percent(gaps.optimal), "mean gap": gap(gaps.mean)}
    if gaps.absolute:
        lines["optimum 0"] = apart_text(gaps.absolute, gaps.mean_difference)
    if gaps.behind:
        lines["behind"] = apart_text(gaps.behind, gaps.mean_behind)
    return lines


def flatten_measures(summary: Data, prefix: str = "") -> Data:
    """Return nested measures as one dict, with the keys joined by spaces; None is left out."""
    flat: Data = {}
    for key, value in summary.items():
        if isinstance(value, dict):
            flat |= flatten_measures(value, f"{prefix}{key} ")
        elif value is not None:
            flat[f"{prefix}{key}"] = value
    return flat
