"""Tables of `mlsched simulate`, from the descriptions of its runs: policies, windows, groups, scenarios, parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

from mlsched.benchmark.formats import GAP_NOTE, apart_notes, apart_text, gap, interval_text, percent, signed_text
from mlsched.benchmark.paired import Difference, compare_values, least_pairs
from mlsched.benchmark.replications import mean_of
from mlsched.benchmark.text_table import TextTable
from mlsched.cli import problems
from mlsched.cli.output import number, table
from mlsched.cli.simulation_runs import gap_notes, gap_with_regret, regret_lines, regret_rows
from mlsched.cli.simulation_workloads import WindowOptions
from mlsched.core.brief import count_of, with_singulars
from mlsched.core.gap import Gaps
from mlsched.instances.traces import Account
from mlsched.simulation.nodes import called

#: Seconds of a tick -> the name of its length.
LENGTHS = {1.0: "seconds", 60.0: "minutes", 3600.0: "hours"}
#: Assumption -> beginning of the source's clause with the same content.
REPEATED_CLAUSES = {"pause cost": "a pause costs ", "movement": "movement=", "tick": "ticks of "}
#: Measures of a window that are times.
_TIMES = ("waiting", "completion", "response")
#: Measures of a window by which policies and scenarios are compared.
COMPARED_MEASURES = (
    *("mean waiting", "waiting p95", "mean completion", "mean bounded slowdown", "area-weighted response"),
    *("utilisation gpu", "utilisation cpu", "queue"),
)
#: Measures of groups, and number of printed groups per grouping; files have all groups.
OF_GROUPS, MAX_GROUPS = ("mean waiting", "waiting p95", "mean bounded slowdown"), 20
WINDOW_NOTE = (
    "Counted are the jobs that were submitted in the window; those before and after it run as well, and are in their "
    "way. Utilisation and queue are means over the window's time."
)
INTERVAL_NOTE = (
    "Intervals: 95 %, Student's t over the windows. Windows that follow each other share a queue: take them much "
    "longer than jobs wait."
)
AGAINST_NOTE = (
    "Mean over the windows of (policy - {first}) / the larger of the two. In brackets: intervals by subset means that "
    "hold together for all {comparisons} with 95 % confidence; they need at least {least} windows."
)


@dataclasses.dataclass(frozen=True)
class Report:
    """Content of all tables: the first scenario's workload, its log's rows, an entry per policy, and the failures."""

    workload: Any
    account: Account | None
    details: list[dict[str, Any]]
    failures: list[str]
    windows: WindowOptions

    @property
    def ran(self) -> list[dict[str, Any]]:
        """The entries of policies that ran."""
        return [entry for entry in self.details if "summary" in entry]

    @property
    def scenarios(self) -> list[str]:
        """The labels of the scenarios in order; only "" if there is one scenario."""
        return list(dict.fromkeys(entry.get("scenario", "") for entry in self.details))


def unit_of(report: Report) -> str:
    """Return the unit of times: the name of a tick's length if it has one, else ticks."""
    ticks = report.ran[0]["summary"].get("tick_seconds")
    return "ticks" if not ticks else str(LENGTHS.get(ticks, f"ticks of {ticks:g} s"))


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
    lines = [
        with_singulars(_origin(workload.source, details[0]["assumed"])),
        f"{count_of(len(workload.submit), 'job')} on {workload.cluster}{unit}",
    ]
    lines += [f"rows: {with_singulars(sentence)}" for sentence in report.account.sentences()] if report.account else []
    return lines + _assumed(details)


def _origin(source: str, assumed: Collection[str]) -> str:
    """Return the source of a workload without the clauses that the lines on assumptions repeat."""
    below = tuple(begin for name, begin in REPEATED_CLAUSES.items() if name in assumed)
    return "; ".join(clause for clause in source.split("; ") if not clause.startswith(below))


def as_data(report: Report) -> list[dict[str, Any]]:
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
        flat: dict[str, Any] = {"status": entry.get("status", "ran")} if failed else {}
        flat |= measures_of(entry) if "summary" in entry else {}
        header += [key for key in flat if key not in header]
        rows.append({"policy": entry["policy"], **flat})
    names = [row["policy"] for row in rows]
    cells = ([c if isinstance(c := row.get(key), str) else number(c) for row in rows] for key in header)
    body = [[line_name(key), *row] for key, row in zip(header, cells, strict=True)]
    return TextTable("", ["", *names], body, gap_notes(report.ran), "policies")


def measures_of(entry: dict[str, Any]) -> dict[str, Any]:
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


def _assumed(details: list[dict[str, Any]]) -> list[str]:
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


def flatten_measures(summary: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested measures as one dict, with the keys joined by spaces; None is left out."""
    flat: dict[str, Any] = {}
    for key, value in summary.items():
        if isinstance(value, dict):
            flat |= flatten_measures(value, f"{prefix}{key} ")
        elif value is not None:
            flat[f"{prefix}{key}"] = value
    return flat


def of_windows(report: Report) -> list[TextTable]:
    """Return one column per policy and one row per measure: of one window, or a mean with its interval."""
    ran = report.ran
    scale, unit = scale_of(ran)
    windows = ran[0]["windows"]
    fullest = max((w for entry in ran for w in entry["windows"]), key=lambda w: len(w["measures"]))
    names = list(fullest["measures"])
    rows = [
        [measure_label(name, unit), *(format_mean(values_of(entry, name, scale)) for entry in ran)] for name in names
    ]
    rows += [
        [f"whole run: {name} above its bound", *(gap(entry.get("gaps", {}).get(name)) for entry in ran)]
        for name in dict.fromkeys(name for entry in ran for name in entry.get("gaps", {}))
    ]
    rows += [[f"whole run: {name}", *cells] for name, *cells in regret_rows(ran)]
    jobs = [int(w["measures"]["jobs"]) for w in windows]
    title = (
        f"{len(windows)} windows of {_length(windows[0])}, from" if len(windows) > 1 else "window: from"
    ) + f" {_at(report.workload, windows[0]['from'])} to {_at(report.workload, windows[-1]['to'])}; {sum(jobs)} of "
    title += f"{count_of(ran[0]['all_jobs'], 'job')} {'is' if sum(jobs) == 1 else 'are'} counted"
    title += f", {min(jobs)} to {max(jobs)} a window" if len(windows) > 1 else ""
    header = ["", *(entry["policy"] for entry in ran)]
    notes = (WINDOW_NOTE, *((INTERVAL_NOTE,) if len(windows) > 1 else ()))
    notes += gap_notes(ran)
    tables = [TextTable(title, header, rows, notes, "windows")]
    if len(windows) > 1 and len(ran) > 1:
        measures = [name for name in COMPARED_MEASURES if name in names]
        comparisons = len(measures) * (len(ran) - 1)
        against = [
            [measure_label(name, ""), *(_difference(entry, ran[0], name, comparisons) for entry in ran[1:])]
            for name in measures
        ]
        first = ran[0]["policy"]
        note = AGAINST_NOTE.format(
            first=first, comparisons=count_of(comparisons, "comparison"), least=least_pairs(comparisons)
        )
        tables.append(TextTable(f"against {first}, window by window", ["", *header[2:]], against, (note,), "against"))
    return tables


def of_groups(report: Report) -> list[TextTable]:
    """Return a table for each grouping and measure: one row per group, one column per policy."""
    ran = report.ran
    scale, unit = scale_of(ran)
    tables = []
    for grouping in report.windows.by:
        groups = list(dict.fromkeys(name for entry in ran for name in entry["by"][grouping]))
        more = len(groups) - MAX_GROUPS
        notes = (f"{more} more groups; --table FILE.csv has all",) if more > 0 else ()
        for name in OF_GROUPS:
            rows = []
            for group in groups[:MAX_GROUPS]:
                first = next(entry["by"][grouping][group] for entry in ran if group in entry["by"][grouping])
                values = [entry["by"][grouping].get(group, {}).get(name) for entry in ran]
                cells = ["-" if v is None else number(v / divisor_of(name, scale)) for v in values]
                rows.append([group, number(int(first["jobs"])), number(first.get("GPU hours")), *cells])
            header = [f"by {grouping}", "jobs", "GPU hours", *(entry["policy"] for entry in ran)]
            tables.append(TextTable(f"{measure_label(name, unit)}, by {grouping}", header, rows, notes))
    return tables


def scale_of(entries: Sequence[dict[str, Any]]) -> tuple[float, str]:
    """Return the divisor of the windows' times and the name of the resulting unit."""
    if entries[0]["unit"] != "s":
        return 1.0, entries[0]["unit"]
    longest = max((w["measures"].get("mean completion") or 0.0 for e in entries for w in e["windows"]), default=0.0)
    return (3600.0, "hours") if longest >= 7200 else (60.0, "minutes") if longest >= 120 else (1.0, "seconds")


def divisor_of(name: str, scale: float) -> float:
    """Return the divisor of a measure: `scale` for times, else 1."""
    return scale if any(word in name for word in _TIMES) else 1.0


def values_of(entry: dict[str, Any], name: str, scale: float) -> list[float | None]:
    """Return a measure in each window."""
    values = [window["measures"].get(name) for window in entry["windows"]]
    return [None if value is None else value / divisor_of(name, scale) for value in values]


def measure_label(name: str, unit: str) -> str:
    """Return the name of a measure, followed by the unit if it is a time."""
    return f"{name}, {unit}" if unit and any(word in name for word in _TIMES) else name


def format_mean(values: Sequence[float | None]) -> str:
    """Format a mean, with its interval if there are several values."""
    summary = mean_of(values)
    if summary is None:
        return "-"
    mean = number(int(summary.mean) if summary.mean == int(summary.mean) and len(values) == 1 else float(summary.mean))
    return mean if summary.half is None else f"{mean} ± {number(float(summary.half))}"


def _difference(entry: dict[str, Any], other: dict[str, Any], name: str, comparisons: int) -> str:
    """Format the difference of a policy from another: "-12.3 % [-16.1, -8.2] (less)"."""
    difference = compare_values(values_of(other, name, 1.0), values_of(entry, name, 1.0), comparisons)
    if difference is None:
        return "-"
    words = {-1: "less", 0: "alike", 1: "more", None: "undecided"}
    return f"{_in_percent(difference)} ({words[difference.side]})"


def _in_percent(difference: Difference) -> str:
    """Format a difference with its interval: "-12.3 % [-16.1, -8.2]"."""
    interval = interval_text(difference.interval, lambda share: signed_text(100 * share))
    return f"{signed_text(100 * difference.mean)} % {interval}".strip()


def _length(window: dict[str, Any]) -> str:
    seconds = window["to"] - window["from"]
    return f"{seconds / 86400:.6g} d" if seconds >= 86400 else f"{seconds / 3600:.6g} h"


def _at(workload: Any, seconds: float) -> str:
    """Format a time of a run: days after the first submit, and the date if the log has dates."""
    after = f"{seconds / 86400:.6g} d"
    if getattr(workload, "clock", 0) < 2:
        return after
    import datetime

    of_log = seconds * workload.rate_ppm / 10**6 + workload.origin_ms / 1000
    date = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=round(of_log))
    zone = " UTC" if workload.clock == 3 else ""
    return f"{after} ({date.isoformat(sep=' ', timespec='minutes')}{zone})"


def scenario_tables(report: Report) -> list[TextTable]:
    """Return a table for each measure: one row per scenario, one column per policy; then the bounds."""
    first = report.scenarios[0]
    policies = list(dict.fromkeys(entry["policy"] for entry in report.details))
    entries = {(entry.get("scenario", ""), entry["policy"]): entry for entry in report.details}
    windowed = report.windows.used
    scale, unit = scale_of(report.ran) if windowed else (1.0, "")
    names = [
        name
        for name in COMPARED_MEASURES
        if any(name in w["measures"] for e in report.ran for w in e.get("windows", []))
    ]
    figures: list[tuple[str, Callable[[dict[str, Any]], list[float | None]]]] = (
        [(measure_label(name, unit), lambda entry, name=name: values_of(entry, name, scale)) for name in names]  # type: ignore[misc]
        if windowed
        else [
            ("mean completion, " + unit_of(report), lambda entry: [entry["summary"].get("mean_jct")]),
            ("mean waiting, " + unit_of(report), lambda entry: [entry["summary"].get("mean_waiting")]),
            ("utilisation gpu", lambda entry: [_utilisation(entry)]),
        ]
    )
    comparisons = len(figures) * (len(report.scenarios) - 1) * len(policies)
    tables = []
    for title, values in figures:
        rows = []
        for label in report.scenarios:
            cells = [
                _against(
                    entries.get((label, p)), None if label == first else entries.get((first, p)), values, comparisons
                )
                for p in policies
            ]
            rows.append([label, *cells])
        tables.append(TextTable(title, ["", *policies], rows))
    return [*tables, _bounds(report, entries)]


def _bounds(report: Report, entries: dict[tuple[str, str], dict[str, Any]]) -> TextTable:
    """Return the bound of each scenario and the gaps of the policies to it.

    Args:
        report: The report.
        known: Entries by scenario and policy.
    """
    policies = list(dict.fromkeys(policy for _, policy in entries))
    rows = []
    for label in report.scenarios:
        gaps = [(entries.get((label, policy)) or {}).get("gaps", {}).get("total_jct") for policy in policies]
        bound = next((e for e in report.ran if e.get("scenario") == label and "bound" in e), None)
        mean = "-" if bound is None else number(bound["bound"]["total_jct"] / max(1, bound["summary"]["jobs"]))
        lost = [(entries.get((label, policy)) or {}).get("losses", {}).get("jobs") for policy in policies]
        rows.append([label, mean, *map(gap_with_regret, gaps, lost)])
    sentences = (
        "In brackets: (value - first row) / the larger of the two"
        + (
            ", mean over the windows, with an interval if the windows are enough for all comparisons."
            if report.windows.used and report.windows.every
            else "."
        )
        + (f" {WINDOW_NOTE}" if report.windows.used else ""),
    )
    return TextTable(
        f"total completion time above its bound (of the whole run; bound: per job, in {unit_of(report)})",
        ["", "bound", *policies],
        rows,
        (*gap_notes(report.ran), *sentences),
        "bounds",
    )


def _utilisation(entry: dict[str, Any]) -> float | None:
    """Return the share of the GPUs in use."""
    shares = entry["summary"].get("utilisation", {})
    return next((share for name, share in shares.items() if called(name) == "gpu"), None)


def _against(
    entry: dict[str, Any] | None,
    other: dict[str, Any] | None,
    values: Callable[[dict[str, Any]], list[float | None]],
    comparisons: int,
) -> str:
    """Format a measure of a policy in a scenario, with its difference from the first scenario.

    Args:
        entry: Entry of the policy in the scenario.
        other: Its entry in the first scenario, or None.
        values: Returns the measure of an entry in each window.
        comparisons: Number of comparisons that hold together.
    """
    if entry is None:
        return "-"
    if "summary" not in entry:
        return str(entry["status"])
    own_values = values(entry)
    if other is None or "summary" not in other:
        return format_mean(own_values)
    other_values = values(other)
    difference = compare_values(other_values, own_values, comparisons) if len(own_values) == len(other_values) else None
    return format_mean(own_values) if difference is None else f"{format_mean(own_values)} ({_in_percent(difference)})"
