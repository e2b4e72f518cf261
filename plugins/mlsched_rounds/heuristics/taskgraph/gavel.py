"""Gavel's policies (Narayanan et al., OSDI 2020) on nodes: time shares on each type, and rounds that realise them.

A policy gives shares X, the fraction of time that each job spends on each type. At the beginning of a round, types are
filled one after another by priority, X / (time of the job on the type), as in the simulator of rounds
(`heuristics/rounds/accounts.py` and `greedy.py`). `_rounds.py` turns that into starts, pauses and moves. Gavel's world
has a fixed grid of rounds and one GPU pool for each type. The differences:

- A round lasts `round` seconds, whatever ends within it. GPUs that become free within a round start waiting jobs at
  once. With `freed=idle` they idle until it ends, and new jobs wait, as in Gavel. If all nodes are idle, a round
  begins.
- A job needs nodes on which it fits. If it fits on none, movable jobs of its type make room. If that fails, it waits,
  and the free GPUs go to other jobs that fit, by priority.
- A job's time is the time on its nodes, pauses included.
- Interpretations are the intended ones. `fifo` draws a type among those with room on which the job can run. Policies
  without rates see the stated duration on every type. A type whose empty nodes are too small for a job gives it no
  share. Shares are computed again if jobs arrive or end, or if nodes fail or return; and without waiting for `reset` if
  all nodes are idle.
- `max_sum` maximises speed relative to the type of the stated durations, since logs do not count steps.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched_rounds.heuristics.accounts import Accounts
from mlsched_rounds.heuristics.greedy import taken
from mlsched_rounds.heuristics.shares import POLICIES, Asked, Policy, Readings, recall, remembered
from mlsched_rounds.heuristics.taskgraph._rounds import Seconds, Typed, carry_out, round_begins, round_ends, typed

#: "until": end of the round, ticks; "reset": start of the accounts, s, if they exist; "need": true if jobs or nodes
#: have changed since; "down": nodes that cannot run tasks; for each job "name", "ran" (seconds) and "known" (to the
#: policy), and on each type "time", "deficit" and "share"; "policy": the policy's memory.
Memory = dict[str, Any]


@solver(
    "gavel",
    problem="taskgraph",
    called="online",
    information="profiled",
    stateful=True,
    world=lambda params: {"pausing": "keep"},
    paper="Gavel, Sections 4 and 5",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: Memory | None,
    rng: np.random.Generator,
    policy: Annotated[str, POLICIES] = "max_min_perf",
    round: Seconds = 360.0,  # noqa: A002  # the option's name in the simulator of rounds
    reset: Annotated[float, Range(0, 10**7)] = 1920.0,
    freed: Literal["start", "idle"] = "start",
    optimum: Literal["interior", "vertex"] = "interior",
    first: Annotated[int, Range(0, 10**6)] = 0,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Memory]:
    """Run the jobs furthest below the time shares of Gavel's policy, in rounds, on nodes of several types.

    Needs a resource that counts GPUs and the length of a tick (`instances/taskgraph/units.py`).

    Args:
        snapshot: Current state of the cluster.
        memory: Memory of the last decision.
        rng: Source of random numbers.
        policy: Policy of `gavel` in the problem `rounds`; names that end in `_perf` use rates, and so do allox, srpt,
            las, max_sum and fluid_mpc.
        round: Length of a round in seconds.
        reset: Minimum time between two calls of the policy, in seconds.
        freed: Use of GPUs that become free within a round.
        optimum: Choice among several optima of a linear program.
        first: Seconds of the first interval of fluid_mpc, shorter than most jobs (0: a round).
        stop, nodes: As for fifo.
    """
    placer = Placer(snapshot, stop, nodes, rates=True)
    jobs = typed(placer, "gavel")
    begins = round_begins(snapshot, memory)
    until = round_ends(snapshot, round) if memory is None or begins else int(memory["until"])
    down = np.flatnonzero(~snapshot.eligible.any(axis=0)).tolist()
    mechanism = _Mechanism(jobs, POLICIES[policy], round / 2, down, memory or {})
    if begins:
        mechanism.reset_where_due(snapshot, reset, Readings(int(rng.integers(2**31)), "drawn", optimum, first or round))
    kinds, fill = jobs.kind, None
    if begins or freed == "start":
        kinds, fill = mechanism.kinds(rng, anew=begins and snapshot.pausing == "keep"), mechanism.queue()
    pauses = carry_out(placer, jobs, kinds, fill, anew=begins)
    return placer.round(pauses, until), mechanism.memory(until)


class _Mechanism:
    """Accounts and shares of the jobs at one decision: recalled, updated, and remembered again.

    Attributes:
        opening: Seconds with which accounts open.
        down: Nodes that cannot run tasks.
    """

    def __init__(self, jobs: Typed, policy: Policy, opening: float, down: list[int], memory: Memory) -> None:
        self._jobs, self._policy, self._down = jobs, policy, down
        self._accounts = accounts = Accounts(len(jobs.job), len(jobs.capacity), jobs.rate, opening)
        accounts.total[:] = 1.0  # one factor for all jobs of a type does not change their order
        self._remembers = memory.get("policy", {})
        self._asked = "reset" in memory
        names = np.array(memory.get("name", ()), dtype=np.int64)
        _, now, then = np.intersect1d(jobs.name, names, assume_unique=True, return_indices=True)
        self._need = bool(
            memory.get("need", True)
            or len(now) < len(jobs.name)
            or len(then) < len(names)
            or memory.get("down", down) != down
        )
        if not then.size:
            return
        accounts.last_reset = memory.get("reset", 0.0)
        accounts.known[now] = np.array(memory["known"])[then]
        for mine, name in ((accounts.time, "time"), (accounts.deficit, "deficit"), (accounts.share, "share")):
            mine[now] = np.array(memory[name])[then]
        ran = np.zeros(len(jobs.job))
        ran[now] = jobs.ran[now] - np.array(memory["ran"])[then]
        for row in np.flatnonzero((ran > 0) & (jobs.last >= 0)).tolist():
            accounts.time[row, jobs.last[row]] += ran[row]

    def reset_where_due(self, snapshot: Snapshot, reset: float, readings: Readings) -> None:
        """If jobs or nodes have changed: restart accounts and call the policy, once it is time or all nodes are idle.

        It is time if `reset` seconds have passed since the last restart, or if the policy was never called.
        """
        jobs, accounts, now = self._jobs, self._accounts, snapshot.now * snapshot.tick_ms / 1000
        due = not self._asked or now - accounts.last_reset >= reset or (jobs.kind < 0).all()
        if not (self._need and due and len(jobs.job)):
            return
        every = np.arange(len(jobs.job))
        accounts.reset(every, now)
        share_rule = self._policy.start(readings)  # a new function of the policy, with the memory of the last one
        recall(share_rule, self._remembers)
        accounts.allocate(every, share_rule(self._question()))
        self._remembers, self._asked, self._need = remembered(share_rule), True, False

    def _question(self) -> Asked:
        jobs = self._jobs
        return Asked(
            jobs=jobs.name,
            rate=jobs.rate if self._policy.aware else np.where(jobs.rate > 0, 1.0, 0.0),
            gpus=jobs.gpus,
            weight=np.ones(len(jobs.job)),
            remaining=jobs.remaining,
            age=jobs.age,
            served=jobs.served,
            capacity=jobs.capacity,
            types=tuple(f"{kind:06d}" for kind in range(len(jobs.capacity))),
            runs=jobs.rate > 0,
        )

    def kinds(self, rng: np.random.Generator, *, anew: bool) -> IntArray:
        """Return the type of each job by its turn in the types' queues; running jobs stay, unless `anew`."""
        jobs = self._jobs
        order = jobs.order.copy()
        if not self._policy.aware:
            rng.shuffle(order)
        kinds = np.where(anew, -1, jobs.kind)
        waiting = np.flatnonzero(kinds < 0)
        free = jobs.capacity.copy()
        np.subtract.at(free, kinds[kinds >= 0], jobs.gpus[kinds >= 0])
        queues = taken(
            self._accounts, waiting, jobs.gpus.tolist(), free.tolist(), order.tolist(), strict=self._policy.strict
        )
        for kind, rows in enumerate(queues):
            kinds[rows] = kind
        return kinds

    def queue(self) -> IntArray | None:
        """Return all jobs by their highest priority on any type; None if only the chosen jobs may run."""
        if self._policy.strict:
            return None
        every = np.arange(len(self._jobs.job))
        return np.argsort(-self._accounts.priority(every).max(axis=1, initial=0.0), kind="stable")

    def memory(self, until: int) -> Memory:
        """Return the memory for the next decision."""
        jobs, accounts = self._jobs, self._accounts
        columns = {"name": jobs.name, "ran": jobs.ran, "known": accounts.known}
        tables = {"time": accounts.time, "deficit": accounts.deficit, "share": accounts.share}
        result = {name: column.tolist() for name, column in {**columns, **tables}.items()}
        result |= {"until": until, "need": self._need, "down": self._down, "policy": self._remembers}
        return {**result, "reset": accounts.last_reset} if self._asked else result
