"""A tiny state in the shape of what Slurm's commands print, in JSON of several parsers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from state_examples import EPOCH, Json

SLURM_PARSERS = (40, 41, 42, 43, 44, 45)
CONFIG = """Configuration data as of 2026-11-24T12:00:00
PreemptMode             = REQUEUE
PreemptParameters       = (null)
PreemptType             = preempt/qos
PreemptExemptTime       = 00:00:00
SLURM_VERSION           = 25.11.0
"""
_HOUR = 3600


def slurm_state(parser: int = 42, *, complex_mode: bool = False) -> dict[str, Json | str]:
    """Three nodes of 8 GPUs: `low` jobs on all of them, one over two; job 9, of QOS `high`, waits for two nodes."""
    number = _complex if complex_mode else _simple
    meta = {"plugin": {"type": "openapi/slurmctld", "data_parser": f"data_parser/v0.0.{parser}"}}
    head = {"last_update": number(EPOCH), "meta": meta, "errors": [], "warnings": []}
    jobs = [
        _slurm_job(number, parser, 7, "low", 5, ["n1"], 8, 32),
        _slurm_job(number, parser, 8, "low", 3, ["n2", "n3"], 4, 16),
        _slurm_waiting(number, parser),
    ]
    nodes = [
        {
            "name": name,
            "cpus": 64,
            "effective_cpus": 64,
            "real_memory": 524288,
            "specialized_memory": 0,
            "threads": 1,
            "gres": "gpu:h100:8(S:0-1)",
            "gres_used": f"gpu:h100:{used}(IDX:0-{used - 1})",
            "alloc_cpus": cpus,
            "alloc_memory": 4096 * used,
            "partitions": ["gpu"],
            "state": ["ALLOCATED" if used == 8 else "MIXED"],
            "features": ["ib"],
            "active_features": ["ib"],
            "reservation": "",
        }
        for name, used, cpus in (("n1", 8, 32), ("n2", 4, 16), ("n3", 4, 16))
    ]
    partition = {
        "name": "gpu",
        "nodes": {"configured": "n[1-3]", "total": 3},
        "priority": {"job_factor": 1, "tier": 1},
        "qos": {"allowed": "ALL", "deny": "", "assigned": ""},
        "partition": {"state": ["UP"]},
        "grace_time": 0,
        "maximums": {"nodes": number(None, infinite=True)},
    }
    qos = [
        {
            "name": name,
            "priority": number(priority),
            "limits": {"grace_time": 60, "max": {"tres": {"total": total}}},
            "preempt": {"list": preempts, "mode": ["DISABLED"], "exempt_time": number(None)},
        }
        for name, priority, preempts, total in (
            ("low", 10, [], []),
            ("high", 1000, ["low"], [{"type": "gres", "name": "gpu", "id": 1001, "count": 16}]),
        )
    ]
    association = {
        "account": "lab",
        "user": "",
        "parent_account": "root",
        "partition": "",
        "max": {"tres": {"total": []}},
    }
    return {
        "jobs.json": {"jobs": jobs, **head},
        "nodes.json": {"nodes": nodes, **head},
        "partitions.json": {"partitions": [partition], **head},
        "qos.json": {"qos": qos, "meta": meta},
        "assoc.json": {"associations": [association], "meta": meta},
        "config.txt": CONFIG,
    }


Number = Callable[..., Any]


def _simple(value: int | None, *, infinite: bool = False) -> Any:
    return {"set": value is not None, "infinite": infinite, "number": value or 0}


def _complex(value: int | None, *, infinite: bool = False) -> Any:
    return "Infinity" if infinite else value


def _slurm_job(
    number: Number, parser: int, job: int, qos: str, hours: int, nodes: list[str], gpus: int, cpus: int
) -> Json:
    """A running job with so many GPUs and CPUs on each of its nodes."""
    made = _common(number, parser, job, qos, "RUNNING", 100 + job)
    total = len(nodes)
    made |= {
        "nodes": nodes[0] if total == 1 else "n[2-3]",
        "node_count": number(total),
        "start_time": number(EPOCH - hours * _HOUR),
        "end_time": number(EPOCH + (24 - hours) * _HOUR),
        "time_limit": number(1440),
        "preemptable_time": number(0),
        "tres_alloc_str": f"cpu={total * cpus},mem={total * gpus * 4}G,node={total},gres/gpu={total * gpus}",
        "gres_detail": [f"gpu:h100:{gpus}(IDX:0-{gpus - 1})"] * total,
        "restart_cnt": 1 if job == 8 else 0,
        "requeue": True,
        "job_resources": _resources(parser, nodes, cpus, gpus * 4096),
    }
    return made


def _resources(parser: int, nodes: list[str], cpus: int, memory: int) -> Json:
    cores = {str(core): "allocated" for core in range(cpus)}
    if parser == 40:
        listed_ = [
            {"sockets": {"0": {"cores": cores}}, "nodename": name, "cpus_used": 0, "memory_allocated": memory}
            for name in nodes
        ]
        return {"nodes": ",".join(nodes), "allocated_hosts": len(nodes), "allocated_nodes": listed_}
    allocation = [
        {"index": i, "name": name, "cpus": {"count": cpus, "used": 0}, "memory": {"used": 0, "allocated": memory}}
        for i, name in enumerate(nodes)
    ]
    return {"select_type": ["CORE"], "nodes": {"count": len(nodes), "allocation": allocation}}


def _common(number: Number, parser: int, job: int, qos: str, state: str, priority: int) -> Json:
    made: Json = {
        "job_id": job,
        "name": f"job-{job}",
        "job_state": [state],
        "partition": "gpu",
        "qos": qos,
        "account": "lab",
        "user_name": "ann",
        "priority": number(priority),
        "het_job_id": number(0),
        "submit_time": number(EPOCH - 6 * _HOUR),
        "state_reason": "None",
        "comment": "",
    }
    if parser < 42:
        made |= {"exclusive": [], "oversubscribe": True}
    if parser < 45:
        made["shared"] = []
    return made


def _slurm_waiting(number: Number, parser: int) -> Json:
    return _common(number, parser, 9, "high", "PENDING", 5000) | {
        "state_reason": "Resources",
        "nodes": "",
        "node_count": number(2),
        "max_nodes": number(0),
        "cpus": number(32),
        "tasks": number(2),
        "cpus_per_task": number(16),
        "tasks_per_node": number(0),
        "memory_per_node": number(32768),
        "memory_per_cpu": number(None),
        "tres_per_node": "gres/gpu:8",
        "tres_req_str": "cpu=32,mem=64G,node=2,gres/gpu=16",
        "start_time": number(0),
        "time_limit": number(None, infinite=True),
        "job_resources": None,
    }
