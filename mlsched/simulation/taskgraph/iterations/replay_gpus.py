"""Part of the replay check on individual GPUs of a node (`gpu_unit`).

A task uses the GPUs of its node that it demands: one that it shares, or complete ones that it has exclusively; zero if
it demands zero or takes no time. On every GPU, at every time: the parts in use <= the unit. The module shares no code
with the engine and uses plain Python.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mlsched.simulation.findings import Findings
from mlsched.simulation.taskgraph.iterations.workload import Jobs

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.replay import Segment

#: Names of resources that count GPUs.
NAMES = ("gpu", "gpu_percent", "gpu_milli")


def check(jobs: Jobs, by_job: dict[int, list[Segment]], findings: Findings) -> None:
    """Report the violations on GPUs in these segments."""
    unit = jobs.gpu_unit
    if not unit:
        for job, segments in by_job.items():
            if any(any(s.gpus) for s in segments):
                findings.add("gpu", f"job {job}: holds GPUs by name: the GPUs of a node are one pool here")
        return
    column = next(r for r, name in enumerate(jobs.resources) if name in NAMES)
    capacity = [int(row[column]) // unit for row in jobs.node_capacity]
    gpus_needed = [int(row[column]) * (int(d) > 0) for row, d in zip(jobs.demand, jobs.duration, strict=True)]
    changes: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for job, segments in by_job.items():
        first = jobs.span(job)[0]
        for s in segments:
            for task, (node, gpu_set) in enumerate(zip(s.nodes, s.gpus, strict=True)):
                need = gpus_needed[first + task] if node >= 0 else 0
                name = f"job {job}, task {task}: from {s.start} on"
                if len(gpu_set) != -(-need // unit) or len(set(gpu_set)) != len(gpu_set):
                    findings.add(
                        "gpu", f"{name} holds the GPUs {list(gpu_set)}, takes {need} of the resource, {unit} a GPU"
                    )
                elif any(not 0 <= gpu < capacity[node] for gpu in gpu_set):
                    findings.add(
                        "gpu", f"{name} holds the GPUs {list(gpu_set)} of node {node}, which has {capacity[node]}"
                    )
                elif s.end > s.start:
                    for gpu in gpu_set:
                        changes[node, gpu] += [(s.start, min(need, unit)), (s.end, -min(need, unit))]
    for (node, gpu), events in changes.items():
        use = 0
        for time, amount in sorted(events):  # at one instant, releases come before starts
            use += amount
            if amount > 0 and use > unit:
                findings.add("capacity", f"node {node}, GPU {gpu} at {time}: {use} in use, it has {unit}")
