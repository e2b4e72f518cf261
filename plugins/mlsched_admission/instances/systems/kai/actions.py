"""The actions of a session: allocate, consolidation, reclaim and preempt (rules A8 to A12)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from mlsched_admission.instances.systems.kai import shares
from mlsched_admission.instances.systems.kai.model import (
    ACTIVE,
    ALLOCATED,
    GPU_,
    PENDING,
    PIPELINED,
    RELEASING,
    ZERO,
    Job,
    Node,
    Pod,
    Queue,
    Session,
    Vector,
    sum_of_vectors,
)
from mlsched_admission.instances.systems.kai.orders import Line

ACTIONS = ("allocate", "consolidation", "reclaim", "preempt")
#: Earlier state of a pod: (status, node, groups).
Before = tuple[str, str, tuple[str, ...]]


class Journal:
    """Changes of pods that can be taken back."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.changes: list[tuple[Pod, Before]] = []

    def set_status(self, pod: Pod, status: str, node: str, groups: tuple[str, ...]) -> None:
        """Change a pod."""
        self.changes.append((pod, (pod.status, pod.node, pod.groups)))
        self.session.set_status(pod, status, node, groups)

    def take_back(self, to: int = 0) -> None:
        """Take back all changes after the first `to`."""
        while len(self.changes) > to:
            pod, (status, node, groups) = self.changes.pop()
            self.session.set_status(pod, status, node, groups)


def run(session: Session, actions: Iterable[str] = ACTIONS, jobs: Iterable[str] | None = None) -> None:
    """Run a session about the waiting jobs (default: all)."""
    shares.divide_fairly(session)
    names = None if jobs is None else set(jobs)
    for action in actions:
        waiting = [job for job in session.jobs.values() if names is None or job.name in names]
        _Action(session, action).run(waiting)


class _Action:
    """One action."""

    def __init__(self, session: Session, name: str) -> None:
        self.session, self.name = session, name

    def run(self, jobs: Sequence[Job]) -> None:
        line = Line(self.session, (job for job in jobs if job.ready and job.chunk_to_place()))
        while (job := line.next_job()) is not None:
            if self._is_finished(job) and job.chunk_to_place():
                line.add_job(job)

    def _is_finished(self, job: Job) -> bool:
        if self.name == "allocate":
            journal = Journal(self.session)
            if place_chunk(journal, job, job.chunk_to_place(), pipelined=False):
                return True
            journal.take_back()
            return False
        return self._may_use_action(job) and _Search(self.session, job, self.name).run()

    def _may_use_action(self, job: Job) -> bool:
        """Return whether the job may use the action (A10)."""
        session, pods = self.session, job.chunk_to_place()
        request, path = session.requested_amounts(pods), session.path_to_root(job.queue)
        if self.name == "consolidation":
            idle = sum(node.free_gpus() for node in session.nodes.values() if node.usable)
            return job.preemptible and request[GPU_] <= idle * 1_000_000 + 1e-6
        leaf = path[0]
        within_share = job.preemptible or leaf.within_deserved(sum_of_vectors(leaf.fixed, request))
        if self.name == "preempt":
            return job.preemptible or all(queue.within_deserved(sum_of_vectors(queue.fixed, request)) for queue in path)
        fair = all(a <= f for a, f in zip(sum_of_vectors(leaf.allocated, request), leaf.fair, strict=True))
        return fair and within_share


# --- placing (A8, A9) ------------------------------------------------------------------------------------------------


def has_capacity(session: Session, job: Job, request: Vector) -> bool:
    """Return whether limits, and for non-preemptible jobs deserved shares, allow the request (A8)."""
    for queue in session.path_to_root(job.queue):
        after = sum_of_vectors(queue.allocated, request)
        if any(limit >= 0 and a > limit for a, limit, n in zip(after, queue.limit, request, strict=True) if n):
            return False
        nonpreemptible = sum_of_vectors(queue.fixed, request)
        deserved = zip(nonpreemptible, queue.deserved, request, strict=True)
        if not job.preemptible and any(d >= 0 and a > d for a, d, n in deserved if n):
            return False
    return True


def place_chunk(
    journal: Journal, job: Job, pods: Sequence[Pod], *, pipelined: bool, origin: Mapping[Pod, Before] | None = None
) -> bool:
    """Place a complete chunk; return False, with changes that the caller takes back, if a pod finds no node.

    origin: earlier states of evicted pods. A pod that returns to its own devices was never evicted; any other is moved.
    """
    session = journal.session
    if not has_capacity(session, job, session.requested_amounts(pods)):
        return False
    for pod in pods:
        if not has_capacity(session, job, pod.request(session.smallest)):
            return False
        best = _node_for_pod(session, pod)
        if best is None:
            return False
        node, now = best
        groups = node.devices_for(pod, releases=not now)
        assert groups is not None
        if origin and pod in origin:
            _replace_evicted(journal, pod, node, groups, origin[pod])
        else:
            journal.set_status(pod, ALLOCATED if now and not pipelined else PIPELINED, node.name, groups)
    if not pipelined:
        _all_or_pipelined(journal, job, pods)
    return True


def _replace_evicted(journal: Journal, pod: Pod, node: Node, groups: tuple[str, ...], before: Before) -> None:
    """Give an evicted pod a place; a moved one still leaves its old place."""
    status, old, devices = before
    if node.name == old and (not pod.shared or set(groups) == set(devices)):
        journal.set_status(pod, status, old, devices)
        return
    shadow = dataclasses.replace(pod, status=PENDING, node="", groups=())
    journal.set_status(pod, PIPELINED, node.name, groups)
    journal.set_status(shadow, RELEASING, old, devices)


def _all_or_pipelined(journal: Journal, job: Job, pods: Sequence[Pod]) -> None:
    """Pipeline all new pods if fewer than the minimum are truly allocated (A9)."""
    for name, least in job.minima.items():
        real = [p for p in job.pods if p.subgroup == name and p.status in ACTIVE and p.status != PIPELINED]
        if len(real) < least and any(pod.status == PIPELINED for pod in pods):
            for pod in pods:
                if pod.status == ALLOCATED:
                    journal.set_status(pod, PIPELINED, pod.node, pod.groups)
            return


def _node_for_pod(session: Session, pod: Pod) -> tuple[Node, bool] | None:
    """Return the node for a pod, and whether it has room without waiting for releases (A9)."""
    best: tuple[tuple[bool, bool, bool, bool, float, str], Node, bool] | None = None
    for node in session.nodes.values():
        if pod.gpus > node.soon.get("gpu", 0):  # most nodes are full: the cheap part of `fits` first
            continue
        if not node.usable or (pod.open_to is not None and node.name not in pod.open_to):
            continue
        if node.devices_for(pod, releases=True) is None:
            continue
        now = node.devices_for(pod, releases=False) is not None
        gpu = pod.gpus or pod.shared or pod.mig
        free = node.free_gpus() if gpu else float(node.soon.get("cpu", 0))
        key = (
            pod.nominated != node.name,
            not (pod.shared and node.joinable_devices(pod)),
            not now,
            bool(gpu) or node.room.get("gpu", 0) > 0,
            free,
            node.name,
        )
        if best is None or key < best[0]:
            best = key, node, now
    return None if best is None else (best[1], best[2])


# --- victims (A11, A12) ----------------------------------------------------------------------------------------------


class _Search:
    """The search for victims of one job."""

    def __init__(self, session: Session, job: Job, action: str) -> None:
        self.session, self.job, self.action = session, job, action
        self.chunk = job.chunk_to_place()
        self.accept: Callable[[list[list[Pod]]], bool] = {
            "consolidation": self._all_placed,
            "reclaim": self._may_reclaim,
            "preempt": lambda victims: True,
        }[action]
        self.before = {name: queue.allocated for name, queue in session.queues.items()}

    def run(self) -> bool:
        """Find victims for each prefix of the chunk; the last solution stays."""
        recorded: list[list[Pod]] = []
        for size in range(1, len(self.chunk) + 1):
            victims = self._victims_of_prefix(self.chunk[:size], recorded, last=size == len(self.chunk))
            if victims is None:
                return False
            recorded = victims
        return True

    def _possible_victims(self) -> list[Job]:
        """Return the jobs that may be victims (A10)."""
        jobs = [job for job in self.session.jobs.values() if job.preemptible and job is not self.job]
        if self.action == "reclaim":
            jobs = [job for job in jobs if job.queue != self.job.queue]
        if self.action == "preempt":
            jobs = [job for job in jobs if job.queue == self.job.queue and job.priority < self.job.priority]
        return [job for job in jobs if job.chunk_to_evict()[0]]

    def _victims_of_prefix(self, pods: list[Pod], recorded: list[list[Pod]], *, last: bool) -> list[list[Pod]] | None:
        """Return the victims for a prefix: only the recorded victims, then more and more of them."""
        if recorded:
            works, _ = self._try_scenario(pods, recorded, last)
            if works:
                return recorded
        earlier_victims = {pod for victim in recorded for pod in victim}
        line = Line(
            self.session,
            (j for j in self._possible_victims() if j.chunk_to_evict(earlier_victims)[0]),
            victims=earlier_victims,
        )
        more: list[list[Pod]] = []
        while (job := line.next_job()) is not None:
            chunk, stays = job.chunk_to_evict(earlier_victims)
            if not chunk:
                continue
            earlier_victims.update(chunk)
            more.append(chunk)
            line.subtract_victim(job, self.session.requested_amounts(chunk))
            if stays:
                line.add_job(job)
            for node in sorted({pod.node for pod in chunk}):
                there = [victim for victim in more if any(pod.node == node for pod in victim)]
                works, placed = self._try_scenario(pods, [*recorded, *there], last)
                if works:
                    return [*recorded, *there]
                if placed:
                    break
        return None

    def _try_scenario(self, pods: list[Pod], victims: list[list[Pod]], last: bool) -> tuple[bool, bool]:
        """Return whether a scenario works, and whether it places the preemptor; a working last one stays."""
        journal = Journal(self.session)
        origin = {pod: (pod.status, pod.node, pod.groups) for victim in victims for pod in victim}
        for pod, (_, node, groups) in origin.items():
            journal.set_status(pod, RELEASING, node, groups)
            pod.evicted = True
        placed = self._placed_again(journal, pods, origin)
        for pod in origin:
            pod.evicted = False
        works = placed and self.accept([[p for p in victim if p.status == RELEASING] for victim in victims])
        if not (works and last):
            journal.take_back()
            return works, placed
        for pod, (status, _, _) in origin.items():  # one that only had a nominated place waits again
            if status == PIPELINED and pod.status == RELEASING:
                self.session.set_status(pod, PENDING)
        return works, placed

    def _placed_again(self, journal: Journal, pods: list[Pod], origin: dict[Pod, Before]) -> bool:
        """Place the preemptor and the victims, all pipelined, in the order of queues and jobs."""

        def chunk_of_job(job: Job) -> list[Pod]:
            return pods if job is self.job else job.chunk_to_place()

        line = Line(self.session, {self.job, *(pod.job for pod in origin)}, chunk=chunk_of_job)
        while (job := line.next_job()) is not None:
            to = len(journal.changes)
            if job is self.job:
                if not place_chunk(journal, job, pods, pipelined=True):
                    return False
            elif place_chunk(journal, job, job.chunk_to_place(), pipelined=True, origin=origin):
                if job.chunk_to_place():
                    line.add_job(job)
            else:
                journal.take_back(to)
        return True

    def _all_placed(self, victims: list[list[Pod]]) -> bool:
        return not any(victims)

    def _may_reclaim(self, victims: list[list[Pod]]) -> bool:
        """Return whether the reclaimer may have the victims' amounts (A11).

        Victims leave one unit after the other. Below their common parent, the victim's queue must still be above its
        share: above the amount that it may keep or, if the reclaimer's queue stays within its deserved amount, above
        its own deserved amount. At last, the reclaimer's queues may not be above their fair share and, relative to
        this share, as full as a sibling that has lost.
        """
        session = self.session
        own = session.path_to_root(self.job.queue)
        request = session.requested_amounts(pod for pod in self.chunk if pod.status in ACTIVE)
        still_held = dict(self.before)
        losses: dict[str, Vector] = {}
        for unit in _units_of_victims(victims):
            amounts = session.requested_amounts(unit)
            path = session.path_to_root(unit[0].job.queue)
            mine, theirs = sides_of_queues(own, path)
            remaining = still_held[theirs.name]
            above = any(remaining[r] > theirs.allocatable(r) for r in range(3))
            needy = mine.within_deserved(sum_of_vectors(self.before[mine.name], request))
            if not above and not (needy and not theirs.within_deserved(remaining)):
                return False
            for queue in path[: path.index(theirs) + 1]:
                still_held[queue.name] = sum_of_vectors(still_held[queue.name], amounts, -1)
                losses[queue.name] = sum_of_vectors(losses.get(queue.name, ZERO), amounts)
        return all(self._saturated(queue, request, still_held, losses) for queue in own)

    def _saturated(
        self, queue: Queue, request: Vector, still_held: dict[str, Vector], losses: dict[str, Vector]
    ) -> bool:
        """Return whether no sibling that lost is left with less of its fair share than the reclaimer."""
        after = sum_of_vectors(self.before[queue.name], request)
        siblings = [q for q in self.session.queues.values() if q.parent == queue.parent and q is not queue]
        for other in siblings:
            if other.name not in losses:
                continue
            for r in range(3):
                if not (losses[other.name][r] or request[r]) or other.fair[r] <= 0:
                    continue
                mine = after[r] / queue.fair[r] if queue.fair[r] else float("inf") if after[r] else 0.0
                if mine > 1 and mine >= still_held[other.name][r] / other.fair[r]:
                    return False
        return True


def _units_of_victims(victims: list[list[Pod]]) -> list[list[Pod]]:
    """Return victims as units: pods above the minimum one by one, the rest of a gang as one."""
    return [victim for victim in victims if victim]


def sides_of_queues(own: list[Queue], path: list[Queue]) -> tuple[Queue, Queue]:
    """Return the ancestors of both queues just below the common one, or their roots."""
    common = [queue for queue in own if queue in path]
    if not common:
        return own[-1], path[-1]
    mine, theirs = own.index(common[0]), path.index(common[0])
    return own[max(0, mine - 1)], path[max(0, theirs - 1)]


def next_round(session: Session, stay: Iterable[str] = ()) -> None:
    """Advance the state after a session: placed pods run, evicted ones wait again, pipelined ones keep their node.

    stay: jobs whose deleted pods keep leaving.
    """
    staying = set(stay)
    for node in session.nodes.values():  # what moved pods have left behind
        for shadow in [pod for pod in node.pods if pod.status == RELEASING and pod not in pod.job.pods]:
            if shadow.job.name:
                node.count_pod(shadow, -1)
    for pod in list(session.all_pods()):
        if pod.status == ALLOCATED:
            session.set_status(pod, "Running", pod.node, pod.groups)
        elif pod.status == PIPELINED:
            pod.nominated = pod.node
            session.set_status(pod, PENDING)
        elif pod.status == RELEASING and pod.job.name not in staying:
            session.set_status(pod, PENDING)
