"""What `mlsched simulate` shows of its runs: a table of policies, of windows, of groups, and of scenarios."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

from mlsched.benchmark.formats import GAP_NOTE, apart, apart_notes, gap, percent
from mlsched.benchmark.replications import compared, mean_of
from mlsched.cli import simulation_losses as losses
from mlsched.cli.output import Columns, number
from mlsched.cli.simulation_plan import Seen
from mlsched.core.gap import Gaps
from mlsched.instances.traces import Account
from mlsched.simulation.nodes import called
from mlsched.simulation.taskgraph.iterations.reference.decomposition import SUM

#: What "above its bound" means there.
BOUND_NOTE = (
    "Above its bound: (value - bound) / bound. No scheduler can be below the bound, whatever it knows and, where runs "
    "may pause, however often it preempts; so a run is at most this far from the best possible one."
)
#: What runs take for granted -> how a source begins to say the same.
SAID_BELOW = {"pause cost": "a pause costs ", "movement": "movement=", "tick": "ticks of "}
#: Seconds of a tick -> what people call so long a time.
LENGTHS = {1.0: "seconds", 60.0: "minutes", 3600.0: "hours"}


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


@dataclasses.dataclass(frozen=True)
class Shown:
    """What there is to show: a workload (the first scenario's), the rows of its log, runs described, what is wrong."""

    workload: Any
    account: Account | None
    details: list[dict[str, Any]]
    failures: list[str]
    seen: Seen

    @property
    def ran(self) -> list[dict[str, Any]]:
        """Of the details, the runs."""
        return [entry for entry in self.details if "summary" in entry]

    @property
    def scenarios(self) -> list[str]:
        """The labels of the scenarios in their order; one, "", where there is no choice."""
        return list(dict.fromkeys(entry.get("scenario", "") for entry in self.details))


@dataclasses.dataclass(frozen=True)
class Block:
    """A table: a line above it, names of columns, and rows; `sentences` stand below it. name: in documents."""

    title: str
    header: list[str]
    rows: list[list[str]]
    sentences: tuple[str, ...] = ()
    name: str = ""


def rendered(shown: Shown) -> list[Any]:
    """The lines and tables for people."""
    details = shown.ran
    found: list[Any] = about(shown)
    for block in blocks(shown):
        found += [block.title] if block.title else []
        found += [Columns(block.header, block.rows), *block.sentences]
    recorded = [Gaps(**entry["optimality"]) for entry in details if entry["optimality"] is not None]
    found += [GAP_NOTE, *apart_notes(recorded)] if recorded else []
    found += why_not(shown)
    if not shown.failures:
        found.append("every run passed the independent replay check")
    return found


def about(shown: Shown) -> list[str]:
    """What was run where, what of the log was used, and what the runs took for granted: the lines above the tables."""
    workload, details = shown.workload, shown.ran
    ticks = details[0]["summary"].get("tick_seconds")
    unit = f"; times in {LENGTHS.get(ticks, f'ticks of {ticks:g} s')}" if ticks and len(shown.scenarios) == 1 else ""
    found = [_origin(workload.source, details[0]["assumed"]), f"{len(workload.submit)} jobs on {workload.cluster}{unit}"]
    found += [f"rows: {sentence}" for sentence in shown.account.sentences()] if shown.account else []
    return found + _assumed(details)


def _origin(source: str, assumed: Collection[str]) -> str:
    """What a workload says of its source, without what the lines on `assumed` say in a sentence of their own."""
    below = tuple(begin for name, begin in SAID_BELOW.items() if name in assumed)
    return "; ".join(clause for clause in source.split("; ") if not clause.startswith(below))


def as_data(shown: Shown) -> list[dict[str, Any]]:
    """The tables as plain data, by the names `policies`, `windows`, `against`, or by what each is of."""
    return [{"name": b.name or b.title, "title": b.title, "header": b.header, "rows": b.rows} for b in blocks(shown)]


def blocks(shown: Shown) -> list[Block]:
    """The tables: of policies, or of windows and groups; of several scenarios, the policies in each."""
    if len(shown.scenarios) > 1:
        found = _what_if(shown)
    else:
        found = [*_of_windows(shown), *_of_groups(shown)] if shown.seen.asked else [_of_policies(shown)]
    return found + [block for label in shown.scenarios for block in _of_parts(shown, label)]


def _of_policies(shown: Shown) -> Block:
    """A column per policy, a row for a scalar or percentile of its summary; one that did not run says so."""
    header, rows = list[str](), list[dict[str, Any]]()
    failed = len(shown.ran) < len(shown.details)
    for entry in shown.details:
        flat: dict[str, Any] = {"status": entry.get("status", "ran")} if failed else {}
        flat |= _figures(entry) if "summary" in entry else {}
        header += [key for key in flat if key not in header]
        rows.append({"policy": entry["policy"], **flat})
    names = [row["policy"] for row in rows]
    cells = ([c if isinstance(c := row.get(key), str) else number(c) for row in rows] for key in header)
    body = [[worded(key), *row] for key, row in zip(header, cells, strict=True)]
    return Block("", ["", *names], body, _notes(shown.ran), "policies")


def _notes(ran: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """What distances from bounds and from references mean, and for whom which bound holds."""
    of: dict[str, list[str]] = {}
    for entry in ran:
        if entry.get("gaps"):
            of.setdefault(entry["bounded_by"], []).append(entry["policy"])
    found = (BOUND_NOTE,) * bool(of)
    found += tuple(f"The bound of {', '.join(dict.fromkeys(who))} is of {runs}." for runs, who in of.items())
    return found + (losses.LOSS_NOTE,) * any(entry.get("losses") for entry in ran)


def _figures(entry: dict[str, Any]) -> dict[str, Any]:
    flat = flattened({key: value for key, value in entry["summary"].items() if key != "tick_seconds"})
    flat |= {f"{name} above its bound": gap(share) for name, share in entry.get("gaps", {}).items()}
    flat |= losses.lines(entry)
    if entry["optimality"] is not None:
        flat |= _gap_lines(Gaps(**entry["optimality"]))
    return flat


def _of_parts(shown: Shown, label: str) -> list[Block]:
    """Of what the distances of the policies from their bound are made, in a scenario: a row per part."""
    entries = [entry for entry in shown.ran if entry.get("scenario", "") == label]
    told = [entry for entry in entries if "parts" in entry]
    sentences = tuple(f"{e['policy']}: no parts: {e['no_parts']}" for e in entries if "no_parts" in e)
    if not told:
        return [Block("", ["", "parts"], [], sentences, "no parts")] if sentences else []
    title = f"total_jct {SUM}, part by part" + (f", {label}" if label else "")
    return [
        Block(
            title,
            ["", *(entry["policy"] for entry in told)],
            losses.parts(told),
            (losses.PARTS_NOTE, *sentences),
            "parts",
        )
    ]


def why_not(shown: Shown) -> list[str]:
    """A line for each policy that did not run."""
    return [
        f"{entry['policy']}{' on ' + entry['scenario'] if entry.get('scenario') else ''} {entry['status']}: "
        f"{entry['reason']}"
        for entry in shown.details
        if "reason" in entry
    ]


# -- windows ----------------------------------------------------------------------------------------------------------


def _scale(entries: Sequence[dict[str, Any]]) -> tuple[float, str]:
    """By what times of windows are divided, and the unit that makes them readable: of ticks, none."""
    if entries[0]["unit"] != "s":
        return 1.0, entries[0]["unit"]
    longest = max((w["figures"].get("mean completion") or 0.0 for e in entries for w in e["windows"]), default=0.0)
    return (3600.0, "hours") if longest >= 7200 else (60.0, "minutes") if longest >= 120 else (1.0, "seconds")


def scaled(name: str, scale: float) -> float:
    """By what a figure of this name is divided."""
    return scale if any(word in name for word in _TIMES) else 1.0


def _values(entry: dict[str, Any], name: str, scale: float) -> list[float | None]:
    """A figure of each window."""
    found = [window["figures"].get(name) for window in entry["windows"]]
    return [None if value is None else value / scaled(name, scale) for value in found]


def _of_windows(shown: Shown) -> list[Block]:
    """A column per policy, a row for a figure: of one window, or the mean over several with its interval."""
    ran = shown.ran
    scale, unit = _scale(ran)
    windows = ran[0]["windows"]
    fullest = max((w for entry in ran for w in entry["windows"]), key=lambda w: len(w["figures"]))
    names = list(fullest["figures"])
    rows = [[_said(name, unit), *(_cell(_values(entry, name, scale)) for entry in ran)] for name in names]
    rows += [
        [f"whole run: {name} above its bound", *(gap(entry.get("gaps", {}).get(name)) for entry in ran)]
        for name in dict.fromkeys(name for entry in ran for name in entry.get("gaps", {}))
    ]
    rows += [[f"whole run: {name}", *cells] for name, *cells in losses.rows(ran)]
    jobs = [int(w["figures"]["jobs"]) for w in windows]
    title = (
        f"{len(windows)} windows of {_length(windows[0])}, from" if len(windows) > 1 else "window: from"
    ) + f" {_at(shown.workload, windows[0]['from'])} to {_at(shown.workload, windows[-1]['to'])}; {sum(jobs)} of "
    title += f"{ran[0]['all_jobs']} jobs are counted"
    title += f", {min(jobs)} to {max(jobs)} a window" if len(windows) > 1 else ""
    header = ["", *(entry["policy"] for entry in ran)]
    notes = (WINDOW_NOTE, *((INTERVAL_NOTE,) if len(windows) > 1 else ()))
    notes += _notes(ran)
    found = [Block(title, header, rows, notes, "windows")]
    if len(windows) > 1 and len(ran) > 1:
        against = [
            [_said(name, ""), *(_difference(entry, ran[0], name) for entry in ran[1:])]
            for name in COMPARED
            if name in names
        ]
        found.append(Block(f"against {ran[0]['policy']}, window by window", ["", *header[2:]], against, (), "against"))
    return found


def _said(name: str, unit: str) -> str:
    """A figure's name, with the unit of a time."""
    return f"{name}, {unit}" if unit and any(word in name for word in _TIMES) else name


def _cell(values: Sequence[float | None]) -> str:
    """A mean, with its interval where there are several values."""
    found = mean_of(values)
    if found is None:
        return "-"
    mean = number(int(found.mean) if found.mean == int(found.mean) and len(values) == 1 else float(found.mean))
    return mean if found.half is None else f"{mean} ± {number(float(found.half))}"


def _difference(entry: dict[str, Any], other: dict[str, Any], name: str) -> str:
    """How far a policy is from another: "-12.3 % ± 4.5 (less)"."""
    found = compared(_values(entry, name, 1.0), _values(other, name, 1.0))
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
    return f"{after} ({when.isoformat(sep=' ', timespec='minutes')})"


def _of_groups(shown: Shown) -> list[Block]:
    """For each grouping and figure a table: a row per group, a column per policy."""
    ran = shown.ran
    scale, unit = _scale(ran)
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
            found.append(Block(f"{_said(name, unit)}, by {grouping}", header, rows, notes))
    return found


# -- several scenarios ------------------------------------------------------------------------------------------------


def _what_if(shown: Shown) -> list[Block]:
    """For each figure a table: a row per scenario, a column per policy, and the bound of each scenario."""
    first = shown.scenarios[0]
    policies = list(dict.fromkeys(entry["policy"] for entry in shown.details))
    known = {(entry.get("scenario", ""), entry["policy"]): entry for entry in shown.details}
    seen = shown.seen.asked
    scale, unit = _scale(shown.ran) if seen else (1.0, "")
    names = [name for name in COMPARED if any(name in w["figures"] for e in shown.ran for w in e.get("windows", []))]
    figures: list[tuple[str, Callable[[dict[str, Any]], list[float | None]]]] = (
        [(_said(name, unit), lambda entry, name=name: _values(entry, name, scale)) for name in names]  # type: ignore[misc]
        if seen
        else [
            ("mean completion, " + _unit_of(shown), lambda entry: [entry["summary"].get("mean_jct")]),
            ("mean waiting, " + _unit_of(shown), lambda entry: [entry["summary"].get("mean_waiting")]),
            ("utilisation gpu", lambda entry: [_utilisation(entry)]),
        ]
    )
    found = []
    for title, values in figures:
        rows = []
        for label in shown.scenarios:
            cells = [_against(known.get((label, p)), known.get((first, p)), values, label == first) for p in policies]
            rows.append([label, *cells])
        found.append(Block(title, ["", *policies], rows))
    rows = []
    for label in shown.scenarios:
        gaps = [(known.get((label, policy)) or {}).get("gaps", {}).get("total_jct") for policy in policies]
        bound = next((e for e in shown.ran if e.get("scenario") == label and "bound" in e), None)
        mean = "-" if bound is None else number(bound["bound"]["total_jct"] / max(1, bound["summary"]["jobs"]))
        lost = [(known.get((label, policy)) or {}).get("losses", {}).get("jobs") for policy in policies]
        rows.append([label, mean, *map(losses.beside, gaps, lost)])
    sentences = (
        "In brackets: against the first row"
        + (", window by window, with the 95 % interval." if seen and shown.seen.every else ".")
        + (f" {WINDOW_NOTE}" if seen else ""),
    )
    bounds = Block(
        f"total completion time above its bound (of the whole run; bound: per job, in {_unit_of(shown)})",
        ["", "bound", *policies],
        rows,
        (*_notes(shown.ran), *sentences),
        "bounds",
    )
    return [*found, bounds]


def _unit_of(shown: Shown) -> str:
    ticks = shown.ran[0]["summary"].get("tick_seconds")
    return "ticks" if not ticks else str(LENGTHS.get(ticks, f"ticks of {ticks:g} s"))


def _utilisation(entry: dict[str, Any]) -> float | None:
    shares = entry["summary"].get("utilisation", {})
    return next((share for name, share in shares.items() if called(name) == "gpu"), None)


def _against(
    entry: dict[str, Any] | None,
    other: dict[str, Any] | None,
    values: Callable[[dict[str, Any]], list[float | None]],
    first: bool,
) -> str:
    """A figure of a policy in a scenario, and its difference to the first scenario."""
    if entry is None:
        return "-"
    if "summary" not in entry:
        return str(entry["status"])
    mine = values(entry)
    if first or other is None or "summary" not in other:
        return _cell(mine)
    theirs = values(other)
    found = compared(mine, theirs) if len(mine) == len(theirs) else None
    if found is None or found.share is None:
        return _cell(mine)
    half = "" if found.share_half is None else f" ± {found.share_half:.1f}"
    return f"{_cell(mine)} ({found.share:+.1f} %{half})"


# -- parts ------------------------------------------------------------------------------------------------------------


def _assumed(details: list[dict[str, Any]]) -> list[str]:
    """A line for everything that runs took for granted; where they differ, one for each way, with who took it."""
    lines = []
    for name in details[0]["assumed"]:
        by: dict[str, list[str]] = {}
        for entry in details:
            by.setdefault(entry["assumed"][name], []).append(entry["policy"])
        for said, who in by.items():
            lines.append(f"{name}: {said}" + (f" ({', '.join(who)})" if len(by) > 1 else ""))
    return lines


def worded(key: str) -> str:
    """A line's name, with resources as people call them: the numbers of such lines are shares."""
    return " ".join(called(word) for word in key.split())


def _gap_lines(gaps: Gaps) -> dict[str, Any]:
    """The table's lines on recorded decisions: a mean of percentages, and apart from it what has none."""
    lines = {"decisions compared": gaps.count, "decisions optimal": percent(gaps.optimal), "mean gap": gap(gaps.mean)}
    if gaps.absolute:
        lines["optimum 0"] = apart(gaps.absolute, gaps.mean_difference)
    if gaps.behind:
        lines["behind"] = apart(gaps.behind, gaps.mean_behind)
    return lines


def flattened(summary: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in summary.items():
        if isinstance(value, dict):
            flat |= flattened(value, f"{prefix}{key} ")
        elif value is not None:
            flat[f"{prefix}{key}"] = value
    return flat
