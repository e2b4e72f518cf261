"""The iteration engine starts and ends jobs as a simulator does that was written apart (`gangs_apart.py`)."""

from __future__ import annotations

import functools
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from draws import THOROUGH
from gangs_apart import Apart

from mlsched import api
from mlsched.instances.taskgraph.states import RUNNING
from mlsched.instances.traces import read_trace
from mlsched.simulation.taskgraph.iterations.from_log import from_trace

DATA = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
LOGS = 75 if THOROUGH else 6  # of each policy: 300 in all
POLICIES = {"fifo": "fifo", "best-effort": "best-effort-fifo", "srpt": "srpt", "refill": None}


def refill(snapshot, *, rng):
    """The policy "refill" of the simulator, as a rule that sees a snapshot: whole gangs, the GPU the only resource."""
    free = snapshot.node_capacity[:, 0].tolist()
    own = np.where(snapshot.state == RUNNING, snapshot.node, snapshot.bound).tolist()
    spans = [np.flatnonzero(snapshot.task_job == j).tolist() for j in range(len(snapshot.arrival))]
    left = (snapshot.max_iterations - snapshot.finished).tolist()
    runs = [bool((snapshot.state[span] == RUNNING).all()) for span in spans]
    asked = [int(snapshot.demand[span, 0].sum()) for span in spans]
    keys = [
        (left[j] * asked[j], not runs[j], int(snapshot.arrival[j]), int(snapshot.job_id[j])) for j in range(len(spans))
    ]
    starts, pauses, moves = [], [], []
    for j in sorted(range(len(spans)), key=keys.__getitem__):
        tasks = [int(snapshot.demand[k, 0]) for k in spans[j]]
        stays = runs[j] or (snapshot.movement == "none" and own[spans[j][0]] >= 0)
        nodes = Apart.hold(free, tasks, [own[k] for k in spans[j]]) if stays else None
        if nodes is None and (snapshot.movement == "anytime" or own[spans[j][0]] < 0):
            nodes = Apart.place(free, tasks)
        if nodes is None:
            pauses += spans[j] if runs[j] else []
        elif runs[j]:
            moves += [(k, node) for k, node in zip(spans[j], nodes, strict=True) if node != own[k]]
        else:
            starts += list(zip(spans[j], nodes, strict=True))
    return snapshot.round(start=starts, pause=pauses, migrate=moves)


def starts(run):
    """Of each job: when its nodes were others than before, and these; and its end."""
    count = len(run.workload.arrival)
    found: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in range(count)]
    until = [-1] * count
    rows = sorted(zip(run.log.rows, run.log.places, strict=True), key=lambda row: (row[0][0], row[0][1]))
    for (job, start, end, *_), nodes in rows:
        if not (found[job] and until[job] == start and found[job][-1][1] == nodes):
            found[job].append((start, nodes))
        until[job] = end
    return list(zip(found, until, strict=True))


def compare(load, policy, *, bound=True, **cluster):
    """Starts and ends of both, and the run; `bound`: whether the run is held against its bound, which takes longer."""
    rule = POLICIES[policy] or refill
    options = {"pausing": "keep"} if rule is refill else {}
    run = api.simulate(load, rule, options=options)
    assert run.violations() == []
    assert not bound or all(run.summary()[name] >= least for name, least in run.bound.items())
    ticks = (load.max_iterations * (load.scale / 1e6)).tolist()
    gpus = (np.bincount(load.task_template, load.demand[:, 0])[load.template] / 1000).astype(int).tolist()
    whole = [Fraction(round(1e6 * length), 10**6) for length in ticks]
    other = Apart(load.arrival.tolist(), whole, gpus, policy=policy, **cluster).run()
    return starts(run), [(job.starts, job.end) for job in other.jobs], run


@pytest.mark.filterwarnings("ignore:the offered load")
@pytest.mark.parametrize("policy", POLICIES)
def test_random_logs_have_the_same_starts_and_ends(tmp_path, policy):
    """Bursts of gangs, some of several nodes, on few nodes: most of them wait, and pause."""
    paused = moved = shaped = 0
    for seed in range(LOGS):
        rng = np.random.default_rng([seed, list(POLICIES).index(policy)])
        per_node, nodes, count = int(rng.choice([4, 8])), int(rng.choice([2, 4, 8])), int(rng.integers(20, 60))
        gpus = np.minimum(rng.choice([1, 2, 3, per_node - 1, per_node, per_node + 1], count), per_node * nodes)
        submit = np.sort(rng.integers(0, int(rng.choice([1, 20, 60])) * count, count))
        ticks = np.ceil(np.exp(rng.normal(3, 1.2, count))).astype(int)
        anywhere, cost, moves = bool(rng.random() < 0.2), float(rng.choice([0, 3, 30, 2.5])), bool(rng.random() < 0.7)
        log = tmp_path / f"{policy}{seed}.csv"
        rows = (f"{s},{t},{g}" for s, t, g in zip(submit.tolist(), ticks.tolist(), gpus.tolist(), strict=True))
        log.write_text("\n".join(["submit,duration,gpus", *rows]) + "\n")
        load = from_trace(
            read_trace(log),
            np.array([[0, 0, 1000 * per_node]] * nodes),
            tick=1,
            iteration=1,
            shape="anywhere" if anywhere else "log",
            pause_cost=cost,
            movement="anytime" if moves else "none",
        )
        cluster = {"nodes": nodes, "per_node": per_node, "cost": Fraction(cost), "anywhere": anywhere, "moves": moves}
        ours, others, run = compare(load, policy, bound=seed % 10 == 0, **cluster)
        assert ours == others, (seed, cluster)
        paused, moved = paused + int(run.jobs["pauses"].sum()), moved + int(run.jobs["migrations"].sum())
        shaped += run.summary().get("waiting_for_shape", 0) > 0
    assert (paused > LOGS and moved) if policy == "refill" else not paused
    assert shaped >= max(1, LOGS // 8), "in too few logs does a job wait for shape"


@functools.cache
def public_log(name):
    trace = read_trace(DATA / name, limit=2000 if THOROUGH else 70)
    return from_trace(trace, np.array([[0, 0, 8000]] * 16), tick=1, iteration=1, oversize="drop", pause_cost=30)


@pytest.mark.filterwarnings("ignore:the offered load")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["philly/philly.csv.gz", "helios/helios_venus_gpu_jobs.csv.gz"])
def test_public_logs_have_the_same_starts_and_ends(name, policy):
    """The jobs that arrive first, on as many nodes as are short at times; the smallest tasks are whole GPUs."""
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name} is not there; set MLSCHED_DATA")
    held = policy in ("fifo", "refill") and not THOROUGH  # to its bound: one that never pauses, and one that does
    ours, others, _ = compare(public_log(name), policy, bound=held, nodes=16, per_node=8, cost=Fraction(30))
    assert ours == others
