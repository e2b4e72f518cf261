"""Independent check of a finished workers run, using only the workload, the options and the log.

1. Every row names a job, a segment of time, and numbers of workers and PSs with which the job can train.
2. Jobs never train before their submission, twice at once, or after their last iteration; every job reaches it.
3. At every instant all workers and PSs together fit the cluster.
4. The remaining work at the end of a segment follows from its length, its workers and PSs and the interpretation of the
floor. A segment that reaches the last iteration ends in that very millisecond.
5. Only the first `window` jobs present, in arrival order, use resources.
6. Segments start at scheduling events, and end at scheduling events or with their job. Unless floor = "changed", they
also end at the next wake: completions, waking arrivals and ticks never fall inside a segment.

The module shares no code with the world and uses plain Python integers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict

from mlsched.simulation.findings import Findings
from mlsched.simulation.wake import Wake
from mlsched.simulation.workers.log import Log
from mlsched.simulation.workers.options import Options
from mlsched.simulation.workers.workload import Workload

Row = tuple[int, ...]
#: Nanoseconds in a millisecond, milliseconds in a second, parts of an iteration in the log, "cannot train".
MILLION, THOUSAND, PARTS, CANNOT = 10**6, 10**3, 10**3, 2**53


def violations(workload: Workload, options: Options, wake: Wake, log: Log) -> list[str]:
    """Return the violations in the `log` of a run, by kind; empty if it is sound."""
    findings = Findings()
    rows: dict[int, list[Row]] = defaultdict(list)
    for row in sorted(log.rows):
        if _iteration_time(workload, row) is not None:
            rows[row[0]].append(row)
        else:
            findings.add(
                "log", f"the row {tuple(row)} names no job, no segment of time, or no workers and PSs that train"
            )
    for job in range(len(workload.submit)):
        _check_job(workload, options, job, rows[job], findings)
    everything = [row for each in rows.values() for row in each]
    _check_capacity(workload, everything, findings)
    _check_window(workload, options, everything, findings)
    _check_wakes(workload, options, wake, everything, findings)
    return findings.sentences()


def _iteration_time(workload: Workload, row: Row) -> int | None:
    """Return the time of an iteration in a segment in ns, or None for an invalid row."""
    job, start, end, workers, ps, remaining = row
    _, most_workers, most_ps = workload.iteration.shape
    if not (0 <= job < len(workload.submit) and start < end and remaining >= 0):
        return None
    if not (1 <= workers <= most_workers and 1 <= ps <= most_ps):
        return None
    time = int(workload.iteration[int(workload.model[job]), workers - 1, ps - 1])
    return None if time == CANNOT else time


def _check_job(workload: Workload, options: Options, job: int, rows: list[Row], findings: Findings) -> None:
    remaining, until = int(workload.iterations[job]) * PARTS, int(workload.submit[job])
    for row in rows:
        _, start, end, _, _, after = row
        if start < int(workload.submit[job]):
            findings.add("arrival", f"job {job} trains at {start} ms, before its submission at {until} ms")
        elif start < until:
            findings.add("two places", f"job {job} trains at {start} ms twice")
        if remaining == 0:
            findings.add("lost job", f"job {job} trains at {start} ms, after its last iteration")
        work_left = _remaining_work(workload, options, row, remaining)
        if after != work_left:
            findings.add(
                "work",
                f"job {job} has {after} thousandths of an iteration left at {end} ms: "
                f"{work_left} follow from {remaining} at {start} ms",
            )
        time = _iteration_time(workload, row)
        assert time is not None  # invalid rows were removed
        if after == 0 and end != start - (-remaining * time // (MILLION * PARTS)):
            findings.add("work", f"job {job} holds workers until {end} ms, past its last iteration")
        remaining, until = after, end
    if remaining:
        findings.add("lost job", f"job {job} ends with {remaining} thousandths of an iteration left")


def _remaining_work(workload: Workload, options: Options, row: Row, remaining: int) -> int:
    """Return the remaining work after a segment that began with `remaining`."""
    time = _iteration_time(workload, row)
    assert time is not None  # invalid rows were removed
    elapsed = (row[2] - row[1]) * MILLION
    work_done = elapsed * PARTS // time if options.floor == "never" else elapsed // time * PARTS
    return max(0, remaining - work_done)


def _check_capacity(workload: Workload, rows: list[Row], findings: Findings) -> None:
    """Sweep starts and ends in time order; an end frees before a start at the same instant takes."""
    events = sorted([(r[1], 1, r) for r in rows] + [(r[2], -1, r) for r in rows], key=lambda e: e[:2])
    use = [0] * len(workload.resources)
    for time, sign, (job, _, _, workers, ps, _) in events:
        model = int(workload.model[job])
        for k, name in enumerate(workload.resources):
            need = workers * int(workload.worker_demand[model, k]) + ps * int(workload.ps_demand[model, k])
            use[k] += sign * need
            if sign > 0 and use[k] > int(workload.capacity[k]):
                findings.add("capacity", f"{use[k]} {name} are held at {time} ms: there are {workload.capacity[k]}")


def _departure_times(workload: Workload, rows: list[Row]) -> dict[int, int]:
    """Return job -> its completion time."""
    return {row[0]: row[2] for row in rows if row[5] == 0}


def _check_window(workload: Workload, options: Options, rows: list[Row], findings: Findings) -> None:
    if not options.window:
        return
    departures, submit = _departure_times(workload, rows), workload.submit.tolist()
    for job, start, *_ in rows:
        ahead = sum(1 for j in range(job) if submit[j] <= start < departures.get(j, start + 1))
        if ahead >= options.window:
            findings.add(
                "window", f"job {job} trains at {start} ms behind {ahead} others: the window is {options.window}"
            )


def _check_wakes(workload: Workload, options: Options, wake: Wake, rows: list[Row], findings: Findings) -> None:
    interval = wake.interval * THOUSAND
    completions = sorted(_departure_times(workload, rows).values())
    arrivals = _waking(workload, options, rows)
    events = sorted({*completions, *arrivals})
    starts = set(events) | set(workload.submit.tolist())
    for job, start, end, _, _, remaining in rows:
        for what, time in (("starts", start), ("stops", end)):
            tick = interval > 0 and time % interval == 0
            if not tick and (not wake.events or time not in starts) and not (time == end and remaining == 0):
                findings.add("wake", f"job {job} {what} at {time} ms, where nobody wakes")
        if options.floor == "changed":
            continue
        if interval and end > start - start % interval + interval:
            findings.add("wake", f"job {job} trains from {start} to {end} ms, past a tick")
        inside = bisect_left(events, end) - bisect_right(events, start)
        if wake.events and inside > 0:
            when = events[bisect_right(events, start)]
            findings.add("wake", f"job {job} trains from {start} to {end} ms, past a scheduling event at {when} ms")


def _waking(workload: Workload, options: Options, rows: list[Row]) -> list[int]:
    """Return the arrivals that cause scheduling events: those with the window not yet full."""
    submit: list[int] = workload.submit.tolist()
    if not options.window:
        return submit
    departures = _departure_times(workload, rows)
    # A job that ends when another arrives has left by then.
    return [
        time
        for j, time in enumerate(submit)
        if sum(1 for i in range(j) if submit[i] < time < departures.get(i, time + 1)) < options.window
    ]
