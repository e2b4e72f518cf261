"""The placement problem as a 0-1 formula, written only from the problem statement (`instances/placement/judge.py`).

One variable per server and content (its workers and PSs of each new job), one per placed job, and one per job and
possible speed. Contents obey rules 2 and 4; the speed of every job on a server is computed beforehand, in exact
fractions, for each content.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from mlsched.certificates.formula import MOST_VARIABLES, Formula, Term, spend
from mlsched.certificates.placement import prices
from mlsched.certificates.prices.statement import Statement
from mlsched.certificates.translation import Translation
from mlsched.core.errors import InvalidInput

if TYPE_CHECKING:
    from mlsched.instances.placement.instance import Instance, Plan

#: Content of one server: new job -> (workers, PSs) on it, for the jobs with a part there.
Content = dict[int, tuple[int, int]]


def total_speed(instance: Instance, plan: Plan) -> list[Formula]:
    """State the largest total speed as one formula."""
    formula = Formula("the largest total speed")
    contents = [list(_contents_of_server(instance, s)) for s in range(len(instance.server_free))]
    hosts = [
        [(formula.variable(f"server {s} hosts {_text_of_content(content)}"), content) for content in some]
        for s, some in enumerate(contents)
    ]
    for some in hosts:
        formula.exactly("a server hosts one thing", [(1, x) for x, _ in some], 1)
    placed = _placed_whole(formula, instance, hosts)
    runs = len(instance.run_type)
    formula.at_most("rule 3: new jobs", [(1, y) for y in placed], instance.most_new)
    formula.at_most("rule 3: concurrent jobs", [(1, y) for y in placed], instance.most_jobs - runs)
    terms: list[Term] = []
    minimum = 0
    for job in range(runs + len(placed)):
        gained, base = _state_speed(formula, instance, job, hosts, placed[job - runs] if job >= runs else None)
        terms += gained
        minimum += base
    formula.optimise(terms, sense="max", offset=minimum)
    return [formula]


def _placed_whole(formula: Formula, instance: Instance, hosts: list[list[tuple[int, Content]]]) -> list[int]:
    """State rule 1: all workers and all PSs of each new job are placed, or none."""
    placed = []
    for j, whole in enumerate(zip(instance.job_workers.tolist(), instance.job_ps.tolist(), strict=True)):
        placed.append(formula.variable(f"job {j} is placed"))
        for kind, (name, number) in enumerate(zip(("workers", "PSs"), whole, strict=True)):
            hosted = [(content[j][kind], x) for some in hosts for x, content in some if j in content]
            formula.exactly(f"rule 1: all {name} or none", [*hosted, (-number, placed[-1])], 0)
    return placed


def _state_speed(
    formula: Formula, instance: Instance, job: int, hosts: list[list[tuple[int, Content]]], placed: int | None
) -> tuple[list[Term], int]:
    """State rule 5: return terms that sum to a job's speed above its least speed, and that least speed.

    Jobs are numbered with running jobs first; `placed` is the variable of a new job, whose least speed is 0.
    """
    slowest: dict[int, list[tuple[int, int]]] = {}  # speed -> (server, variable of a content) with this limit
    for s, some in enumerate(hosts):
        for x, content in some:
            speed = _speed_on_server(instance, job, s, content)
            if speed is not None:
                slowest.setdefault(speed, []).append((s, x))
    speeds = sorted({0, *slowest}) if placed is not None else sorted(slowest)
    terms, below, name = [], placed, f"rule 5: the speed of {'a new' if placed else 'a running'} job"
    for lower, speed in zip(speeds, speeds[1:], strict=False):
        level = formula.variable(f"job {job} has at least the speed {speed}")
        terms.append((speed - lower, level))
        if below is not None:
            formula.implies(name, level, below)
        for s in {s for s, _ in slowest.get(lower, [])}:
            formula.at_most(name, [(1, level), *((1, x) for at, x in slowest[lower] if at == s)], 1)
        below = level
    return terms, speeds[0]


def _contents_of_server(instance: Instance, s: int) -> Iterator[Content]:
    """Yield all possible contents of server s from the new jobs."""
    free, count = instance.server_free[s].tolist(), 0
    stack: list[tuple[int, Content, list[int]]] = [(0, {}, free)]
    while stack:
        spend()
        j, content, remaining = stack.pop()
        if j == len(instance.job_type):
            count += 1
            yield content
            continue
        worker, ps = instance.worker_demand[j].tolist(), instance.ps_demand[j].tolist()
        stack.append((j + 1, content, remaining))
        if not _may_share(instance, s, j, content):
            continue
        for w in range(int(instance.job_workers[j]) + 1):
            for p in range(int(instance.job_ps[j]) + 1):
                rest = [room - w * a - p * b for room, a, b in zip(remaining, worker, ps, strict=True)]
                if not _fits_resources(rest):
                    break  # nor do more
                if w + p:
                    stack.append((j + 1, {**content, j: (w, p)}, rest))
                # Each entry of the stack leads to a content of its own.
                if count + len(stack) > MOST_VARIABLES:
                    raise InvalidInput(f"server {s} may host more than {MOST_VARIABLES} things; certify less")
            if not _fits_resources([room - w * a for room, a in zip(remaining, worker, strict=True)]):
                break


def _fits_resources(rest: list[int]) -> bool:
    """Check rule 2: enough of every resource."""
    return min(rest, default=0) >= 0


def _may_share(instance: Instance, s: int, job: int, content: Content) -> bool:
    """Check rule 4: a new job may share server s with the content and the running jobs."""
    here = [int(instance.job_type[k]) for k in content]
    here += [
        int(kind) for i, kind in enumerate(instance.run_type) if instance.run_workers[i, s] + instance.run_ps[i, s]
    ]
    return not any(instance.apart[instance.job_type[job], kind] for kind in here)


def _speed_on_server(instance: Instance, job: int, s: int, content: Content) -> int | None:
    """Return a job's speed if server s is its slowest; None if the job is not there."""
    runs = len(instance.run_type)
    parts = {i: (int(instance.run_workers[i, s]), int(instance.run_ps[i, s])) for i in range(runs)}
    parts |= {runs + j: part for j, part in content.items()}
    own = parts.pop(job, (0, 0))
    if own == (0, 0):
        return None
    kinds = [*instance.run_type.tolist(), *instance.job_type.tolist()]
    kind = kinds[job]
    slowdown, use = Fraction(10**6), [Fraction(0) for _ in instance.pressures]
    for other, (w, p) in parts.items():
        slowdown += w * int(instance.sigma_worker[kind, kinds[other]]) + p * int(instance.sigma_ps[kind, kinds[other]])
        for d in range(len(use)):
            amount = w * int(instance.use_worker[kinds[other], d]) + p * int(instance.use_ps[kinds[other], d])
            use[d] += Fraction(amount, 1000)
    for d, u in enumerate(use):
        slowdown += int(instance.linear[kind, d]) * u
        slowdown += sum(int(instance.quadratic[kind, d, e]) * u * v for e, v in enumerate(use))
    if job < runs:
        speed, workers, ps = instance.run_speed[job], instance.run_workers[job].sum(), instance.run_ps[job].sum()
    else:
        j = job - runs
        speed, workers, ps = instance.job_speed[j], instance.job_workers[j], instance.job_ps[j]
    if own[0] or instance.network_at == "tasks":
        slowdown += int(instance.rho_ps[kind]) * Fraction(int(ps) - own[1], max(int(ps), 1))
    if own[0]:
        slowdown += int(instance.rho_worker[kind]) * Fraction(int(workers) - own[0], max(int(workers) - 1, 1))
    return int(speed) * 1000 // (slowdown // 1000)


def _text_of_content(content: Content) -> str:
    return ", ".join(f"{w} workers and {p} PSs of job {j}" for j, (w, p) in content.items()) or "nothing"


TRANSLATION = Translation("placement.instance", {"total_speed": (total_speed, "")})
PRICES = Statement("placement.instance", prices)
