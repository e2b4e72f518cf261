"""Chic-plus' likeliest actions, for any number of jobs: a queue of every job's best next task.

Takes the same actions as `Allocation.draw` does without a generator (scores differ by float32 rounding at most), for
many jobs in a tenth of its time, because

- a job's scores depend only on the job and on what it has itself: the queue holds one task per job, and taking it
  changes no other entry;
- what does not fit any more never fits again: a task that does not fit when it comes to the top leaves for good;
- scores are computed ahead, for all jobs together: of few jobs all that there are, of many along the tasks that each
  would take by itself. A NumPy call costs nearly as much for one job as for a hundred.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.learned.workers.plus_net import PlusNet

if TYPE_CHECKING:
    from mlsched.learned.workers.chic_plus import Allocation

#: For how many tasks more of every job scores are computed at a time.
DEPTH = 16
#: So many scores at most are computed at once instead: few jobs.
AT_ONCE = 1500
#: The score of a task that does not help.
NEVER = float("-inf")


def fill(state: Allocation, net: PlusNet) -> IntArray:
    """Tasks of every job (jobs x 2) when always the highest score is taken."""
    needs = [[tuple(row) for row in need] for need in state.need.tolist()]
    free = state.free.tolist()
    tasks = [[0, 0] for _ in needs]
    ahead = _Ahead(state, net)
    waiting = np.flatnonzero(state.there).tolist()
    ahead.begin(waiting, tasks, free)
    # An entry: the highest score of the job's two tasks, negated; 2 job + kind (0: a worker, 1: a PS); the other score.
    queue = [(-ahead.scores(job, 0, 0)[0], 2 * job, NEVER) for job in waiting]
    heapq.heapify(queue)
    taken = 0  # tasks since scores were computed for all jobs
    while queue:
        _, code, other = heapq.heappop(queue)
        job, kind = code >> 1, code & 1
        mine = tasks[job]
        begins = not mine[0]  # a job begins with a worker and at once its PS
        need = needs[job][2 if begins else kind]
        if any(a > b for a, b in zip(need, free, strict=True)):
            if other > NEVER:
                heapq.heappush(queue, (-other, code ^ 1, NEVER))
            continue
        free = [b - a for a, b in zip(need, free, strict=True)]
        if begins:
            mine[0] = mine[1] = 1
        else:
            mine[kind] += 1
        taken += 1
        if not ahead.knows(job, *mine):
            # All jobs once more where enough has happened since to pay for it, such as a resource that is used up.
            everyone = 2 * taken >= len(queue)
            ahead.look([job, *(code >> 1 for _, code, _ in queue if everyone)], tasks, free)
            taken = 0 if everyone else taken
        worker, ps = ahead.scores(job, *mine)
        if max(worker, ps) > NEVER:
            entry = (-worker, 2 * job, ps) if worker >= ps else (-ps, 2 * job + 1, worker)
            heapq.heappush(queue, entry)
    return np.array(tasks, dtype=np.int64).reshape(-1, 2)


class _Ahead:
    """Scores of the tasks that jobs will come to."""

    def __init__(self, state: Allocation, net: PlusNet) -> None:
        self.state, self.net = state, net
        self.code = net.encode(state.start(), state.there)
        self._known: dict[tuple[int, int, int], list[float]] = {}
        self._table: dict[int, list[list[list[float]]]] = {}

    def knows(self, job: int, workers: int, servers: int) -> bool:
        """Whether the scores of a job that has so many are computed."""
        return bool(self._table) or (job, workers, servers) in self._known

    def scores(self, job: int, workers: int, servers: int) -> list[float]:
        """Of a worker and of a PS more for a job that has so many."""
        return self._table[job][workers][servers] if self._table else self._known[job, workers, servers]

    def begin(self, jobs: list[int], all_tasks: list[list[int]], free: list[int]) -> None:
        """Compute the scores of jobs that have nothing yet, and those that they will come to; of few jobs all."""
        wide, high = (self.state.most + 1).tolist()
        if len(jobs) * wide * high > AT_ONCE:
            self.look(jobs, all_tasks, free)
            return
        tasks = np.indices((wide, high)).reshape(2, -1).T
        every = np.repeat(np.array(jobs, dtype=np.int64), len(tasks))
        # In stacks of a product per job and number of workers: equal jobs get equal scores, to the last digit.
        scores = self._scores(every, np.tile(tasks, (len(jobs), 1)), (len(jobs), wide, high))
        self._table = dict(zip(jobs, scores.tolist(), strict=True))

    def look(self, jobs: list[int], all_tasks: list[list[int]], free: list[int]) -> None:
        """Compute the scores of jobs with what they have, and with what they will have if the rest goes on to fit."""
        at = np.array(jobs, dtype=np.int64)
        tasks = np.array([all_tasks[job] for job in jobs], dtype=np.int64).reshape(-1, 2)
        fits: Any = (self.state.need[at] <= np.array(free)).all(axis=-1)
        for _ in range(DEPTH):
            if not len(at):
                return
            score = self._scores(at, tasks)
            self._known.update(zip(zip(at.tolist(), *tasks.T.tolist(), strict=True), score.tolist(), strict=True))
            fresh = tasks[:, 0] == 0
            score[~np.where(fresh[:, None], fits[:, 2:], fits[:, :2])] = NEVER
            kind = score.argmax(axis=1)
            every = np.arange(len(at))
            goes = score[every, kind] > NEVER
            tasks[every, kind] += 1
            tasks[fresh] = 1
            at, tasks, fits = at[goes], tasks[goes], fits[goes]

    def _scores(self, jobs: IntArray, tasks: IntArray, shape: tuple[int, ...] = (-1,)) -> Any:
        """`shape` x 2 of jobs' scores; minus infinity where one more does not help, whether or not it fits."""
        ahead = self.state.ahead(jobs, tasks)
        inputs = self.code[jobs], self.state.changing(jobs, tasks, ahead)
        score = self.net.score(*(each.reshape(*shape, each.shape[-1]) for each in inputs)).reshape(-1, 2)
        helps = ((ahead[1:3] < ahead[0]) | np.isinf(ahead[0])).T & (tasks < self.state.most)
        helps[tasks[:, 0] == 0] = True, False
        score[~helps] = NEVER
        return score.reshape(*shape, 2)
