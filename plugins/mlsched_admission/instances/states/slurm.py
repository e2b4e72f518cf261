"""The state of Slurm, from the JSON of its commands: data_parser 0.0.40 (23.11) to 0.0.45, simple and complex.

    squeue --json > jobs.json               scontrol show config > config.txt
    scontrol show nodes --json > nodes.json
    scontrol show partitions --json > partitions.json
    sacctmgr show qos --json > qos.json     sacctmgr show assoc --json > assoc.json

Who may evict whom is slurm.conf's preempt/qos or preempt/partition_prio: `_may`. What suspending gives back are CPUs
alone. A waiting job asks for its number of nodes, one equal share of it on each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput, shorten
from mlsched_admission.instances.states import slurm_jobs, slurm_limits
from mlsched_admission.instances.states import slurm_rules as rules
from mlsched_admission.instances.states import slurm_values as sv
from mlsched_admission.instances.states.asked import Waiting, asked_about
from mlsched_admission.instances.states.documents import Document
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.losses import Losses, different_times, save_time_of
from mlsched_admission.instances.states.slurm_config import config_of
from mlsched_admission.instances.states.slurm_rules import Cluster
from mlsched_admission.instances.states.state import (
    MEBIBYTES,
    Amounts,
    Job,
    Node,
    Options,
    Pod,
    State,
    Unit,
    multiple_of_amounts,
    sum_of_amounts,
)

#: Known versions of data_parser.
VERSIONS = (40, 45)
#: States in which a node takes no new jobs, whatever its other states. (A powered-down node is powered up for them.)
_CLOSED = frozenset(
    [
        "DOWN",
        "DRAIN",
        "DRAINING",
        "DRAINED",
        "FAIL",
        "FAILING",
        "NOT_RESPONDING",
        "NO_RESPOND",
        "MAINTENANCE",
        "MAINT",
        "REBOOT_REQUESTED",
        "REBOOT_ISSUED",
        "POWERING_DOWN",
        "POWER_DOWN",
        "INVALID_REG",
        "INVALID",
        "FUTURE",
        "UNKNOWN",
    ]
)
#: Reasons for which a job waits whatever is free.
_HELD = re.compile(r"Dependency|JobHeld|Held|BeginTime|JobArrayTaskLimit|PartitionDown|PartitionInactive|Reservation")
#: Seconds between files above which a warning is added.
APART = 3600
#: Job -> its components; job -> amounts of each component by node.
Components = dict[str, list[Entry]]
Holdings = dict[str, list[dict[str, Amounts]]]
_SEEN = ("jobs", "nodes", "partitions", "qos", "associations")


def read_slurm(documents: list[Document], options: Options) -> State:
    """Return the state of these documents."""
    cluster = _read_cluster(documents, options)
    state = State("slurm")
    state.scales = {"mem": MEBIBYTES}
    features, kinds = _fill_nodes(state, cluster)
    threads = {name: max(1, node.whole("threads", default=1)) for name, node in cluster.nodes.items()}
    by_name = _components(cluster.jobs)
    running = {name: jobs for name, jobs in by_name.items() if _is_running(jobs)}
    holdings = {
        name: [slurm_jobs.amounts_by_node(job, threads, kinds) for job in jobs]
        for name, jobs in by_name.items()
        if name in running or "COMPLETING" in _states_of_jobs(jobs)
    }
    gpus = any(part.get("gres/gpu") for name in running for there in holdings[name] for part in there.values())
    losses = Losses(state, options, cluster.updated, gpus=gpus)
    if cluster.apart > APART:
        state.assume(different_times(cluster.apart))
    if cluster.newer:
        state.assume(
            f"{cluster.newer}: newer than data_parser 0.0.{VERSIONS[1]}, the last that is known, so fields may be "
            f"missed (squeue --json=v0.0.{VERSIONS[1]})"
        )
    for name, jobs in running.items():
        state.units[name] = _unit_of_job(name, jobs, holdings[name], cluster, losses, options, state)
    _subtract_allocations(state, cluster, by_name, holdings)
    line = _waiting_line(by_name, cluster, state)
    state.read.append(
        f"Slurm: {count_of(len(cluster.nodes), 'node')}, {count_of(len(running), 'running job')}, {len(line)} waiting, "
        f"preempt/{cluster.config.by}"
    )
    names = asked_about(line, options, state)
    holders = slurm_limits.Holders(cluster.qos, cluster.partitions, cluster.associations)
    for name in names:
        state.jobs[name] = _waiting_job(name, by_name[name], cluster, running, features, state)
        for component in by_name[name]:
            state.leave_out(name, holders.not_modelled(component))
    _add_limits(state, holders, by_name, names, running, holdings, cluster)
    _say_what_is_missing(cluster, state)
    return state


def _read_cluster(documents: list[Document], options: Options) -> Cluster:
    entries: dict[str, list[Entry]] = {what: [] for what in _SEEN}
    updated: list[int] = []
    newer = ""
    for document in documents:
        if document.what != "slurm":
            continue
        newer = _newer_version(document) or newer
        _refuse_accounting(document)
        if time := sv.finite_count(document.entry, "last_update"):
            updated.append(time)
        for what in _SEEN:
            for one in document.entry.entries(what):
                entry_name = one.get("name") if what != "jobs" else one.get("job_id")
                one.where = f"{document.path}: {what.removesuffix('s')} {shorten(str(entry_name), 60)}"
                entries[what].append(one)
    for what, command in (
        ("jobs", "squeue --json"),
        ("nodes", "scontrol show nodes --json"),
        ("partitions", "scontrol show partitions --json"),
    ):
        if not entries[what]:
            raise InvalidInput(f"{what} are missing in the state; add the output of `{command}`")
    config = config_of(documents, options.slurm_conf)
    if config.by == "qos" and not entries["qos"]:
        raise InvalidInput("preempt/qos: QOS is missing in the state; add the output of `sacctmgr show qos --json`")
    return Cluster(
        entries["jobs"],
        _components_by_name(entries["nodes"]),
        _components_by_name(entries["partitions"]),
        _components_by_name(entries["qos"]),
        entries["associations"],
        config,
        max(updated, default=None),
        max(updated, default=0) - min(updated, default=0),
        newer,
    )


def _components_by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    return {one.needed("name"): one for one in entries}


def _newer_version(document: Document) -> str:
    """Return the version of data_parser if it is newer than the known versions; an older version is refused.

    It is in meta.plugin.data_parser ("data_parser/v0.0.42"); documents without one are read without a check.
    """
    meta = document.entry.under("meta")
    plugin = str(meta.get("plugin", "data_parser") or "")
    match = re.search(r"v?0\.0\.([0-9]{1,3})", plugin)
    if match and int(match[1]) < VERSIONS[0]:
        remedy = "name one: squeue --json=v0.0.41"
        document.entry.fail(f"{plugin}: data_parser 0.0.{VERSIONS[0]} to 0.0.{VERSIONS[1]} are read", remedy)
    return plugin if match and int(match[1]) > VERSIONS[1] else ""


def _refuse_accounting(document: Document) -> None:
    for one in document.entry.entries("jobs"):
        if isinstance(one.get("state"), dict) or isinstance(one.get("time"), dict):
            document.entry.fail("is output of `sacct --json`, expected a state", "give squeue --json")
        return


def _fill_nodes(state: State, cluster: Cluster) -> tuple[dict[str, set[str]], dict[str, str]]:
    """Add nodes with all their amounts; return their features, and the only type of GPU of each."""
    features, kinds = {}, {}
    for name, node in cluster.nodes.items():
        room = sv.gres_amounts(node, node.text("gres"), "gres")
        cpus = node.whole("cpus", low=0)
        spare = node.whole("specialized_cores", low=0) * max(1, node.whole("threads", default=1))
        room["cpu"] = node.whole("effective_cpus", default=max(0, cpus - spare), low=0)
        room["mem"] = max(0, node.whole("real_memory", low=0) - node.whole("specialized_memory", low=0))
        state.nodes[name] = Node(name, room)
        features[name] = set(sv.flags_of(node, "active_features") or sv.flags_of(node, "features"))
        types = [key.partition(":")[2] for key in room if key.startswith("gres/gpu:")]
        if len(types) == 1 and room[f"gres/gpu:{types[0]}"] == room.get("gres/gpu"):
            kinds[name] = types[0]
    return features, kinds


def _components(jobs: list[Entry]) -> Components:
    """Return jobs by their number; the components of a heterogeneous one are one job, in their order."""
    by_component: Components = {}
    for job in jobs:
        leader = sv.finite_count(job, "het_job_id")
        by_component.setdefault(str(leader or job.whole("job_id", low=1)), []).append(job)
    for name, components in by_component.items():
        if len(components) > 1 and not all(sv.finite_count(one, "het_job_id") for one in components):
            components[1].fail(f"job {name} is given twice", "give the state of one moment")
        components.sort(key=lambda one: sv.finite_count(one, "het_job_offset"))
    return by_component


def _states_of_jobs(jobs: list[Entry]) -> set[str]:
    """Return the states and flags of all components."""
    return set().union(*map(slurm_jobs.job_states, jobs))


def _is_running(jobs: list[Entry]) -> bool:
    now = _states_of_jobs(jobs)
    return bool(now & {"RUNNING", "SUSPENDED"}) and "COMPLETING" not in now


def _unit_of_job(
    name: str,
    jobs: list[Entry],
    holdings: list[dict[str, Amounts]],
    cluster: Cluster,
    losses: Losses,
    options: Options,
    state: State,
) -> Unit:
    job, mode = jobs[0], rules.preempt_mode(jobs[0], cluster)
    start, end = sv.finite_count(job, "start_time"), sv.finite_count(job, "end_time")
    there: Amounts = {}
    for part in holdings:
        there = sum_of_amounts(there, *part.values())
    amount = 1000 * there.get("gres/gpu" if losses.counted == "GPU" else "cpu", 0)
    unit = Unit(
        name, rules.victim_rank(job, cluster), preempted=sv.finite_count(job, "restart_cnt"), rank=f"{int(name):020d}"
    )
    if mode == "SUSPEND":
        state.assume("suspended jobs lose no work and give back CPUs alone, neither memory nor GPUs")
    else:
        save_time = None if mode == "CANCEL" else save_time_of(_comment_values(job), options)
        unit.lost = losses.loss_of(amount, start or None, save_time, f"job {name}")
    if mode == "CANCEL":
        state.assume("cancelled jobs lose all their run time, whatever they have saved")
    unit.grace = rules.grace_time(job, cluster, state)
    now = losses.now or 0
    unit.age = max(0, now - start) if start and now else 0
    unit.ends = max(0, end - now) if end and now and sv.number_or_none(job, "time_limit") != sv.INFINITE else None
    suspended = "SUSPENDED" in slurm_jobs.job_states(job)
    for part in holdings:
        for node, amounts in sorted(part.items()):
            gives = {"cpu": 0 if suspended else amounts.get("cpu", 0)} if mode == "SUSPEND" else dict(amounts)
            unit.pods.append(Pod(f"{name}@{node}", node, gives))
    return unit


def _comment_values(job: Entry) -> dict[str, str]:
    """Return KEY=VALUE pairs of the texts that users and administrators may set."""
    texts = " ".join(job.text(key) for key in ("comment", "admin_comment", "extra") if isinstance(job.get(key), str))
    return dict(part.split("=", 1) for part in re.split(r"[\s,;]+", texts) if "=" in part)


def _subtract_allocations(state: State, cluster: Cluster, by_name: Components, holdings: Holdings) -> None:
    """Subtract jobs' amounts from the nodes, or the nodes' own totals if they are larger."""
    allocated: dict[str, Amounts] = {}
    for name, parts in holdings.items():
        now = _states_of_jobs(by_name[name])
        for node, amounts in (item for part in parts for item in part.items()):
            if node not in state.nodes:
                raise InvalidInput(
                    f"job {name} runs on node {node}, which is missing in the state; "
                    "add the output of `scontrol show nodes --json` of the same moment"
                )
            if "COMPLETING" in now:
                state.nodes[node].draining = sum_of_amounts(state.nodes[node].draining, amounts)
            # Suspended jobs have given back their CPUs.
            holds = {**amounts, "cpu": 0} if "SUSPENDED" in now else amounts
            allocated[node] = sum_of_amounts(allocated.get(node, {}), holds)
    for name, entry in cluster.nodes.items():
        own_totals = sv.gres_amounts(entry, entry.text("gres_used"), "gres_used")
        own_totals |= {"cpu": entry.whole("alloc_cpus", low=0), "mem": entry.whole("alloc_memory", low=0)}
        mine, there = allocated.get(name, {}), state.nodes[name]
        if any(own_totals.get(key, 0) > mine.get(key, 0) for key in ("cpu", "gres/gpu")):
            state.assume(f"node {name} says that more is in use than its jobs hold: the rest is nobody's to evict")
        there.free = {key: count - max(mine.get(key, 0), own_totals.get(key, 0)) for key, count in there.free.items()}


def _waiting_line(by_name: Components, cluster: Cluster, state: State) -> list[Waiting]:
    """Return jobs that wait for resources, with their place in line; held jobs are recorded in `state.held`."""
    line = []
    for name, jobs in by_name.items():
        job = jobs[0]
        if "PENDING" not in slurm_jobs.job_states(job):
            continue
        reason = job.text("state_reason")
        if job.flag("hold") or _HELD.search(reason):
            state.held[name] = f"it is held ({reason or 'hold'})"
            continue
        line.append(
            Waiting(name, job.text("name"), sv.finite_count(job, "priority"), sv.finite_count(job, "submit_time"))
        )
    return line


def _waiting_job(
    name: str, jobs: list[Entry], cluster: Cluster, running: Components, features: dict[str, set[str]], state: State
) -> Job:
    new_job = Job(name, sv.finite_count(jobs[0], "priority"))
    reach: list[frozenset[str]] = []
    for job in jobs:
        partition = job.needed("partition").split(",")[0]
        if partition not in cluster.partitions:
            job.fail(
                f"waits in partition {partition!r}, which is missing in the state",
                "add the output of `scontrol show partitions --json`",
            )
        if "," in job.text("partition"):
            state.leave_out(name, [f"partitions {job.text('partition')}: asked about {partition}"])
        inside = frozenset(n for n, node in cluster.nodes.items() if partition in sv.flags_of(node, "partitions"))
        reach.append(inside)
        reservation = job.text("resv_name")
        open_ = frozenset(n for n in inside if _accepts_jobs(cluster.nodes[n], reservation))
        new_job.shapes += slurm_jobs.shapes_of_job(job, open_, features, state, name)
    new_job.may = frozenset(
        other
        for other, theirs in running.items()
        if rules.may_preempt(jobs, theirs, cluster, state)
        and any(pod.node in inside for pod in state.units[other].pods for inside in reach)
    )
    return new_job


def _accepts_jobs(node: Entry, reservation: str) -> bool:
    flags = {word.upper() for word in sv.flags_of(node, "state")}
    mine = node.text("reservation") == reservation
    return not flags & _CLOSED and mine and (bool(reservation) or "RESERVED" not in flags)


def _add_limits(
    state: State,
    holders: slurm_limits.Holders,
    by_name: Components,
    names: list[str],
    running: Components,
    holdings: Holdings,
    cluster: Cluster,
) -> None:
    """Add the rows of GrpTRES; a waiting job counts the sum of its shapes, component by component."""
    waiting: dict[str, list[tuple[Entry, Amounts]]] = {}
    for name in names:
        shapes = list(state.jobs[name].shapes)
        waiting[name] = []
        for job in by_name[name]:
            remaining, use = max(1, sv.finite_count(job, "node_count")), dict[str, int]()
            while remaining > 0 and shapes:
                shape = shapes.pop(0)
                use = sum_of_amounts(use, multiple_of_amounts(shape.count, {**shape.demand, "node": 1}))
                remaining -= shape.count
            waiting[name].append((job, use))
    holding = {
        name: [
            (job, sum_of_amounts(*part.values(), {"node": len(part)}))
            for job, part in zip(jobs, holdings[name], strict=True)
        ]
        for name, jobs in running.items()
    }
    giving = {name: rules.preempt_mode(jobs[0], cluster) != "SUSPEND" for name, jobs in running.items()}
    state.limits = slurm_limits.limit_rows(state, holders, waiting, holding, giving)


def _say_what_is_missing(cluster: Cluster, state: State) -> None:
    if not cluster.associations:
        state.assume("limits of accounts: none, for the state has no associations (sacctmgr show assoc --json)")
    if not cluster.qos:
        state.assume("limits of QOS: none, for the state has no QOS (sacctmgr show qos --json)")
    if cluster.config.by == "none":
        state.assume("PreemptType is preempt/none: nobody may evict anybody")
    if "reclaim_licenses" in cluster.config.parameters:
        state.assume("reclaim_licenses: licences are not modelled")
