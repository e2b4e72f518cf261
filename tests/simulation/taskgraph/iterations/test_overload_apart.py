"""Tasks that use more than their nodes have run as in a simulator that was written apart (`overload_apart.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from draws import THOROUGH
from jobs_examples import jobs_of
from overload_apart import Apart, Job, Room, shuffled

from mlsched import api
from mlsched.instances.taskgraph.states import RUNNING

RUNS = 200 if THOROUGH else 10
GPU = 1000


def lottery(snapshot, pauses, unit):
    """The policy "lottery" of the simulator, as a rule that sees a snapshot."""
    spans = [np.flatnonzero(snapshot.task_job == j).tolist() for j in range(len(snapshot.arrival))]
    gpu = snapshot.gpu.tolist() if unit else [-1] * len(snapshot.node)
    places = list(zip(snapshot.node.tolist(), gpu, strict=True))
    runs = [bool((snapshot.state[span] == RUNNING).all()) for span in spans]
    room = Room(snapshot.node_capacity.tolist(), unit)
    rows = {int(number): j for j, number in enumerate(snapshot.job_id)}
    order = [rows[number] for number in shuffled(list(rows))]
    if not pauses:
        order.sort(key=lambda j: not runs[j])
    starts, stopped, moves = [], [], []
    for j in order:
        own = [places[k] for k in spans[j]] if runs[j] else []
        found = room.gang(snapshot.demand[spans[j]].tolist(), own)
        if found is None:
            stopped += spans[j] if runs[j] else []
            continue
        changed = [(k, *place) for k, place in zip(spans[j], found, strict=True) if place != places[k] or not runs[j]]
        changed = changed if unit else [(k, node) for k, node, _ in changed]
        (moves if runs[j] else starts).extend(changed)
    return snapshot.round(start=starts, pause=stopped, migrate=moves)


def drawn(seed):
    """Jobs as rows, nodes and options: up to three tasks a job, of parts of a GPU and of two more resources."""
    rng = np.random.default_rng(seed)
    unit = int(rng.choice([0, GPU]))
    nodes = [[GPU * int(rng.integers(1, 4)), 32, 100] for _ in range(rng.integers(1, 4))]
    jobs, now = [], 0
    for number in range(rng.integers(5, 16)):
        now += int(rng.integers(0, 30))
        tasks = int(rng.integers(1, 4))
        gpus = rng.choice([0, 200, 250, 300], tasks)
        demand = np.column_stack([gpus, rng.integers(0, 9, tasks), rng.integers(1, 30, tasks)]).tolist()
        mean = rng.choice([0, 600_000, 1_000_000, 1_300_000, 2_500_000], (tasks, 3)).tolist()
        scale = int(rng.choice([10**6, 700_000, 1_333_333]))
        ticks = rng.integers(1, 30, tasks).tolist()
        cost = int(rng.choice([0, 1, 2.5]) * 10**6)
        jobs.append(Job(number, now, int(rng.integers(1, 12)), scale, cost, ticks, demand, mean))
    options = {"power": seed % 5 + 1, "every": int(rng.integers(1, 40)), "spread": float(rng.choice([0, 0.2, 0.5]))}
    options |= {"at_start": bool(rng.random() < 0.5), "seed": int(rng.integers(5)), "pauses": bool(rng.random() < 0.7)}
    return jobs, nodes, options | {"unit": unit}


def simulated(jobs, nodes, given):
    """The run of the same jobs by mlsched."""
    load = jobs_of(
        [[(ticks, *demand) for ticks, demand in zip(job.ticks, job.demand, strict=True)] for job in jobs],
        [(job.arrival, job.number, job.iterations, job.scale) for job in jobs],
        nodes=nodes,
        resources=("gpu_milli", "cpu", "memory"),
        gpu_unit=given["unit"],
        usage=[mean for job in jobs for mean in job.mean],
        pause_cost=[job.cost for job in jobs],
        movement="anytime",
    )
    names = {"power": "overload_power", "every": "usage_every", "spread": "usage_spread", "at_start": "usage_at_start"}
    options = {names[name]: given[name] for name in names} | {"usage": "drawn", "usage_seed": given["seed"]}
    options |= {"asked": "events", "pausing": "keep" if given["pauses"] else "none", "movement": "anytime"}
    return api.simulate(
        load, lambda snapshot, *, rng: lottery(snapshot, given["pauses"], given["unit"]), options=options
    )


def histories(run):
    """Of each job: (time, places, length of an iteration) at every change, and its end."""
    found = [[] for _ in run.workload.arrival]
    ends = [0] * len(found)
    unit, gpus = run.workload.gpu_unit, run.log.gpus or [((),) * len(nodes) for nodes in run.log.places]
    rows = sorted(zip(run.log.rows, run.log.places, gpus, strict=True), key=lambda row: row[0][:3])
    for (job, start, end, *_, cycle, _, _, _), nodes, held in rows:
        if found[job] and ends[job] < start:
            found[job].append((ends[job], (), 0))
        ends[job] = max(ends[job], end)
        gpu = [one[0] if unit and one else -1 for one in held]
        places = tuple(zip(nodes, gpu, strict=True))
        if end > start and (not found[job] or found[job][-1][1:] != (places, cycle)):
            found[job].append((start, places, cycle))
    return found, ends


@pytest.mark.filterwarnings("ignore:the offered load")
def test_random_runs_have_the_same_paces_places_and_ends():
    """Every power, pooled and individual GPUs, with and without pauses; all but a few are overloaded at times."""
    overloaded = moved = 0
    for seed in range(RUNS):
        jobs, nodes, given = drawn(seed)
        run = simulated(jobs, nodes, given)
        assert run.violations() == [], seed
        other = Apart(jobs, nodes, **given).run()
        assert histories(run) == ([job.history for job in other.jobs], [job.end for job in other.jobs]), (seed, given)
        assert run.log.above == other.above, (seed, given)
        overloaded, moved = overloaded + any(other.above), moved + int(run.jobs["migrations"].sum())
    assert overloaded >= RUNS // 2
    assert moved
