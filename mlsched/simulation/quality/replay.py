"""Independent check of a finished quality run, using only the workload, the options and the log.

1. Every row names a job and a segment of time; jobs never have two segments at once, or one before submission.
2. At every scheduling event (a segment starts or ends, a job or a non-ML job arrives or leaves), all cores in use,
those of non-ML jobs included, are within the cluster's.
3. Every segment keeps its job's cap. At every scheduling event jobs run in arrival order: those for which `least` cores
are available get at least `least`, the others zero.
4. Work is conserved: a job's work grows by cores x time in each segment, up to the iteration with which it leaves. It
reaches that iteration in its last segment and not before. That iteration is the first to report a loss at or below its
target, else its last.
5. The loss at the end of a segment is the true curve's at the iterations done.
6. Segments start at scheduling events; with ticks only, they end at the next tick.

The module shares no code with the world and uses plain Python integers and fractions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from fractions import Fraction

from mlsched.simulation.findings import Findings
from mlsched.simulation.quality.log import Log
from mlsched.simulation.quality.options import Options
from mlsched.simulation.quality.workload import Workload
from mlsched.simulation.wake import Wake

#: The world interpolates losses in floats; relative tolerance of the check.
ROUNDING = Fraction(1, 10**12)

Row = tuple[int, ...]


def violations(workload: Workload, options: Options, wake: Wake, log: Log) -> list[str]:
    """Return the violations in the `log` of a run, by kind; empty if it is sound."""
    findings = Findings()
    rows: dict[int, list[Row]] = defaultdict(list)
    for row in sorted(log.rows):
        if 0 <= row[0] < len(workload.submit) and row[1] < row[2] and row[3] > 0:
            rows[row[0]].append(row)
        else:
            findings.add("log", f"the row {tuple(row)} names no job, or no segment of time, or no core")
    for job in range(len(workload.submit)):
        _check_job(workload, options, job, rows[job], findings)
    if wake.interval and not wake.events:
        for row in (row for each in rows.values() for row in each):
            if row[1] % wake.interval or row[2] != row[1] + wake.interval:
                findings.add("wake", f"job {row[0]} holds cores from {row[1]} to {row[2]} s: not from tick to tick")
    _check_sharing(workload, options, wake, rows, findings)
    return findings.sentences()


def _check_job(workload: Workload, options: Options, job: int, rows: list[Row], findings: Findings) -> None:
    cap = int(workload.most[job])
    total, before, until = _work_until_it_leaves(workload, job), 0, int(workload.submit[job])
    for _, start, end, cores, work, loss in rows:
        if start < int(workload.submit[job]):
            findings.add("arrival", f"job {job} holds cores at {start} s, before its submission at {until} s")
        elif start < until:
            findings.add("two places", f"job {job} holds cores at {start} s twice")
        if cores > cap:
            findings.add("cap", f"job {job} holds {cores} cores, its cap is {cap}")
        if before >= total:
            findings.add("lost job", f"job {job} holds cores at {start} s, after it has left")
        expected_value = min(before + cores * (end - start) * 1000, total)
        if work != expected_value:
            findings.add(
                "work", f"job {job} has done {work} core-ms at {end} s: {expected_value} follow from its cores"
            )
        if not _is_loss(workload, options, job, work, loss):
            findings.add("loss", f"job {job} reports {loss} at {end} s, which is not its curve after {work} core-ms")
        before, until = work, end
    if before != total:
        findings.add("lost job", f"job {job} has done {before} of its {total} core-ms")


def _work_until_it_leaves(workload: Workload, job: int) -> int:
    """Return the core-milliseconds of a job's iterations, up to the first that reports its target loss."""
    iterations, target = int(workload.iterations[job]), int(workload.target[job])
    reported_losses = workload.loss[job, 1 : iterations + 1].tolist()
    iterations = next((k for k, loss in enumerate(reported_losses, 1) if loss <= target), iterations)
    return iterations * int(workload.work[job])


def _is_loss(workload: Workload, options: Options, job: int, work: int, loss: int) -> bool:
    """Check that `loss` is the true loss after `work` core-milliseconds."""
    whole, rest = divmod(work, int(workload.work[job]))
    if not 0 <= whole <= int(workload.iterations[job]):
        return False
    here = int(workload.loss[job, whole])
    if options.progress == "carry" or rest == 0:
        return loss == here
    there = int(workload.loss[job, whole + 1])
    exact = here + Fraction(rest, int(workload.work[job])) * (there - here)
    return abs(exact - loss) <= Fraction(1, 2) + ROUNDING * (abs(here) + abs(there))


def _sharing_times(workload: Workload, wake: Wake, rows: list[Row]) -> list[int]:
    """Return the times at which cores were, or had to be, shared."""
    events = workload.submit.tolist() + workload.other_submit.tolist()
    events += (workload.other_submit + workload.other_seconds).tolist()
    if not wake.events:
        events = [-(-time // wake.interval) * wake.interval for time in events]
    return sorted({*events, *(time for row in rows for time in row[1:3])})


def _check_sharing(
    workload: Workload, options: Options, wake: Wake, rows: dict[int, list[Row]], findings: Findings
) -> None:
    """Check at every scheduling event that cores suffice, and that jobs get `least` cores by arrival."""
    everything = [row for each in rows.values() for row in each]
    departures = {
        job: row[2] for job, each in rows.items() for row in each if row[4] >= _work_until_it_leaves(workload, job)
    }
    times = _sharing_times(workload, wake, everything)
    starts: list[dict[int, int]] = [{} for _ in times]
    for job, start, end, cores, _, _ in everything:
        for cores_of in starts[bisect_left(times, start) : bisect_left(times, end)]:
            cores_of[job] = cores_of.get(job, 0) + cores
    submit = workload.submit.tolist()
    for time, cores_of in zip(times, starts, strict=True):
        active = [j for j, s in enumerate(submit) if s <= time < departures.get(j, time + 1)]
        available = workload.cores - _cores_of_others(workload, options, time, len(active))
        if sum(cores_of.values()) > available:
            findings.add("capacity", f"{sum(cores_of.values())} cores are held at {time} s: there are {available}")
        if options.least:
            most_jobs = available // options.least
            for place, j in enumerate(active):
                if place < most_jobs and cores_of.get(j, 0) < options.least:
                    findings.add("least", f"job {j} holds {cores_of.get(j, 0)} cores at {time} s: it may run")
                elif place >= most_jobs and cores_of.get(j, 0):
                    findings.add("order", f"job {j} holds cores at {time} s: earlier jobs leave none for it")


def _cores_of_others(workload: Workload, options: Options, time: int, active: int) -> int:
    """Return the cores of the non-ML jobs present at `time`."""
    jobs = zip(
        workload.other_submit.tolist(), workload.other_seconds.tolist(), workload.other_cores.tolist(), strict=True
    )
    requests: list[int] = [cores for submit, seconds, cores in jobs if submit <= time < submit + seconds]
    if options.others == "fair" and requests:
        share = workload.cores // (len(requests) + active)
        requests = [min(cores, share) for cores in requests]
    return min(sum(requests), workload.cores)
