"""Tables of `mlsched simulate` over windows of time and groups of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlsched.benchmark.formats import gap, interval_text, signed_text
from mlsched.benchmark.paired import Difference, compare_values, least_pairs
from mlsched.benchmark.replications import mean_of
from mlsched.benchmark.text_table import TextTable
from mlsched.cli.output import number
from mlsched.cli.simulation_report import Report
from mlsched.cli.simulation_runs import Entry, gap_notes, regret_rows
from mlsched.core.aliases import Data
from mlsched.core.brief import count_of

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
    "Counted are the jobs that were submitted in the window; other jobs also run and use nodes, but are not counted. "
    "Utilisation and queue are means over the window's time."
)
INTERVAL_NOTE = (
    "Intervals: 95 %, Student's t over the windows. Windows that follow each other share a queue: take them much "
    "longer than jobs wait."
)
AGAINST_NOTE = (
    "Mean over the windows of (policy - {first}) / the larger of the two. In brackets: intervals by subset means that "
    "hold together for all {comparisons} with 95 % confidence; they need at least {least} windows."
)


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


def scale_of(entries: Sequence[Entry]) -> tuple[float, str]:
    """Return the divisor of the windows' times and the name of the resulting unit."""
    if entries[0]["unit"] != "s":
        return 1.0, entries[0]["unit"]
    longest = max((w["measures"].get("mean completion") or 0.0 for e in entries for w in e["windows"]), default=0.0)
    return (3600.0, "hours") if longest >= 7200 else (60.0, "minutes") if longest >= 120 else (1.0, "seconds")


def divisor_of(name: str, scale: float) -> float:
    """Return the divisor of a measure: `scale` for times, else 1."""
    return scale if any(word in name for word in _TIMES) else 1.0


def values_of(entry: Entry, name: str, scale: float) -> list[float | None]:
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


def _difference(entry: Entry, other: Entry, name: str, comparisons: int) -> str:
    """Format the difference of a policy from another: "-12.3 % [-16.1, -8.2] (less)"."""
    difference = compare_values(values_of(other, name, 1.0), values_of(entry, name, 1.0), comparisons)
    if difference is None:
        return "-"
    words = {-1: "less", 0: "alike", 1: "more", None: "undecided"}
    return f"{percent_text(difference)} ({words[difference.side]})"


def percent_text(difference: Difference) -> str:
    """Format a difference with its interval: "-12.3 % [-16.1, -8.2]"."""
    interval = interval_text(difference.interval, lambda share: signed_text(100 * share))
    return f"{signed_text(100 * difference.mean)} % {interval}".strip()


def _length(window: Data) -> str:
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
