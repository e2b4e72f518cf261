"""Possible victims of a waiting job of Slurm, with mode and notice: slurm.conf's preempt plugins."""

from __future__ import annotations

from dataclasses import dataclass

from mlsched_admission.instances.states import slurm_values as sv
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.slurm_config import Config, preemption_mode
from mlsched_admission.instances.states.state import State


@dataclass
class Cluster:
    """The objects of all documents, by kind."""

    jobs: list[Entry]
    nodes: dict[str, Entry]
    partitions: dict[str, Entry]
    qos: dict[str, Entry]
    associations: list[Entry]
    config: Config
    updated: int | None
    apart: int = 0
    newer: str = ""


def preempt_mode(job: Entry, cluster: Cluster) -> str:
    """Return the job's preemption mode: of its QOS or its partition, else of the cluster."""
    own = ""
    if cluster.config.by == "qos" and (qos := cluster.qos.get(job.text("qos"))) is not None:
        own = preemption_mode(word.upper() for word in sv.flags_of(qos, "preempt", "mode"))
    partition = cluster.partitions.get(job.text("partition"))
    if cluster.config.by == "partition_prio" and partition is not None:
        own = preemption_mode(word.upper() for word in sv.flags_of(partition, "preempt_mode"))
    mode = own or cluster.config.mode
    return "CANCEL" if mode == "REQUEUE" and job.get("requeue") is False else mode


def victim_rank(job: Entry, cluster: Cluster) -> int:
    """Return Slurm's rank of victims: the priority of their QOS, or the tier of their partition."""
    if cluster.config.by == "partition_prio":
        return _priority_tier(job.text("partition"), cluster)
    qos = cluster.qos.get(job.text("qos"))
    return 0 if qos is None else sv.finite_count(qos, "priority")


def _priority_tier(partition: str, cluster: Cluster) -> int:
    one = cluster.partitions.get(partition.split(",")[0])
    return 1 if one is None else one.whole("priority", "tier", default=1, low=0)


def may_preempt(jobs: list[Entry], theirs: list[Entry], cluster: Cluster, state: State) -> bool:
    """Return whether a waiting job may preempt a running one: every component of each must pass."""
    return all(_may_preempt_one(job, other, cluster, state) for job in jobs for other in theirs)


def _may_preempt_one(job: Entry, other: Entry, cluster: Cluster, state: State) -> bool:
    """Return if a job may preempt `other` by Slurm's mode, exemptions, and priorities of partitions or QOS."""
    config, name = cluster.config, str(other.get("job_id"))
    if config.by == "none" or preempt_mode(other, cluster) == "OFF":
        return False
    if sv.finite_count(other, "priority") > config.min_exempt_priority:
        return False
    exempt = sv.finite_count(other, "preemptable_time") or sv.finite_count(other, "start_time") + _exempt_time(
        other, cluster
    )
    if state.now is not None and state.now < exempt:
        state.assume(f"job {name} may not be preempted for another {exempt - state.now} s (exempt time)")
        return False
    higher = sv.finite_count(job, "priority") > sv.finite_count(other, "priority")
    if config.by == "partition_prio":
        above = _priority_tier(job.text("partition"), cluster) > _priority_tier(other.text("partition"), cluster)
        return above and (
            not config.by_priority or sv.finite_count(job, "priority") >= sv.finite_count(other, "priority")
        )
    mine, its = job.text("qos"), other.text("qos")
    if mine == its:
        return config.within and higher
    qos = cluster.qos.get(mine)
    return qos is not None and its in sv.flags_of(qos, "preempt", "list") and (higher or not config.by_priority)


def _exempt_time(job: Entry, cluster: Cluster) -> int:
    """Return PreemptExemptTime of the QOS, else of the cluster."""
    qos = cluster.qos.get(job.text("qos"))
    return (0 if qos is None else sv.finite_count(qos, "preempt", "exempt_time")) or cluster.config.exempt


def grace_time(job: Entry, cluster: Cluster, state: State) -> int:
    """Return GraceTime of the QOS, or of the partition."""
    if cluster.config.by == "qos" and (qos := cluster.qos.get(job.text("qos"))) is not None:
        return sv.finite_count(qos, "limits", "grace_time")
    if (partition := cluster.partitions.get(job.text("partition"))) is not None:
        if partition.get("grace_time") is None:
            state.assume("grace: 0 s where partitions do not say")
        return sv.finite_count(partition, "grace_time")
    return 0
