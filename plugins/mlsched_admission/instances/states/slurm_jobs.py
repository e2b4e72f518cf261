"""Jobs of Slurm: amounts of a running job on each of its nodes, and requests of a waiting one."""

from __future__ import annotations

import re

from mlsched_admission.instances.states import slurm_values as sv
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.state import Amounts, Shape, State, sum_of_amounts
from mlsched_admission.instances.states.unmodelled import SLURM

_FEATURES = re.compile(r"[\w.+-]+(?:[&|,][\w.+-]+)*")


def job_states(job: Entry) -> set[str]:
    """Return the job's state and flags, in capitals."""
    return {word.upper() for word in sv.flags_of(job, "job_state")}


def amounts_by_node(job: Entry, threads: dict[str, int], kinds: dict[str, str]) -> dict[str, Amounts]:
    """Return node -> amounts of a running job there: cpu, mem in MiB, gres.

    threads: threads per core of nodes, for 0.0.40, which lists only cores. kinds: node -> the only type of its GPUs.
    """
    total = sv.tres_amounts(job, "tres_alloc_str")
    there: dict[str, Amounts] = {}
    cores: dict[str, int] = {}
    for one in job.entries("job_resources", "allocated_nodes"):  # 0.0.40
        name = one.needed("nodename")
        there[name] = {"mem": one.whole("memory_allocated", low=0)}
        cores[name] = _allocated_cores(one) * threads.get(name, 1)
    for one in job.entries(*_allocation(job)):  # since 0.0.41
        name = one.needed("name")
        there[name] = {"mem": sv.finite_count(one, "memory", "allocated"), "cpu": sv.finite_count(one, "cpus", "count")}
    order = list(there) or sv.expand_hosts(job, job.text("nodes"), "nodes")
    if not order:
        job.fail("runs, but its nodes are missing", "write squeue --json again, as somebody who may see all jobs")
    for name, amounts in zip(order, _cpus_by_node(job, total.get("cpu", 0), order, cores), strict=True):
        there.setdefault(name, {}).setdefault("cpu", amounts)
    memory = total.get("mem", 0)
    if memory and not any(amounts.get("mem") for amounts in there.values()):
        for name, part in zip(order, _split_evenly(job, "mem", memory, order), strict=True):
            there[name]["mem"] = part
    for name, generic in zip(order, _gres_by_node(job, total, order, kinds), strict=True):
        there[name] = sum_of_amounts(there[name], generic)
    return there


def _allocation(job: Entry) -> tuple[str, ...]:
    nodes = job.get("job_resources", "nodes")
    return ("job_resources", "nodes", "allocation") if isinstance(nodes, dict) else ("job_resources", "allocation")


def _allocated_cores(one: Entry) -> int:
    """Count allocated cores of a node, as 0.0.40 lists them by socket: {"0": {"cores": {"0": "allocated"}}}."""
    sockets = one.under("sockets")
    states = [state for number in sockets.value for state in sockets.under(number, "cores").value.values()]
    return sum(1 for state in states if isinstance(state, str) and state.lower().startswith("alloc"))


def _cpus_by_node(job: Entry, cpus: int, order: list[str], cores: dict[str, int]) -> list[int]:
    """Return CPUs by node if the version lacks them: by its cores, if they add up, else in equal parts."""
    if cores and sum(cores.values()) == cpus:
        return [cores[name] for name in order]
    return _split_evenly(job, "cpu", cpus, order, up=True)


def _split_evenly(job: Entry, what: str, total: int, order: list[str], *, up: bool = False) -> list[int]:
    """Return an even split of `total` over the nodes of `order`; the first ones get the rest.

    Raises:
        InvalidFile: There is a rest, and `up` is False.
    """
    part, rest = divmod(total, len(order))
    if rest and not up:
        job.fail(
            f"uses {total} {what} on {len(order)} nodes, but the number on each node is missing",
            "write squeue --json again, as somebody who may see gres_detail and job_resources",
        )
    return [part + (n < rest) for n in range(len(order))]


def _gres_by_node(job: Entry, total: Amounts, order: list[str], kinds: dict[str, str]) -> list[Amounts]:
    """Return generic resources by node: gres_detail has an entry per node; without it, an even split."""
    detail = job.texts("gres_detail")
    if detail:
        if len(detail) != len(order):
            job.bad(("gres_detail",), detail, f"expected an entry for each of its {len(order)} nodes")
        by_node = [sv.gres_amounts(job, text, "gres_detail") for text in detail]
    else:
        names = [name for name in total if name.startswith("gres/")]
        columns = {name: _split_evenly(job, name, total[name], order) for name in names}
        by_node = [{name: columns[name][n] for name in names} for n in range(len(order))]
    for node, part in zip(order, by_node, strict=True):
        # A node with GPUs of one type gives out that type, with or without a requested type.
        if (kind := kinds.get(node)) and part.get("gres/gpu"):
            part.setdefault(f"gres/gpu:{kind}", part["gres/gpu"])
    return by_node


def shapes_of_job(
    job: Entry, nodes_open: frozenset[str], features: dict[str, set[str]], state: State, name: str
) -> list[Shape]:
    """Return the requests of a waiting job (or one component of it): its nodes, one share of it on each."""
    nodes = max(1, sv.finite_count(job, "node_count"))
    share = _request_per_node(job, nodes, state, name)
    nodes_open = _with_features(job, nodes_open, features, state, name)
    nodes_open -= frozenset(sv.expand_hosts(job, job.text("excluded_nodes"), "excluded_nodes"))
    beyond = [
        text for key, text in SLURM.items() if job.get(key) and (key != "minimum_switches" or sv.finite_count(job, key))
    ]
    exclusive = job.get("exclusive")
    if exclusive is True or (
        exclusive and {word.lower() for word in sv.flags_of(job, "exclusive")} - {"none", "false"}
    ):
        beyond.append("exclusive nodes: asked for its resources alone")
    if (most := sv.finite_count(job, "max_nodes")) > nodes:
        beyond.append(f"up to {most} nodes: asked for {nodes}")
    if job.text("array_task_string"):
        beyond.append(f"its array {job.text('array_task_string')}: asked for one task of it")
    state.leave_out(name, beyond)
    required = sorted(set(sv.expand_hosts(job, job.text("required_nodes"), "required_nodes")))
    single_nodes = [Shape(1, share, nodes_open & {node}, spread=1) for node in required]
    rest = nodes - len(required)
    if rest > 0:
        single_nodes.append(Shape(rest, share, nodes_open - frozenset(required), spread=1))
    return single_nodes


def _request_per_node(job: Entry, nodes: int, state: State, name: str) -> Amounts:
    """Return the job's request on each of its nodes."""
    tres_amounts = sv.tres_amounts(job, "tres_req_str")
    per_task, tasks = max(1, sv.finite_count(job, "cpus_per_task")), sv.finite_count(job, "tasks_per_node")
    cpus = sv.finite_count(job, "cpus") or tres_amounts.get("cpu", 0)
    cpu = tasks * per_task or _even_part(cpus, nodes, "CPUs", state, name)
    share = {"cpu": max(cpu, sv.finite_count(job, "minimum_cpus_per_node"))}
    memory = sv.finite_count(job, "memory_per_node") or sv.finite_count(job, "memory_per_cpu") * share["cpu"]
    share["mem"] = memory or _even_part(tres_amounts.get("mem", 0), nodes, "MiB", state, name)
    generic = sv.gres_amounts(job, job.text("tres_per_node"), "tres_per_node")
    per_task_gres = sv.gres_amounts(job, job.text("tres_per_task"), "tres_per_task")
    tasks = tasks or -(-sv.finite_count(job, "tasks") // nodes)
    generic = sum_of_amounts(
        generic, {key: count * max(1, tasks) for key, count in per_task_gres.items() if key.startswith("gres/")}
    )
    whole = sv.gres_amounts(job, job.text("tres_per_job"), "tres_per_job")
    if not generic and not whole:
        whole = {key: count for key, count in tres_amounts.items() if key.startswith("gres/")}
    generic = sum_of_amounts(generic, {key: _even_part(count, nodes, key, state, name) for key, count in whole.items()})
    return {key: count for key, count in sum_of_amounts(share, generic).items() if count}


def _even_part(total: int, nodes: int, what: str, state: State, name: str) -> int:
    if total % nodes:
        state.assume(f"{name}: its {total} {what} on {nodes} nodes are asked for as {-(-total // nodes)} on each")
    return -(-total // nodes)


def _with_features(
    job: Entry, nodes_open: frozenset[str], features: dict[str, set[str]], state: State, name: str
) -> frozenset[str]:
    """Return nodes with the job's required features: a&b, a|b; counts and brackets are not modelled."""
    text = job.text("features")
    if not text:
        return nodes_open
    if not _FEATURES.fullmatch(text) or ("|" in text and re.search("[&,]", text)):
        state.leave_out(name, [f"constraint {text}"])
        return nodes_open
    feature_names = set(re.split("[&|,]", text))
    some = "|" in text
    return frozenset(
        node for node in nodes_open if (feature_names & features[node] if some else feature_names <= features[node])
    )
