"""Placements of one instance under construction, several at once, for Harmony-plus.

A step puts a part of a job (a number of workers and PSs) on a server. A begun job is finished first; if it cannot be
finished, it is removed and waits. Of equivalent servers only the first may be chosen. The instance's interference and
network coefficients are not read: slowdowns are estimates of a fitted model (`plus_speeds`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.instances.placement import Instance, Plan
from mlsched.learned.placement.plus_net import JOB, View
from mlsched.learned.placement.plus_speeds import Speeds, network_shares

#: Candidates by their state, job, server and part, each of shape (C,).
Candidates = tuple[IntArray, IntArray, IntArray, IntArray]
#: All numbers of tasks up to this may be put on a server at once; beyond it, powers of two.
SMALL = 3


def part_sizes(most: int) -> list[int]:
    """Return the numbers of tasks of a kind that a step may place, up to `most`."""
    counts, more = list(range(min(most, SMALL) + 1)), SMALL + 1
    while more <= most:
        counts.append(more)
        more *= 2
    return counts


class Question:
    """The constants of an instance during construction. A: its concurrent jobs, running jobs first."""

    def __init__(self, instance: Instance, speeds: Speeds) -> None:
        self.instance = instance
        self.running, self.jobs = len(instance.run_type), len(instance.job_type)
        self.kind = np.concatenate([instance.run_type, instance.job_type])
        worker, ps, remote_ps, remote_worker = speeds.tables_for(instance)
        pair = np.ix_(self.kind, self.kind)
        self.by_worker, self.by_ps = worker[pair], ps[pair]
        self.remote_ps, self.remote_worker = remote_ps[self.kind], remote_worker[self.kind]
        self.speed = np.concatenate([instance.run_speed, instance.job_speed]).astype(np.float64)
        self.scale = max(1.0, float(self.speed.mean())) if len(self.speed) else 1.0
        self.workers = np.concatenate([instance.run_workers.sum(axis=1), instance.job_workers])
        self.ps = np.concatenate([instance.run_ps.sum(axis=1), instance.job_ps])
        self.everywhere = instance.network_at == "tasks"
        self.most = max(0, min(instance.most_new, instance.most_jobs - self.running))
        self.apart = instance.apart[pair].astype(bool)
        most_w, most_p = int(instance.job_workers.max(initial=0)), int(instance.job_ps.max(initial=0))
        #: The parts that a step may place: (workers, PSs).
        self.parts = np.array([(w, p) for w in part_sizes(most_w) for p in part_sizes(most_p)][1:], dtype=np.int64)
        self.parts = self.parts.reshape(-1, 2)
        self.capacity = np.maximum(instance.server_capacity, 1)
        #: Demand of a part (J x parts x resources), and its dominant share of the mean server.
        self.need = (
            self.parts[:, :1] * instance.worker_demand[:, None] + self.parts[:, 1:] * instance.ps_demand[:, None]
        )
        mean = self.capacity.mean(axis=0)
        self.share = (self.need / mean).max(axis=2, initial=0.0)
        whole = instance.job_workers[:, None] * instance.worker_demand + instance.job_ps[:, None] * instance.ps_demand
        self.whole_share = (whole / mean).max(axis=1, initial=0.0)
        self.whole_need = whole / np.maximum(instance.server_capacity.sum(axis=0), 1)
        self.classes = self._server_classes()
        self.fixed = self._fixed_features()

    def _server_classes(self) -> BoolArray:
        """Return the class of equivalent servers of each server, one-hot, shape (M, classes)."""
        i = self.instance
        rows = np.concatenate([i.server_free, i.server_capacity, i.run_workers.T, i.run_ps.T], axis=1)
        _, which = np.unique(rows, axis=0, return_inverse=True)
        return np.eye(int(which.max(initial=-1)) + 1, dtype=bool)[which.reshape(-1)]

    def _fixed_features(self) -> FloatArray:
        """Return the features of jobs that never change, shape (J, 7)."""
        i, mine = self.instance, np.arange(self.running, self.running + self.jobs)
        speed = self.speed[mine] / self.scale
        others = max(1, len(self.kind) - 1)
        suffers = (self.by_worker[mine].sum(axis=1) - self.by_worker[mine, mine]) / others
        causes = (self.by_worker[:, mine].sum(axis=0) - self.by_worker[mine, mine]) / others
        columns = [
            speed,
            np.log(np.maximum(speed, 1e-2)),
            np.log1p(i.job_workers),
            np.log1p(i.job_ps),
            self.remote_ps[mine],
            suffers,
            causes,
        ]
        return np.stack(columns, axis=1)

    def total_speed(self, w: FloatArray, p: FloatArray) -> FloatArray:
        """Estimate the total speed of placements, shape (B, A, M), running jobs included."""
        total: FloatArray = self.speeds_at(self.slowdowns(w, p).max(axis=2, initial=0.0)).sum(axis=1)
        return total

    def speeds_at(self, slowdown: FloatArray) -> FloatArray:
        """Return the speeds of jobs, shape (..., A), at a slowdown; 0 if the slowdown is 0 (the job is not placed)."""
        return np.where(slowdown > 0, self.speed / np.maximum(slowdown, 1.0), 0.0)

    def slowdowns(self, w: FloatArray, p: FloatArray) -> FloatArray:
        """Estimate the slowdown of each job on each server, shape (B, A, M); 0 if no part of the job is there."""
        own = np.diagonal(self.by_worker)[:, None] * w + np.diagonal(self.by_ps)[:, None] * p
        remote_ps, remote = network_shares(w, p, self.workers[:, None], self.ps[:, None], self.everywhere)
        slowdowns = 1.0 + self.by_worker @ w + self.by_ps @ p - own
        slowdowns += self.remote_ps[:, None] * remote_ps + self.remote_worker[:, None] * remote
        return np.where(w + p > 0, slowdowns, 0.0)


class States:
    """`count` placements of one question under construction."""

    def __init__(self, question: Question, count: int) -> None:
        self.question = q = question
        i, servers = q.instance, len(q.instance.server_free)
        self.count, self.servers = count, servers
        self.w, self.p = np.zeros((2, count, len(q.kind), servers))
        self.w[:, : q.running], self.p[:, : q.running] = i.run_workers, i.run_ps
        self.free = np.repeat(i.server_free[None], count, axis=0)
        self.remaining = np.repeat(np.stack([i.job_workers, i.job_ps], axis=1)[None], count, axis=0)
        #: The begun, incomplete job, or -1.
        self.begun = np.full(count, -1)
        self.waiting = np.ones((count, q.jobs), dtype=bool)
        self.placed = np.zeros(count, dtype=np.int64)
        self.touched = np.zeros((count, servers), dtype=bool)
        self.done = np.full(count, not (q.jobs and q.most))

    # -- possible steps -----------------------------------------------------------------------------------------------

    def _selectable_servers(self) -> tuple[BoolArray, IntArray]:
        """Return which servers may be chosen (the first of each class) and the size of their class, both (B, M)."""
        q = self.question
        fresh = ~self.touched
        members = fresh[:, :, None] & q.classes
        first = np.zeros_like(fresh)
        if members.size:
            np.put_along_axis(first, members.argmax(axis=1), True, axis=1)
        first &= fresh
        equal = np.where(fresh, members.sum(axis=1) @ q.classes.T, 1)
        return self.touched | first, equal

    def possible_placements(self, first: BoolArray) -> BoolArray:
        """Return the possible next placements, shape (B, J, M, parts)."""
        q = self.question
        job = self.waiting & ~self.done[:, None] & (self.placed < q.most)[:, None]
        busy = self.begun >= 0
        if busy.any():
            only = np.arange(q.jobs) == self.begun[:, None]
            job = np.where(busy[:, None], only, job)
        fits = (q.parts <= self.remaining[:, :, None]).all(axis=3) & job[:, :, None]
        possible: BoolArray = fits[:, :, None, :] & first[:, None, :, None]
        for r in range(self.free.shape[2]):
            possible &= self.free[:, None, :, None, r] >= q.need[None, :, None, :, r]
        if q.apart.any():
            hosted = (self.w + self.p > 0).astype(np.float64)
            apart = q.apart[q.running :].astype(np.float64)
            # A job may be apart from other jobs of its type, but its own tasks do not count.
            own = np.diagonal(q.apart)[q.running :, None] * hosted[:, q.running :]
            possible &= ((apart @ hosted - own) == 0)[:, :, :, None]
        return possible

    # -- features -----------------------------------------------------------------------------------------------------

    def view_and_candidates(self) -> tuple[View, Candidates]:
        """Return the view of all states, and the candidates as (state, job, server, part)."""
        q, shape = self.question, (self.count, self.question.jobs, self.servers)
        first, equal = self._selectable_servers()
        b, j, s, k = np.nonzero(self.possible_placements(first))
        at = b, j, s, k
        slow = q.slowdowns(self.w, self.p)
        # elsewhere: the job's largest slowdown on the other servers; for its slowest server, the second largest.
        slowest = slow.argmax(axis=2)[..., None]
        worst = np.take_along_axis(slow, slowest, axis=2)
        others = slow.copy()
        np.put_along_axis(others, slowest, 0.0, axis=2)
        elsewhere = np.where(np.arange(self.servers) == slowest, others.max(axis=2)[..., None], worst)
        speed = q.speeds_at(worst[..., 0])
        view = View(
            self._candidate_features(at, slow, elsewhere, speed).astype(np.float32),
            self._job_features().reshape(-1, JOB).astype(np.float32),
            self._server_features(slow, speed, equal).astype(np.float32),
            self._state_features().astype(np.float32),
            b * shape[1] + j,
            b * shape[2] + s,
            b,
            self.begun < 0,
        )
        return view, at

    def _candidate_features(
        self, at: Candidates, slow: FloatArray, elsewhere: FloatArray, speed: FloatArray
    ) -> FloatArray:
        """Compute the features of candidates, shape (C, CANDIDATE).

        Args:
            at: State, job, server and part of each candidate.
            slow: Slowdown of each job by its tasks on each server, shape (B, jobs, M); 0 without tasks there.
            elsewhere: Largest slowdown of each job on the other servers, shape (B, jobs, M).
            speed: Speed of each job, shape (B, jobs).
        """
        q = self.question
        b, j, s, k = at
        mine, (w, p) = j + q.running, q.parts[k].T
        w0, p0 = self.w[b, mine, s], self.p[b, mine, s]
        # The job itself: interference by who is there, and its network terms with the new part.
        pressure = (q.by_worker @ self.w + q.by_ps @ self.p)[b, mine, s]
        pressure -= q.by_worker[mine, mine] * w0 + q.by_ps[mine, mine] * p0
        remote_ps, remote = network_shares(w0 + w, p0 + p, q.workers[mine], q.ps[mine], q.everywhere)
        own = 1.0 + pressure + q.remote_ps[mine] * remote_ps + q.remote_worker[mine] * remote
        after = np.maximum(elsewhere[b, mine, s], own)
        fast = q.speed[mine] / after
        gain = (fast - speed[b, mine]) / q.scale
        loss = self._loss_of_others(at, slow, elsewhere, speed)
        share = q.share[j, k]
        rest = self.remaining[b, j] - q.parts[k]
        room = (self.free[b, s] - q.need[j, k]) / q.capacity[s]
        tasks = (self.w + self.p).sum(axis=1)[b, s] - w0 - p0
        size = (q.workers + q.ps)[mine]
        columns = [
            np.log(own),
            np.log(after),
            fast / q.scale,
            gain,
            loss,
            gain - loss,
            (gain - loss) / np.maximum(share, 0.05) / 4,
            w / q.workers[mine],
            p / np.maximum(q.ps[mine], 1),
            rest.sum(axis=1) / size,
            rest.sum(axis=1) == 0,
            share,
            room.min(axis=1, initial=1.0),
            room.mean(axis=1) if room.shape[1] else np.ones(len(b)),
            tasks == 0,
            w0 + p0 > 0,
        ]
        features: FloatArray = np.clip(np.stack(np.broadcast_arrays(*columns), axis=1), -10, 10)
        return features

    def _loss_of_others(self, at: Candidates, slow: FloatArray, elsewhere: FloatArray, speed: FloatArray) -> FloatArray:
        """Compute by how much each candidate slows down the jobs on its server, in mean speeds, shape (C,)."""
        q = self.question
        b, j, s, k = at
        # First the jobs on each server, then every candidate with every job of its server.
        hosts = np.ascontiguousarray(slow.transpose(0, 2, 1)) > 0  # B x M x A
        state, server, job = np.nonzero(hosts)
        last = np.cumsum(hosts.sum(axis=2).reshape(-1))
        place = b * self.servers + s
        count = np.diff(last, prepend=0)[place]
        c = np.repeat(np.arange(len(b)), count)
        row = np.arange(len(c)) + np.repeat(last[place] - np.cumsum(count), count)
        there = state[row], job[row], server[row]
        w, p = q.parts[k[c]].T
        mine, host = j[c] + q.running, job[row]
        more = slow[there] + q.by_worker[host, mine] * w + q.by_ps[host, mine] * p
        losses = speed[there[:2]] - q.speed[host] / np.maximum(np.maximum(elsewhere[there], more), 1.0)
        losses[host == mine] = 0.0
        return np.bincount(c, losses, minlength=len(b)) / q.scale

    def _job_features(self) -> FloatArray:
        """Compute the features of jobs, shape (B, J, JOB)."""
        q = self.question
        rest = self.remaining.sum(axis=2) / np.maximum((q.workers + q.ps)[q.running :], 1)
        free = self.free.sum(axis=1) / np.maximum(q.instance.server_capacity.sum(axis=0), 1)
        crowd = (q.whole_need / np.maximum(free, 1e-2)[:, None]).max(axis=2, initial=0.0)
        features = np.empty((self.count, q.jobs, JOB))
        features[..., :7] = q.fixed
        features[..., 7] = q.whole_share
        features[..., 8] = np.minimum(crowd, 10)
        features[..., 9] = rest
        features[..., 10] = self.waiting
        features[..., 11] = np.arange(q.jobs) == self.begun[:, None]
        return features

    def _server_features(self, slow: FloatArray, speed: FloatArray, equal: IntArray) -> FloatArray:
        """Compute the features of servers, shape (B M, SERVER).

        Args:
            slow: Slowdown of each job by its tasks on each server, shape (B, jobs, M); 0 without tasks there.
            speed: Speed of each job, shape (B, jobs).
            equal: Number of servers that are equal to each one, shape (B, M).
        """
        q = self.question
        room = self.free / q.capacity
        hosts = slow > 0
        columns = [
            room.min(axis=2, initial=1.0),
            room.mean(axis=2) if room.shape[2] else np.ones(room.shape[:2]),
            np.log1p((self.w + self.p).sum(axis=1)),
            np.minimum((hosts * speed[..., None]).sum(axis=1) / q.scale, 10),
            np.log(np.maximum(slow.max(axis=1, initial=0.0), 1.0)),
            np.log1p(equal),
            self.touched,
        ]
        return np.stack(columns, axis=2).reshape(-1, len(columns))

    def _state_features(self) -> FloatArray:
        """Compute the features of complete states, shape `(B, WHOLE)`."""
        q = self.question
        open_ = self.waiting & (self.placed < q.most)[:, None]
        free = self.free.sum(axis=1) / np.maximum(q.instance.server_capacity.sum(axis=0), 1)
        open_need = open_.astype(np.float64) @ q.whole_need
        columns = [
            free.min(axis=1, initial=1.0),
            np.minimum((open_need / np.maximum(free, 1e-2)).max(axis=1, initial=0.0), 10),
            np.log1p(open_.sum(axis=1)),
            ((self.w + self.p).sum(axis=1) == 0).mean(axis=1),
            np.log1p(np.full(self.count, q.running)) / 3,
            (self.begun >= 0),
        ]
        return np.stack(columns, axis=1)

    # -- steps --------------------------------------------------------------------------------------------------------

    def place_parts(self, states: IntArray, jobs: IntArray, servers: IntArray, parts: IntArray) -> None:
        """Place a part in each of some states (each at most once)."""
        q = self.question
        w, p = q.parts[parts].T
        self.w[states, jobs + q.running, servers] += w
        self.p[states, jobs + q.running, servers] += p
        self.free[states, servers] -= q.need[jobs, parts]
        self.remaining[states, jobs] -= q.parts[parts]
        self.touched[states, servers] = True
        whole = (self.remaining[states, jobs] == 0).all(axis=1)
        self.begun[states] = np.where(whole, -1, jobs)
        self.waiting[states, jobs] = False
        self.placed[states] += whole
        self.done[states[whole]] = (self.placed[states] >= q.most)[whole] | ~self.waiting[states[whole]].any(axis=1)

    def remove_begun_jobs(self, states: IntArray) -> None:
        """Remove the partly placed job of each given state; it waits. A state without such a job is finished."""
        i, q = self.question.instance, self.question
        for b in np.asarray(states).tolist():
            j = int(self.begun[b])
            if j < 0:
                self.done[b] = True
                continue
            row = (b, j + q.running)
            self.free[b] += (self.w[row][:, None] * i.worker_demand[j] + self.p[row][:, None] * i.ps_demand[j]).astype(
                np.int64
            )
            self.w[row] = self.p[row] = 0
            self.remaining[b, j] = i.job_workers[j], i.job_ps[j]
            self.begun[b] = -1
            self.done[b] = not self.waiting[b].any()

    def total_speeds(self) -> FloatArray:
        """Estimate the total speed of each state."""
        return self.question.total_speed(self.w, self.p)

    def plan(self, state: int) -> Plan:
        """Convert a finished state into a plan."""
        first = self.question.running
        return Plan(workers=self.w[state, first:].astype(np.int64), ps=self.p[state, first:].astype(np.int64))
