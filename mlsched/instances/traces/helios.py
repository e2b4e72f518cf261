"""SenseTime Helios: the original job log of a cluster, and the GPU jobs of Venus reduced to four columns.

Source: github.com/S-Lab-System-Group/HeliosData (CC-BY-4.0); Hu et al., "Characterization and Prediction of Deep
Learning Workloads in Large-Scale GPU Datacenters", SC 2021. The reduction: mystous/gpu_scheduler, sim/helios_trace.csv.
Times are seconds; the original log's are wall-clock times without zone.
"""

from __future__ import annotations

from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.source import Text, csv_header, csv_rows
from mlsched.instances.traces.trace import UNKNOWN, TraceBuilder

REDUCED_COLUMNS = ("job_id", "arrival_s", "service_sec", "gpu_count")
ORIGINAL_COLUMNS = ("job_id", "vc", "gpu_num", "cpu_num", "state", "submit_time", "start_time", "end_time", "duration")

CLAMP_MS = 172_800_000
"""The reduction cuts longer run times to these 48 h."""
_UNFINISHED = ("RUNNING", "SUSPENDED", "PENDING")
_NO_TIME = ("", "None", "NaN", "nan", "NaT")


def read_reduced(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs of the reduced log: arrival and run time in s, whole GPUs."""
    clamped = 0
    for job, arrival, service, gpus in csv_rows(text, REDUCED_COLUMNS, {}):
        duration_ms = text.milliseconds("service_sec", service)
        clamped += duration_ms == CLAMP_MS
        jobs.add(
            text.label("job_id", job),
            jobs.seconds(text.milliseconds("arrival_s", arrival)),
            duration_ms,
            text.whole("gpu_count", gpus),
        )
        if jobs.full:
            break
    if clamped:
        jobs.notes.append(f"{clamped} run times are exactly 48 h: the file cuts longer ones to that.")


def read_original(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs of an original log, CPU jobs (gpu_num = 0) included; run time = `duration` = end - start."""
    more = [name for name in ("user", "node_num") if name in csv_header(text)]
    for job, vc, gpu_num, cpu_num, state, submitted, started, ended, duration, *others in csv_rows(
        text, (*ORIGINAL_COLUMNS, *more), {}
    ):
        of_more = dict(zip(more, others, strict=True))
        name = text.label("job_id", job)
        gpus, cpus = text.whole("gpu_num", gpu_num), text.whole("cpu_num", cpu_num)
        group, status = text.label("vc", vc, empty=True), text.label("state", state)
        submit = text.timestamp("submit_time", submitted)
        if status in _UNFINISHED:
            jobs.drop("not finished")
            continue
        if started in _NO_TIME or ended in _NO_TIME:
            jobs.drop("never started" if started in _NO_TIME else "no end time")
            continue
        run_ms = _run_ms(text, submit, started, ended, duration)
        jobs.add(
            name,
            submit,
            run_ms,
            gpus,
            cpu_milli=1000 * cpus,
            group=group,
            status=status,
            user=text.label("user", of_more.get("user", ""), empty=True),
            node_count=text.whole("node_num", of_more.get("node_num", "0")) or UNKNOWN,
        )
        if jobs.full:
            break


def _run_ms(text: Text, submit: int, started: str, ended: str, duration: str) -> int:
    """The run time in ms; by HeliosData's README `duration` is end_time - start_time, so one that is not is bad."""
    start, end = text.timestamp("start_time", started), text.timestamp("end_time", ended)
    run_ms = text.milliseconds("duration", duration)
    if start < submit:
        text.bad("start_time", started, "must not be before submit_time")
    if end < start:
        text.bad("end_time", ended, f"must not be before start_time = {started}")
    if run_ms != 1000 * (end - start):
        text.bad("duration", duration, f"must be end_time - start_time = {end - start} s")
    return run_ms


REDUCED_FORMAT = TraceFormat(
    name="helios-csv",
    columns=REDUCED_COLUMNS,
    read=read_reduced,
    notes=("The trace has no user, group, status, CPU or memory, and its first arrivals are days apart.",),
)
ORIGINAL_FORMAT = TraceFormat(
    name="helios-original",
    columns=ORIGINAL_COLUMNS,
    read=read_original,
    notes=("The trace has no memory; its CPU jobs hold no GPU (gpu_count = 0).",),
)
