"""The placement problem as blocks, written from the statement alone (`instances/placement/judge.py`).

A block per concurrent job, running ones first; an option says into which parts (workers, PSs) it is cut and how fast it
is, and costs -speed; a new job that waits has no parts. Then a block for all servers that have the same free and run
the same; an option says which parts of new jobs a server hosts, and with that how fast each job there can be at most
(rule 5).

Rows `JOB PART T`: where the job is faster than T, it needs as many parts of this kind as it has, hosted at a speed
above T. So a job uses the row and a server supplies it; that holds in every plan, a job being as fast as its slowest
server lets it. A kind of part is W+P, or of a running job @ and the class of servers it is on. Row `new` is rule 3.
Branches are on the `speed` of a job, or on how many parts of a kind it has. Needs Python alone.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from operator import mul
from typing import Any

from mlsched.certificates.prices.core import NEVER, SCALE, Price, Sides, Spend, Use, Wrong

Content = dict[int, tuple[int, int]]  # of a server: job -> workers and PSs there


class Placing:
    """No plan has a larger total speed than `bound`: the sum of -speed is at least -bound."""

    def __init__(self, data: dict[str, Any], bound: int, spend: Spend) -> None:
        # No limit stands where the instance leaves one out.
        data, self.target, self.spend = {"most_new": 2**31 - 1, "most_jobs": 2**31 - 1} | data, -bound, spend
        self.kind, self.pace = data["run_type"] + data["job_type"], data["run_speed"] + data["job_speed"]
        self.data, self.runs, self.jobs = data, len(data["run_type"]), len(self.kind)
        running = list(zip(data["run_workers"], data["run_ps"], strict=True))
        self.whole = [*((sum(w), sum(p)) for w, p in running), *zip(data["job_workers"], data["job_ps"], strict=True)]
        classes: Counter[Any] = Counter()  # what is free and what runs on a server -> how many there are
        for s, free in enumerate(data["server_free"]):
            here = ((i, (w[s], p[s])) for i, (w, p) in enumerate(running) if w[s] or p[s])
            classes[tuple(free), tuple(here)] += 1
        self.count, self.blocks = list(classes.values()), self.jobs + len(classes)
        self.hosted: dict[tuple[int, str, int], int] = {}  # job, kind of part, speed -> number
        self.options = [list[list[int]]() for _ in classes]  # of each class: the numbers of what a server may host
        for k, (free, here) in enumerate(classes):
            for content in self.contents(dict(here), free):
                kinds = {i: f"{w}+{p}" if i >= self.runs else f"@{k}" for i, (w, p) in content.items()}
                supplies = [(i, part, self.speed(i, content)) for i, part in kinds.items()]
                self.options[k].append([self.hosted.setdefault(one, len(self.hosted)) for one in supplies])
        self.speeds: list[dict[str, list[int]]] = [{} for _ in range(self.jobs)]  # kind of part -> speeds, rising
        for job, part, speed in sorted(self.hosted):
            self.speeds[job].setdefault(part, []).append(speed)
        self.cuts = [self.patterns(job) for job in range(self.jobs)]
        rows = (f"{j} {part} {t}" for j, kinds in enumerate(self.speeds) for part in kinds for t in (-1, *kinds[part]))
        self.capacity = {"new": min(data["most_new"], data["most_jobs"] - self.runs), **dict.fromkeys(rows, 0)}
        self.price, self.steps, self.worth = Price(), dict[tuple[int, str], list[tuple[int, int]]](), list[int]()

    def contents(self, running: Content, free: Sequence[int]) -> list[Content]:
        """All that a server may host beside what runs there: it fits (rule 2), and no two are to be apart (rule 4)."""
        every = [(running, free)]
        for job in range(self.runs, self.jobs):
            apart, parts = self.data["apart"][self.kind[job]], [range(n + 1) for n in self.whole[job]]
            demands = [self.data[of][job - self.runs] for of in ("worker_demand", "ps_demand")]
            for content, left in list(every):
                self.spend(len(content) + len(parts[0]) * len(parts[1]))
                for w, p in product(*parts) if not any(apart[self.kind[other]] for other in content) else ():
                    rest = [room - w * a - p * b for room, a, b in zip(left, *demands, strict=True)]
                    if (w or p) and min(rest, default=0) >= 0:
                        self.spend(8 * (2 + len(content)) ** 2)
                        every.append(({**content, job: (w, p)}, rest))
        return [content for content, _ in every]

    def speed(self, job: int, content: Content) -> int:
        """Rule 5 for a job on a server with this content: exact, in integers over a common denominator."""
        data, own, (workers, ps), (w, p) = self.data, self.kind[job], self.whole[job], content[job]
        others = [(self.kind[i], *parts) for i, parts in content.items() if i != job]
        sigma = sum(a * data["sigma_worker"][own][k] + b * data["sigma_ps"][own][k] for k, a, b in others)
        pressures = range(len(data["pressures"]))
        use = [sum(a * data["use_worker"][k][d] + b * data["use_ps"][k][d] for k, a, b in others) for d in pressures]
        slowdown = 10**12 + 10**6 * sigma + 1000 * sum(map(mul, data["linear"][own], use))
        slowdown += sum(u * sum(map(mul, row, use)) for u, row in zip(use, data["quadratic"][own], strict=True))
        of_workers, of_ps = max(workers - 1, 1), max(ps, 1)
        far = data["rho_ps"][own] * (ps - p) * of_workers * (w > 0 or data.get("network_at") == "tasks")
        far += data["rho_worker"][own] * (workers - w) * of_ps * (w > 0)
        slowdown = slowdown * of_workers * of_ps + 10**6 * far
        return int(self.pace[job] * 1000 // (slowdown // (10**9 * of_workers * of_ps)))

    def patterns(self, job: int) -> list[dict[str, int]]:
        """Rule 1: the kinds of parts that make up the whole job, and how many of each; or none, for a new job."""
        kinds = self.speeds[job]
        if job < self.runs:
            return [{part: self.count[int(part[1:])] for part in kinds}]
        every: list[tuple[dict[str, int], int, int]] = [({}, *self.whole[job])]  # parts, workers and PSs that remain
        for part in kinds:
            a, b = map(int, part.split("+"))
            for cut, w, p in list(every):
                numbers = range(1, 1 + (w + p) // (a + b))
                self.spend(8 * (1 + len(numbers) * (2 + len(cut))))
                every += [({**cut, part: n}, w - n * a, p - n * b) for n in numbers if n * a <= w and n * b <= p]
        return [{}, *(cut for cut, w, p in every if not w and not p)]

    def least(self, block: int, price: Price, sides: Sides) -> int:
        if self.price is not price:
            self.read(price)
        if (k := block - self.jobs) >= 0:
            self.spend(len(self.options[k]))
            return -self.count[k] * max(sum(self.worth[i] for i in option) for option in self.options[k])
        best, limits = NEVER, [most for row, _, most in sides if row == "speed"]
        for cut in self.cuts[block]:
            self.spend(1 + len(cut))
            top = min((self.speeds[block][part][-1] for part in cut), default=0)
            # Prices rise above thresholds only: up to one, or to what a branch admits, the fastest costs least.
            for speed in {top, *limits, *(t for part in cut for t, _ in self.steps.get((block, part), ()))}:
                has = {"speed": speed, **cut}
                if 0 <= speed <= top and all(sign * has.get(row, 0) <= most for row, sign, most in sides):
                    pays = sum(n * self.paid(block, part, speed) for part, n in cut.items())
                    pays += price.get("new", 0) if cut and block >= self.runs else 0
                    best = min(best, pays - SCALE * speed)
        return best

    def read(self, price: Price) -> None:
        """Sort prices by job and kind of part; what each of `hosted` earns."""
        self.price, self.steps = price, {}
        for (job, part, t), p in ((row.split(), p) for row, p in price.items() if row != "new"):
            self.steps.setdefault((int(job), part), []).append((int(t), p))
        self.worth = [self.paid(*one) for one in self.hosted]

    def paid(self, job: int, part: str, speed: int) -> int:
        """The price of all rows of a part that it uses, or supplies, at this speed."""
        steps = self.steps.get((job, part), ())
        self.spend(len(steps))
        return sum(p for t, p in steps if t < speed)

    def cheap(self, block: int, price: Price, sides: Sides, most: int) -> list[tuple[int, Use]]:
        raise Wrong("the prices of a leaf do not prove it: branch there")


CLAIMS = {"total_speed": lambda data, bound, spend: [Placing(data, bound, spend)]}
SIGN = {"total_speed": -1}
