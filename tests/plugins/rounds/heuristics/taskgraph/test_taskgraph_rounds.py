"""Policies of rounds on nodes: Gavel's mechanism tick by tick against a simulation written apart, and against Gavel's
own world; how nodes are found; what is remembered; and rules of rounds that are asked each round.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from draws import draws
from gangs_exhausted import typed, typed_workload
from jobs_examples import ends, jobs_of, rows

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched_rounds.heuristics.shares import POLICIES, Asked, Readings
from mlsched_rounds.simulation.workload import MICRO, PICO, PPM, Workload

pytestmark = pytest.mark.filterwarnings("ignore:the offered load")
M = 10**6
#: Policies for jobs on any number of GPUs that need not draw the order of types.
AWARE = [name for name, policy in POLICIES.items() if policy.aware and name != "allox"]


def pooled(jobs, capacity, **changes):
    """Jobs (arrival, ticks as stated, GPUs, speed on each type: 12 as stated, a divisor, or 0) on a node a type."""
    kinds = sorted({(gpus, speeds) for _, _, gpus, speeds in jobs})
    return jobs_of(
        [[(1, gpus)] for gpus, _ in kinds],
        [(arrival, kinds.index((gpus, speeds)), ticks) for arrival, ticks, gpus, speeds in jobs],
        **{
            "nodes": [(c,) for c in capacity],
            "eligible": [
                [int(s > 0 and gpus <= c) for s, c in zip(speeds, capacity, strict=True)] for gpus, speeds in kinds
            ],
            "task_class": list(range(len(kinds))),
            "node_type": list(range(len(capacity))),
            "slowness": [[12 * M // s if s else M for s in speeds] for _, speeds in kinds],
            "tick_ms": 1000,
            "movement": "anytime",
            **changes,
        },
    )


def played(jobs, capacity, shares, *, length, reset, freed, cost, strict):
    """When the jobs end: Gavel's rounds tick by tick, in plain Python; types are filled in their order.

    shares(now, here, left, held): of the jobs that are here, what is left of them (stated ticks) and their GPU-ticks.
    """
    count, types = len(jobs), range(len(capacity))
    left = [12 * ticks for _, ticks, _, _ in jobs]
    held, debt, ran_before = [0] * count, [0] * count, [False] * count
    on, end = [None] * count, [None] * count
    time = [[length / 2] * len(capacity) for _ in jobs]
    lacks = [[0.0] * len(capacity) for _ in jobs]
    share = [[0.0] * len(capacity) for _ in jobs]
    known = [False] * count
    until, last, need, before, now = 0, None, True, set(), 0
    while None in end:
        here = [j for j in range(count) if jobs[j][0] <= now and end[j] is None]
        if here and (set(here) != before or now >= until):
            need, before = need or set(here) != before, set(here)
            begins = now >= until or all(on[j] is None for j in here)
            if begins:
                idle = all(on[j] is None for j in here)
                if need and (last is None or now - last >= reset or idle):
                    for j in here:
                        for m in types:
                            lacks[j][m] += share[j][m] * (now - (last or 0)) - (time[j][m] - length / 2)
                            time[j][m] = length / 2
                    given = shares(now, here, [left[j] / 12 for j in here], [held[j] * jobs[j][2] for j in here])
                    for j, row in zip(here, given, strict=True):
                        share[j], known[j] = list(row), True
                    last, need = now, False
                until = now + length
            if begins or freed == "start":
                waits = here if begins else [j for j in here if on[j] is None]
                free = list(capacity)
                for j in here:
                    if j not in waits:
                        free[on[j]] -= jobs[j][2]
                wanted = dict.fromkeys(waits)
                for m in types:

                    def worth(j, m=m):
                        return share[j][m] / time[j][m] if known[j] and jobs[j][3][m] else 0.0

                    for j in sorted(waits, key=lambda j, m=m: (-worth(j), -lacks[j][m], -share[j][m])):
                        fits = jobs[j][3][m] and jobs[j][2] <= free[m]
                        if wanted[j] is None and fits and (worth(j) > 0 or not strict):
                            wanted[j], free[m] = m, free[m] - jobs[j][2]
                for j, m in wanted.items():
                    if m is not None and m != on[j]:
                        debt[j] = cost if ran_before[j] else 0
                        ran_before[j] = True
                    on[j] = m
        now += 1
        for j in here:
            if on[j] is None:
                continue
            held[j] += 1
            time[j][on[j]] += 1
            if debt[j]:
                debt[j] -= 1
                continue
            left[j] -= jobs[j][3][on[j]]
            if left[j] <= 0:
                end[j], on[j] = now, None
    return end


def asker(name, jobs, capacity):
    """The policy's shares, for `played`."""
    policy = POLICIES[name].start(Readings(0, "drawn", "interior"))

    def shares(now, here, left, held):
        able = np.array([jobs[j][3] for j in here]) / 12
        able[np.array([jobs[j][2] for j in here])[:, None] > np.array(capacity)] = 0
        return policy(
            Asked(
                jobs=np.array(here),
                rate=able,
                gpus=np.array([jobs[j][2] for j in here]),
                weight=np.ones(len(here)),
                remaining=np.array(left, dtype=float),
                age=np.array([now - jobs[j][0] for j in here], dtype=float),
                served=np.array(held, dtype=float),
                capacity=np.array(capacity),
                types=tuple(f"{m:06d}" for m in range(len(capacity))),
                runs=np.array(able) > 0,
            )
        ).tolist()

    return shares


def drawn(rng):
    """Jobs, and the GPUs of two types; type 0 is the faster one in the mean, so that it is filled first."""
    capacity = tuple(int(c) for c in rng.integers(2, 4, 2))
    jobs = []
    for _ in range(int(rng.integers(2, 6))):
        slow = int(rng.choice([3, 4, 6, 12]))
        jobs.append((int(rng.integers(0, 12)), int(rng.integers(1, 16)), int(rng.choice([1, 1, 2])), (12, slow)))
    jobs.append((0, 5, 1, (12, 3)))
    jobs.sort(key=lambda job: job[0])
    return jobs, capacity


@pytest.mark.parametrize("seed", range(draws(24, 1000)))
def test_gavels_rounds_are_those_of_a_simulation_written_apart(seed):
    rng = np.random.default_rng(seed)
    jobs, capacity = drawn(rng)
    # Of those that look at what is left: it is a whole number of ticks to schedulers, and so at ends of rounds of 12.
    name = str(rng.choice(["fifo_perf", "max_min_perf", "water_filling_perf", "max_sum"]))
    length, reset = int(rng.choice([3, 5, 12])), int(rng.choice([0, 7, 30]))
    freed, cost = str(rng.choice(["start", "idle"])), int(rng.choice([0, 0, 2]))
    found = api.simulate(
        pooled(jobs, capacity, pause_cost=[cost * M] * len(jobs)),
        f"gavel:policy={name},round={length},reset={reset},freed={freed}",
    )
    expected = played(
        jobs,
        capacity,
        asker(name, jobs, capacity),
        length=length,
        reset=reset,
        freed=freed,
        cost=cost,
        strict=POLICIES[name].strict,
    )
    assert found.violations() == []
    assert ends(found.log, len(jobs)) == expected


@pytest.mark.parametrize("seed", range(draws(4, 100)))
@pytest.mark.parametrize("name", ["fifo_perf", "srpt", "las"])  # the others have many optima
def test_on_one_node_a_type_it_is_gavels_world(name, seed):
    """Whole seconds on every type, all jobs there at once: a round of 360 s ends at 360 s in both."""
    rng = np.random.default_rng(seed)
    capacity = (3, 2)
    jobs = [
        (0, 60 * int(rng.integers(1, 60)), int(rng.choice([1, 1, 2])), (12, int(rng.choice([3, 6, 12]))))
        for _ in range(6)
    ]
    jobs.append((0, 300, 1, (12, 3)))
    world = Workload(
        types=("fast", "slow"),
        capacity=capacity,
        submit=[MICRO] * len(jobs),  # at 0 its program takes the accounts for never opened
        steps=[12 * ticks for _, ticks, _, _ in jobs],
        gpus=[gpus for _, _, gpus, _ in jobs],
        rate=[[s * PICO for s in speeds] for _, _, _, speeds in jobs],
        weight=[PPM] * len(jobs),
    )
    there = api.simulate(world, f"gavel:policy={name}", options={"remainder": "run", "gaps": "idle"})
    here = api.simulate(pooled(jobs, capacity), f"gavel:policy={name},freed=idle")
    assert ends(here.log, len(jobs)) == pytest.approx(there.jobs["completion"].tolist(), abs=1e-3)


def test_gpus_that_come_free_start_jobs_or_idle_until_the_round_ends():
    """Job 0 ends at 4 of a round of 10; job 1 is there from 1 on."""
    load = pooled([(0, 4, 1, (12,)), (1, 5, 1, (12,)), (2, 40, 1, (12,))], (2,))
    assert ends(api.simulate(load, "gavel:round=10").log, 3) == [4, 6, 44]
    assert ends(api.simulate(load, "gavel:round=10,freed=idle").log, 3) == [4, 9, 44]


def test_the_first_interval_of_fluid_mpc_is_a_round():
    """A job of 100 s and one of 10 on one GPU: in rounds of 5 s the program sees that the short one comes first."""
    load = pooled([(0, 100, 1, (12,)), (0, 10, 1, (12,))], (1,))
    found = [
        ends(api.simulate(load, f"gavel:policy=fluid_mpc,round=5{told}").log, 2)
        for told in ("", ",first=5", ",first=360")
    ]
    assert found[0] == found[1] == [110, 10]
    assert found[2][1] > 10


def gangs(jobs, nodes, **changes):
    """Jobs (arrival, ticks, GPUs of each task) on nodes of one type."""
    kinds = sorted({tasks for _, _, tasks in jobs})
    return jobs_of(
        [[(1, gpus) for gpus in tasks] for tasks in kinds],
        [(arrival, kinds.index(tasks), ticks) for arrival, ticks, tasks in jobs],
        **{"nodes": [(n,) for n in nodes], "tick_ms": 1000, "movement": "anytime", **changes},
    )


@pytest.mark.parametrize("rule", ["gavel:round=3,reset=0", "gavel:round=3,freed=idle", "round-by-round:round=3"])
@pytest.mark.parametrize("pausing", ["keep", "none"])
def test_a_job_that_is_no_gang_starts_whole(rule, pausing):
    """Job 1 needs all GPUs: by iterations, a task that starts without the others would hold its node for nothing."""
    load = gangs([(0, 9, (1,)), (1, 4, (2, 2)), (2, 3, (1, 1))], (2, 2), gang=0)
    run = api.simulate(load, rule, options={"pausing": pausing})
    assert run.violations() == []
    begun = {job: {row["start"] for row in rows(run.log) if row["job"] == job} for job in range(3)}
    assert sum(row["end"] - row["start"] for row in rows(run.log) if row["job"] == 1) == 4, begun


@pytest.mark.parametrize("seed", range(draws(4, 300)))
def test_jobs_of_any_tasks_come_to_an_end(seed):
    """Gangs and others, with edges or without, of tasks with and without GPUs."""
    rng = np.random.default_rng(seed)
    nodes = [(int(rng.integers(2, 4)),) for _ in range(3)]
    templates = [
        [(int(rng.integers(1, 5)), int(rng.integers(0, 3))) for _ in range(int(rng.integers(1, 4)))] for _ in range(3)
    ]
    jobs = sorted((int(rng.integers(0, 10)), int(rng.integers(3)), int(rng.integers(1, 5))) for _ in range(5))
    first = np.cumsum([0, *map(len, templates[:-1])]).tolist()
    load = jobs_of(
        templates,
        jobs,
        nodes=nodes,
        gang=rng.integers(0, 2, 3).tolist(),
        edges=[(f, f + 1, 0, 0, 0) for f, rows_ in zip(first, templates, strict=True) if len(rows_) > 1],
        tick_ms=1000,
        movement=str(rng.choice(["none", "anytime"])),
        pause_cost=[M] * len(jobs),
    )
    freed, pausing = str(rng.choice(["start", "idle"])), str(rng.choice(["keep", "none"]))
    for rule in (f"gavel:round=3,reset=4,freed={freed}", f"round-by-round:round=3,freed={freed}"):
        run = api.simulate(load, rule, options={"pausing": pausing})
        assert run.violations() == [], rule
        assert run.bound["total_jct"] <= run.summary()["total_jct"]


@pytest.mark.parametrize(
    ("sizes", "node", "unit"), [((2, 2, 2), 3, 1), ((3, 3, 2), 4, 1), ((600, 600, 600, 600, 600), 2000, 1000)]
)
@pytest.mark.parametrize("policy", ["fifo", "fifo_perf", "las", "srpt", "max_sum"])
def test_a_gang_is_given_no_type_on_whose_nodes_it_does_not_fit(policy, sizes, node, unit):
    """Two fast nodes have as many GPUs as the gang needs, and no room for it; three slow ones have."""
    load = jobs_of(
        [[(1, size) for size in sizes], [(1, unit)]],
        [(0, 0, 4), (0, 1, 3)],
        nodes=[(node,)] * 5,
        resources=("gpu" if unit == 1 else "gpu_milli",),
        gpu_unit=0 if unit == 1 else unit,
        node_type=[0, 0, 1, 1, 1],
        slowness=[[M, 2 * M]],
        tick_ms=1000,
        movement="none" if unit == 1000 else "anytime",
    )
    run = api.simulate(load, f"gavel:policy={policy},round=3,freed=idle")
    assert run.violations() == []
    assert ends(run.log, 2)[0] == 8


def test_without_rates_types_on_which_a_job_cannot_run_are_not_drawn():
    """Jobs 0 and 1 run on type 1 alone, job 2 anywhere; whatever is drawn, all end."""
    for seed in range(8):
        load = pooled([(0, 4, 1, (0, 12)), (0, 4, 1, (0, 12)), (0, 4, 1, (12, 12))], (2, 1))
        assert max(ends(api.simulate(load, "gavel:policy=fifo,round=2,reset=0", seed=seed).log, 3)) <= 12


@pytest.mark.parametrize("policy", ["fifo", "fifo_perf", "las", "srpt"])  # of others, waiting jobs fill what is free
def test_where_nodes_fail_shares_are_asked_for_anew(policy):
    """The fast node fails for good; two jobs of 10 and 12 s go on at half the speed."""
    load = pooled(
        [(0, 10, 1, (12, 6)), (0, 12, 1, (12, 6))], (2, 2), failure_node=[0], failure_from=[2], failure_to=[10**6]
    )
    run = api.simulate(load, f"gavel:policy={policy},round=3,reset=0")
    assert run.violations() == []
    assert max(ends(run.log, 2)) <= 24


def test_smaller_jobs_make_way_where_they_may_move():
    """Two nodes of two GPUs, a long and a short job on each; at 4 one of the long ones moves beside the other."""
    jobs = [(0, 40, (1,)), (0, 3, (1,)), (0, 40, (1,)), (0, 3, (1,)), (1, 5, (2,))]
    for movement, start in (("anytime", 4), ("none", 40)):
        run = api.simulate(gangs(jobs, (2, 2), movement=movement), "gavel:policy=fifo_perf,round=4,reset=0")
        assert run.violations() == []
        assert next(row for row in rows(run.log) if row["job"] == 4)["start"] == start


ASKED = [
    *(f"gavel:policy={name},round=3,reset=4" for name in POLICIES if name != "allox"),
    *(f"round-by-round:rule={name},round=3" for name in ("sia", "shockwave", "worst-served", "lp-rounding")),
    "gavel:round=2,freed=idle,optimum=vertex",
    "round-by-round:round=2,freed=idle",
]


@pytest.mark.parametrize("seed", range(draws(3, 200)))
def test_runs_are_sound_and_not_below_the_bound(seed):
    load = typed_workload(*typed(np.random.default_rng(7000 + seed)))
    for rule in ASKED:
        run = api.simulate(load, rule)
        assert run.violations() == [], rule
        assert run.bound["total_jct"] <= run.summary()["total_jct"]
        assert run.bound["makespan"] <= run.summary()["makespan"]


@pytest.mark.parametrize("name", ["fifo", "allox", "allox_gangs", "finish_time_fairness_perf"])
def test_what_a_policy_remembers_survives_json(name):
    jobs = [(k, 5 + 3 * k % 7, 1, (12, 6)) for k in range(5)]
    run = api.simulate(pooled(jobs, (1, 2)), f"gavel:policy={name},round=3,reset=2", record=1.0)
    assert run.violations() == []
    assert any(d.memory and any(d.memory["policy"].values()) for d in run.recorded)
    for decision in run.recorded:
        kept = json.loads(json.dumps(decision.memory))
        assert kept == decision.memory
        assert run.replay(decision) == decision.plan


def test_jobs_without_gpus_start_where_there_is_room():
    load = gangs([(0, 4, (1,)), (0, 6, (0,)), (1, 2, (1,))], (1,))
    assert ends(api.simulate(load, "gavel").log, 3)[1] == 6


def test_where_runs_may_not_pause_what_runs_goes_on():
    jobs = [(0, 9, 1, (12,)), (1, 2, 1, (12,))]
    run = api.simulate(pooled(jobs, (1,)), "gavel:policy=srpt,round=2,reset=0", options={"pausing": "none"})
    assert ends(run.log, 2) == [9, 11]


def test_wrong_names_are_refused():
    load = pooled([(0, 4, 1, (12,))], (1,))
    with pytest.raises(InvalidInput, match="policy: 'max-min', expected one of fifo, fifo_perf"):
        api.simulate(load, "gavel:policy=max-min")
    must = "expected a rule of rounds that remembers nothing"
    for rule in ("highs", "brute-force", "sia:power=1"):  # exact: no rules; with parameters
        with pytest.raises(InvalidInput, match=f"round-by-round: rule: {rule}, {must}: cheapest, fifo, .*, sia, "):
            api.simulate(load, "round-by-round", rule=rule)
    with pytest.raises(InvalidInput, match=rf"rule: shokwave, {must} \(did you mean 'shockwave'\?\): cheapest, "):
        api.simulate(load, "round-by-round:rule=shokwave")
