"""Pieces of the placement formula, each against the judge's rules: what servers may host, and the speeds there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from certificate_examples import minimum, placement
from draws import draws

from mlsched import api
from mlsched.certificates import placement as translation
from mlsched.core.errors import InvalidInput
from mlsched.instances.placement import Plan
from mlsched.instances.placement.judge import speeds

COUNT = draws(30, 1000)


def wide(number: int):
    """Like the tiny instances, with up to three workers and PSs a job, two resources, and tasks of one job together."""
    rng = np.random.default_rng([7, number])
    instance = placement(rng)
    jobs, runs = len(instance.job_type), len(instance.run_type)
    return instance.replace(
        resources=["cpu", "gpu"],
        server_capacity=np.full((2, 2), 9),
        server_free=rng.integers(0, 5, (2, 2)),
        job_workers=rng.integers(1, 4, jobs),
        job_ps=rng.integers(0, 4, jobs),
        run_workers=rng.integers(1, 4, (runs, 2)) * [1, int(rng.integers(0, 2))],
        run_ps=rng.integers(0, 4, (runs, 2)) * [1, int(rng.integers(0, 2))],
        worker_demand=rng.integers(0, 3, (jobs, 2)),
        ps_demand=rng.integers(0, 3, (jobs, 2)),
    )


def may_host(instance, server: int, content: dict[int, tuple[int, int]]) -> bool:
    """Rules 2 and 4 for one server."""
    need = sum((w * instance.worker_demand[j] + p * instance.ps_demand[j] for j, (w, p) in content.items()), start=0)
    here = [instance.job_type[j] for j in content]
    there = [k for k, w, p in zip(instance.run_type, instance.run_workers[:, server], instance.run_ps[:, server],
                                  strict=True) if w or p]  # fmt: skip
    pairs = [*itertools.combinations(here, 2), *itertools.product(here, there)]
    return bool((need <= instance.server_free[server]).all()) and not any(instance.apart[a, b] for a, b in pairs)


@pytest.mark.parametrize("number", range(COUNT))
def test_a_server_may_host_what_rules_2_and_4_allow(number):
    instance = wide(number)
    parts = [
        [(w, p) for w in range(int(a) + 1) for p in range(int(b) + 1)]
        for a, b in zip(instance.job_workers, instance.job_ps, strict=True)
    ]
    for server in range(2):
        found = [frozenset(c.items()) for c in translation._contents_of_server(instance, server)]
        every = [{j: part for j, part in enumerate(some) if part != (0, 0)} for some in itertools.product(*parts)]
        assert len(found) == len(set(found))
        assert set(found) == {frozenset(c.items()) for c in every if may_host(instance, server, c)}


@pytest.mark.parametrize("number", range(COUNT))
def test_the_slowest_server_sets_the_speed_that_the_judge_finds(number):
    """All jobs are placed, somewhere: what a speed is does not depend on whether there is room."""
    instance = wide(number)
    rng, runs = np.random.default_rng(number), len(instance.run_type)
    w, p = ([[n - (first := int(rng.integers(0, n + 1))), first] for n in whole]
            for whole in (instance.job_workers.tolist(), instance.job_ps.tolist()))  # fmt: skip
    contents = [{j: (w[j][s], p[j][s]) for j in range(len(w)) if w[j][s] + p[j][s]} for s in range(2)]
    found = []
    for job in range(runs + len(w)):
        there = [translation._speed_on_server(instance, job, s, contents[s]) for s in range(2)]
        for s, speed in enumerate(there):
            hosted = (
                contents[s].get(job - runs) if job >= runs else instance.run_workers[job, s] + instance.run_ps[job, s]
            )
            assert (speed is None) == (not hosted)
        found.append(min(speed for speed in there if speed is not None))
    assert found == speeds(instance, Plan(workers=np.array(w), ps=np.array(p)))


def split():
    """Three jobs of two workers, two servers with room for three workers: one job is on both, and slowed down."""
    one, none = np.ones((3, 1), dtype=np.int64), np.zeros((1, 1), dtype=np.int64)
    return placement(np.random.default_rng(0)).replace(
        server_capacity=[[3], [3]], server_free=[[3], [3]], types=["a"], apart=none, sigma_worker=none,
        sigma_ps=none, use_worker=none, use_ps=none, linear=none, quadratic=none[None], rho_ps=[0],
        rho_worker=[150_000], run_type=[], run_speed=[], run_workers=one[:0, [0, 0]], run_ps=one[:0, [0, 0]],
        job_type=[0] * 3, job_speed=[500_000] * 3, job_workers=[2] * 3, job_ps=[0] * 3, worker_demand=one,
        ps_demand=one, most_jobs=3, most_new=3,
    )  # fmt: skip


def test_more_contents_than_variables_are_refused(monkeypatch):
    instance = split()
    most = len(list(translation._contents_of_server(instance, 0)))
    assert most > 1
    monkeypatch.setattr(translation, "MOST_VARIABLES", most)
    assert len(list(translation._contents_of_server(instance, 0))) == most
    monkeypatch.setattr(translation, "MOST_VARIABLES", most - 1)
    with pytest.raises(InvalidInput, match=f"server 0 may host more than {most - 1} things"):
        list(translation._contents_of_server(instance, 0))


def test_a_job_may_be_as_slow_on_two_servers():
    instance = split()
    best = api.solve(instance, "brute-force")
    (formula,) = translation.TRANSLATION.formulas(instance, "total_speed", best.plan)
    assert formula.value(minimum(formula)) == best.sort_key == 2 * 500_000 + 500_000 * 1000 // 1150


@pytest.mark.parametrize(("reading", "slowdown"), [("workers", 1000), ("tasks", 1200)])
def test_a_ps_without_a_worker_pays_the_network_by_one_reading(reading, slowdown):
    """Two of its job's three PSs are on the other server, beside the worker."""
    instance = split().replace(job_workers=[1, 2, 2], job_ps=[3, 0, 0], rho_ps=[300_000], network_at=reading)
    assert translation._speed_on_server(instance, 0, 0, {0: (1, 2)}) == 500_000 * 1000 // 1100
    assert translation._speed_on_server(instance, 0, 1, {0: (0, 1)}) == 500_000 * 1000 // slowdown


def test_what_variables_mean_is_said():
    """A running job whom nobody can slow down has no variable."""
    instance = split().replace(
        server_free=[[1], [0]], run_type=[0], run_speed=[1000], run_workers=[[0, 1]], run_ps=[[0, 0]], most_jobs=4
    )
    nothing = np.zeros((3, 2), dtype=np.int64)
    (formula,) = translation.TRANSLATION.formulas(instance, "total_speed", Plan(workers=nothing, ps=nothing))
    hosts = [f"server 0 hosts 1 workers and 0 PSs of job {j}" for j in range(3)]
    assert [m for m in formula.meanings if "hosts" in m] == [*hosts, "server 0 hosts nothing", "server 1 hosts nothing"]
    assert not [m for m in formula.meanings if m.startswith("job 0 has at least the speed") and "1000" in m]
    assert len(formula.meanings) == 5 + 3 + 3  # contents, jobs that are placed, and a speed of each
    assert formula.value(minimum(formula)) == 1000
