"""Gavel's policies (Narayanan et al., OSDI 2020) on nodes: shares of time on each type, and rounds that make them true.

A policy gives shares X, the part of its time that each job is to spend on each type. At the beginning of a round, types
are filled one after another by priority, X / (time that the job has had on the type), as in the world of rounds
(`heuristics/rounds/accounts.py` and `greedy.py`); `_rounds.py` turns that into starts, pauses and moves. What differs
from Gavel's world, where a round is a fixed grid of time and GPUs are one pool for each type:

- A round lasts `round` seconds, whatever ends within it. GPUs that come free within a round start waiting jobs at once;
  with `freed=idle` they idle until it ends, and jobs that arrive wait, as there. Where nothing runs, a round begins.
- A job needs nodes with room for it. Where it finds none, jobs of its type that may move make room, and what still
  finds none waits; the room that is left is for whoever fits, in order of priority.
- A job's time is what it holds its nodes, pauses included.
- Interpretations are those that are meant: `fifo` draws a type among those with room on which the job can run; policies
  that know no rates see that durations are as stated on every type; a type whose empty nodes have no room for a job
  gets no share of it. Shares are asked for anew not only where jobs have come or gone, but also where nodes have failed
  or come back; and without waiting for `reset` where nothing runs.
- `max_sum` maximises speed relative to the type on which durations are stated, as logs count no steps.
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

#: "until": when the round ends, ticks; "reset": when accounts were opened, s, if they were; "need": whether jobs or
#: nodes have come or gone since; "down": the nodes on which nothing could run; of each job "name", "ran" (seconds) and
#: "known" (to the policy), and on each type "time", "deficit" and "share"; "policy": what that remembers.
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
    round: Seconds = 360.0,  # noqa: A002  # what the world of rounds calls it
    reset: Annotated[float, Range(0, 10**7)] = 1920.0,
    freed: Literal["start", "idle"] = "start",
    optimum: Literal["interior", "vertex"] = "interior",
    first: Annotated[int, Range(0, 10**6)] = 0,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Memory]:
    """Run whoever lacks most of the share of time that Gavel's policy gives it, in rounds, on nodes of several types.

    policy: as of `gavel` in the problem `rounds`; names that end in `_perf` know rates, and so do allox, srpt, las,
    max_sum and fluid_mpc. round, reset: seconds that a round lasts, and for which shares stand at least. freed: what
    becomes of GPUs that come free within a round. optimum: where a linear program has many. first: seconds of the first
    interval of fluid_mpc, shorter than most jobs (0: a round). stop, nodes: as for fifo.
    Needs a resource that counts GPUs and the length of a tick (`instances/taskgraph/units.py`).
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
    """Accounts and shares of the jobs at one decision: recalled, brought up to date, and remembered again.

    opening: seconds with which accounts open. down: nodes on which nothing can run.
    """

    def __init__(self, jobs: Typed, policy: Policy, opening: float, down: list[int], memory: Memory) -> None:
        self._jobs, self._policy, self._down = jobs, policy, down
        self._accounts = accounts = Accounts(len(jobs.job), len(jobs.capacity), jobs.rate, opening)
        accounts.total[:] = 1.0  # one factor for all jobs of a type orders nobody
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
        """Open accounts anew and ask the policy, if jobs or nodes have come or gone, and it is time or nothing runs."""
        jobs, accounts, now = self._jobs, self._accounts, snapshot.now * snapshot.tick_ms / 1000
        due = not self._asked or now - accounts.last_reset >= reset or (jobs.kind < 0).all()
        if not (self._need and due and len(jobs.job)):
            return
        every = np.arange(len(jobs.job))
        accounts.reset(every, now)
        shares = self._policy.start(readings)
        recall(shares, self._remembers)
        accounts.allocate(every, shares(self._question()))
        self._remembers, self._asked, self._need = remembered(shares), True, False

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
        """The type of each job by its turn in the types' queues; what runs stays, unless they are filled anew."""
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
        """All jobs, those of the highest priority on any type first; None where others than those chosen do not run."""
        if self._policy.strict:
            return None
        every = np.arange(len(self._jobs.job))
        return np.argsort(-self._accounts.priority(every).max(axis=1, initial=0.0), kind="stable")

    def memory(self, until: int) -> Memory:
        """What the next decision is told."""
        jobs, accounts = self._jobs, self._accounts
        columns = {"name": jobs.name, "ran": jobs.ran, "known": accounts.known}
        tables = {"time": accounts.time, "deficit": accounts.deficit, "share": accounts.share}
        found = {name: column.tolist() for name, column in {**columns, **tables}.items()}
        found |= {"until": until, "need": self._need, "down": self._down, "policy": self._remembers}
        return {**found, "reset": accounts.last_reset} if self._asked else found
