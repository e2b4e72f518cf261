"""Standard Workload Format: the job logs of the Parallel Workloads Archive (www.cs.huji.ac.il/labs/parallel/workload).

Feitelson et al., "Experience with Using the Parallel Workloads Archive", JPDC 2014, and the archive's definition of
version 2.2: one line per job, 18 integer or decimal numbers, -1 for unknown values, comments after ";". Times are
seconds. The logs count processors, without GPUs: a job of n processors is assumed to request n CPUs.
"""

from __future__ import annotations

import re

from mlsched.instances.traces.builder import TraceBuilder
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.source import Text
from mlsched.instances.traces.trace import UNKNOWN
from mlsched.instances.traces.values import number

FIELDS = (
    *("job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory"),
    *("requested processors", "requested time", "requested memory", "status", "user", "group", "executable"),
    *("queue", "partition", "preceding job", "think time"),
)
#: Statuses: cancelled, and a part of a job that has a line for the complete job.
CANCELLED, PARTIAL = "5", ("2", "3", "4")
_HEADER = re.compile(r";\s*(MaxNodes|MaxProcs):\s*([0-9]+)")


def is_swf(head: str) -> bool:
    """Check that the first line is a comment, or 18 numbers."""
    values = head.split()
    return head.startswith(";") or (
        len(values) == len(FIELDS) and all(re.fullmatch(r"-?[0-9.]+", value) for value in values)
    )


def read_swf(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs: allocated processors, else the requested number; the requested time is the user's limit."""
    size: dict[str, str] = {}
    after = 0
    for line in text.lines():
        if line.startswith(";"):
            if match := _HEADER.match(line):
                size[match[1]] = match[2]
            continue
        values = line.split()
        if not values:
            continue
        if len(values) != len(FIELDS):
            text.fail(f"has {len(values)} fields, expected {len(FIELDS)}", "give a file of format version 2")
        after += values[16] != "-1"
        _add_job(text, values, jobs)
        if jobs.full:
            break
    if size:
        sizes = " and ".join(f"{name} {count}" for name, count in size.items())
        jobs.notes.append(f"The file says of its machine: {sizes}.")
    if after:
        jobs.notes.append(f"{after} jobs were submitted after an earlier one: their submit times are kept as they are.")


def _add_job(text: Text, values: list[str], jobs: TraceBuilder) -> None:
    """Add one job, or count the reason to skip it."""

    def field(index: int) -> float:
        """Return a number >= 0, or -1."""
        value = values[index]
        return -1.0 if value in ("-1", "-1.0", "-1.00") else number(text, FIELDS[index], value, "a number")

    def label(index: int) -> str:
        return "" if values[index] == "-1" else values[index]

    if values[10] in PARTIAL:
        jobs.join("partial executions of a job that has a line for the whole")
        return
    submit, wait, run, limit = field(1), field(2), field(3), field(8)
    processors = int(max(field(4), 0) or max(field(7), 0))
    if submit < 0 or run <= 0 or not processors:
        cancelled = "cancelled before it ran" if values[10] == CANCELLED and run <= 0 else ""
        no_run = "no run time" if run < 0 else "zero run time"
        jobs.drop("no submit time" if submit < 0 else cancelled or (no_run if run <= 0 else "no processors"))
        return
    for index, value in ((1, submit), (2, wait), (3, run), (8, limit), (4, processors)):
        if value >= 10**11:
            text.bad(FIELDS[index], values[index], "expected below 10^11")
    start = round(1000 * (submit + wait))
    jobs.add(
        values[0],
        int(submit),
        round(1000 * run),
        0,
        cpu_milli=1000 * processors,
        user=label(11),
        group=label(12),
        partition=label(15) or label(14),
        after=label(16),
        status=values[10],
        time_limit_ms=UNKNOWN if limit <= 0 else round(1000 * limit),
        runs=[] if wait < 0 else [(start, start + round(1000 * run), ())],
    )


FORMAT = TraceFormat(
    name="swf",
    columns=(),
    read=read_swf,
    notes=("The log is of processors, without GPUs: each is taken for a CPU. Memory is not read.",),
)
