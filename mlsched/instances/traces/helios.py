"""SenseTime Helios: the original job log of a cluster, and the GPU jobs of Venus reduced to four columns.

Source: github.com/S-Lab-System-Group/HeliosData (CC-BY-4.0); Hu et al., "Characterization and Prediction of Deep
Learning Workloads in Large-Scale GPU Datacenters", SC 2021. The reduction: mystous/gpu_scheduler, sim/helios_trace.csv.
Times are seconds; the original log's are wall-clock times without zone.
"""

from __future__ import annotations

from mlsched.instances.traces.builder import DATES, TraceBuilder
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.source import Text, csv_header, csv_rows
from mlsched.instances.traces.trace import UNKNOWN
from mlsched.instances.traces.values import lacking

REDUCED_COLUMNS = ("job_id", "arrival_s", "service_sec", "gpu_count")
ORIGINAL_COLUMNS = ("job_id", "vc", "gpu_num", "cpu_num", "state", "submit_time", "start_time", "end_time", "duration")
OPTIONAL_COLUMNS = ("user", "node_num")

CLAMP_MS = 172_800_000
"""The reduction cuts longer run times to these 48 h."""
_UNFINISHED = ("RUNNING", "SUSPENDED", "PENDING")


def read_reduced(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs of the reduced log: arrival and run time in s, complete GPUs."""
    clamped = 0
    for job, arrival, service, gpus in csv_rows(text, REDUCED_COLUMNS, {}):
        if reason := lacking(submit_time=arrival, run_time=service, number_of_gpus=gpus):
            jobs.drop(reason)
            continue
        duration_ms = text.milliseconds("service_sec", service)
        clamped += duration_ms == CLAMP_MS
        jobs.add(
            jobs.named(text.label("job_id", job, empty=True)),
            jobs.seconds(text.milliseconds("arrival_s", arrival)),
            duration_ms,
            text.whole("gpu_count", gpus),
        )
        if jobs.full:
            break
    if clamped:
        jobs.notes.append(f"{clamped} run times are exactly 48 h: the file cuts longer ones to that.")


def read_original(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs of an original log, CPU jobs (gpu_num = 0) included; run time = end - start."""
    jobs.clock = DATES
    more = [name for name in OPTIONAL_COLUMNS if name in csv_header(text)]
    for job, vc, gpu_num, cpu_num, state, submitted, started, ended, duration, *others in csv_rows(
        text, (*ORIGINAL_COLUMNS, *more), {}
    ):
        of_more = dict(zip(more, others, strict=True))
        status = text.label("state", state, empty=True)
        if status in _UNFINISHED:
            jobs.drop("not finished")
            continue
        if reason := lacking(submit_time=submitted, number_of_gpus=gpu_num, number_of_cpus=cpu_num):
            jobs.drop(reason)
            continue
        if lacking(start=started) or lacking(end=ended):
            jobs.drop("never started" if lacking(start=started) else "no end time")
            continue
        submit, group = text.timestamp("submit_time", submitted), text.label("vc", vc, empty=True)
        start, end = text.timestamp("start_time", started), text.timestamp("end_time", ended)
        if end < start:
            jobs.drop("ends before it starts")
            continue
        if start < submit:
            jobs.change("starts before it is submitted")
        if not lacking(duration=duration) and text.milliseconds("duration", duration) != 1000 * (end - start):
            jobs.change("duration is not end_time - start_time: the times count")
        jobs.add(
            jobs.named(text.label("job_id", job, empty=True)),
            submit,
            1000 * (end - start),
            text.whole("gpu_num", gpu_num),
            cpu_milli=1000 * text.whole("cpu_num", cpu_num),
            group=group,
            partition=group,
            status=status,
            user=text.label("user", of_more.get("user", ""), empty=True),
            node_count=text.whole("node_num", of_more.get("node_num") or "0") or UNKNOWN,
            runs=[(1000 * start, 1000 * end, ())],
        )
        if jobs.full:
            break


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
    optional=OPTIONAL_COLUMNS,
    notes=("The trace has no memory; its CPU jobs hold no GPU (gpu_count = 0).",),
)
