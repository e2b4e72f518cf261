"""Alibaba cluster-trace-gpu-v2023 ("openb"): pods with fractional GPUs, and the nodes they run on.

Source: github.com/alibaba/clusterdata, cluster-trace-gpu-v2023, and its copy (Apache-2.0) in
hkust-adsl/kubernetes-scheduler-simulator; Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent", USENIX ATC 2023. Times are seconds from the start of the trace.
"""

from __future__ import annotations

import numpy as np

from mlsched.instances.traces.builder import TraceBuilder
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.source import Text, csv_rows
from mlsched.instances.traces.trace import Nodes
from mlsched.instances.traces.values import lacking

POD_COLUMNS = (
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")

_NO_TIMES = "this variant of the pod list has no times and cannot be replayed; give one that has them"


def read_pods(text: Text, jobs: TraceBuilder) -> None:
    """Add the pods: submit = creation, run time = deletion - scheduling, GPUs = num_gpu x gpu_milli."""
    for row in csv_rows(text, POD_COLUMNS, POD_FORMAT.lacks):
        name, cpu, memory, num_gpu, gpu_milli, spec, qos, phase, created, deleted, scheduled = row
        reason = lacking(
            creation_time=created, number_of_cpus=cpu, memory=memory, number_of_gpus=num_gpu, share_of_a_gpu=gpu_milli
        )
        if reason:
            jobs.drop(reason)
            continue
        cpu_milli, memory_mib = text.whole("cpu_milli", cpu), text.whole("memory_mib", memory)
        gpus, share = _gpu_demand(text, num_gpu, gpu_milli)
        qos, phase = text.label("qos", qos, empty=True), text.label("pod_phase", phase, empty=True)
        submit, start, end = _times_of_pod(text, created, deleted, scheduled)
        if start is None or end is None:
            jobs.drop("never scheduled" if start is None else "no deletion time")
            continue
        if end < max(start, submit):
            jobs.drop("ends before it starts")
            continue
        if start < submit:
            jobs.change("starts before it is submitted")
        jobs.add(
            jobs.named(text.label("name", name, empty=True)),
            jobs.seconds(submit),
            end - start,
            gpus,
            gpus_milli=gpus * share,
            cpu_milli=cpu_milli,
            memory_mib=memory_mib,
            qos=qos,
            status=phase,
            node_count=1,
            gpu_type=text.label("gpu_spec", spec, empty=True),
            runs=[(start, end, ())],
        )
        if jobs.full:
            break


def _gpu_demand(text: Text, num_gpu: str, gpu_milli: str) -> tuple[int, int]:
    """Return the number of GPUs and the share of each in 1/1000; only a single GPU may be shared."""
    gpus, share = text.whole("num_gpu", num_gpu), text.whole("gpu_milli", gpu_milli)
    if gpus == 0 and share:
        text.bad("gpu_milli", gpu_milli, "expected 0 when num_gpu = 0")
    if gpus == 1 and not 1 <= share <= 1000:
        text.bad("gpu_milli", gpu_milli, "expected from 1 to 1000 when num_gpu = 1")
    if gpus > 1 and share != 1000:
        text.bad("gpu_milli", gpu_milli, f"expected 1000 when num_gpu = {gpus}")
    return gpus, share


def _times_of_pod(text: Text, created: str, deleted: str, scheduled: str) -> tuple[int, int | None, int | None]:
    """Return creation, scheduling and deletion in ms; the latter are None if they never happened."""
    submit = text.milliseconds("creation_time", created)
    start = None if lacking(time=scheduled) else text.milliseconds("scheduled_time", scheduled)
    end = None if lacking(time=deleted) else text.milliseconds("deletion_time", deleted)
    return submit, start, end


def read_node_list(text: Text) -> Nodes:
    """Read the nodes of a node list; a GPU node must name its model."""
    ids: dict[str, int] = {}
    cpus, memories, gpus, models = [], [], [], []
    for name, cpu, memory, gpu, model in csv_rows(text, NODE_COLUMNS, {}):
        node = text.label("sn", name)
        if node in ids:
            text.bad("sn", name, f"expected unique, and line {ids[node]} has it too")
        ids[node] = text.line
        cpus.append(text.whole("cpu_milli", cpu))
        memories.append(text.whole("memory_mib", memory))
        gpus.append(text.whole("gpu", gpu))
        models.append(text.label("model", model, empty=not gpus[-1]))
    if not ids:
        text.fail("rows below the header are missing", "give a file with nodes")
    return Nodes(
        ids=tuple(ids),
        cpu_milli=np.array(cpus, dtype=np.int64),
        memory_mib=np.array(memories, dtype=np.int64),
        gpus=np.array(gpus, dtype=np.int64),
        model=tuple(models),
        source=f"{text.name} (alibaba-v2023 nodes)",
    )


POD_FORMAT = TraceFormat(
    name="alibaba-v2023",
    columns=POD_COLUMNS,
    read=read_pods,
    notes=(
        "The trace has no user, group, iterations or loss.",
        "Replayed in real time it loads about 17 of its 6,212 GPUs: shrink the cluster to see queueing.",
        "The run time of a pod that was still running is cut at the end of the trace.",
    ),
    lacks=dict.fromkeys(("creation_time", "deletion_time", "scheduled_time"), _NO_TIMES),
)
