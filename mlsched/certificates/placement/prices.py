"""The placement problem as blocks, written from the statement alone (`instances/placement/judge.py`).

A block per concurrent job, running ones first; an option says into which parts (workers, PSs) it is cut and how fast it
is, and costs -speed; a new job may wait. Then a block for all servers that have the same free and run the same; an
option says which parts of new jobs a server hosts, and with that how fast each job there can be at most (rule 5).

Rows `JOB PART T`: where the job is faster than T, it needs as many parts of this kind as it has, hosted at a speed
above T. So a job uses the row and a server supplies it; that holds in every plan, a job being as fast as its slowest
server lets it. A kind of part is W+P, or of a running job @ and the class of servers it is on. Row `new` is rule 3.
Branches are on the `speed` of a job, or on how many parts of a kind it has. Needs Python alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from operator import mul
from typing import Any

from mlsched.certificates.prices.core import NEVER, SCALE, Price, Sides, Spend, Use, Wrong

Content = dict[int, tuple[int, int]]  # of a server: job -> workers and PSs there
Here = tuple[tuple[int, tuple[int, int]], ...]  # the same of its running jobs
Steps = dict[tuple[int, str], list[tuple[int, int]]]  # job and kind of part -> thresholds T and their prices


class Placing:
    """No plan has a larger total speed than `bound`: the sum of -speed is at least -bound."""

    def __init__(self, data: dict[str, Any], bound: int, spend: Spend) -> None:
        self.data, self.target, self.spend = data, -bound, spend
        self.kind, self.pace = data["run_type"] + data["job_type"], data["run_speed"] + data["job_speed"]
        self.runs, self.jobs = len(data["run_type"]), len(self.kind)
        running = list(zip(data["run_workers"], data["run_ps"], strict=True))
        new = zip(data["job_workers"], data["job_ps"], strict=True)
        self.whole = [*((sum(w), sum(p)) for w, p in running), *new]
        classes: Counter[Any] = Counter()  # what is free and what runs on a server -> how many there are
        for s, free in enumerate(data["server_free"]):
            here = ((i, (w[s], p[s])) for i, (w, p) in enumerate(running) if w[s] or p[s])
            classes[tuple(free), tuple(here)] += 1
        self.count, self.blocks = list(classes.values()), self.jobs + len(classes)
        self.hosted: dict[tuple[int, str, int], int] = {}  # job, kind of part, speed -> number
        self.options = [sorted(self.listed(k, *key)) for k, key in enumerate(classes)]
        self.speeds: list[dict[str, list[int]]] = [{} for _ in range(self.jobs)]  # kind of part -> speeds, rising
        for job, part, speed in sorted(self.hosted):
            self.speeds[job].setdefault(part, []).append(speed)
        self.cuts = [list(self.patterns(job, list(kinds))) for job, kinds in enumerate(self.speeds)]
        rows = (f"{j} {part} {t}" for j, kinds in enumerate(self.speeds) for part in kinds for t in (-1, *kinds[part]))
        self.capacity = {"new": min(data["most_new"], data["most_jobs"] - self.runs), **dict.fromkeys(rows, 0)}
        self.priced: tuple[Price, Steps, list[int]] = ({}, {}, [])

    def listed(self, k: int, free: tuple[int, ...], here: Here) -> set[tuple[int, ...]]:
        """All that a server of class k may host: it fits (rule 2), and no two are to be apart (rule 4)."""
        found, apart, kind = set(), self.data["apart"], self.kind
        waiting: list[tuple[int, Content, Sequence[int]]] = [(self.runs, dict(here), free)]
        while waiting:
            job, content, left = waiting.pop()
            self.spend(8 * (1 + len(content)) ** 2)
            if job == self.jobs:
                kinds = {i: f"@{k}" if i < self.runs else f"{w}+{p}" for i, (w, p) in content.items()}
                hosted = ((i, part, self.speed(i, content)) for i, part in kinds.items())
                found.add(tuple(self.hosted.setdefault(one, len(self.hosted)) for one in hosted))
                continue
            waiting.append((job + 1, content, left))
            demands = self.data["worker_demand"][job - self.runs], self.data["ps_demand"][job - self.runs]
            together = not any(apart[kind[job]][kind[other]] for other in content)
            for w, p in product(*(range(n + 1) for n in self.whole[job])) if together else ():
                rest = [a - w * worker - p * ps for a, worker, ps in zip(left, *demands, strict=True)]
                if (w or p) and min(rest, default=0) >= 0:
                    waiting.append((job + 1, {**content, job: (w, p)}, rest))
        return found

    def speed(self, job: int, content: Content) -> int:
        """Rule 5 for a job on a server with this content; exact, over a common denominator."""
        data, own, sigma, use = self.data, self.kind[job], 0, [0] * len(self.data["pressures"])
        for other, (w, p) in content.items():
            if other != job:
                kind = self.kind[other]
                sigma += w * data["sigma_worker"][own][kind] + p * data["sigma_ps"][own][kind]
                use = [
                    u + w * a + p * b
                    for u, a, b in zip(use, data["use_worker"][kind], data["use_ps"][kind], strict=True)
                ]
        exact = 10**12 + 10**6 * sigma + 1000 * sum(map(mul, data["linear"][own], use))
        exact += sum(u * sum(map(mul, row, use)) for u, row in zip(use, data["quadratic"][own], strict=True))
        (workers, servers), (w, p) = self.whole[job], content[job]
        of_ps, of_workers = max(servers, 1), max(workers - 1, 1)
        exact *= of_ps * of_workers
        exact += 10**6 * data["rho_ps"][own] * (servers - p) * of_workers * (w > 0 or data["network_at"] == "tasks")
        exact += 10**6 * data["rho_worker"][own] * (workers - w) * of_ps * (w > 0 and workers > 1)
        return int(self.pace[job] * 1000 // (exact // (10**9 * of_ps * of_workers)))

    def patterns(self, job: int, kinds: list[str]) -> Iterator[dict[str, int]]:
        """Rule 1: the kinds of parts that make up the whole job, and how many of each."""
        if job < self.runs:
            yield {part: self.count[int(part[1:])] for part in kinds}
            return
        waiting: list[tuple[list[str], int, int, dict[str, int]]] = [(kinds, *self.whole[job], {})]
        while waiting:
            kinds, w, p, cut = waiting.pop()
            if not w and not p:
                yield cut
            for k, part in enumerate(kinds):
                self.spend(8)
                a, b = map(int, part.split("+"))
                if a <= w and b <= p:
                    waiting.append((kinds[k:], w - a, p - b, {**cut, part: cut.get(part, 0) + 1}))

    def least(self, block: int, price: Price, sides: Sides) -> int:
        if self.priced[0] is not price:
            self.priced = price, *self.worths(price)
        _, steps, worth = self.priced
        if (k := block - self.jobs) >= 0:
            self.spend(len(self.options[k]))
            return -self.count[k] * max(sum(worth[i] for i in option) for option in self.options[k])
        high = min((most for row, sign, most in sides if row == "speed" and sign > 0), default=NEVER)
        low = max((-most for row, sign, most in sides if row == "speed" and sign < 0), default=0)
        new = block >= self.runs
        best = 0 if new and low <= 0 and all(most >= 0 for _, _, most in sides) else NEVER
        for cut in self.cuts[block]:
            self.spend(len(cut))
            if all(sign * cut.get(row, 0) <= most for row, sign, most in sides if row != "speed"):
                top = min(high, *(self.speeds[block][part][-1] for part in cut))
                # Between two thresholds prices are the same: the fastest option there costs least.
                for speed in {top, *(t for part in cut for t, _ in steps.get((block, part), ()))}:
                    if low <= speed <= top:
                        pays = sum(n * paid(steps, block, part, speed) for part, n in cut.items())
                        best = min(best, pays + new * price.get("new", 0) - SCALE * speed)
        return best

    def worths(self, price: Price) -> tuple[Steps, list[int]]:
        """The prices by job and kind of part; and what each of `hosted` earns."""
        steps: Steps = {}
        for row, p in price.items():
            if row != "new":
                job, part, t = row.split()
                steps.setdefault((int(job), part), []).append((int(t), p))
        return steps, [paid(steps, *one) for one in self.hosted]

    def cheap(self, block: int, price: Price, sides: Sides, most: int) -> list[tuple[int, Use]]:
        raise Wrong("the prices of a leaf do not prove it: branch there")


def paid(steps: Steps, job: int, part: str, speed: int) -> int:
    """The price of all rows of a part that it uses, or supplies, at this speed."""
    return sum(p for t, p in steps.get((job, part), ()) if t < speed)


CLAIMS = {"total_speed": lambda data, bound, spend: [Placing(data, bound, spend)]}
SIGN = {"total_speed": -1}
