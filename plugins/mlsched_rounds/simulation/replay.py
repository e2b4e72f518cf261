"""An independent check of a finished simulation of rounds, from workload, options and log.

1. Every row names a round, a job and a type on which the job runs. A job has at most one row per round, after its
   arrival and before its end.
2. All rows of a round start together: at the end of the last round in which a job ran or, if the cluster was idle, at
   an arrival.
3. In each round the jobs on a type use at most its number of GPUs. Two jobs with equal GPU counts may share them, if
   the pair has rates. Both rows then name each other, the type, the same start and end, and their GPUs count once.
4. A slice has the number of steps that fits into the round, floor(rate x round), or the remaining number. It ends after
   steps / rate; a pair, after the longer of the two, at the rates of the pair. If resuming costs time, a job that did
   not run in the round before, and would run for all but the last 5 s of the round, does the steps of that much less,
   at an unchanged end.
5. A slice fails if some of the job's GPUs get no step (reading "dropped"), or if it has zero steps. After five failures
   in a row the job is dropped. A pair's slices fail together, and do not count for that.
6. Every job runs until its steps are done, or is dropped.
7. A job changes its batch size at the end of a slice if it wanted another at the end of the slice before. It gets the
   next size on the way to the one wanted in its epoch, or (if it looks ahead) in the next epoch. Its steps done are
   then those of the epochs begun, and all its steps are scaled. If scaling changes the number of epochs, they are those
   of the old number. If the remaining steps are then 0, the job does five more slices without a step, which fail
   (reading "failed"), or has ended.

Independent of the simulator; Python integers and fractions. Times in the log are rounded to 10^-6 s, and the simulator
adds up floats: a time may be off by two of these units.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

from mlsched.simulation.findings import Findings
from mlsched.simulation.wake import Wake
from mlsched_rounds.simulation.log import Log
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.workload import MICRO, PICO, Workload

#: Tolerance of times, 10^-6 s.
OFF = 2
#: A product of floats may fall just below the integer that it should be, or reach one that it should not.
ROUNDING = (Fraction(1, 10**9), Fraction(-1, 10**9))
#: A slice that ends this many seconds before its round would loses zero time to resuming.
SHORT = 5
#: Failed slices in a row after which a job is dropped.
MOST_FAILURES = 5

Row = tuple[int, ...]


def violations(workload: Workload, options: Options, wake: Wake, log: Log) -> list[str]:
    """Return the errors of a run as sentences, by kind; empty if it is correct."""
    findings = Findings()
    rounds: dict[int, list[Row]] = defaultdict(list)
    for row in sorted(log.rows):
        number, job, kind, start, end, *_, partner = row
        lookup = 0 <= job < len(workload.submit) and 0 <= kind < len(workload.types)
        lookup &= -1 <= partner < len(workload.submit)
        if lookup and number >= 0 and start <= end and int(workload.rate[job, kind]) + int(workload.fine[job, kind]):
            rounds[number].append(row)
        else:
            findings.add("log", f"the row {tuple(row)} names no job, or no type on which it runs, or no time")
    _check_starts(workload, rounds, findings)
    remaining, failures = workload.steps.tolist(), [0] * len(workload.submit)
    batches = [_Batches(workload, job) for job in range(len(workload.submit))]
    for number in sorted(rounds):
        rows = rounds[number]
        before = {row[1] for row in rounds.get(number - 1, [])}
        by_job = {row[1]: row for row in rows}
        rest = {job: remaining[job] for job in by_job}
        _check_capacity(workload, rows, by_job, findings)
        for row in rows:
            one = _Slice(workload, options, row, by_job.get(row[8]), batches[row[1]], rest)
            _check_slice(one, before, remaining, failures, findings)
    for job, batch in enumerate(batches):
        if batch.emptied and options.emptied == "failed" and failures[job] < MOST_FAILURES:
            findings.add("lost job", f"job {job} has done its steps, but {failures[job]} empty slices")
    for job, rest in enumerate(remaining):
        if rest > 0 and failures[job] < MOST_FAILURES:
            findings.add("lost job", f"job {job} has {rest} steps before it when the run ends")
    return findings.sentences()


def _check_starts(workload: Workload, rounds: dict[int, list[Row]], findings: Findings) -> None:
    arrivals = set(workload.submit.tolist())
    until: int | None = None
    for number in sorted(rounds):
        starts = {row[3] for row in rounds[number]}
        if len(starts) > 1:
            findings.add("round", f"jobs of round {number} start at {len(starts)} different times")
        start = min(starts)
        follows = until is not None and abs(start - until) <= OFF
        if not follows and (start not in arrivals or (until is not None and start < until)):
            findings.add("round", f"round {number} starts at {start / MICRO} s: neither an arrival nor the end of one")
        until = max(row[4] for row in rounds[number])


def _check_capacity(workload: Workload, rows: list[Row], by_job: dict[int, Row], findings: Findings) -> None:
    usage = [0] * len(workload.types)
    history: set[int] = set()
    for row in rows:
        number, job, kind, start, end, *_, partner = row
        if partner < 0 or partner not in history:
            usage[kind] += int(workload.gpus[job])
        if job in history:
            findings.add("two places", f"job {job} runs twice in round {number}")
        history.add(job)
        if partner < 0:
            continue
        other = by_job.get(partner, (-1,) * len(row))
        if (*other[2:5], other[8]) != (kind, start, end, job) or workload.gpus[partner] != workload.gpus[job]:
            findings.add("pair", f"job {job} shares GPUs with job {partner} in round {number}, which is elsewhere")
        elif workload.packing is None or not _rate_in_pair(workload, job, partner, kind):
            findings.add("pair", f"jobs {job} and {partner} do not fit together on {workload.types[kind]}")
    for kind, gpus in enumerate(usage):
        if gpus > int(workload.capacity[kind]):
            findings.add("capacity", f"{gpus} GPUs of {workload.types[kind]} are held in round {rows[0][0]}")


def _rate_in_pair(workload: Workload, job: int, partner: int, kind: int) -> Fraction:
    """Return the steps per second of a job while another shares its GPUs; 0: they do not fit together."""
    packing = workload.packing
    if packing is None or job == partner:
        return Fraction(0)
    groups = int(packing.group[job]), int(packing.group[partner])
    return Fraction(int(packing.rate[*groups, kind]) * PICO + int(packing.fine[*groups, kind]), PICO**2)


class _Slice:
    """A row of the log, and its limits by line 4: `possible` has (steps of a complete slice, its seconds).

    Attributes:
        other: Row of the partner, if any.
        left: Remaining steps of each job of the round, before it.
    """

    def __init__(
        self, workload: Workload, options: Options, row: Row, other: Row | None, batches: _Batches, left: dict[int, int]
    ) -> None:
        self.workload, self.options, self.row, self.batches = workload, options, row, batches
        job, kind, partner = row[1], row[2], row[8]
        self.alone = partner < 0
        #: The least steps of the jobs that share the GPUs.
        self.least = row[5] if other is None else min(row[5], other[5])
        rate = batches.rate(kind) if self.alone else _rate_in_pair(workload, job, partner, kind)
        self.possible = self._complete_slice(rate, left[job])
        if other is not None:
            longer = self._complete_slice(_rate_in_pair(workload, partner, job, kind), left[partner])
            self.possible = {(count, max(time, more)) for count, time in self.possible for _, more in longer}

    def _complete_slice(self, rate: Fraction, left: int) -> set[tuple[int, Fraction]]:
        if not rate:
            return set()
        counts = {min(int(rate * self.options.round + error), left) for error in ROUNDING}
        return {(count, count / rate) for count in counts}


def _check_slice(one: _Slice, before: set[int], remaining: list[int], failures: list[int], findings: Findings) -> None:
    workload, options, batches = one.workload, one.options, one.batches
    number, job, _, start, end, steps, _, failed, _ = one.row
    if start < int(workload.submit[job]) - OFF:
        findings.add("arrival", f"job {job} runs at {start / MICRO} s, before it has come")
    idle = batches.emptied and options.emptied == "failed"
    if (remaining[job] <= 0 and not idle) or failures[job] >= MOST_FAILURES:
        findings.add("end", f"job {job} runs in round {number}, after it has left")
        return
    possible = set()
    for count, time in one.possible:
        losses = options.resume if number > 0 and job not in before and time > options.round - SHORT else 0
        possible |= {(int(count * (time - losses) / time + error) if losses else count, time) for error in ROUNDING}
    fitting = [time for count, time in possible if count == steps]
    if not fitting:
        most = max(possible, default=(0, 0))[0]
        findings.add("steps", f"job {job} does {steps} steps in round {number}: {most} follow from its rate")
    elif all(abs(end - start - time * MICRO) > OFF for time in fitting):
        findings.add("time", f"job {job} runs for {(end - start) / MICRO} s in round {number}: not as its rate says")
    least = one.least // int(workload.gpus[job]) if options.remainder == "dropped" else one.least
    if bool(failed) != (least <= 0):
        findings.add("failure", f"the slice of job {job} in round {number} is {'' if failed else 'not '}said to fail")
    if failed:
        failures[job] += one.alone
        return
    if one.alone:
        failures[job] = 0
    remaining[job] = batches.after(steps)


class _Batches:
    """One job's steps and batch sizes by line 7."""

    def __init__(self, workload: Workload, job: int) -> None:
        self.workload, self.job = workload, job
        self.done, self.all = 0, int(workload.steps[job])
        self.number, self.wish = 0, 0  # of its batch size, and of the wanted one
        self.emptied = False  # by a change

    def rate(self, kind: int) -> Fraction:
        """Return the steps per second on a type."""
        w, a, job = self.workload, self.workload.adaptation, self.job
        where = (w.rate[job, kind], w.fine[job, kind])
        if a is not None:
            where = (a.rate[job, self.number, kind], a.fine[job, self.number, kind])
        return Fraction(int(where[0]) * PICO + int(where[1]), PICO**2)

    def after(self, steps: int) -> int:
        """Return the remaining steps after a slice of `steps` steps."""
        self.done += steps
        a = self.workload.adaptation
        if a is None or self.done >= self.all:
            return self.all - self.done
        if self.wish != self.number:
            samples, size = int(a.samples[self.job]), [int(one) for one in a.batch[self.job]]
            was, now = (math.ceil(Fraction(samples, size[n])) for n in (self.number, self.wish))
            scale = math.ceil(Fraction(self.all * size[self.number], size[self.wish]))
            epochs = math.ceil(Fraction(self.all, was))
            self.all = scale if math.ceil(Fraction(scale, now)) == epochs else epochs * now
            self.done = math.ceil(Fraction(self.done, was)) * now
            self.number = self.wish
            self.emptied = self.done >= self.all
        request = max(self._wanted_regime(self._epoch_at() + more) for more in range(int(a.ahead[self.job]) + 1))
        self.wish = min(max(request, self.number - 1), self.number + 1)
        return max(0, self.all - self.done)

    def _epoch_at(self) -> int:
        a = self.workload.adaptation
        assert a is not None
        steps = math.ceil(Fraction(int(a.samples[self.job]), int(a.batch[self.job, self.number])))
        return math.ceil(Fraction(self.done, steps))

    def _wanted_regime(self, epoch: int) -> int:
        a = self.workload.adaptation
        assert a is not None
        changes: list[tuple[int, int]] = list(
            zip(a.wants_from[self.job].tolist(), a.wants[self.job].tolist(), strict=True)
        )
        return max((begin, place, request) for place, (begin, request) in enumerate(changes) if begin <= epoch)[2]
