"""Task graphs as events in time, written from the statement alone (`instances/taskgraph/judge.py`). Needs Python alone.

An event is a run of a task, or that a job has done so many iterations that it counts for an objective. Kept of the
rules is what is true of the starts in every plan:

    an event starts when all that it waits for has ended (rules 1, 2, 4; transfers count between tasks that have no node
    in common); runs under way together fit into all nodes taken as one, and those of tasks that have but one node into
    that (rule 5). They fit in *shares*, too: for s = 1, 2, 3, of an amount q in a node with room for C, x = (s + 1) q /
    C is counted as s x where x is whole, and else as (s + 1) [x]. What fits into C has shares of s (s + 1) at most (a
    dual feasible function; Fekete, Schepers 2001), so that the shares of runs fit into all nodes, and if GPUs are apart
    (rule 6), into these.

Where runs are is forgotten: no plan is better than the bound, but the best plan may be short of it. A plan may leave
out iterations: their runs never start. Limits on other objectives are sums over the events that count for those; a
limit on total_jct or makespan also says by when each job is done.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from graphlib import TopologicalSorter
from operator import le
from typing import Any

from mlsched.certificates.prices.core import Spend, Wrong
from mlsched.certificates.prices.timed import END, Event, Rows, Timed

Data = dict[str, Any]
Name = tuple[int, int]  # task and iteration; or -1 - job, and the last of the iterations that count
Waits = dict[Name, list[tuple[Name, int]]]  # for what an event waits, and how long after its start
Gain = tuple[int, int]  # how much, and until when


def able(data: Data, spend: Spend) -> list[set[int]]:
    """The nodes that can hold each task."""
    columns, nodes = [data[x] for x in ("eligible", "demand", "duration")], list(enumerate(data["node_capacity"]))
    spend(8 * len(nodes) * len(columns[0]) * (1 + len(data["resources"])))
    return [
        {n for n, room in nodes if may[n] and (not lasts or all(map(le, need, room)))}
        for may, need, lasts in zip(*columns, strict=True)
    ]


def waiting(data: Data, counted: list[set[int]], nodes: list[set[int]], spend: Spend) -> Waits:
    """For what each event waits, where jobs do as many iterations as count (rules 1 and 4)."""
    job, length, counts = data["task_job"], data["duration"], list(map(max, counted))
    spend(200 * (sum(counts[j] for j in job) + sum(counts[job[v]] for v in data["edge_to"]) + sum(map(len, counted))))
    waits: Waits = {(-1 - j, c - 1): [] for j, some in enumerate(counted) for c in some}
    for k, j in enumerate(job):
        for i in range(counts[j]):
            waits[k, i] = [((k, i - 1), length[k])] if i else []
            waits.get((-1 - j, i), []).append(((k, i), length[k]))
    for u, v, lag, delay in zip(*(data[f"edge_{x}"] for x in ("from", "to", "lag", "delay")), strict=True):
        for i in range(lag, counts[job[v]]):
            waits[v, i].append(((u, i - lag), length[u] + (0 if nodes[u] & nodes[v] else delay)))
    return waits


def pools(data: Data, nodes: list[set[int]]) -> Iterator[tuple[str, int, dict[int, int]]]:
    """Groups of runs that hold so much together at most: name, room, amount of each task."""
    for r, name in enumerate(data["resources"]):
        room, unit = [node[r] for node in data["node_capacity"]], data.get("gpu_unit", 0)
        needs = {k: q[r] for k, q in enumerate(data["demand"]) if q[r] and data["duration"][k] and nodes[k]}
        yield f"{r}", sum(room), needs
        for n in {min(nodes[k]) for k in needs if len(nodes[k]) == 1}:
            yield f"{r}@{n}", room[n], {k: q for k, q in needs.items() if nodes[k] == {n}}
        for s in (1, 2, 3):
            least = {k: min(share(q, room[n], s) for n in nodes[k]) for k, q in needs.items()}
            yield f"{r}/{s}", s * (s + 1) * len(room), least
            if unit and name in ("gpu", "gpu_percent", "gpu_milli"):
                yield f"gpu/{s}", share(sum(room), unit, s), {k: share(q, unit, s) for k, q in needs.items()}


def share(amount: int, room: int, s: int) -> int:
    """s (s + 1) times the share that an amount has of room."""
    steps, rest = divmod((s + 1) * amount, room)
    return steps * (s + 1 if rest else s)


def risen(data: Data, j: int, worth: Callable[[int], int]) -> dict[int, Gain]:
    """What each iteration adds to the worth of a job's accuracy."""
    made = [worth(a) for a in data["accuracy"][j][: data["max_iterations"][j] + 1]]
    due = END if data.get("accuracy_at") == "final" else data["deadline"][j]
    return {0: (made[0], END)} | {c: (made[c] - made[c - 1], due) for c in range(1, len(made))}


#: Objective -> of a job, iterations that count -> what is gained when they are done.
GAINS: dict[str, Callable[[Data, int], dict[int, Gain]]] = {
    "total_jct": lambda data, j: {data["min_iterations"][j]: (data["arrival"][j], END)},
    "makespan": lambda data, j: {data["min_iterations"][j]: (0, END)},
    "deadlines_met": lambda data, j: {data["min_iterations"][j]: (1, data["deadline"][j])},
    "accuracy_met": lambda data, j: risen(data, j, lambda value: int(value >= data["required"][j])),
    "total_accuracy": lambda data, j: risen(data, j, int),
}


def claims(objective: str, data: Data, bound: int, spend: Spend, within: Iterable[Any] = ()) -> list[Timed]:
    """That no plan is better than the bound: none at all, or of those that are as good in other objectives as `within`
    says, by pairs of an objective and a value.
    """
    if data.get("now") or any(data.get("finished", ())) or data.get("fixed_task"):
        raise Wrong("only task graphs from their start are certified: now = 0, nothing finished, nothing fixed")
    arrival, nodes, limits = data["arrival"], able(data, spend), {**dict(within), objective: bound - 1}
    gains = {name: [GAINS[name](data, j) for j in range(len(arrival))] for name in limits}
    counted = [set[int]().union(*some) for some in zip(*gains.values(), strict=True)]
    waits, room = waiting(data, counted, nodes, spend), dict[str, int]()
    terms: list[list[tuple[str, int, int]]] = [[] for _ in nodes]
    for group, room[group], amounts in pools(data, nodes):
        for k, amount in amounts.items():
            terms[k] += [(group, data["duration"][k], amount), (group, 0, -amount)]
    order = list(TopologicalSorter({v: [u for u, _ in some] for v, some in waits.items()}).static_order())
    low, uses = {}, {v: [] if v[0] < 0 else [*terms[v[0]]] for v in order}
    for v in order:
        spend(100 + 8 * len(uses[v]))
        low[v] = arrival[-1 - v[0] if v[0] < 0 else data["task_job"][v[0]]]
        for u, length in waits[v]:
            group = f"{u[0]}.{u[1]}>{v[0]}.{v[1]}"
            room[group], low[v] = 0, max(low[v], low[u] + length)
            uses[u].append((group, length, 1))
            uses[v].append((group, 0, -1))
    must = [(-1 - j, c - 1) for j, c in enumerate(data["min_iterations"])]
    last = [min(arrival) + limits.get("makespan", END) for _ in arrival]  # by when all is over that a job does
    if "total_jct" in limits:  # it is late by no more than what the least total leaves of the limit
        spare = limits["total_jct"] + sum(arrival) - sum(low[v] for v in must)
        last = [min(t, low[v] + spare) for t, v in zip(last, must, strict=True)]
    high = dict.fromkeys(order, END) | dict(zip(must, last, strict=True))
    for v in reversed(order):
        for u, length in waits[v]:
            high[u] = min(high[u], high[v] - length)
    cost, sums = dict[Name, tuple[int, int, int]](), dict[str, int]()
    for name, of in gains.items():
        goal = {(-1 - j, c - 1): (g, min(due, last[j])) for j, some in enumerate(of) for c, (g, due) in some.items()}
        if name == objective:
            cost = {v: (int(name == "total_jct"), *gain) for v, gain in goal.items()}
        elif name == "total_jct":
            sums[f"{name} 0 {END}"] = limits[name] + sum(arrival)
            uses |= {v: [*uses[v], (name, 0, 1)] for v in goal}
        elif name != "makespan":
            sums[f"{name} 0 1"] = sum(gain for gain, _ in goal.values()) - limits[name]
            uses |= {v: [*uses[v], (name, -due, gain)] for v, (gain, due) in goal.items()}
    target = bound if objective == "total_jct" else min(1, bound) if objective == "makespan" else -bound
    events = [Event(low[v], high[v], *cost.get(v, (0, 0, END)), uses[v]) for v in order]
    return [Timed(target, Rows(room, sums), events, spend)]


CLAIMS = {objective: partial(claims, objective) for objective in GAINS}
SIGN = {objective: 1 if objective == "total_jct" else -1 for objective in GAINS if objective != "makespan"}
