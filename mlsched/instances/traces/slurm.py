"""Slurm's accounting: what `sacct --parsable2` prints.

    sacct --allusers --parsable2 --starttime=2024-01-01 \\
          --format=JobID,User,Account,Submit,Start,End,ElapsedRaw,Timelimit,AllocTRES,State > jobs.txt

Columns are those of sacct's manual (slurm.schedmd.com/sacct.html), in any order, separated by "|". Submit is needed;
Elapsed, ElapsedRaw, or Start and End; and AllocTRES, ReqTRES, AllocGRES or ReqGRES. On how many nodes a job was is
read from NNodes, AllocNodes or the TRES (node=2). Job steps ("12.batch") are no jobs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.source import Text
from mlsched.instances.traces.trace import UNKNOWN, TraceBuilder
from mlsched.instances.traces.values import TIMES, Times, is_missing

#: Columns that give the GPUs, the best first.
_GPUS = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
MOST_GPUS = 10**6
#: States of jobs that had not ended.
_UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "CONFIGURING", "COMPLETING")
_UNITS = {"K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "": 2.0**-20}
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)")
#: A generic resource: gpu:4, gpu:v100:4, gpu:4(S:0-1); of a TRES: gres/gpu=4.
_GRES = re.compile(r"(?:gres/)?gpu(?::[^:=,()]+)?[:=]([0-9]+)(?:\(.*\))?")


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
        "Start": Times("Start"),
        "End": Times("End"),
        "Elapsed": Times("Elapsed", span=True),
        "ElapsedRaw": Times("ElapsedRaw", span=True),
        "Timelimit": Times("Timelimit", span=True),
        "TimelimitRaw": Times("TimelimitRaw", TIMES["min"], span=True),
    }
    steps = 0
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
            steps += 1
            continue
        _add(text, row, times, jobs)
        if jobs.full:
            break
    if steps:
        jobs.notes.append(f"{steps} job steps are not read: their jobs are.")


def _check(text: Text, header: list[str]) -> None:
    if len(set(header)) != len(header):
        text.fail("the header has a column twice", "name each column once in --format")
    if not {"Elapsed", "ElapsedRaw"} & set(header) and not {"Start", "End"} <= set(header):
        text.fail("the header has no column 'Elapsed'", "add ElapsedRaw, or Start and End, to sacct's --format")
    if not set(_GPUS) & set(header):
        text.fail("the header has no column 'AllocTRES'", "add AllocTRES to sacct's --format, which holds the GPUs")


def _add(text: Text, row: Mapping[str, str], times: Mapping[str, Times], jobs: TraceBuilder) -> None:
    """Add one job, or count why it is none."""

    def time(*names: str) -> int | None:
        """The first of these columns that is there and known."""
        for name in names:
            value = row.get(name, "")
            if not is_missing(value) and value not in ("UNLIMITED", "Partition_Limit", "INVALID"):
                return times[name].read(text, value)
        return None

    state = row.get("State", "").split(" ")[0]  # "CANCELLED by 1000"
    submit, run = time("Submit"), time("ElapsedRaw", "Elapsed")
    start, end = time("Start"), time("End")
    if run is None and start is not None and end is not None:
        run = end - start
        if run < 0:
            text.bad("End", row["End"], f"is before Start = {row['Start']}")
    if submit is None or state in _UNFINISHED or run is None:
        jobs.drop("no submit time" if submit is None else "not finished" if state in _UNFINISHED else "never ran")
        return
    tres = dict(item.partition("=")[::2] for item in (row.get("AllocTRES") or row.get("ReqTRES") or "").split(","))
    limit = time("TimelimitRaw", "Timelimit")
    cpus = row.get("AllocCPUS") or row.get("NCPUS") or tres.get("cpu", "")
    gpus = _gpus(text, row)
    if not gpus and not cpus:
        jobs.drop("asks for no GPU and no CPU")
        return
    jobs.add(
        text.label("JobID", row["JobID"]),
        jobs.seconds(submit),
        run,
        gpus,
        cpu_milli=1000 * text.whole("CPUs", cpus) if cpus else UNKNOWN,
        memory_mib=_memory(text, tres.get("mem", "")),
        group=text.label("Account", row.get("Account", ""), empty=True),
        status=text.label("State", row.get("State", ""), empty=True),
        user=text.label("User", row.get("User", ""), empty=True),
        time_limit_ms=UNKNOWN if limit is None else limit,
        node_count=_nodes(text, row, tres.get("node", "")),
    )


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


FORMAT = TraceFormat(
    name="sacct",
    columns=(),
    read=read_sacct,
    notes=("Where jobs ran is not read: it is the scheduler's to decide. Times have no zone.",),
)
