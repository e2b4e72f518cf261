"""Training data: workloads, runs of a policy with their choices, and MLF-H's rounds as the same choices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Data
from mlsched.heuristics.taskgraph.measures import stops_after
from mlsched.heuristics.taskgraph.mlf_compete import Competition
from mlsched.heuristics.taskgraph.mlf_h import Settings, competing, decided, made_round
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph.allocation import GIVE, HOST, LEAVE, Allocation, chosen
from mlsched.simulation.taskgraph.iterations import IterationWorld, Jobs, Options, Segments
from mlsched.simulation.taskgraph.iterations.mlfs import mlfs
from mlsched.simulation.taskgraph.iterations.workload import WHOLE
from mlsched.simulation.wake import Wake

Floats = npt.NDArray[np.float32]

#: First seeds of validation and training workloads; seeds below 100,000 are reserved for tests and measurements.
VALIDATION, TRAINING = 100_000, 1_000_000
#: Options and cadence of the evaluation (`papers/mlfs/measure.py`); usage is drawn by period.
WORLD: Data = {"usage": "drawn", "usage_every": 600, "usage_at_start": False, "movement": "anytime", "pausing": "keep"}
WAKE = "events+interval:600"
#: Offered load of the evaluation at x = 1.
LOAD = 0.6


def workload(seed: int, jobs: int, servers: int, hours: float, x: float, first: bool, pause: float = 0.0) -> Jobs:
    """Return the first or second half of a workload of MLFS' cluster with twice as many jobs.

    Training uses first halves and validation second halves, so a policy is trained on the first 50 % of the arrivals
    (Section 4.1).

    Args:
        seed: Random seed.
        jobs: Number of jobs.
        servers: Number of servers.
        hours: Median running time in hours.
        x: Load relative to the evaluation's.
        first: Return the first half.
        pause: Cost of a pause in seconds.
    """
    whole = mlfs(jobs=2 * jobs, seed=seed, servers=servers, hours=hours, load=LOAD * x)
    kept = np.arange(jobs) + (0 if first else jobs)
    half = whole.replace(**whole.only(kept), source=f"{whole.source}, {'first' if first else 'second'} half")
    return half.replace(pause_cost=np.full(jobs, round(pause * WHOLE)))


@dataclasses.dataclass(frozen=True)
class Choices:
    """Choices of a run: the `rows` of each, the chosen `row`, and the `time` in ticks."""

    rows: list[Floats]
    row: list[int]
    time: list[int]

    def keep(self, due: Allocation, row: int, seen: Floats | None = None) -> None:
        """Record a choice, unless it has only one row."""
        mask = due.mask
        if mask.sum() > 1:
            self.rows.append((due.rows() if seen is None else seen)[mask])
            self.row.append(row - (not mask[0]))
            self.time.append(due.snapshot.now)


def nothing() -> Choices:
    """Return an empty record."""
    return Choices([], [], [])


def episode(load: Jobs, answer: Callable[[Snapshot, np.random.Generator], Round], seed: int, usage: int) -> Segments:
    """Return the log of a run of a rule over a workload.

    Args:
        load: The workload.
        answer: The rule.
        seed: Random seed of the run.
        usage: Seed of the usage of tasks.
    """
    world = IterationWorld(load, Options(**WORLD, usage_seed=usage))

    def call(snapshot: Any, memory: Any, rng: np.random.Generator) -> tuple[Round, Any]:
        return answer(snapshot, rng), memory

    run(world, Rule("episode", call), scheduling_events=Wake.parse(WAKE), seed=seed)
    return world.log


def sampled(
    load: Jobs, choose: Callable[[Any, Any], int], seed: int, usage: int, queueing: str = "held"
) -> tuple[Choices, Segments]:
    """Run a policy `choose(allowed rows, rng) -> index` over a workload, and return the log and the choices.

    Args:
        load: The workload.
        choose: The policy.
        seed: Random seed of the run.
        usage: Seed of the usage of tasks.
        queueing: "held" or "iteration".
    """
    kept = nothing()

    def answer(snapshot: Snapshot, rng: np.random.Generator) -> Round:
        def one(due: Allocation) -> int:
            rows, mask = due.rows(), due.mask
            row = choose(rows[mask], rng) + (not mask[0])
            kept.keep(due, row, rows)
            return row

        return chosen(Allocation(snapshot, stops_after(snapshot, "most"), queueing=queueing), one)

    return kept, episode(load, answer, seed, usage)


def of_mlf_h(load: Jobs, seed: int, usage: int, queueing: str = "held") -> tuple[Choices, Segments]:
    """Run MLF-H over a workload, and return the log and its rounds as choices.

    Args:
        load: The workload.
        seed: Random seed of the run.
        usage: Seed of the usage of tasks.
        queueing: "held" or "iteration".
    """
    kept, given = nothing(), Settings(queueing=queueing)

    def answer(snapshot: Snapshot, rng: np.random.Generator) -> Round:
        last = stops_after(snapshot, "most")
        competition = competing(snapshot, "most", given)
        placed, leaving, hosts = decided(snapshot, last, given, competition)
        nodes = [hosts.held[task][0] for task in placed]
        follow(Allocation(snapshot, last, queueing=queueing), placed, leaving, nodes, kept, competition)
        return made_round(hosts, placed, leaving, last)

    return kept, episode(load, answer, seed, usage)


def follow(
    due: Allocation,
    placed: Sequence[int],
    leaving: Sequence[int],
    nodes: Sequence[int],
    kept: Choices,
    competition: Competition | None = None,
) -> bool:
    """Take the choices that make a round of MLF-H if they are offered; return whether all of them were.

    MLF-H's rare fallback above the threshold is never offered, as overloaded nodes are not. competition: of the round,
    if running jobs queue as well.
    """
    givers: list[int] = []
    if competition is not None:
        givers = [int(tasks[0]) for tasks in competition.pausing]
    goers, comers = list(leaving), list(zip(placed, nodes, strict=True))
    first = set(leaving) | set(placed if competition is None else competition.starting.tolist())
    while due.kind is not None:
        tasks, places = due.offered()
        at: Any
        if due.kind == GIVE:
            at = np.flatnonzero(np.isin(due.snapshot.task_job[tasks], due.snapshot.task_job[givers]))[:1]
        elif due.kind == LEAVE:
            at = np.flatnonzero(tasks == goers[0]) if goers else []
            if len(at):
                goers.pop(0)
        elif due.kind == HOST:
            at = np.flatnonzero(places == comers.pop(0)[1])
            if not len(at):
                return False
        elif comers and due.away and comers[0][0] not in first:
            at = []  # preempted tasks return before other tasks start
        else:
            at = np.flatnonzero(tasks == comers[0][0]) if comers else []
            if (comers and not len(at)) or not (len(at) or due.mask[0]):
                return False
        row = int(at[0]) + 1 if len(at) else 0
        kept.keep(due, row)
        due.take(row)
    return not comers
