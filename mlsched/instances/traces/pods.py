"""Pods of one job, one row per pod, as one job: each pod's resources on its node are a task.

Kubernetes has pods. Pods that start together are one job (a `Job`, a PyTorchJob, a Volcano pod group), and a label of
each pod has its name. A row without such a name is a job by itself.
"""

from __future__ import annotations

from typing import Any

from mlsched.instances.traces.builder import Run, TraceBuilder
from mlsched.instances.traces.trace import UNKNOWN, Place

#: Common names of the column: labels that Kubernetes and its schedulers give to pods.
LABELS = (
    *("pod_group", "podgroup", "scheduling_x_k8s_io_pod_group", "scheduling_k8s_io_group_name"),
    *("batch_kubernetes_io_job_name", "training_kubeflow_org_job_name", "volcano_sh_job_name"),
)
#: Fields that are summed over the pods of a job.
_SUMMED = ("gpu_count", "gpus_milli", "cpu_milli", "memory_mib")


#: Why a row without demand is not a job; a pod without demand (a launcher) is not a task of its job.
NOTHING = "asks for no GPU"


class Pods:
    """Collects the pods of each job until the log ends.

    A job exists from its first pod's submit, and runs as long as its longest pod: until then it uses the resources of
    all of them. A job with a pod that never ran, or has not ended, is dropped: the rest would be another job.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, list[dict[str, Any]]] = {}
        self._places: dict[str, list[str]] = {}  # places of the rows of a job
        self._idle: dict[str, list[str]] = {}  # and of its pods without demand
        self._lacking: dict[str, str] = {}

    def add(self, job: str, pod: dict[str, Any] | str, where: str) -> None:
        """Add a pod: the arguments of `TraceBuilder.add`, its submit in ms; or the reason to skip its row."""
        pods = self._jobs.setdefault(job, [])
        if pod == NOTHING:
            self._idle.setdefault(job, []).append(where)
            return
        self._places.setdefault(job, []).append(where)
        if isinstance(pod, str):
            self._lacking.setdefault(job, f"a pod: {pod}")
        else:
            pods.append(pod)

    def finish(self, jobs: TraceBuilder) -> None:
        """Add the jobs in the order of their first pods in the log."""
        rows = 0
        for name, pods in self._jobs.items():
            if jobs.full:
                break
            places, idle = self._places.get(name, []), self._idle.get(name, [])
            if name in self._lacking or not pods:
                for where in (*places, *idle):
                    jobs.drop(self._lacking.get(name, NOTHING), where)
                continue
            rows += len(pods)
            for where in places[1:]:
                jobs.join("further pods of a job", where)
            for where in idle:
                jobs.join("pods of a job that ask for nothing", where)
            whole = job_of_pods(name, pods)
            jobs.add(**{**whole, "submit": jobs.seconds(whole["submit"])})
        jobs.notes.append(f"{rows} rows are pods of {len(jobs)} jobs: a job runs as long as its longest pod.")


def job_of_pods(name: str, pods: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the job of its pods; descriptions of the job are copied from its first pod."""
    tasks = [task for pod in pods for task in pod.get("tasks") or (_resources_of_pod(pod),)]
    sums = {key: _sum_of_known([pod[key] for pod in pods]) for key in _SUMMED}
    submit, run = min(pod["submit"] for pod in pods), max(pod["duration_ms"] for pod in pods)
    runs = [run for pod in pods for run in _runs_of_pod(pod)] if all(pod["runs"] for pod in pods) else []
    whole = {"job": name, "submit": submit, "duration_ms": run, "tasks": tuple(tasks), "runs": runs}
    return {**pods[0], **sums, **whole}


def _resources_of_pod(pod: dict[str, Any]) -> tuple[int, ...]:
    """Return a pod's resources on its node."""
    return tuple(max(pod[key], 0) for key in ("cpu_milli", "memory_mib", "gpus_milli"))


def _runs_of_pod(pod: dict[str, Any]) -> list[Run]:
    """Return the time and node of a pod's run, with its own GPUs."""
    own: tuple[Place, ...] = (("", pod["gpus_milli"]),)
    return [(start, end, places or own) for start, end, places in pod["runs"]]


def _sum_of_known(amounts: list[int]) -> int:
    known_amounts = [amount for amount in amounts if amount != UNKNOWN]
    return sum(known_amounts) if known_amounts else UNKNOWN
