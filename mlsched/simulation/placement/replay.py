"""Independent check of a finished placement run, using only the workload, the options and the log.

1. Every job is placed once, completely, on existing servers, at its start, which is not before its submission.
2. Its segments follow one another without a gap from its start until it leaves. It leaves as set by the options: at the
very second it is done, or at the first scheduling event from then on.
3. At every instant the demand of the jobs on a server is within its capacity, and types that must be apart are.
4. At most `most_new` jobs start at one time, at most `most_jobs` are concurrent.
5. In every segment the job has the speed computed by the judge of the placement problem among the jobs present.
6. Work is conserved: it grows by speed x time, up to the complete job, which is reached in the last segment and not
before.
7. Starts fall on scheduling events.

The module shares no code with the world.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from mlsched.instances.placement import Plan, judge
from mlsched.simulation.findings import Findings
from mlsched.simulation.log import Row
from mlsched.simulation.placement.log import Log
from mlsched.simulation.placement.options import Options
from mlsched.simulation.placement.workload import Workload
from mlsched.simulation.wake import Wake

#: Job -> server -> (workers, PSs).
Hosts = dict[int, dict[int, tuple[int, int]]]


def violations(workload: Workload, options: Options, wake: Wake, log: Log) -> list[str]:
    """Return the violations in the `log` of a run, by kind; empty if it is sound."""
    findings = Findings()
    count = len(workload.submit)
    segments: dict[int, list[Row]] = defaultdict(list)
    for row in sorted(log.rows):
        if 0 <= row[0] < count and row[1] < row[2] and row[3] >= 0:
            segments[row[0]].append(row)
        else:
            findings.add("log", f"the row {tuple(row)} names no job, or no segment of time, or no speed")
    hosts, placed = _read_placements(workload, log, findings)
    for job in range(count):
        _check_placement(workload, job, hosts[job], placed[job], segments[job], findings)
        _check_work(workload, options, wake, job, segments[job], findings)
    _check_concurrent(workload, options, segments, hosts, findings)
    return findings.sentences()


def _read_placements(workload: Workload, log: Log, findings: Findings) -> tuple[Hosts, dict[int, set[int]]]:
    """Return the tasks of every job on each server, and the times at which it was placed."""
    hosts: Hosts = defaultdict(dict)
    placed: dict[int, set[int]] = defaultdict(set)
    jobs, servers = len(workload.submit), len(workload.server_capacity)
    for row in log.placements:
        job, time, server, workers, ps = row
        if not (0 <= job < jobs and 0 <= server < servers and min(workers, ps) >= 0 and workers + ps > 0):
            findings.add("log", f"the placement {tuple(row)} names no job, no server or no task")
        elif server in hosts[job]:
            findings.add("placement", f"job {job} is placed twice on server {server}")
        else:
            hosts[job][server] = (workers, ps)
            placed[job].add(time)
    return hosts, placed


def _check_placement(
    workload: Workload,
    job: int,
    hosts: dict[int, tuple[int, int]],
    placed: set[int],
    rows: list[Row],
    findings: Findings,
) -> None:
    if not _is_complete(workload, job, hosts):
        w, p = sum(w for w, _ in hosts.values()), sum(p for _, p in hosts.values())
        must = f"{workload.job_workers[job]} and {workload.job_ps[job]}"
        findings.add("placement", f"job {job} has {w} workers and {p} PSs, expected {must}")
    if rows and placed != {rows[0][1]}:
        times = ", ".join(map(str, sorted(placed))) or "never"
        findings.add("placement", f"job {job} is placed at {times}, and trains from {rows[0][1]} s on")


def _is_complete(workload: Workload, job: int, hosts: dict[int, tuple[int, int]]) -> bool:
    """Check whether exactly the workers and PSs of a job are placed."""
    there = (sum(w for w, _ in hosts.values()), sum(p for _, p in hosts.values()))
    return there == (int(workload.job_workers[job]), int(workload.job_ps[job]))


def _check_work(
    workload: Workload, options: Options, wake: Wake, job: int, rows: list[Row], findings: Findings
) -> None:
    submit, total, work = int(workload.submit[job]), 10**6 * workload.interval, 0
    if not rows:
        findings.add("lost job", f"job {job} never trains")
        return
    if rows[0][1] < submit:
        findings.add("arrival", f"job {job} starts at {rows[0][1]} s, before its submission at {submit} s")
    if not wake.events and rows[0][1] % wake.interval:
        findings.add("wake", f"job {job} starts at {rows[0][1]} s, which is no multiple of {wake.interval} s")
    until = rows[0][1]
    for _, start, end, speed, after in rows:
        if start != until:
            findings.add("segments", f"job {job} has a segment from {start} s on, the one before ends at {until} s")
        if work >= total:
            findings.add("lost job", f"job {job} holds servers at {start} s, after it has left")
            return
        if after != min(total, work + speed * (end - start)):
            findings.add(
                "work", f"job {job} has done {after} at {end} s: its speed and {work} at {start} s say otherwise"
            )
        if after >= total:
            _check_departure(options, wake, job, start + -(-(total - work) // speed) if speed else end, end, findings)
        work, until = after, end
    if work != total:
        findings.add("lost job", f"job {job} has done {work} of {total}")


def _check_departure(options: Options, wake: Wake, job: int, finish: int, end: int, findings: Findings) -> None:
    """Check that a job that is done at `finish` leaves at the right time."""
    due = finish
    if options.departure == "scheduling_event" and not wake.events:
        due = -(-finish // wake.interval) * wake.interval
    if end != due:
        findings.add("departure", f"job {job} leaves at {end} s: it is done at {finish} s and should leave at {due} s")


def _check_concurrent(
    workload: Workload, options: Options, segments: dict[int, list[Row]], hosts: Hosts, findings: Findings
) -> None:
    """Check all rules about jobs that are present at the same time, from one change to the next."""
    starts: dict[int, int] = defaultdict(int)
    for rows in segments.values():
        if rows:
            starts[rows[0][1]] += 1
    for time, number in sorted(starts.items()):
        if number > options.most_new:
            findings.add("new jobs", f"{number} jobs start at {time} s: at most {options.most_new} may")
    rows = sorted(row for each in segments.values() for row in each)
    times = sorted({time for row in rows for time in row[1:3]})
    for begin, end in zip(times, times[1:], strict=False):
        speed = {row[0]: row[3] for row in rows if row[1] <= begin and row[2] >= end}
        present = list(speed)
        if len(speed) > options.most_jobs:
            findings.add("concurrent jobs", f"{len(speed)} jobs at {begin} s: at most {options.most_jobs} may be there")
        _check_servers(workload, present, hosts, begin, findings)
        if not all(_is_complete(workload, job, hosts[job]) for job in speed):
            continue  # effect of such a job on its neighbours is undefined; it has been reported above
        for job, right in zip(present, _speeds_of_jobs(workload, present, hosts), strict=True):
            if speed[job] != right:
                findings.add("speed", f"job {job} trains at {speed[job]} from {begin} s on: the judge says {right}")


def _check_servers(workload: Workload, present: list[int], hosts: Hosts, time: int, findings: Findings) -> None:
    for s, capacity in enumerate(workload.server_capacity.tolist()):
        here = [job for job in present if s in hosts[job]]
        for r, name in enumerate(workload.resources):
            need = sum(
                hosts[j][s][0] * int(workload.worker_demand[j, r]) + hosts[j][s][1] * int(workload.ps_demand[j, r])
                for j in here
            )
            if need > capacity[r]:
                findings.add("capacity", f"server {s} hosts {need} {name} at {time} s: it has {capacity[r]}")
        for k, one in enumerate(here):
            for other in here[k + 1 :]:
                if workload.apart[workload.job_type[one], workload.job_type[other]]:
                    findings.add("apart", f"jobs {one} and {other} share server {s} at {time} s: they must not")


def _speeds_of_jobs(workload: Workload, present: list[int], hosts: Hosts) -> list[int]:
    """Return the judge's speeds of the present jobs, as if newly placed on empty servers large enough for all."""
    table = np.zeros((2, len(present), len(workload.server_capacity)), dtype=np.int64)
    for row, job in enumerate(present):
        for s, tasks in hosts[job].items():
            table[:, row, s] = tasks
    room = np.full_like(workload.server_capacity, 2**40)
    question = workload.instance(np.array(present, dtype=np.int64)).replace(server_capacity=room, server_free=room)
    return judge.speeds(question, Plan(workers=table[0], ps=table[1]))
