"""All rules: feasible on every instance, never better than the optimum, and by hand on the small example."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from workers_examples import generated, small

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances import strategies
from mlsched.instances.workers import NEVER, Instance
from mlsched.testing import check_scheduler

RULES = [
    "optimus",
    "optimus:stop=misfit",
    "optimus:stop=used-up,at_zero=false,amount=share",
    "marginal-gain",
    "drf",
    "drf:useful=true",
    "fair",
    "fair:useful=true",
    "srpt",
    "max-rate",
    "max-rate:of=jobs",
    "uniform-random",
    "uniform-random:void=true",
    "uniform-random:pair=true,window=2",
    "uniform-random:window=9",
]


@pytest.mark.parametrize("rule", RULES)
def test_rules_keep_the_contract(rule):
    stuck = {"runs": "it may give nobody anything, and then nothing ever happens"}
    known = stuck if rule.startswith("uniform-random") else {}
    check_scheduler(rule, "workers", examples=draws(8, 500), expected_failures=known)


BY_HAND = [
    # Both workers gain 40 for a GPU: the earlier job's goes first. Then job 1's worker is best, and does not fit.
    ("optimus", [2, 1], [1, 1], 150),
    ("optimus:stop=misfit", [2, 1], [1, 1], 150),
    ("marginal-gain", [2, 1], [1, 1], 150),
    # After a pair each there are 1 GPU and 2 cores: no further pair fits.
    ("drf", [1, 1], [1, 1], 190),
    ("fair", [1, 1], [1, 1], 190),
    # Job 0 alone: 40 with 2 and 2. That leaves 1 GPU and 2 cores: job 1's pair needs 3 cores.
    ("srpt", [2, 0], [2, 0], 240),
    # 1/80 + 1/50 is more than 1/40, 1/60 + 1/90 ...
    ("max-rate", [1, 2], [2, 1], 130),
]


@pytest.mark.parametrize(("rule", "workers", "ps", "value"), BY_HAND)
def test_the_small_example(rule, workers, ps, value):
    found = api.solve(small(), rule)
    assert (found.plan.workers.tolist(), found.plan.ps.tolist(), found.sort_key) == (workers, ps, value)


def scan_optimus(inst: Instance, stop: str, at_zero: bool, share: bool) -> tuple[list[int], list[int]]:
    """Optimus' greedy as the paper has it: all jobs looked at for every task, in fractions."""
    jobs = len(inst.waiting)
    free = [int(c) for c in inst.capacity]
    w, p = [0] * jobs, [0] * jobs
    demand = {"ps": inst.ps_demand.tolist(), "worker": inst.worker_demand.tolist()}

    def take(job, kind, times=1):
        for r in range(len(free)):
            free[r] -= times * demand[kind][job][r]

    def fits(job, workers, ps):
        need = [workers * a + ps * b for a, b in zip(demand["worker"][job], demand["ps"][job], strict=True)]
        return all(n <= f for n, f in zip(need, free, strict=True))

    def cost(job, workers, ps):
        if workers > inst.cost.shape[1] or ps > inst.cost.shape[2]:
            return NEVER
        return int(inst.cost[job, workers - 1, ps - 1])

    def amount(job, kind):
        shares = [
            (Fraction(d, c) if c else math.inf) if d else Fraction(0)
            for d, c in zip(demand[kind][job], inst.capacity.tolist(), strict=True)
        ]
        r = shares.index(max(shares))
        return shares[r] if share else demand[kind][job][r]

    for job in range(jobs):
        grid = np.argwhere(inst.cost[job] != NEVER) + 1
        starts = sorted((int(a + b), int(a), int(b)) for a, b in grid)
        start = (1, 1) if cost(job, 1, 1) != NEVER else starts[0][1:] if starts else None
        if start and fits(job, *start):
            w[job], p[job] = start
            take(job, "worker", w[job])
            take(job, "ps", p[job])
    dead = set()
    while True:
        if stop == "used-up" and any(f == 0 and c > 0 for f, c in zip(free, inst.capacity.tolist(), strict=True)):
            return w, p
        offers = []
        for job in range(jobs):
            for order, kind, dw, dp in ((0, "ps", 0, 1), (1, "worker", 1, 0)):
                if not w[job] or cost(job, w[job] + dw, p[job] + dp) == NEVER or (job, kind) in dead:
                    continue
                saved = cost(job, w[job], p[job]) - cost(job, w[job] + dw, p[job] + dp)
                a = amount(job, kind)
                gain = saved / Fraction(a) if a else saved * math.inf if saved else Fraction(0)
                offers.append((-gain, job, order, kind, dw, dp))
        if not offers:
            return w, p
        gain, job, _, kind, dw, dp = min(offers)
        if gain > 0 or (gain == 0 and not at_zero):
            return w, p
        if fits(job, dw, dp):
            w[job] += dw
            p[job] += dp
            take(job, kind)
        elif stop == "misfit":
            return w, p
        else:
            dead.add((job, kind))


@pytest.mark.parametrize("amount", ["units", "share"])
@pytest.mark.parametrize("at_zero", [True, False])
@pytest.mark.parametrize("stop", ["misfit", "used-up", "full"])
@given(instance=strategies.workers(workers=4, ps=4, amount=20))
def test_the_queue_does_what_a_scan_does(stop, at_zero, amount, instance):
    expected = scan_optimus(instance, stop, at_zero, amount == "share")
    found = api.solve(instance, "optimus", stop=stop, at_zero=at_zero, amount=amount).plan
    assert (found.workers.tolist(), found.ps.tolist()) == expected


def test_the_queue_does_what_a_scan_does_on_the_papers_models():
    for seed in range(5):
        instance = api.generate("workers", "x16", seed, jobs=20, scale=4.0)
        found = api.solve(instance, "optimus").plan
        assert (found.workers.tolist(), found.ps.tolist()) == scan_optimus(instance, "full", True, False)


def test_stop_readings_differ_and_later_ones_do_not_hurt_here():
    values = {stop: [] for stop in ("misfit", "used-up", "full")}
    for number in range(60):
        instance = generated(number)
        for stop, found in values.items():
            found.append(api.solve(instance, "optimus", stop=stop).sort_key)
    assert values["misfit"] != values["full"]
    assert sum(values["full"]) <= sum(values["misfit"])


def dominant_shares(inst, plan):
    used = plan.workers[:, None] * inst.worker_demand + plan.ps[:, None] * inst.ps_demand
    return (used / inst.capacity).max(axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_drf_evens_out_dominant_shares(seed):
    inst = api.generate("workers", "x16", seed)
    plan = api.solve(inst, "drf").plan
    shares = dominant_shares(inst, plan)
    bundle = ((inst.worker_demand + inst.ps_demand) / inst.capacity).max(axis=1)
    assert shares.max() - shares.min() <= bundle.max() + 1e-12
    assert (plan.workers == plan.ps).all()


@pytest.mark.parametrize("seed", range(5))
def test_fair_evens_out_workers(seed):
    plan = api.solve(api.generate("workers", "x16", seed), "fair").plan
    assert plan.workers.max() - plan.workers.min() <= 1
    crowded = api.solve(api.generate("workers", "crowded", seed), "fair").plan
    assert crowded.workers.tolist() == [1] * 10 + [0] * 6, "arrival order"


@pytest.mark.parametrize("rule", ["fair", "drf"])
def test_useful_bundles_only_is_faster_where_there_is_plenty(rule):
    inst = api.generate("workers", "paper", scale=10.0)
    assert api.solve(inst, rule, useful=True).sort_key < api.solve(inst, rule).sort_key


def test_srpt_serves_the_shortest_first():
    inst = api.generate("workers", "crowded", 1)
    plan = api.solve(inst, "srpt").plan
    alone = [min(inst.cost[j][inst.cost[j] != NEVER]) for j in range(16)]
    runs = plan.workers > 0
    assert runs[int(np.argmin(alone))]
    assert max(a for a, r in zip(alone, runs, strict=True) if r) <= sorted(alone)[int(runs.sum()) - 1]


def test_max_rate_has_the_largest_sum_of_speeds():
    for number in range(40):
        inst = generated(number)
        others = [api.solve(inst, name).plan for name in ("dp", "optimus:stop=full", "fair", "srpt", "uniform-random")]
        for of, amount in (("iterations", inst.remaining), ("jobs", np.ones_like(inst.remaining))):

            def rate(plan, inst=inst, amount=amount):
                return sum(
                    Fraction(int(amount[j]), int(inst.cost[j, plan.workers[j] - 1, plan.ps[j] - 1]))
                    for j in range(len(inst.waiting))
                    if plan.workers[j]
                )

            best = rate(api.solve(inst, "max-rate", of=of).plan)
            # Rates are rounded to 2^-45 of the largest sum.
            assert all(float(rate(plan)) <= float(best) * (1 + 1e-9) for plan in others), of


def test_uniform_random_fills_the_cluster_unless_void_ends_it():
    inst = api.generate("workers", "paper")
    plans = [api.solve(inst, "uniform-random", seed=s).plan for s in range(40)]
    assert len({(*p.workers.tolist(), *p.ps.tolist()) for p in plans}) > 30
    assert np.mean([p.workers.sum() for p in plans]) > 9
    early = [api.solve(inst, "uniform-random", seed=s, void=True).plan for s in range(40)]
    assert np.mean([p.workers.sum() for p in early]) < 6
    paired = [api.solve(inst, "uniform-random", seed=s, pair=True).plan for s in range(10)]
    assert all((p.workers == p.ps).all() for p in paired)
    seen = [api.solve(inst, "uniform-random", seed=s, window=2).plan for s in range(10)]
    assert all(p.workers[2] == 0 for p in seen), "only the first two jobs are seen"
    assert api.solve(inst, "uniform-random", most_steps=1).plan.workers.sum() == 0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("optimus:stop=never", "stop: 'never', expected one of full, misfit, used-up"),
        ("optimus:amount=all", "amount: 'all', expected one of units, share"),
        ("max-rate:of=x", "of: 'x', expected one of iterations, jobs"),
        ("uniform-random:window=-1", "window: -1, expected at least 0"),
    ],
)
def test_wrong_parameters_are_refused(rule, message):
    with pytest.raises(InvalidInput, match=message):
        api.solve(small(), rule)
