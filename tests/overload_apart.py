"""A simulator of tasks that use more than their nodes have, written apart from mlsched: plain Python, exact fractions.

A job is a gang: per iteration, each of its tasks works for its ticks, and the longest counts. A task reserves its
demand, and uses its mean use times a factor that is drawn per period, and again at the tick at which the task takes its
place. If the tasks on a node (or on one of its GPUs) use more of a resource than there is, each of them that uses any
takes (usage / capacity)^p times as long, rounded up to ppm; the worst resource counts. At each time, ends free their
places, arrivals come, and the policy `LOTTERY` decides.

`LOTTERY`: the jobs in the system are shuffled, by a hash of all their numbers. One after another gets its own places
again, if it has any and they are free, or the first places with room; without room it waits. With `pauses`, running
jobs take part; otherwise they keep their places.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from fractions import Fraction

MILLION = 10**6
Place = tuple[int, int]  # a node, and its GPU or -1


@dataclasses.dataclass
class Job:
    """A job as given (all but the last fields), and its state. mean: mean use of each task and resource, ppm."""

    number: int
    arrival: int
    iterations: int
    scale: int
    cost: int
    ticks: list[int]
    demand: list[list[int]]
    mean: list[list[int]]
    places: list[Place] = dataclasses.field(default_factory=list)
    came: list[int] = dataclasses.field(default_factory=list)
    done: int = 0  # ppm of iterations, at `since`
    since: int = 0
    loading: int = 0  # 10^-6 ticks without progress, from `since` on
    length: int = 0  # of an iteration, 10^-6 ticks
    ran: bool = False
    history: list[tuple[int, tuple[Place, ...], int]] = dataclasses.field(default_factory=list)
    end: int = -1

    def bank(self, now: int) -> None:
        """Round the progress down to ppm, as at each change of pace or place."""
        spent = (now - self.since) * MILLION
        if self.length:
            self.done += max(0, spent - self.loading) * MILLION // self.length
        self.loading, self.since = max(0, self.loading - spent), now

    def note(self, now: int) -> None:
        """Add its places and pace to its history, if they differ from the last ones; at a time, the last counts."""
        if self.history and self.history[-1][0] == now:
            self.history.pop()
        if (tuple(self.places), self.length) != (self.history[-1][1:] if self.history else ((), 0)):
            self.history.append((now, tuple(self.places), self.length))

    def ends(self) -> int:
        work = Fraction((self.iterations * MILLION - self.done) * self.length, MILLION)
        return self.since + math.ceil((self.loading + work) / MILLION)


def shuffled(numbers: list[int]) -> list[int]:
    def key(number: int) -> bytes:
        return hashlib.blake2b(f"{number} of {sorted(numbers)}".encode(), digest_size=8).digest()

    return sorted(numbers, key=key)


def split_mix(key: int, word: int) -> int:
    mask = 2**64 - 1
    z = (key + (word + 1) * 0x9E3779B97F4A7C15) & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31


class Room:
    """Free room of the nodes, and of their GPUs (resource 0) if these are individual: `unit` each."""

    def __init__(self, nodes: list[list[int]], unit: int) -> None:
        self.free = [list(node) for node in nodes]
        self.gpus = [[unit] * (node[0] // unit) if unit else [] for node in nodes]

    def take(self, demand: list[int], place: Place) -> bool:
        node, gpu = place
        if any(need > free for need, free in zip(demand, self.free[node], strict=True)):
            return False
        if gpu >= 0 and self.gpus[node][gpu] < demand[0]:
            return False
        self._change(demand, place, -1)
        return True

    def _change(self, demand: list[int], place: Place, sign: int) -> None:
        node, gpu = place
        self.free[node] = [free + sign * need for need, free in zip(demand, self.free[node], strict=True)]
        if gpu >= 0:
            self.gpus[node][gpu] += sign * demand[0]

    def places(self, demand: list[int]) -> list[Place]:
        """Every GPU, if they are individual and the task asks for a part of one; else every node."""
        named = [range(len(gpus)) if gpus and demand[0] else (-1,) for gpus in self.gpus]
        return [(node, gpu) for node, gpus in enumerate(named) for gpu in gpus]

    def gang(self, demands: list[list[int]], own: list[Place]) -> list[Place] | None:
        """The places of a job's tasks, taken; None without room for all."""
        for choices in ([[place] for place in own], [self.places(demand) for demand in demands]):
            taken: list[Place] = []
            for demand, places in zip(demands, choices, strict=False):
                place = next((place for place in places if self.take(demand, place)), None)
                if place is None:
                    break
                taken.append(place)
            if len(taken) == len(demands):
                return taken
            for demand, place in zip(demands, taken, strict=False):
                self._change(demand, place, 1)
        return None


class Apart:
    """Run it with `run`; then each job has its history of (time, places, length of an iteration), and its end."""

    def __init__(self, jobs, nodes, *, power, every, spread, at_start, seed, unit, pauses):
        self.jobs, self.nodes, self.unit, self.pauses = jobs, nodes, unit, pauses
        self.power, self.every, self.at_start, self.seed = power, every, at_start, seed
        self.half = round(spread * math.sqrt(3) * MILLION)
        self.above = [0] * len(nodes[0])  # ticks of nodes (GPUs) with too much use
        self.over = list(self.above)  # number of such nodes now

    def run(self) -> Apart:
        there: list[Job] = []
        upcoming = sorted(self.jobs, key=lambda job: (job.arrival, job.number))
        now = 0
        while there or upcoming:
            ends = [job.ends() for job in there if job.places]
            later = min([*ends, *(job.arrival for job in upcoming[:1]), (now // self.every + 1) * self.every])
            self.above = [a + o * (later - now) for a, o in zip(self.above, self.over, strict=True)]
            now = later
            for job in [job for job in there if job.places and job.ends() == now]:
                there.remove(job)
                job.end = now
            self.pace(there, now)
            while upcoming and upcoming[0].arrival == now:
                there.append(upcoming.pop(0))
            self.decide(there, now)
            self.pace(there, now)
        return self

    def decide(self, there: list[Job], now: int) -> None:
        room = Room(self.nodes, self.unit)
        named = {job.number: job for job in there}
        order = [named[number] for number in shuffled(list(named))]
        if not self.pauses:
            order.sort(key=lambda job: not job.places)
        for job in order:
            self.put(job, room.gang(job.demand, job.places) or [], now)

    def put(self, job: Job, places: list[Place], now: int) -> None:
        if places == job.places:
            return
        job.bank(now)
        before = job.places or [(-1, -1)] * len(places)
        if places:
            came = job.came or [0] * len(places)
            moved = [place != old for place, old in zip(places, before, strict=True)]
            job.came = [now if m else c for m, c in zip(moved, came, strict=True)]
            job.loading, job.ran = job.cost if job.ran else 0, True
        job.places, job.since, job.length = places, now, 0
        job.note(now)

    def usage(self, job: Job, task: int, r: int, now: int) -> int:
        period, came = now // self.every, job.came[task]
        word = 2**40 + came if self.at_start and came // self.every == period else period
        key = 0
        for number in (self.seed, job.number, task, r, word):
            key = split_mix(key, number)
        draw = Fraction(2 * (key >> 44) + 1 - 2**20, 2**20)
        base = job.demand[task][r] * job.mean[task][r] // MILLION
        return base * (MILLION + math.floor(self.half * draw)) // MILLION

    def pace(self, there: list[Job], now: int) -> None:
        """Slow down the tasks by what is used from now on."""
        use: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
        slow = {job.number: [MILLION] * len(job.places) for job in there}
        for job in there:
            for task, (node, gpu) in enumerate(job.places):
                for r in range(len(self.nodes[0])):
                    entry = (job.number, task, self.usage(job, task, r, now))
                    use.setdefault((r, node, gpu if r == 0 else -1), []).append(entry)
        self.over = [0] * len(self.nodes[0])
        for (r, node, gpu), users in use.items():
            total = sum(amount for _, _, amount in users)
            capacity = self.unit if gpu >= 0 else self.nodes[node][r]
            if total > capacity:
                self.over[r] += 1
                factor = math.ceil(MILLION * Fraction(total, capacity) ** self.power)
                for number, task, amount in users:
                    if amount:
                        slow[number][task] = max(slow[number][task], factor)
        for job in there:
            if job.places:
                tasks = zip(job.ticks, slow[job.number], strict=True)
                length = max(math.ceil(Fraction(ticks * job.scale * factor, MILLION)) for ticks, factor in tasks)
                if length != job.length:
                    job.bank(now)
                    job.length = length
                job.note(now)
