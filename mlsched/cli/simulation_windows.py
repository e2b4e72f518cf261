"""Tables of `mlsched simulate` through windows: figures of each policy with intervals, and of groups of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlsched.benchmark.formats import gap
from mlsched.benchmark.replications import compared, mean_of
from mlsched.cli import simulation_losses as losses
from mlsched.cli.output import number
from mlsched.cli.simulation_shown import Block, Shown

#: Figures of a window that are times.
_TIMES = ("waiting", "completion", "response")
#: Figures of a window by which policies and scenarios are compared.
COMPARED = (
    *("mean waiting", "waiting p95", "mean completion", "mean bounded slowdown", "area-weighted response"),
    *("utilisation gpu", "utilisation cpu", "queue"),
)
#: Figures of groups, and how many groups of a kind are shown; a file has all.
OF_GROUPS, MOST_GROUPS = ("mean waiting", "waiting p95", "mean bounded slowdown"), 20
WINDOW_NOTE = (
    "Counted are the jobs that were submitted in the window; those before and after it run as well, and are in their "
    "way. Utilisation and queue are means over the window's time."
)
INTERVAL_NOTE = (
    "Intervals: 95 %, Student's t over the windows; policies are compared window by window. Windows that follow "
    "each other share a queue: take them much longer than jobs wait."
)


def of_windows(shown: Shown) -> list[Block]:
    """A column per policy, a row for a figure: of one window, or the mean over several with its interval."""
    ran = shown.ran
    scale, unit = scale_of(ran)
    windows = ran[0]["windows"]
    fullest = max((w for entry in ran for w in entry["windows"]), key=lambda w: len(w["measures"]))
    names = list(fullest["measures"])
    rows = [[said(name, unit), *(cell(values_of(entry, name, scale)) for entry in ran)] for name in names]
    rows += [
        [f"whole run: {name} above its bound", *(gap(entry.get("gaps", {}).get(name)) for entry in ran)]
        for name in dict.fromkeys(name for entry in ran for name in entry.get("gaps", {}))
    ]
    rows += [[f"whole run: {name}", *cells] for name, *cells in losses.rows(ran)]
    jobs = [int(w["measures"]["jobs"]) for w in windows]
    title = (
        f"{len(windows)} windows of {_length(windows[0])}, from" if len(windows) > 1 else "window: from"
    ) + f" {_at(shown.workload, windows[0]['from'])} to {_at(shown.workload, windows[-1]['to'])}; {sum(jobs)} of "
    title += f"{ran[0]['all_jobs']} jobs are counted"
    title += f", {min(jobs)} to {max(jobs)} a window" if len(windows) > 1 else ""
    header = ["", *(entry["policy"] for entry in ran)]
    notes = (WINDOW_NOTE, *((INTERVAL_NOTE,) if len(windows) > 1 else ()))
    notes += losses.notes(ran)
    found = [Block(title, header, rows, notes, "windows")]
    if len(windows) > 1 and len(ran) > 1:
        against = [
            [said(name, ""), *(_difference(entry, ran[0], name) for entry in ran[1:])]
            for name in COMPARED
            if name in names
        ]
        found.append(Block(f"against {ran[0]['policy']}, window by window", ["", *header[2:]], against, (), "against"))
    return found


def of_groups(shown: Shown) -> list[Block]:
    """For each grouping and figure a table: a row per group, a column per policy."""
    ran = shown.ran
    scale, unit = scale_of(ran)
    found = []
    for grouping in shown.seen.by:
        groups = list(dict.fromkeys(name for entry in ran for name in entry["by"][grouping]))
        more = len(groups) - MOST_GROUPS
        notes = (f"{more} more groups; --table FILE.csv has all",) if more > 0 else ()
        for name in OF_GROUPS:
            rows = []
            for group in groups[:MOST_GROUPS]:
                first = next(entry["by"][grouping][group] for entry in ran if group in entry["by"][grouping])
                values = [entry["by"][grouping].get(group, {}).get(name) for entry in ran]
                cells = ["-" if v is None else number(v / scaled(name, scale)) for v in values]
                rows.append([group, number(int(first["jobs"])), number(first.get("GPU hours")), *cells])
            header = [f"by {grouping}", "jobs", "GPU hours", *(entry["policy"] for entry in ran)]
            found.append(Block(f"{said(name, unit)}, by {grouping}", header, rows, notes))
    return found


def scale_of(entries: Sequence[dict[str, Any]]) -> tuple[float, str]:
    """By what times of windows are divided, and the unit that makes them readable: of ticks, none."""
    if entries[0]["unit"] != "s":
        return 1.0, entries[0]["unit"]
    longest = max((w["measures"].get("mean completion") or 0.0 for e in entries for w in e["windows"]), default=0.0)
    return (3600.0, "hours") if longest >= 7200 else (60.0, "minutes") if longest >= 120 else (1.0, "seconds")


def scaled(name: str, scale: float) -> float:
    """By what a figure of this name is divided."""
    return scale if any(word in name for word in _TIMES) else 1.0


def values_of(entry: dict[str, Any], name: str, scale: float) -> list[float | None]:
    """A figure of each window."""
    found = [window["measures"].get(name) for window in entry["windows"]]
    return [None if value is None else value / scaled(name, scale) for value in found]


def said(name: str, unit: str) -> str:
    """A figure's name, with the unit of a time."""
    return f"{name}, {unit}" if unit and any(word in name for word in _TIMES) else name


def cell(values: Sequence[float | None]) -> str:
    """A mean, with its interval where there are several values."""
    found = mean_of(values)
    if found is None:
        return "-"
    mean = number(int(found.mean) if found.mean == int(found.mean) and len(values) == 1 else float(found.mean))
    return mean if found.half is None else f"{mean} ± {number(float(found.half))}"


def _difference(entry: dict[str, Any], other: dict[str, Any], name: str) -> str:
    """How far a policy is from another: "-12.3 % ± 4.5 (less)"."""
    found = compared(values_of(entry, name, 1.0), values_of(other, name, 1.0))
    if found is None:
        return "-"
    if found.share is None:
        half = "" if found.half is None else f" ± {number(float(found.half))}"
        return f"{found.mean:+.4g}{half} ({found.word})"
    half = "" if found.share_half is None else f" ± {found.share_half:.1f}"
    return f"{found.share:+.1f} %{half} ({found.word})"


def _length(window: dict[str, Any]) -> str:
    seconds = window["to"] - window["from"]
    return f"{seconds / 86400:.6g} d" if seconds >= 86400 else f"{seconds / 3600:.6g} h"


def _at(workload: Any, seconds: float) -> str:
    """A time of a run: days after the first submit, and the date where the log has dates."""
    after = f"{seconds / 86400:.6g} d"
    if getattr(workload, "clock", 0) < 2:
        return after
    import datetime

    of_log = seconds * workload.rate_ppm / 10**6 + workload.origin_ms / 1000
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=round(of_log))
    zone = " UTC" if workload.clock == 3 else ""
    return f"{after} ({when.isoformat(sep=' ', timespec='minutes')}{zone})"
