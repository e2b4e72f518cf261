"""Every rule gives feasible plans, and does what its name says on examples worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from placement_examples import small

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.heuristics.placement import interference
from mlsched.heuristics.placement._room import PS, WORKER, Room
from mlsched.instances import strategies

RULES = [a.name for a in registry().available("placement", "heuristic")]
LIF = ("lif-linear", "lif-quadratic")
#: Interpretations that are not the default.
READINGS = (
    "tetris:order=task",
    "tetris:weight=0",
    *(
        f"lif-quadratic:score={score},tie={tie}"
        for score, tie in zip(interference.SCORES, interference.TIES[::-1], strict=True)
    ),
)


@pytest.mark.parametrize("rule", [*RULES, *READINGS])
def test_plans_are_feasible_and_reproducible(rule):
    @given(instance=strategies.placement())
    def check(instance):
        if rule.startswith(LIF) and len(instance.pressures) < 2:
            with pytest.raises(InvalidInput, match="expected cpu and bandwidth"):
                mlsched.solve(instance, rule, seed=1)
            return
        one, two = (mlsched.solve(instance, rule, seed=1) for _ in range(2))
        assert one.plan == two.plan

    check()


def empty_servers(**changes):
    """Two servers with room for four tasks each, nothing runs."""
    fields = {
        "server_capacity": [[4], [4]],
        "server_free": [[4], [4]],
        "run_type": [],
        "run_speed": [],
        "run_workers": np.zeros((0, 2), dtype=np.int64),
        "run_ps": np.zeros((0, 2), dtype=np.int64),
    }
    return small(**{**fields, **changes})


#: Interference 0.8 for a server of CPU and 0.4 for one of bandwidth in use by others; a task uses a quarter of both.
LINEAR_WORLD = {
    "pressures": ["cpu", "bandwidth"],
    "sigma_worker": [[0, 0], [0, 0]],
    "sigma_ps": [[0, 0], [0, 0]],
    "use_worker": [[250, 250], [250, 250]],
    "use_ps": [[250, 250], [250, 250]],
    "linear": [[800_000, 400_000], [800_000, 400_000]],
    "quadratic": np.zeros((2, 2, 2), dtype=np.int64),
}


def hosts(plan, job):
    return set(np.flatnonzero((plan.workers + plan.ps)[job]).tolist())


def test_load_balancing_spreads_and_bin_packing_packs():
    spread = mlsched.solve(empty_servers(), "load-balancing").plan
    packed = mlsched.solve(empty_servers(), "bin-packing").plan
    assert (spread.workers + spread.ps).sum(axis=0).tolist() == [2, 2]
    assert hosts(spread, 0) == {0, 1}
    assert (packed.workers + packed.ps).sum(axis=0).tolist() == [4, 0]


def test_standalone_shares_no_server():
    plan = mlsched.solve(empty_servers(), "standalone").plan
    assert hosts(plan, 0) == {0}
    assert hosts(plan, 1) == {1}
    three = empty_servers(
        job_type=[0, 0, 0],
        job_speed=[1, 1, 1],
        job_workers=[1, 1, 1],
        job_ps=[1, 1, 1],
        worker_demand=[[1]] * 3,
        ps_demand=[[1]] * 3,
    )
    assert not mlsched.solve(three, "standalone").plan.workers[2].any()


def test_tetris_takes_less_work_first():
    """Room for one job only: the shorter one (larger K) gets it."""
    inst = empty_servers(server_free=[[2], [0]], job_speed=[100, 1_000_000])
    plan = mlsched.solve(inst, "tetris").plan
    assert not plan.workers[0].any()
    assert plan.workers[1].any()


def test_a_job_that_does_not_fit_whole_is_rolled_back():
    inst = empty_servers(server_free=[[1], [0]], **LINEAR_WORLD)
    for rule in (*RULES, *READINGS):
        assert not mlsched.solve(inst, rule).plan.workers.any(), rule


# -- Tetris -----------------------------------------------------------------------------------------------------------


def sizes(plan):
    """Tasks of each job that are placed."""
    return (plan.workers + plan.ps).sum(axis=1).tolist()


def test_tetris_fills_machine_by_machine_where_the_other_order_takes_the_emptiest():
    """Both jobs align best with server 1, which is empty; server 0, half full, is filled first."""
    inst = empty_servers(server_free=[[2], [4]])
    assert [hosts(mlsched.solve(inst, "tetris").plan, job) for job in (0, 1)] == [{0}, {1}]
    # Task by task: job 0 to server 1, as 4 and then 3 are free there; then 2 are free on both, and 1 and 2.
    assert [hosts(mlsched.solve(inst, "tetris:order=task").plan, job) for job in (0, 1)] == [{1}, {0, 1}]


def test_tetris_takes_the_task_that_aligns_best_with_the_machine():
    """Server 0 has (2, 1) of (4, 4) free: 2/4 x 2/4 = 0.25 for the job of 2 CPUs, 1/4 x 2/4 + 1/4 x 1/4 for that of
    a CPU and a GPU."""
    inst = empty_servers(
        resources=["cpu", "gpu"],
        server_capacity=[[4, 4], [4, 4]],
        server_free=[[2, 1], [1, 4]],
        job_ps=[0, 0],
        worker_demand=[[1, 1], [2, 0]],
        ps_demand=[[0, 0], [0, 0]],
    )
    plan = mlsched.solve(inst, "tetris:weight=0").plan
    assert [hosts(plan, job) for job in (0, 1)] == [{1}, {0}]


def test_tetris_rolls_back_what_is_left_in_parts():
    """Three slots are free, the jobs have two and three tasks; the one of less work gets in."""
    inst = empty_servers(server_free=[[2], [1]], job_workers=[1, 2], job_speed=[500_000, 500_000])
    assert sizes(mlsched.solve(inst, "tetris").plan) == [2, 0]
    assert sizes(mlsched.solve(inst.replace(job_speed=[100_000, 900_000]), "tetris").plan) == [0, 3]


def test_tetris_tries_the_others_again_where_a_job_was_rolled_back():
    """Two slots: the job of three tasks and little work takes both, cannot be whole, and leaves them to the other."""
    inst = empty_servers(server_free=[[2], [0]], job_workers=[2, 1], job_speed=[900_000, 100_000])
    assert sizes(mlsched.solve(inst, "tetris").plan) == [0, 2]


def test_tetris_begins_no_more_jobs_than_may_be_placed():
    assert sizes(mlsched.solve(empty_servers(most_new=1), "tetris").plan) == [2, 0]


# -- least interference first -----------------------------------------------------------------------------------------


def lif(instance, placed, job, kind, **reading):
    """The server that LIF-Line chooses for a task when `placed` (job, kind, server) are there and all have room."""
    room = Room(instance)
    for task in placed:
        room.put(*task)
    rng = np.random.default_rng(0)
    models = interference.fit(instance, rng, interference.linear, 50)
    reading = {"score": "excess", "tie": "index"} | reading
    choose = interference.least_interference(instance, interference.linear, models, rng=rng, **reading)
    return choose(room, job, kind, np.arange(len(instance.server_free)))


@pytest.mark.parametrize("score", interference.SCORES)
def test_lif_avoids_company(score):
    """Beside a task of the other job both are slowed down by 0.25 x 1.2: 0.6 in sum, against 0 on the empty server."""
    assert lif(empty_servers(**LINEAR_WORLD), [(0, WORKER, 0)], 1, WORKER, score=score) == 1


def test_a_job_alone_is_no_interference_unless_every_task_counts():
    """The worker of job 0 is on server 0. Its PS adds nothing on either; counted as 1 + slowdown it is 2 against 1."""
    inst, placed = empty_servers(**LINEAR_WORLD), [(0, WORKER, 0)]
    assert lif(inst, placed, 0, PS) == 0
    assert lif(inst, placed, 0, PS, score="increase") == 0
    assert lif(inst, placed, 0, PS, score="slowdown") == 1
    assert lif(inst, placed, 0, PS, tie="least-loaded") == 1


def test_interference_that_is_there_anyway_counts_in_the_excess_and_not_in_the_increase():
    """Server 0 runs two jobs that slow each other down by 0.3, server 1 one job of three workers. The new task is ten
    times lighter and feels nothing: it adds 2 x 0.03 to 0.6 on server 0, 3 x 0.03 to 0 on server 1."""
    light = {"use_worker": [[250, 250], [25, 25]], "linear": [[800_000, 400_000], [0, 0]], "job_type": [1, 1]}
    running = {
        "run_type": [0, 0, 0],
        "run_speed": [1, 1, 1],
        "run_workers": [[1, 0], [1, 0], [0, 3]],
        "run_ps": np.zeros((3, 2), dtype=np.int64),
        "server_free": [[2], [1]],
    }
    inst = empty_servers(**LINEAR_WORLD | light | running)
    assert lif(inst, [], 0, WORKER) == 1
    assert lif(inst, [], 0, WORKER, score="increase") == 0


def test_ties_are_broken_as_asked():
    inst = empty_servers(**LINEAR_WORLD)
    plans = [mlsched.solve(inst, "lif-linear:tie=random", seed=seed).plan for seed in range(8)]
    assert {frozenset(hosts(plan, 0)) for plan in plans} > {frozenset({0, 1})}
    assert hosts(mlsched.solve(inst, "lif-linear").plan, 0) == {0}
    assert hosts(mlsched.solve(inst, "lif-linear:tie=least-loaded").plan, 0) == {0, 1}


def test_lif_looks_at_cpu_and_bandwidth_by_name():
    """A third pressure, named first, is none of its business; without one of the two it refuses."""
    instance = mlsched.generate("placement", "6x5", model="linear")
    wider = instance.replace(
        pressures=("pcie", *instance.pressures),
        **{name: np.insert(getattr(instance, name), 0, 0, axis=1) for name in ("use_worker", "use_ps", "linear")},
        quadratic=np.insert(np.insert(instance.quadratic, 0, 0, axis=1), 0, 0, axis=2),
    )
    for rule in LIF:
        assert mlsched.solve(wider, rule).plan == mlsched.solve(instance, rule).plan
        with pytest.raises(InvalidInput, match=r"expected cpu and bandwidth; add bandwidth with use_worker"):
            mlsched.solve(empty_servers(), rule)


@pytest.mark.parametrize(("rule", "model"), [("linear", "linear"), ("quadratic", "quadratic")])
def test_lif_recovers_a_world_that_is_as_it_assumes(rule, model):
    instance = mlsched.generate("placement", "6x5", model=model)
    features = getattr(interference, rule)
    fitted = interference.fit(instance, np.random.default_rng(0), features, 200)
    use, measured = interference.profile(instance, np.random.default_rng(1), 50)
    for t in range(len(instance.types)):
        assert np.allclose(features(use[t]) @ fitted[t], measured[t], atol=1e-6)


def test_local_search_is_at_least_as_good_as_its_greedy_start():
    for seed in range(draws(2, 5)):
        instance = mlsched.generate("placement", "6x5", seed=seed)
        start = mlsched.solve(instance, "local-search", moves=0).sort_key
        assert mlsched.solve(instance, "local-search").sort_key >= start
