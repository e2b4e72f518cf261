"""Microsoft Philly: the original job log (JSON), and a filtered CSV of its jobs.

Source: github.com/msr-fiddle/philly-traces (CC-BY-4.0); Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters
for DNN Training Workloads", USENIX ATC 2019. The CSV: petuum/adaptdl, branch osdi21-artifact, simulator/traces.
Times are local wall-clock times without zone, run times of the CSV seconds.
"""

from __future__ import annotations

from mlsched.instances.traces.builder import DATES, Run, TraceBuilder
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.json_stream import json_entries
from mlsched.instances.traces.source import MAX_NUMBER, Text, csv_rows
from mlsched.instances.traces.values import lacking

CSV_COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")

CLOCK_CHANGE = 3600
"""Seconds by which the clock was set back on 2017-11-05: an attempt may seem to end that much too early."""


def read_csv(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs of the CSV; they lack ids, so each is named by its row."""
    jobs.clock = DATES
    groups, amounts = dict[str, str](), dict[str, int]()  # texts that have been read before: they repeat
    for submitted, duration, gpus, cluster in csv_rows(text, CSV_COLUMNS, {}):
        is_valid = gpus in amounts and submitted[:1].isdigit() and duration[:1].isdigit()
        if not is_valid and (reason := lacking(submit_time=submitted, run_time=duration, number_of_gpus=gpus)):
            jobs.drop(reason)
            continue
        if (group := groups.get(cluster)) is None:
            group = groups[cluster] = text.label("cluster", cluster, empty=True)
        submit, milliseconds = text.timestamp("timestamp", submitted), text.milliseconds("duration", duration)
        if (amount := amounts.get(gpus)) is None:
            amount = amounts[gpus] = text.whole("num_gpus", gpus)
        jobs.add(f"job-{jobs.rows + 1}", submit, milliseconds, amount, group=group, partition=group)
        if jobs.full:
            break


def read_json(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs of the original log: run time = sum over the attempts, GPUs = the most that any attempt had.

    Attempts are kept, with the servers that they were on.
    """
    jobs.clock = DATES
    text.remedy = "fix or remove the job"
    for number, entry in enumerate(json_entries(text), 1):
        place = f"job {number}, "
        name = text.label(f"{place}jobid", entry.get("jobid"))
        group = text.label(f"{place}vc", entry.get("vc", ""), empty=True)
        status = text.label(f"{place}status", entry.get("status", ""), empty=True)
        user = text.label(f"{place}user", entry.get("user") or "", empty=True)
        attempts = _parse_objects(text, f"{place}attempts", entry.get("attempts"))
        submit = _parse_time(text, f"{place}submitted_time", entry.get("submitted_time"))
        if submit is None or not attempts:
            jobs.drop("no attempts" if not attempts else "no submit time")
            continue
        runs = [_seconds_of_attempt(text, f"{place}attempts[{i}].", attempt) for i, attempt in enumerate(attempts)]
        attempt_places = [
            _servers_of_attempt(text, f"{place}attempts[{i}].detail", attempt) for i, attempt in enumerate(attempts)
        ]
        known_runs = [run for run in runs if run is not None and run >= 0]
        if len(known_runs) < len(runs):
            jobs.drop("an attempt without times" if None in runs else "an attempt over the clock change")
            continue
        if sum(known_runs) >= MAX_NUMBER:
            text.bad(f"{place}run time", sum(known_runs), f"expected below {MAX_NUMBER} s")
        spans: list[Run] = []
        for attempt, run, servers in zip(attempts, known_runs, attempt_places, strict=True):
            start = text.timestamp("start_time", attempt["start_time"]) if run else 0
            spans += [(1000 * start, 1000 * (start + run), servers)] if run else []
        if spans and spans[0][0] < 1000 * submit:
            jobs.change("starts before it is submitted")
        jobs.add(
            name,
            submit,
            1000 * sum(known_runs),
            max(sum(share for _, share in servers) for servers in attempt_places) // 1000,
            group=group,
            partition=group,
            status=status,
            user=user,
            runs=spans,
        )
        if jobs.full:
            break


def _parse_objects(text: Text, column: str, value: object) -> list[dict[str, object]]:
    """Parse a list of objects."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        text.bad(column, value, "expected a list of objects")
    return value


def _parse_time(text: Text, column: str, value: object) -> int | None:
    """Parse seconds; None for a time that was not recorded (the log writes 'None' or null)."""
    return None if value is None or value == "None" else text.timestamp(column, value)


def _seconds_of_attempt(text: Text, place: str, attempt: dict[str, object]) -> int | None:
    """Run time of an attempt in s: None if a time is missing, negative if the clock was set back in between."""
    start = _parse_time(text, f"{place}start_time", attempt.get("start_time"))
    end = _parse_time(text, f"{place}end_time", attempt.get("end_time"))
    if start is None or end is None:
        return None
    if end - start < -CLOCK_CHANGE:
        text.bad(f"{place}end_time", attempt["end_time"], f"expected at least start_time = {attempt['start_time']}")
    return end - start


def _servers_of_attempt(text: Text, column: str, attempt: dict[str, object]) -> tuple[tuple[str, int], ...]:
    """Return the servers of an attempt, and its GPUs on each, in 1/1000."""
    servers = []
    for i, server in enumerate(_parse_objects(text, column, attempt.get("detail"))):
        gpus = server.get("gpus")
        if not isinstance(gpus, list):
            text.bad(f"{column}[{i}].gpus", gpus, "expected a list")
        name = text.label(f"{column}[{i}].ip", server.get("ip") or f"server-{i + 1}")
        servers.append((name, 1000 * len(gpus)))
    return tuple(servers)


CSV_FORMAT = TraceFormat(
    name="philly-csv",
    columns=CSV_COLUMNS,
    read=read_csv,
    notes=(
        "The file is a filtered part of the Philly trace, without status, user, retries, CPU or memory.",
        "Times are local: the clock change of 2017-11-05 is in them.",
    ),
)
JSON_FORMAT = TraceFormat(
    name="philly-json",
    columns=(),
    read=read_json,
    notes=(
        "The trace has no CPU or memory demand; a run time is the sum of a job's attempts.",
        "Times are local: a run over the clock change of 2017-11-05 is an hour out.",
    ),
)
