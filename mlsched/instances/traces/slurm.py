"""Slurm's accounting: the output of `sacct --parsable2`.

    sacct --allusers --parsable2 --starttime=2024-01-01 \\
          --format=JobID,User,Account,Submit,Start,End,ElapsedRaw,Timelimit,AllocTRES,State > jobs.txt

Columns are those of sacct's manual (slurm.schedmd.com/sacct.html), in any order, separated by "|". JobID (or JobIDRaw)
and Submit are needed; Elapsed, ElapsedRaw, or Start and End; and AllocTRES, ReqTRES, AllocGRES or ReqGRES, without
which jobs are CPU jobs by AllocCPUS or NCPUS. The number of nodes is read from NNodes, AllocNodes or the TRES (node=2).
Job steps ("12.batch") are left out. With `--duplicates`, a requeued job has one line per run; it is one job of several
runs, with the status of its last run. The components of a heterogeneous job ("12+0", "12+1") are one job.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Any

from mlsched.instances.traces.builder import DATES, KINDS, NUMBERS, Run, TraceBuilder
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.hostlist import nodes_of
from mlsched.instances.traces.pods import job_of_pods
from mlsched.instances.traces.slurm_resources import Resources, resources_of
from mlsched.instances.traces.source import Text, shown
from mlsched.instances.traces.trace import ABSENT, UNKNOWN, Place, Tasks
from mlsched.instances.traces.values import TIMES, Times, is_missing

#: Columns that give the GPUs, the best first.
_GPUS = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
MOST_GPUS = 10**6
#: Columns that give the CPUs, before the TRES.
_CPUS = ("AllocCPUS", "NCPUS")
#: Entries in a column of time limits that mean the absence of a limit.
_NO_LIMIT = frozenset({"UNLIMITED", "Partition_Limit", "INVALID"})
#: States of jobs that had not ended.
_UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "CONFIGURING", "COMPLETING")
#: States of runs after which a job may have another.
_AGAIN = ("REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL")
#: A requeued job is submitted again when its run ends, at most this much later (ms).
_REQUEUED_WITHIN = 5 * TIMES["min"]
#: Columns that are read if present.
_READ = (
    *("Cluster", "JobID", "JobIDRaw", "Submit", "Eligible", "Start", "End", "Elapsed", "ElapsedRaw"),
    *("Timelimit", "TimelimitRaw", "State", "User", "Account", "Partition", "QOS", "Priority", "NNodes", "AllocNodes"),
    *("NodeList", "Restarts", *_CPUS, "ReqCPUS", *_GPUS),
)
#: Names of these columns in lower case, since sacct prints them as requested.
_CANONICAL = {name.lower(): name for name in _READ}
_UNITS = {"K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "": 2.0**-20}
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)")


def is_sacct(head: str) -> bool:
    """Check that the first line is the header of `sacct --parsable2`."""
    names = set(head.strip().lower().split("|"))
    return "submit" in names and bool(names & {"jobid", "jobidraw"})


def read_sacct(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs: run time = elapsed time, GPUs and CPUs = the allocation, else the request."""
    lines = text.lines()
    header = [_CANONICAL.get(name.lower(), name) for name in next(lines).rstrip("\r\n").split("|")]
    _check_header(text, header, jobs)
    names = ("Submit", "Eligible", "Start", "End")
    times = {name: Times(name) for name in names}
    times |= {name: Times(name, span=True) for name in ("Elapsed", "ElapsedRaw", "Timelimit")}
    times["TimelimitRaw"] = Times("TimelimitRaw", TIMES["min"], span=True)
    name_column = "JobID" if "JobID" in header else "JobIDRaw"
    jobs.unread = tuple(name for name in header if name not in _READ)
    reader = _Reader(text, times, jobs)
    for line in lines:
        values = line.rstrip("\r\n").split("|")
        if values == [""]:
            continue
        if len(values) != len(header):
            text.fail(
                f"has {len(values)} fields, expected {len(header)}, as the header has",
                'leave out columns of free text that may contain "|" (JobName, Comment)',
            )
        row = dict(zip(header, values, strict=True))
        if (cluster := row.get("Cluster", "")) and not _of_cluster(text, cluster, jobs):
            continue
        if "." in row[name_column]:
            jobs.join("job steps")
            continue
        reader.take(row[name_column], row)
        if jobs.full:
            break
    reader.end()
    jobs.clock = KINDS.get(times["Submit"].kind, NUMBERS)
    if jobs.clock == DATES:
        jobs.notes.append("Times have no zone.")


def _check_header(text: Text, header: list[str], jobs: TraceBuilder) -> None:
    if len(set(header)) != len(header):
        text.fail("the header has a column twice", "name each column once in --format")
    if not {"Elapsed", "ElapsedRaw"} & set(header) and not {"Start", "End"} <= set(header):
        text.fail("column 'Elapsed' is missing in the header", "add ElapsedRaw, or Start and End, to sacct's --format")
    if jobs.options.log_cluster and "Cluster" not in header:
        text.fail(
            "column 'Cluster' is missing in the header", "leave out log_cluster, or add Cluster to sacct's --format"
        )
    if not set(_GPUS) & set(header):
        if not set(_CPUS) & set(header):
            text.fail(
                "column 'AllocTRES' is missing in the header", "add AllocTRES to sacct's --format, which has the GPUs"
            )
        jobs.notes.append("The log has no column of GPUs (AllocTRES): its jobs are CPU jobs.")


def _of_cluster(text: Text, cluster: str, jobs: TraceBuilder) -> bool:
    """Check that a row is of the selected cluster; a second cluster is rejected without a selection."""
    if not jobs.cluster:
        jobs.cluster = cluster
    elif cluster != jobs.cluster:
        if not jobs.options.log_cluster:
            text.fail(
                f"the log has several clusters ({shown(jobs.cluster, 20)}, {shown(cluster, 20)})",
                f"choose one with --set log_cluster={jobs.cluster}",
            )
        jobs.drop("of another cluster")
        return False
    return True


@dataclasses.dataclass
class _Job:
    """A job according to its rows so far: its values, its runs, and the place of the row."""

    submit: int
    state: str
    details: dict[str, Any]
    runs: list[Run]
    length: int
    where: str

    def goes_on(self, user: str, submit: int | None) -> bool:
        """Check that a row of the same id is a further run: same user, submitted with it or when its run ended."""
        if submit is None or user != self.details["user"]:
            return False
        end = self.runs[-1][1] if self.runs else self.submit
        return submit == self.submit or 0 <= submit - end <= _REQUEUED_WITHIN


class _Reader:
    """Turns rows of sacct into jobs; a job that may run again waits for its next row, a component for the others."""

    def __init__(self, text: Text, times: Mapping[str, Times], jobs: TraceBuilder) -> None:
        self.text, self.times, self.jobs = text, times, jobs
        self.waiting: dict[str, _Job] = {}  # jobs whose last row allows a further run
        self.components: dict[tuple[str, str, int], list[_Job]] = {}  # by id, user and submit

    def _first_known_time(self, row: Mapping[str, str], *names: str) -> int | None:
        """Return the time in the first of these columns that is there and known."""
        for name in names:
            value = row.get(name, "")
            if value and value not in _NO_LIMIT and not is_missing(value):
                return self.times[name].read(self.text, value)
        return None

    def take(self, name: str, row: Mapping[str, str]) -> None:
        """Add the job of a row, or count the reason why it is left out."""
        jobs = self.jobs
        state = row.get("State", "").split(" ")[0].rstrip("+")  # "CANCELLED by 1000"
        submit, run = self._first_known_time(row, "Submit"), self._first_known_time(row, "ElapsedRaw", "Elapsed")
        start, end = self._first_known_time(row, "Start"), self._first_known_time(row, "End")
        earlier = self.waiting.pop(name, None)
        if earlier is not None and not earlier.goes_on(row.get("User", "").strip(), submit):
            self._finish_job(name, earlier)
            earlier = None
        if earlier is not None:
            jobs.join("earlier runs of a job that was requeued", earlier.where)
        open_end = state in _UNFINISHED and state not in _AGAIN
        if start is not None and end is not None and end < start and not open_end:
            jobs.drop("ends before it starts")
            return
        if run is None and start is not None and end is not None:
            run = end - start
        if submit is None or open_end or run is None or (not run and state not in _AGAIN):
            why = "never ran" if not open_end else "not finished"
            jobs.drop("no submit time" if submit is None else why)
            return
        job = self._job_of_row(row, submit, state, run, start)
        if job is None:
            jobs.drop("asks for no GPU and no CPU")
            return
        if start is not None and end is not None and abs(end - start - run) > TIMES["s"]:
            jobs.change("elapsed time is not End - Start: the elapsed time counts")
        if earlier is not None:
            job.submit, job.runs, job.length = earlier.submit, earlier.runs + job.runs, earlier.length + job.length
            job.details["eligible_ms"] = earlier.details["eligible_ms"]  # the last row's is that of the last run
            for amount in ("gpu_count", "gpus_milli"):
                job.details[amount] = max(earlier.details[amount], job.details[amount])
        elif (row.get("Restarts") or "0") != "0" and state not in _AGAIN:
            jobs.change("ran before: only its last run is in the log (sacct --duplicates prints all)")
        if state in _AGAIN:
            self.waiting[name] = job
        else:
            self._add_job(name, job)

    def end(self) -> None:
        """Finish all jobs at the end of the log: waiting jobs have ended, unless requeued."""
        waiting, self.waiting = self.waiting, {}
        for name, job in waiting.items():
            if self.jobs.full:
                return
            self._finish_job(name, job)
        for (name, _, _), parts in self.components.items():
            if self.jobs.full:
                return
            for part in parts[1:]:
                self.jobs.join("further components of a heterogeneous job", part.where)
            whole = job_of_pods(name, [self._builder_arguments(name, part) for part in parts])
            times = {"submit": self.jobs.seconds(whole["submit"]), "runs": _together(whole["runs"])}
            counts = [part.details["node_count"] for part in parts]
            self.jobs.add(**{**whole, **times, "node_count": UNKNOWN if UNKNOWN in counts else sum(counts)})

    def _finish_job(self, name: str, job: _Job) -> None:
        """Add a job that might have run again and did not, unless it was requeued."""
        if job.state == "REQUEUED" or not job.length:
            self.jobs.drop("not finished" if job.state == "REQUEUED" else "never ran", job.where)
        else:
            self._add_job(name, job)

    def _add_job(self, name: str, job: _Job) -> None:
        if job.runs and job.runs[0][0] < job.submit:
            self.jobs.change("starts before it is submitted")
        base, plus, _ = name.partition("+")
        if plus:
            job.details["tasks"] = _tasks_of_component(job.details)
            job.runs = [(start, end, _places_of_component(places, job.details)) for start, end, places in job.runs]
            self.components.setdefault((base, job.details["user"], job.submit), []).append(job)
            return
        columns = self._builder_arguments(name, job)
        self.jobs.add(**{**columns, "submit": self.jobs.seconds(job.submit)})

    def _builder_arguments(self, name: str, job: _Job) -> dict[str, Any]:
        """Return the arguments of `TraceBuilder.add`, the submit in ms."""
        label = self.text.label("JobID", name)
        return {"job": label, "submit": job.submit, "duration_ms": job.length, "runs": job.runs, **job.details}

    def _job_of_row(self, row: Mapping[str, str], submit: int, state: str, run: int, start: int | None) -> _Job | None:
        """Return the job of a row; None if it has neither GPUs nor CPUs."""
        text = self.text
        tres = resources_of(row.get("AllocTRES") or row.get("ReqTRES") or "")
        limit, eligible = (
            self._first_known_time(row, "TimelimitRaw", "Timelimit"),
            self._first_known_time(row, "Eligible"),
        )
        cpus = row.get("AllocCPUS") or row.get("NCPUS") or tres.cpus or row.get("ReqCPUS", "")
        devices, milli = self._requested_gpus(row)
        if not devices and not cpus:
            return None
        priority = row.get("Priority", "")
        details = {
            "gpu_count": devices,
            "gpus_milli": milli,
            "cpu_milli": 1000 * text.whole("CPUs", cpus) if cpus else UNKNOWN,
            "memory_mib": _memory_in_mib(text, tres.memory),
            "group": text.label("Account", row.get("Account", ""), empty=True),
            "status": text.label("State", row.get("State", ""), empty=True),
            "user": text.label("User", row.get("User", ""), empty=True),
            "partition": text.label("Partition", row.get("Partition", ""), empty=True),
            "qos": text.label("QOS", row.get("QOS", ""), empty=True),
            "gpu_type": _requested_gpu_model(row),
            "priority": ABSENT if is_missing(priority) else text.whole("Priority", priority),
            "eligible_ms": ABSENT if eligible is None else eligible,
            "time_limit_ms": UNKNOWN if limit is None else limit,
            "node_count": _number_of_nodes(text, row, tres.nodes),
        }
        runs = [] if start is None or not run else [(start, start + run, _nodes_of_run(row.get("NodeList", ""), milli))]
        return _Job(submit, state, details, runs, run, text.where)

    def _requested_gpus(self, row: Mapping[str, str]) -> tuple[int, int]:
        """Return the GPUs of a job over all its nodes, each complete or in part, and the same in thousandths.

        Reports resources that do not count: shares of unknown size, and everything but GPUs.
        """
        text, jobs = self.text, self.jobs
        column = next((name for name in _GPUS if row.get(name)), "")
        if not column:
            return 0, 0
        parsed_resources: Resources = resources_of(row[column])
        for name in parsed_resources.others:
            jobs.change(f"gres/{name} does not count" if " " not in name else "a generic resource does not count")
        each = 1 if column.endswith("TRES") else text.whole("NNodes", row.get("NNodes") or row.get("AllocNodes") or "1")
        devices, milli = parsed_resources.devices * each, parsed_resources.milli * each
        if parsed_resources.shards and jobs.options.log_shards:
            milli += -(-1000 * parsed_resources.shards * each // jobs.options.log_shards)
            devices += -(-parsed_resources.shards * each // jobs.options.log_shards)
        elif parsed_resources.shards:
            jobs.change("gres/shard does not count (--set log_shards=N: N shards are a GPU)")
        if devices > MOST_GPUS:
            text.bad(column, row[column], f"expected at most {MOST_GPUS} GPUs")
        if milli > 1000 and milli % 1000:
            milli += 1000 - milli % 1000
            jobs.change("slices of several GPUs rounded up to complete GPUs")
        return devices, milli


def _tasks_of_component(details: Mapping[str, Any]) -> Tasks:
    """Return the resources of a component on each of its nodes, divided as evenly as possible."""
    count = max(details["node_count"], 1)
    cpus, memory = (-(-max(details[name], 0) // count) for name in ("cpu_milli", "memory_mib"))
    gpus, rest = divmod(details["gpus_milli"] // 1000, count)
    part = details["gpus_milli"] % 1000
    shares = [1000 * (gpus + (node < rest)) + (part if node == count - 1 else 0) for node in range(count)]
    return tuple((cpus, memory, share) for share in shares)


def _places_of_component(places: tuple[Place, ...], details: Mapping[str, Any]) -> tuple[Place, ...]:
    """Return the places of a component with its own GPUs, which are fewer than its job's."""
    if places and all(share != UNKNOWN for _, share in places):
        return places
    return (("", details["gpus_milli"]),)


def _together(runs: list[Run]) -> list[Run]:
    """Merge the runs of components into runs of their job: runs of equal start and end are one."""
    places_of: dict[tuple[int, int], tuple[Place, ...]] = {}
    for start, end, places in runs:
        places_of[start, end] = (*places_of.get((start, end), ()), *places)
    return [(start, end, places) for (start, end), places in places_of.items()]


@functools.lru_cache(maxsize=10_000)
def _nodes_of_run(listed: str, milli: int) -> tuple[Place, ...]:
    """Return the nodes of a run; its GPUs are shared among them evenly, if they can be."""
    names = None if is_missing(listed) or listed == "None assigned" else nodes_of(listed)
    if not names:
        return ()
    whole = len(names) == 1 or milli % (1000 * len(names)) == 0
    return tuple((name, milli // len(names) if whole else UNKNOWN) for name in names)


def _requested_gpu_model(row: Mapping[str, str]) -> str:
    """Return the model of the GPUs that a job requested; '' for several."""
    types = resources_of(row.get("ReqTRES") or row.get("ReqGRES") or "").types
    return next(iter(types)) if len(types) == 1 else ""


def _number_of_nodes(text: Text, row: Mapping[str, str], tres: str) -> int:
    """Return the number of nodes of a job; -1 if it is unknown."""
    for column, value in (("NNodes", row.get("NNodes")), ("AllocNodes", row.get("AllocNodes")), ("node", tres)):
        if value and value != "0":
            return text.whole(column, value)
    return UNKNOWN


def _memory_in_mib(text: Text, value: str) -> int:
    """Return the MiB of "64G"; -1 of an empty text."""
    if not value:
        return UNKNOWN
    match = _MEMORY.fullmatch(value)
    if not match:
        text.bad("mem", value, "expected an amount such as 64G")
    return round(float(match[1]) * _UNITS[match[2]])


FORMAT = TraceFormat(name="sacct", columns=(), read=read_sacct, notes=())
