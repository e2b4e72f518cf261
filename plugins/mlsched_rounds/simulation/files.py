"""Logs of jobs that do steps: Gavel's and Shockwave's traces, and own CSV files.

A trace of Gavel has a line for each job, without a header. Tabs separate type, command, (folder,) argument, need of
data, steps, GPUs, weight, deadline, arrival. Its MSR traces lack folder, weight and deadline, and have the arrival
before the GPUs. Shockwave's have a mode after the GPUs and a duration before the arrival.

An own log is a CSV file with the columns `model`, `submit` (s) and `gpus`, and `steps` or `duration` (s, on the type
`measured_on`); `weight` is optional.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mlsched.core.errors import InvalidFile, InvalidInput, shorten
from mlsched.core.fields import EXACT, ints
from mlsched.instances.traces.source import Text, csv_header, csv_rows, separator_of
from mlsched.instances.traces.throughputs import Key, Throughputs, read_throughputs
from mlsched_rounds.simulation import batch_sizes
from mlsched_rounds.simulation.adaptation import Adaptation
from mlsched_rounds.simulation.packing import Packing
from mlsched_rounds.simulation.workload import MICRO, PICO, PPM, Workload, in_digits, in_micro

#: Most jobs of a log.
MOST_JOBS = 1_000_000
#: Fields of a line -> (model, steps, gpus, weight, submit, mode) by position; None: missing.
_LAYOUTS = {
    7: (0, 4, 6, None, 5, None),  # Gavel's MSR traces
    10: (0, 5, 6, 7, 9, None),  # Gavel
    12: (0, 5, 6, 8, 11, 7),  # Shockwave
}
#: Batch-size modes of Shockwave's traces.
MODES = ("static", "accordion", "gns")
#: First type that Gavel's mechanism fills, unless the cluster's text gives an order.
ORDER = ("v100", "p100", "k80")


class Job(NamedTuple):
    """A line of a log.

    It has model, arrival (s), GPUs, steps or (of an own log) only seconds, weight, its place in the file, and the mode
    of a trace of Shockwave.
    """

    model: str
    submit: float
    gpus: int
    steps: int
    seconds: float
    weight: float
    where: str
    mode: str = ""


def parse_types(text: str) -> dict[str, int]:
    """Parse "v100=8,p100=16" as GPUs of each type, in that order; "8:16:24" is Gavel's v100, p100 and k80."""
    if re.fullmatch(r"\d+:\d+:\d+", text):
        text = ",".join(f"{name}={count}" for name, count in zip(ORDER, text.split(":"), strict=True))
    result: dict[str, int] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*([^=\s]+)\s*=\s*(\d{1,9})\s*", part)
        if match and match[1] in result:
            raise InvalidInput(f"cluster: {shorten(text)}, expected each type once; {shorten(match[1])} is there twice")
        if not match:
            nodes = "; on nodes, a rule of rounds runs as round-by-round:rule=NAME" if "(" in text else ""
            raise InvalidInput(
                f"cluster: {shorten(text)}, expected GPUs of each type, such as v100=8,p100=16,k80=24{nodes}"
            )
        if int(match[2]):
            result[match[1]] = int(match[2])
    if not result:
        raise InvalidInput(f"cluster: {shorten(text)}, expected at least one GPU")
    return result


def read_jobs(
    path: str | os.PathLike[str],
    *,
    throughputs: str | os.PathLike[str] | Throughputs,
    cluster: str | dict[str, int],
    limit: int | None = None,
    gpus: int = 0,
    measured_on: str = "",
    adapt: bool = True,
    packing: bool = False,
) -> Workload:
    """Read the jobs of a log on a cluster, with their rates from a table (`read_throughputs`).

    Times are rounded to 10^-6 s.

    Args:
        path: Log file.
        throughputs: Table of rates.
        cluster: GPUs of each type, "v100=8,p100=16,k80=24".
        limit: Read only the first `limit` jobs.
        gpus: Read only jobs with this number of GPUs (0: all).
        measured_on: Type on which the durations of an own log were measured; without it, each job's fastest type.
        adapt: Jobs of a trace of Shockwave change their batch sizes by their modes (`batch_sizes`); otherwise they keep
            the first.
        packing: Also read the rates of pairs that share their GPUs.
    """
    table = throughputs if isinstance(throughputs, Throughputs) else read_throughputs(throughputs, pairs=packing)
    capacity = parse_types(cluster) if isinstance(cluster, str) else dict(cluster)
    if unknown := [name for name in [*capacity, *([measured_on] * bool(measured_on))] if name not in table.types]:
        raise InvalidInput(
            f"GPU type {unknown[0]!r}: {table.source} has {', '.join(table.types)}; name one of these, or add a column"
        )
    jobs = []
    for job in _jobs(path):
        if gpus in (0, job.gpus):
            jobs.append(job)
        if limit is not None and len(jobs) >= limit:
            break
    if not jobs:
        raise InvalidFile(f"{path}: jobs{f' on {gpus} GPUs' if gpus else ''} are missing; check the file")
    jobs.sort(key=lambda job: job.submit)
    rates, steps, per_job, units = [], [], [], dict[str, int]()
    for job in jobs:
        try:
            rate = table.of(job.model, job.gpus)
        except InvalidInput as error:
            raise InvalidFile(f"{job.where}: {error}") from None
        unit = _unit_of_steps(max(rate[name] for name in capacity))
        per_job.append(unit)
        if unit > 1:
            units[job.model] = max(unit, units.get(job.model, 1))
        rates.append([in_digits(rate[name] / unit) for name in capacity])
        steps.append(max(1, round((job.steps or _steps_of_job(job, rate, measured_on)) / unit)))
    keys = [(job.model, job.gpus) for job in jobs]
    digits = np.array(rates, dtype=np.int64).reshape(len(jobs), len(capacity), 2)
    return Workload(
        types=tuple(capacity),
        capacity=ints(capacity.values()),
        submit=ints(in_micro(job.submit) for job in jobs),
        steps=ints(steps),
        gpus=ints(job.gpus for job in jobs),
        rate=digits[:, :, 0],
        fine=digits[:, :, 1],
        weight=ints(round(job.weight * PPM) for job in jobs),
        models=tuple(job.model for job in jobs),
        adaptation=_adaptation_of_jobs(jobs, steps, table, tuple(capacity)) if adapt and not units else None,
        packing=_packing_rates(keys, per_job, table, tuple(capacity)) if packing else None,
        source=f"{Path(path).name} with {Path(table.source).name}"
        + (f", jobs on {gpus} GPUs" if gpus else "")
        + (f", the first {limit}" if limit is not None else "")
        + "".join(f", steps of {shorten(model)} by {unit}" for model, unit in units.items()),
    )


def _adaptation_of_jobs(
    jobs: list[Job], steps: list[int], table: Throughputs, types: tuple[str, ...]
) -> Adaptation | None:
    result = [batch_sizes.Job(job.model, job.gpus, of, job.mode) for job, of in zip(jobs, steps, strict=True)]
    return batch_sizes.adaptation(result, table, types)


def _packing_rates(keys: Sequence[Key], units: Sequence[int], table: Throughputs, types: Sequence[str]) -> Packing:
    """Return the rates of pairs of jobs with these keys in a table. `units`: steps that each job counts as one."""
    groups = sorted(set(keys))
    number = {key: place for place, key in enumerate(groups)}
    unit = dict(zip(keys, units, strict=True))
    digits = np.zeros((2, len(groups), len(groups), len(types)), dtype=np.int64)
    for (first, second), rates in table.pairs.items():
        if first not in number or second not in number:
            continue
        for place, name in enumerate(types):
            if name in rates:
                a, b = number[first], number[second]
                digits[:, a, b, place] = in_digits(rates[name][0] / unit[first])
                digits[:, b, a, place] = in_digits(rates[name][1] / unit[second])
    return Packing(group=ints(number[key] for key in keys), rate=digits[0], fine=digits[1])


def _unit_of_steps(rate: float) -> int:
    """Return the power of ten by which steps are counted, at most 9,007 per second: ends shift by less than 1 ms."""
    unit = 1
    while rate * PICO > EXACT * unit:
        unit *= 10
    return unit


def _steps_of_job(job: Job, rate: Mapping[str, float], measured_on: str) -> int:
    """Return the steps of a job with a known duration."""
    pace = rate[measured_on] if measured_on else max(rate.values())
    if not pace:
        raise InvalidFile(f"{job.where}: model {job.model!r} does not run on {measured_on or 'any type'}; give steps")
    return max(1, round(job.seconds * pace))


def _jobs(path: str | os.PathLike[str]) -> Iterator[Job]:
    with Text(path) as text:
        names = csv_header(text, separator_of(text))
        lines = _csv_rows(text) if {"model", "submit"} & set(names) else _trace_rows(text)
        for count, job in enumerate(lines):
            if count >= MOST_JOBS:
                text.fail(f"has more than {MOST_JOBS} jobs", "give limit")
            if job.gpus < 1:
                text.bad("gpus", job.gpus, "expected at least 1")
            if not 1 / PPM <= job.weight <= PPM:
                text.bad("weight", job.weight, f"expected between {1 / PPM:g} and {PPM}")
            yield job


def _trace_rows(text: Text) -> Iterator[Job]:
    """Yield the lines of a trace of Gavel or Shockwave."""
    for line in text.lines():
        if line.isspace():
            continue
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) not in _LAYOUTS:
            text.fail(
                f"has {len(fields)} fields: a trace of Gavel has 7 or 10, one of Shockwave 12, separated by tabs",
                "give such a trace, or a CSV file with the columns model, submit, gpus and steps",
            )
        model, steps, gpus, weight, submit, mode = (None if at is None else fields[at] for at in _LAYOUTS[len(fields)])
        if mode is not None and mode not in MODES:
            text.bad("mode", mode, f"expected one of {', '.join(MODES)}")
        yield Job(
            text.label("model", model),
            _parse_seconds(text, "arrival", submit or ""),
            text.whole("scale factor", gpus or ""),
            _parse_count(text, "steps", steps or ""),
            0.0,
            1.0 if weight is None else _parse_seconds(text, "weight", weight),
            f"{text.name}, line {text.line}",
            mode or "",
        )


def _csv_rows(text: Text) -> Iterator[Job]:
    """Yield the rows of an own log."""
    separator = separator_of(text)
    names = csv_header(text, separator)
    amount = "steps" if "steps" in names else "duration"
    columns = ["model", "submit", "gpus", amount, *(["weight"] if "weight" in names else [])]
    lacks = dict.fromkeys(columns, "give the columns model, submit, gpus, and steps or duration")
    for model, submit, gpus, much, *weight in csv_rows(text, columns, lacks, separator):
        seconds = _parse_seconds(text, "duration", much) if amount == "duration" else 0.0
        if amount == "duration" and not seconds:
            text.bad("duration", much, "expected above 0")
        yield Job(
            text.label("model", model),
            _parse_seconds(text, "submit", submit),
            text.whole("gpus", gpus),
            _parse_count(text, "steps", much) if amount == "steps" else 0,
            seconds,
            _parse_seconds(text, "weight", weight[0]) if weight else 1.0,
            f"{text.name}, line {text.line}",
        )


def _parse_count(text: Text, column: str, value: str) -> int:
    count = text.whole(column, value)
    if count < 1:
        text.bad(column, value, "expected at least 1")
    return count


def _parse_seconds(text: Text, column: str, value: str) -> float:
    """Parse a number >= 0, finer than `Text.milliseconds`."""
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < EXACT / MICRO:
        text.bad(column, value, "expected a number >= 0")
    return seconds
