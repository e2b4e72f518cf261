"""The jobs that are in the system as columns, and the snapshots that schedulers see of them.

What a running job has done by now follows from when its stretch began and how fast it runs: nothing is updated between
events. Snapshots are built by the trusted path (no validation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING, WAITING
from mlsched.simulation.taskgraph.iterations.table import Table
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched.simulation.taskgraph.losses import error_rates, learning, samples

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.world import IterationWorld, Stretch

#: Columns of jobs that are the workload's own.
_OF_JOBS = ("arrival", "deadline", "urgency", "required", "min_iterations", "max_iterations")
#: Columns of jobs that snapshots show as they are kept: those that never change, and those that do.
_SHOWN_JOBS = ("job_id", *_OF_JOBS, "accuracy_table", "gang")
_MOVING_JOBS = ("stop_after", "first_start", "preemptions")
#: Columns of jobs that are kept besides. `begin`: when iterations go on (-1: they do not); `head`, `cycle`: 10^-6 ticks
#: from then to the end of the iteration under way, and of each later one; `cost`: of the former, those without
#: work since the job goes on after a pause; `since`: up to when service is counted.
_KEPT_JOBS = ("finished", "on_time", "part", "executed", "idle_since", "placed", "busy_since")
_PACE = ("begin", "head", "cycle", "cost")
_SHOWN_TASKS = ("parameters", "task_class")
_MOVING_TASKS = ("state", "node", "start", "home", "last_end")
#: Columns that are 0 in many workloads, and are kept only where they are not.
_RARE_JOBS = ("user", "option", "permits", "payment", "time_limit", "pause_cost", "priority")
_RARE_TASKS = ("role", "replica")
_EDGES = ("edge_lag", "edge_volume", "edge_delay")


class View:
    """`jobs` and `tasks`: the columns of what is in the system, in order of arrival (`Table`)."""

    def __init__(self, world: IterationWorld) -> None:
        self.world, self.workload = world, world.workload
        self.resources = len(self.workload.resources)
        amounts = range(self.resources)
        served = [f"service:{r}" for r in amounts] + [f"held:{r}" for r in amounts]
        self._of_jobs = [name for name in _RARE_JOBS if getattr(self.workload, name).any()]
        self._of_tasks = [name for name in _RARE_TASKS if getattr(self.workload, name).any()]
        self.jobs = Table(
            (*_SHOWN_JOBS, "loss_table", "count", *self._of_jobs),
            (*_MOVING_JOBS, *_KEPT_JOBS, *_PACE, "since", *served),
        )
        demands = [f"demand:{r}" for r in amounts]
        shown = (*_SHOWN_TASKS, "told", "true", "held", *self._of_tasks)
        self.tasks = Table(("owner", *shown, *demands), (*_MOVING_TASKS, "waiting_since", "gpu"))
        self._first = np.zeros(len(self.workload.arrival), dtype=np.int64)  # a job's first task in the last snapshot
        self._places: dict[int, tuple[int, slice]] = {}  # where entries of jobs were found since one last left
        self._learning = _Learning(self.workload, world.options.information == "oracle")
        self.edges = Table(("owner", "edge_from", "edge_to", *_EDGES), ())
        owner = self.workload.task_template[self.workload.edge_from]
        self._edges_of = [np.flatnonzero(owner == template) for template in range(len(self.workload.gang))]

    # -- what comes, goes and changes ---------------------------------------------------------------------------------

    def arrive(self, job: int) -> None:
        """A job is in the system from now on."""
        w = self.workload
        template, (first, end) = int(w.template[job]), w.span(job)
        self.jobs.append(
            1,
            {
                **{name: int(getattr(w, name)[job]) for name in _OF_JOBS},
                "job_id": job,
                "accuracy_table": int(self._learning.table[template]),
                "loss_table": int(self._learning.loss_table[template]),
                **{name: int(getattr(w, name)[job]) for name in self._of_jobs},
                **({"pause_cost": -(-int(w.pause_cost[job]) // WHOLE)} if "pause_cost" in self._of_jobs else {}),
                "gang": int(w.gang[template]),
                "count": end - first,
                "stop_after": int(w.max_iterations[job]),
                "first_start": -1,
                "idle_since": int(w.arrival[job]),
                "begin": -1,
            },
        )
        once = int(w.max_iterations[job]) == 1
        true = _ticks(w.duration[first:end], int(w.scale[job]), once)
        oracle = self.world.options.information == "oracle"
        self.tasks.append(
            end - first,
            {
                "owner": job,
                "parameters": w.parameters[first:end],
                "task_class": w.task_class[first:end],
                "told": true if oracle else _ticks(w.estimate[first:end], int(w.told[job]), once),
                "true": true,
                **{f"demand:{r}": w.demand[first:end, r] for r in range(self.resources)},
                "held": np.minimum(true, 1),
                **{name: getattr(w, name)[first:end] for name in self._of_tasks},
                "node": -1,
                "home": -1,
                "gpu": -1,
                "waiting_since": int(w.arrival[job]),
            },
        )
        of_it = self._edges_of[template]
        if of_it.size:
            ends = {name: getattr(w, name)[of_it] - first for name in ("edge_from", "edge_to")}
            self.edges.append(len(of_it), {"owner": job, **ends, **{name: getattr(w, name)[of_it] for name in _EDGES}})

    def leave(self, job: int) -> None:
        """A job is gone."""
        place = self._place(job)
        self._places.clear()
        self.jobs.remove(place, place + 1)
        for table in (self.tasks, self.edges):
            first, end = np.searchsorted(table["owner"], (job, job + 1)).tolist()
            if end > first:
                table.remove(first, end)

    def _place(self, job: int) -> int:
        return self._found(job)[0]

    def _found(self, job: int) -> tuple[int, slice]:
        """Where a job's entry is, and those of its tasks."""
        found = self._places.get(job)
        if found is None:
            place = int(self.jobs["job_id"].searchsorted(job))
            first = int(self.tasks["owner"].searchsorted(job))
            found = self._places[job] = place, slice(first, first + int(self.jobs["count"][place]))
        return found

    def job(self, job: int, name: str) -> int:
        """A job's entry of a column."""
        return int(self.jobs[name][self._place(job)])

    def set_job(self, job: int, **values: int) -> None:
        """Change a job's entries."""
        place = self._place(job)
        for name, value in values.items():
            self.jobs[name][place] = value

    def first_task(self, job: int) -> int:
        """Where a job's tasks begin in the columns."""
        return int(self._found(job)[1].start)

    def task_columns(self, job: int, *names: str) -> list[IntArray]:
        """A job's parts of columns of its tasks, to read and to write."""
        own = self._found(job)[1]
        return [self.tasks[name][own] for name in names]

    def hold(self, job: int, placed: int, amounts: IntArray, now: int) -> None:
        """From now on, so many tasks of a job hold these amounts of the resources."""
        jobs, place = self.jobs, self._place(job)
        for r in range(self.resources):
            held = jobs[f"held:{r}"]
            jobs[f"service:{r}"][place] += held[place] * (now - jobs["since"][place])
            held[place] = amounts[r]
        was = jobs["placed"][place]
        if placed and not was:
            jobs["busy_since"][place] = now
        if was and not placed:
            jobs["executed"][place] += now - jobs["busy_since"][place]
            jobs["idle_since"][place] = now
        if jobs["first_start"][place] < 0:
            jobs["first_start"][place] = now
        jobs["since"][place], jobs["placed"][place], jobs["begin"][place] = now, placed, -1

    def run(self, job: int, stretch: Stretch) -> None:
        """A job's iterations go on."""
        head = stretch.cost - (-(WHOLE - stretch.part) * stretch.first // WHOLE)
        begin = stretch.start + stretch.delay
        self.set_job(job, begin=begin, head=head, cycle=stretch.cycle, cost=stretch.cost)

    def stopped(self, job: int, finished: int, part: int, boundary: int, nodes: tuple[int, ...]) -> None:
        """What a job has done when its stretch ends; `boundary`: when the last iteration of it ended, -1: none did."""
        self.slowed(job, finished, boundary, nodes)
        self.set_job(job, part=part)

    def slowed(self, job: int, finished: int, boundary: int, nodes: tuple[int, ...]) -> None:
        """As `stopped`, where the job goes on at once, at another pace: then its tasks have not started anew.

        `part` is kept, since it is what was done of the iteration under way when they last did.
        """
        place = self._place(job)
        on_time = int(self._on_time(slice(place, place + 1))[0])
        self.set_job(job, finished=finished, on_time=on_time)
        if boundary >= 0:
            self.set_job(job, part=0)
            home, last_end, start, state = self.task_columns(job, "home", "last_end", "start", "state")
            home[:], last_end[:] = nodes, boundary
            start[state != WAITING] = boundary

    def from_scratch(self, job: int) -> None:
        """A job that holds nothing has lost all that it had done."""
        self.set_job(job, finished=0, on_time=0, part=0)
        home, last_end = self.task_columns(job, "home", "last_end")
        home[:], last_end[:] = -1, 0

    # -- what is seen -------------------------------------------------------------------------------------------------

    def _gained(self, until: Any, among: slice = slice(None)) -> IntArray:
        """jobs: iterations finished in the present stretch, up to a time (one, or one a job)."""
        begin, head, cycle = (self.jobs[name][among] for name in ("begin", "head", "cycle"))
        elapsed = np.maximum(until - begin, 0) * WHOLE
        over = (begin >= 0) & (elapsed >= head)
        return np.asarray(np.where(over, 1 + (elapsed - head) // np.maximum(cycle, 1), 0))

    def _on_time(self, among: slice = slice(None)) -> IntArray:
        """jobs: finished iterations that ended by the deadline."""
        until = np.minimum(self.jobs["deadline"][among], self.world.now)
        return np.asarray(self.jobs["on_time"][among] + self._gained(until, among))

    def snapshot(self) -> Snapshot:
        """What is observed now."""
        world, w, jobs, tasks, now = self.world, self.workload, self.jobs, self.tasks, self.world.now
        gained = self._gained(now)
        finished, busy = jobs["finished"] + gained, jobs["placed"] > 0
        held_for = now - jobs["since"]
        service = [jobs[f"service:{r}"] + jobs[f"held:{r}"] * held_for for r in range(self.resources)]
        counts = jobs["count"]
        task_job = np.repeat(np.arange(jobs.count), counts)
        # Of running tasks of jobs that have finished an iteration in this stretch: when the one under way began.
        later = gained > 0
        boundary = jobs["begin"] - (-(jobs["head"] + (gained - 1) * jobs["cycle"]) // WHOLE)
        later, boundary, finished_of = later[task_job], boundary[task_job], finished[task_job]
        part = np.where(gained > 0, 0, jobs["part"])[task_job]
        node, state = tasks["node"].copy(), tasks["state"].copy()
        duration = np.where(finished_of > 0, tasks["true"], tasks["told"])
        demand = tasks.block("demand:0", self.resources).T
        self._first[jobs["job_id"]] = np.cumsum(counts) - counts
        return Snapshot.trusted(
            **jobs.seen(_SHOWN_JOBS),
            **tasks.seen(_SHOWN_TASKS),
            **{name: jobs[name].copy() for name in _MOVING_JOBS},
            **self._edges(),
            resources=w.resources,
            node_capacity=w.node_capacity,
            in_use=w.node_capacity - world.free,
            now=now,
            accuracy=self._learning.told,
            **self._learning.seen(w.template[jobs["job_id"]], jobs["loss_table"], finished),
            finished=finished,
            on_time=jobs["on_time"] + gained if (jobs["deadline"] >= now).all() else self._on_time(),
            service=np.array(service, dtype=np.int64).reshape(self.resources, jobs.count).T,
            executed=jobs["executed"] + np.where(busy, now - jobs["busy_since"], 0),
            idle_since=np.where(busy, now, jobs["idle_since"]),
            task_job=task_job,
            duration=duration,
            demand=demand,
            eligible=world.eligible,
            state=state,
            node=node,
            start=np.where(later, boundary, np.maximum(tasks["start"], self._loaded()[task_job])),
            end=np.zeros(tasks.count, dtype=np.int64),
            progress=np.where(state == WAITING, 0, duration * part // WHOLE),
            home=np.where(later, node, tasks["home"]),
            last_end=np.where(later, boundary, tasks["last_end"]),
            movement=world.movement,
            pausing=world.options.pausing,
            accuracy_at=w.accuracy_at,
            tick_ms=w.tick_ms,
            physics="iterations",
            waiting_since=np.where(state == RUNNING, now, tasks["waiting_since"]),
            usage=self._usage(demand),
            node_type=w.node_type,
            slowness=w.slowness,
            **self._rare(jobs, _RARE_JOBS, self._of_jobs),
            **self._rare(tasks, _RARE_TASKS, self._of_tasks),
            **self._gpus(),
        )

    def _loaded(self) -> IntArray:
        """jobs: since when they work again that go on after a pause, now where they do not yet; 0 for others.

        What such a task has done since its start is no more than that.
        """
        begin, cost = self.jobs["begin"], self.jobs["cost"]
        until = np.minimum(begin - (-cost // WHOLE), self.world.now)
        return np.asarray(np.where((begin >= 0) & (cost > 0), until, 0))

    def _usage(self, demand: IntArray) -> IntArray:
        """What the tasks use now."""
        usage = self.world.usage
        if usage is None:
            return np.asarray(demand * (self.tasks["held"] * (self.tasks["state"] == RUNNING))[:, None])
        usage.look(self.world.now)
        return usage.seen(self._first, self.tasks.count)

    def _gpus(self) -> dict[str, Any]:
        """Which GPUs are held, where they are told apart."""
        w, devices = self.workload, self.world.devices
        return {
            "gpu_unit": w.gpu_unit,
            "gpu": self.tasks["gpu"].copy(),
            "gpu_in_use": devices.total - devices.free,
            "gpu_holder": devices.holders(self._first),
        }

    def _rare(self, table: Table, names: Sequence[str], kept: Sequence[str]) -> dict[str, IntArray]:
        """Columns to hand out that are kept only where something is in them."""
        nothing = np.zeros(table.count, dtype=np.int64)
        nothing.flags.writeable = False
        return dict.fromkeys(names, nothing) | table.seen(kept)

    def _edges(self) -> dict[str, IntArray]:
        """The edges, between tasks as the snapshot numbers them."""
        edges = self.edges
        first = self.tasks["owner"].searchsorted(edges["owner"])
        ends = {name: edges[name] + first for name in ("edge_from", "edge_to")}
        return {**ends, **edges.seen(_EDGES)}


class _Learning:
    """What is told and seen of how the jobs' models learn. Of each template: `table`, the row of the accuracies `told`
    that is its own, and `loss_table`, the row of its losses (-1: none is seen, since it never learns).
    """

    def __init__(self, jobs: Jobs, oracle: bool) -> None:
        self._true, self._table = jobs.accuracy, jobs.accuracy_table
        told = np.where((jobs.accuracy_told < 0) | oracle, jobs.accuracy_table, jobs.accuracy_told)
        rows, self.table = np.unique(told, return_inverse=True)
        self.told = np.ascontiguousarray(jobs.accuracy[rows])
        self.told.flags.writeable = False
        column = np.arange(max(jobs.accuracy.shape[1], jobs.loss.shape[1]))
        self._losses = np.concatenate(
            [
                t[:, np.minimum(column, t.shape[1] - 1)] if t.size else np.zeros((len(t), len(column)), dtype=np.int64)
                for t in (error_rates(jobs.accuracy), jobs.loss)
            ]
        )
        own = np.where(learning(jobs.accuracy)[jobs.accuracy_table], jobs.accuracy_table, -1)
        self.loss_table = np.where(jobs.loss_table >= 0, jobs.loss_table + len(jobs.accuracy), own)

    def seen(self, template: IntArray, loss_table: IntArray, finished: IntArray) -> dict[str, IntArray]:
        """The accuracy now and the losses so far of jobs that have finished so many iterations."""
        column = np.minimum(finished, self._true.shape[1] - 1)
        return {
            "accuracy_seen": self._true[self._table[template], column],
            **samples(self._losses, loss_table, finished),
        }


def _ticks(duration: IntArray, scale: int, once: bool) -> IntArray:
    """Durations in whole ticks, as they are observed: at least 1 where there is any.

    Of a job of one iteration they are rounded up, as its end is; of others to the nearest, since they add up.
    """
    if once:
        return np.asarray(-(-duration * scale // WHOLE))
    return np.asarray(np.maximum(np.rint(duration * (scale / WHOLE)).astype(np.int64), np.minimum(duration, 1)))
