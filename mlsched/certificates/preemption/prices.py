"""The preemption problem as blocks, written from the statement alone (`instances/preemption/judge.py`).

A block per node; an option says which TE jobs it hosts and which BE jobs there are suspended for them, and costs what
the victims add to the objective. Then a block per TE job: it waits, at a cost of D, or not. A row per TE job: one of
these supplies it, so the use is -1 and the capacity is -1. Needs Python alone.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from operator import add, ge, le, mul, sub
from typing import Any

from mlsched.certificates.prices.core import MOST_STATES, NEVER, SCALE, Price, Sides, Spend, Use, Wrong
from mlsched.certificates.prices.fixing import Fixing

Hosted = tuple[int, tuple[int, ...]]  # priced cost, TE jobs
Job = tuple[int, int, list[int], int]  # TE job: price, weight, demand, number


class Hosting(Fixing):
    """No plan costs less than `target`, if job j costs `cost[j]` as a victim and a waiting TE job `waiting`."""

    def __init__(self, data: dict[str, Any], target: int, cost: dict[int, int], waiting: int, spend: Spend) -> None:
        self.target, self.waiting, self.spend, self.demand = target, waiting, spend, data["te_demand"]
        self.capacity = {str(t): -1 for t in range(len(self.demand))}
        self.nodes = len(data["node_capacity"])
        self.blocks = self.nodes + len(self.demand)
        #: Of each node, what victims cost and the room that there then is (rule 3).
        self.rooms = [[(0, list(map(add, *r)))] for r in zip(data["node_free"], data["node_draining"], strict=True)]
        for j, more in cost.items():
            rooms, demand = self.rooms[data["job_node"][j]], data["job_demand"][j]
            every = sorted([*rooms, *((paid + more, list(map(add, room, demand))) for paid, room in rooms)])
            rooms.clear()
            for paid, room in every:  # less what is no better than something cheaper
                spend((1 + len(rooms)) * len(room))
                if not any(all(map(ge, other, room)) for _, other in rooms):
                    rooms.append((paid, room))
        released = zip(*(room for some in self.rooms for _, room in some), strict=True)
        self.unit = [1 + 10**9 // (1 + max(amounts)) for amounts in released]
        self.ordered: tuple[Price, list[Job]] = ({}, [])

    def least(self, block: int, price: Price, sides: Sides) -> int:
        return min((priced for priced, _ in self.hosted(block, price, sides, NEVER, False)), default=NEVER)

    def cheap(self, block: int, price: Price, sides: Sides, most: int) -> list[tuple[int, Use]]:
        found: dict[tuple[int, ...], int] = {}
        for priced, hosted in self.hosted(block, price, sides, most, True):
            found[hosted] = min(priced, found.get(hosted, priced))
            if len(found) > MOST_STATES:
                raise Wrong(f"a node has more than {MOST_STATES} options: branch there")
        return [(priced, {str(t): -1 for t in hosted}) for hosted, priced in found.items()]

    def hosted(self, n: int, price: Price, sides: Sides, most: int, every: bool) -> Iterator[Hosted]:
        """What node n may host at a priced cost of `most` or less: all of it, or each time something cheaper.

        After the nodes: TE job n - nodes waits or does not, whatever the sides.
        """
        if (t := n - self.nodes) >= 0:
            waits = SCALE * self.waiting - price.get(str(t), 0)
            yield from [(priced, jobs) for priced, jobs in ((0, ()), (waits, (t,))) if priced <= most]
            return
        known = [(int(row), sign, side) for row, sign, side in sides if row in self.capacity]
        must, barred = {t for t, _, side in known if side < 0}, {t for t, sign, side in known if -sign > side}
        jobs = [job for job in self.by_worth(price) if job[3] not in must | barred]
        for paid, room in self.rooms[n] if not must & barred else []:
            cost, left = SCALE * paid, room
            for t in must:
                cost, left = cost - price.get(str(t), 0), list(map(sub, left, self.demand[t]))
            waiting = [(0, cost, left, tuple(must))] if min(left, default=0) >= 0 else []
            while waiting:
                k, cost, left, hosted = waiting.pop()
                if cost <= most:
                    yield cost, hosted
                    most = most if every else cost - 1
                k, gain = self.gain(jobs, k, left)
                if k < len(jobs) and cost - gain <= most:
                    p, _, demand, t = jobs[k]
                    waiting.append((k + 1, cost, left, hosted))
                    waiting.append((k + 1, cost - p, list(map(sub, left, demand)), (*hosted, t)))

    def by_worth(self, price: Price) -> list[Job]:
        """TE jobs: price, weight, demand and number. The weight is a weighted sum of the demands; the order is that of
        price by weight, as fractions: with floats, `gain` would not hold.
        """
        if self.ordered[0] is not price:
            jobs = [(price.get(str(t), 0), self.weight(demand), demand, t) for t, demand in enumerate(self.demand)]
            self.ordered = price, sorted(jobs, key=lambda job: (job[1] > 0, Fraction(-job[0], max(1, job[1]))))
        return self.ordered[1]

    def weight(self, amounts: list[int]) -> int:
        return sum(map(mul, self.unit, amounts))

    def gain(self, jobs: list[Job], k: int, left: list[int]) -> tuple[int, int]:
        """The first job from the k-th on that fits, and a bound on the prices of those that fit together.

        The best by weight, where a part of a job may be taken, is no less than the best for all resources.
        """
        first, gain, weight = len(jobs), 0, self.weight(left)
        for i, (p, w, demand, _) in enumerate(jobs[k:], k):
            self.spend(1)
            if all(map(le, demand, left)):
                first = min(first, i)
                if w > weight:
                    return first, gain + p * weight // w
                gain, weight = gain + p, weight - w
        return first, gain


def able(data: dict[str, Any], cost: list[int]) -> dict[int, int]:
    """What each of the BE jobs costs that may be suspended (rule 2)."""
    jobs = enumerate(zip(cost, data["job_preemptions"], strict=True))
    return {j: own for j, (own, times) in jobs if times < data.get("preemption_limit", 1)}


def scores(data: dict[str, Any]) -> list[int]:
    """Eq. 3 of every BE job in millionths, as instances define it: in floats, step by step, rounded half to even."""
    made = []
    for n, demand, grace in zip(data["job_node"], data["job_demand"], data["job_grace"], strict=True):
        size, s = 0.0, data.get("grace_weight", 4000) / 1000
        for amount, capacity in zip(demand, data["node_capacity"][n], strict=True):
            size += (amount / max(capacity, 1)) * (amount / max(capacity, 1))
        share = math.sqrt(size) * 10**9 / max(data.get("max_size", 0), 1)
        made.append(round(10**6 * (share + s * grace / max(data.get("max_grace", 0), 1))))
    return made


def ones(data: dict[str, Any]) -> list[int]:
    return [1] * len(data["job_node"])


def total(cost_of: Callable[[dict[str, Any]], list[int]]) -> Callable[..., list[Hosting]]:
    """Claims about the sum of what victims cost, after the number of waiting TE jobs (rule 4)."""

    def claims(data: dict[str, Any], bound: int, spend: Spend) -> list[Hosting]:
        victims = able(data, cost_of(data))
        return [Hosting(data, bound, victims, 1 + sum(victims.values()), spend)]

    return claims


def max_grace_period(data: dict[str, Any], bound: int, spend: Spend) -> list[Hosting]:
    """A plan of a smaller value than the bound has fewer waiting TE jobs than (bound - 1) // D, or so many and victims
    whose grace is at most the rest: so where all may be suspended, so many wait, and where those, one more.
    """
    grace = able(data, data["job_grace"])
    waiting, longest = divmod(bound - 1, 1 + max(grace.values(), default=0))
    cases = ((waiting, list(grace)), (waiting + 1, [j for j, seconds in grace.items() if seconds <= longest]))
    return [Hosting(data, fewest, dict.fromkeys(jobs, 0), 1, spend) for fewest, jobs in cases]


CLAIMS = {"total_score": total(scores), "victim_count": total(ones), "max_grace_period": max_grace_period}
SIGN = {"total_score": 1, "victim_count": 1}
