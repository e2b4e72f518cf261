"""Slurm's accounting: what `sacct --parsable2` prints.

    sacct --allusers --parsable2 --starttime=2024-01-01 \\
          --format=JobID,User,Account,Submit,Start,End,ElapsedRaw,Timelimit,AllocTRES,State > jobs.txt

Columns are those of sacct's manual (slurm.schedmd.com/sacct.html), in any order, separated by "|". Submit is needed;
Elapsed, ElapsedRaw, or Start and End; and AllocTRES, ReqTRES, AllocGRES or ReqGRES. On how many nodes a job was is
read from NNodes, AllocNodes or the TRES (node=2). Job steps ("12.batch") are no jobs. With `--duplicates`, a job that
was requeued has a line a run, the last of which says how it ended; it is one job of several runs.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Any

from mlsched.instances.traces.builder import DATES, Run, TraceBuilder
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.hostlist import nodes_of
from mlsched.instances.traces.source import Text
from mlsched.instances.traces.trace import ABSENT, UNKNOWN, Place
from mlsched.instances.traces.values import TIMES, Times, is_missing

#: Columns that give the GPUs, the best first.
_GPUS = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
MOST_GPUS = 10**6
#: What stands in a column of time limits where there is none.
_NO_LIMIT = frozenset({"UNLIMITED", "Partition_Limit", "INVALID"})
#: States of jobs that had not ended.
_UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "CONFIGURING", "COMPLETING")
#: States of runs after which a job may have another.
_AGAIN = ("REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL")
#: Columns that are read where they are there.
_READ = (
    *("JobID", "Submit", "Eligible", "Start", "End", "Elapsed", "ElapsedRaw", "Timelimit", "TimelimitRaw", "State"),
    *("User", "Account", "Partition", "QOS", "Priority", "AllocCPUS", "NCPUS", "NNodes", "AllocNodes", "NodeList"),
    *("Restarts", *_GPUS),
)
_UNITS = {"K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "": 2.0**-20}
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)")
#: A generic resource: gpu:4, gpu:v100:4, gpu:4(S:0-1); of a TRES: gres/gpu=4.
_GRES = re.compile(r"(?:gres/)?gpu(?::[^:=,()]+)?[:=]([0-9]+)(?:\(.*\))?")

#: The model in it: gres/gpu:v100=4, gpu:v100:4.
_TYPED = re.compile(r"(?:gres/)?gpu:([A-Za-z][^:=,()]*)[:=][0-9]+(?:\(.*\))?")


def is_sacct(head: str) -> bool:
    """Whether the first line is the header of `sacct --parsable2`."""
    return "|" in head and {"JobID", "Submit"} <= set(head.strip().split("|"))


def read_sacct(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs: run time = elapsed time, GPUs and CPUs = what was allocated, else what was asked for."""
    lines = text.lines()
    header = next(lines).rstrip("\r\n").split("|")
    _check(text, header)
    times = {
        "Submit": Times("Submit"),
        "Eligible": Times("Eligible"),
        "Start": Times("Start"),
        "End": Times("End"),
        "Elapsed": Times("Elapsed", span=True),
        "ElapsedRaw": Times("ElapsedRaw", span=True),
        "Timelimit": Times("Timelimit", span=True),
        "TimelimitRaw": Times("TimelimitRaw", TIMES["min"], span=True),
    }
    jobs.unread = tuple(name for name in header if name not in _READ)
    jobs.clock = DATES
    reader = _Reader(text, times, jobs)
    for line in lines:
        values = line.rstrip("\r\n").split("|")
        if values == [""]:
            continue
        if len(values) != len(header):
            text.fail(
                f"has {len(values)} fields: must have {len(header)}, as the header has",
                'leave out columns of free text that may hold "|" (JobName, Comment)',
            )
        row = dict(zip(header, values, strict=True))
        if "." in row["JobID"]:
            jobs.join("job steps")
            continue
        reader.take(row)
        if jobs.full:
            break
    reader.end()


def _check(text: Text, header: list[str]) -> None:
    if len(set(header)) != len(header):
        text.fail("the header has a column twice", "name each column once in --format")
    if not {"Elapsed", "ElapsedRaw"} & set(header) and not {"Start", "End"} <= set(header):
        text.fail("the header has no column 'Elapsed'", "add ElapsedRaw, or Start and End, to sacct's --format")
    if not set(_GPUS) & set(header):
        text.fail("the header has no column 'AllocTRES'", "add AllocTRES to sacct's --format, which holds the GPUs")


@dataclasses.dataclass
class _Job:
    """A job as its rows so far say: what is added, its runs, and where the row is."""

    submit: int
    gpus: int
    state: str
    details: dict[str, Any]
    runs: list[Run]
    length: int
    where: str


class _Reader:
    """Turns rows of sacct into jobs; a job that may run again waits for its next row."""

    def __init__(self, text: Text, times: Mapping[str, Times], jobs: TraceBuilder) -> None:
        self.text, self.times, self.jobs = text, times, jobs
        self.waiting: dict[str, _Job] = {}  # jobs whose last row says that they may run again

    def _time(self, row: Mapping[str, str], *names: str) -> int | None:
        """The first of these columns that is there and known."""
        for name in names:
            value = row.get(name, "")
            if value and value not in _NO_LIMIT and not is_missing(value):
                return self.times[name].read(self.text, value)
        return None

    def take(self, row: Mapping[str, str]) -> None:
        """Add the job of a row, or count why it is none."""
        text, jobs = self.text, self.jobs
        state = row.get("State", "").split(" ")[0].rstrip("+")  # "CANCELLED by 1000"
        submit, run = self._time(row, "Submit"), self._time(row, "ElapsedRaw", "Elapsed")
        start, end = self._time(row, "Start"), self._time(row, "End")
        if run is None and start is not None and end is not None:
            run = end - start
            if run < 0:
                text.bad("End", row["End"], f"is before Start = {row['Start']}")
        name = row["JobID"]
        earlier = self.waiting.pop(name, None)
        if earlier is not None:
            jobs.join("earlier runs of a job that was requeued", earlier.where)
        open_end = state in _UNFINISHED and state not in _AGAIN
        if submit is None or open_end or run is None or (not run and state not in _AGAIN):
            why = "never ran" if not open_end else "not finished"
            jobs.drop("no submit time" if submit is None else why)
            return
        job = self._job(row, submit, state, run, start)
        if job is None:
            jobs.drop("asks for no GPU and no CPU")
            return
        if earlier is not None:
            job.submit, job.runs = earlier.submit, earlier.runs + job.runs
            job.length, job.gpus = earlier.length + job.length, max(earlier.gpus, job.gpus)
        elif (row.get("Restarts") or "0") != "0" and state not in _AGAIN:
            jobs.change("ran before: only its last run is in the log (sacct --duplicates prints all)")
        if state in _AGAIN:
            self.waiting[name] = job
        else:
            self._add(name, job)

    def end(self) -> None:
        """No row follows: what waits to run again has ended, unless it was requeued."""
        waiting, self.waiting = self.waiting, {}
        for name, job in waiting.items():
            if self.jobs.full:
                return
            if job.state == "REQUEUED" or not job.length:
                self.jobs.drop("not finished" if job.state == "REQUEUED" else "never ran", job.where)
            else:
                self._add(name, job)

    def _add(self, name: str, job: _Job) -> None:
        if job.runs and job.runs[0][0] < job.submit:
            self.jobs.change("starts before it is submitted")
        submit = self.jobs.seconds(job.submit)
        self.jobs.add(self.text.label("JobID", name), submit, job.length, job.gpus, runs=job.runs, **job.details)

    def _job(self, row: Mapping[str, str], submit: int, state: str, run: int, start: int | None) -> _Job | None:
        """What a row says of its job; None where it asks for nothing."""
        text = self.text
        tres = dict(item.partition("=")[::2] for item in (row.get("AllocTRES") or row.get("ReqTRES") or "").split(","))
        limit, eligible = self._time(row, "TimelimitRaw", "Timelimit"), self._time(row, "Eligible")
        cpus = row.get("AllocCPUS") or row.get("NCPUS") or tres.get("cpu", "")
        gpus = _gpus(text, row)
        if not gpus and not cpus:
            return None
        priority = row.get("Priority", "")
        details = {
            "cpu_milli": 1000 * text.whole("CPUs", cpus) if cpus else UNKNOWN,
            "memory_mib": _memory(text, tres.get("mem", "")),
            "group": text.label("Account", row.get("Account", ""), empty=True),
            "status": text.label("State", row.get("State", ""), empty=True),
            "user": text.label("User", row.get("User", ""), empty=True),
            "partition": text.label("Partition", row.get("Partition", ""), empty=True),
            "qos": text.label("QOS", row.get("QOS", ""), empty=True),
            "gpu_type": _type(row),
            "priority": ABSENT if is_missing(priority) else text.whole("Priority", priority),
            "eligible_ms": ABSENT if eligible is None else eligible,
            "time_limit_ms": UNKNOWN if limit is None else limit,
            "node_count": _nodes(text, row, tres.get("node", "")),
        }
        runs = [] if start is None or not run else [(start, start + run, _places(row.get("NodeList", ""), gpus))]
        return _Job(submit, gpus, state, details, runs, run, text.where)


@functools.lru_cache(maxsize=10_000)
def _places(listed: str, gpus: int) -> tuple[Place, ...]:
    """The nodes of a run; its GPUs are shared among them evenly, if they can be."""
    names = None if is_missing(listed) or listed == "None assigned" else nodes_of(listed)
    if not names:
        return ()
    share = 1000 * gpus // len(names) if gpus % len(names) == 0 else UNKNOWN
    return tuple((name, share) for name in names)


def _type(row: Mapping[str, str]) -> str:
    """The model of the GPUs that a job asked for; '' where it asked for none or several."""
    asked = (row.get("ReqTRES") or row.get("ReqGRES") or "").split(",")
    types = {match[1] for item in asked if (match := _TYPED.fullmatch(item.strip()))}
    return types.pop() if len(types) == 1 else ""


def _gpus(text: Text, row: Mapping[str, str]) -> int:
    """GPUs of a job, over all its nodes; 0 where nothing says that it has some.

    A TRES lists the sum beside sums by model (gres/gpu=4,gres/gpu:v100=4); a GRES is that of a node.
    """
    column = next((name for name in _GPUS if row.get(name)), "")
    matches = [match for item in row.get(column, "").split(",") if (match := _GRES.fullmatch(item.strip()))]
    plain = [match for match in matches if match[0].startswith("gres/gpu=")]
    total = sum(text.whole(column, match[1]) for match in plain[:1] or matches)
    if not column.endswith("TRES"):
        total *= text.whole("NNodes", row.get("NNodes") or row.get("AllocNodes") or "1")
    if total > MOST_GPUS:
        text.bad(column, row[column], f"must be at most {MOST_GPUS} GPUs")
    return total


def _nodes(text: Text, row: Mapping[str, str], tres: str) -> int:
    """On how many nodes a job was; -1 where nothing says so."""
    for column, value in (("NNodes", row.get("NNodes")), ("AllocNodes", row.get("AllocNodes")), ("node", tres)):
        if value and value != "0":
            return text.whole(column, value)
    return UNKNOWN


def _memory(text: Text, value: str) -> int:
    """MiB of "64G"; -1 where there is none."""
    if not value:
        return UNKNOWN
    match = _MEMORY.fullmatch(value)
    if not match:
        text.bad("mem", value, "must be an amount such as 64G")
    return round(float(match[1]) * _UNITS[match[2]])


FORMAT = TraceFormat(name="sacct", columns=(), read=read_sacct, notes=("Times have no zone.",))
