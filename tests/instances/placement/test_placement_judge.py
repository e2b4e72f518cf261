"""The judge: each violation has its sentence, and values agree with what was worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from placement_examples import small

from mlsched.core.errors import InvalidInput
from mlsched.heuristics.placement.bin_packing import answer as bin_packing
from mlsched.instances import strategies
from mlsched.instances.placement import Plan
from mlsched.instances.placement.pace import Pace

NOTHING = Plan(workers=[[0, 0], [0, 0]], ps=[[0, 0], [0, 0]])


def value(plan: Plan, **changes) -> int:
    inst = small(**changes)
    assert inst.violations(plan) == []
    return inst.evaluate(plan)["total_speed"]


def test_jobs_that_wait_score_nothing():
    assert value(NOTHING) == 600_000


def test_a_job_alone_runs_at_its_isolated_speed():
    assert value(Plan(workers=[[1, 0], [0, 0]], ps=[[1, 0], [0, 0]])) == 600_000 + 1_000_000


def test_a_remote_ps_slows_a_job_down():
    # Worker of job 0 on server 0, PS on server 1 beside the running job: 1.3 at the worker; 1.75 at the PS.
    plan = Plan(workers=[[1, 0], [0, 0]], ps=[[0, 1], [0, 0]])
    assert value(plan) == 600_000 + 1_000_000 * 1000 // 1750
    none = [[0, 0], [0, 0]]
    assert value(plan, sigma_worker=none, sigma_ps=none) == 600_000 + 1_000_000 * 1000 // 1300
    # The other interpretation adds the remote share where the PS is, too: none of its PSs is remote from there.
    assert value(plan, network_at="tasks") == 600_000 + 1_000_000 * 1000 // 1750


def test_both_jobs_on_a_server_slow_each_other_down():
    # Job 0 beside the running job: a sees worker 0.5 + PS 0.25; b sees one worker of a, 1.0.
    plan = Plan(workers=[[0, 1], [1, 0]], ps=[[0, 1], [1, 0]])
    assert value(plan) == 600_000 * 1000 // 2000 + 1_000_000 * 1000 // 1750 + 500_000


def test_workers_of_an_all_reduce_job_read_from_each_other():
    plan = Plan(workers=[[2, 1], [0, 0]], ps=[[0, 0], [0, 0]])
    none = [[0, 0], [0, 0]]
    changes = {
        "job_workers": [3, 1],
        "job_ps": [0, 1],
        "rho_worker": [400_000, 0],
        "sigma_worker": none,
        "sigma_ps": none,
    }
    # On server 1 both other workers are remote (1.4), on server 0 one of two (1.2).
    assert value(plan, **changes) == 600_000 + 1_000_000 * 1000 // 1400


def test_two_workers_apart_read_all_from_each_other():
    plan = Plan(workers=[[1, 1], [0, 0]], ps=[[0, 0], [0, 0]])
    none = [[0, 0], [0, 0]]
    changes = {"job_workers": [2, 1], "job_ps": [0, 1], "rho_worker": [400_000, 0]}
    assert value(plan, **changes, sigma_worker=none, sigma_ps=none) == 600_000 + 1_000_000 * 1000 // 1400


@pytest.mark.parametrize(("reading", "slowdown"), [("workers", 1100), ("tasks", 1200)])
def test_a_ps_without_a_worker_pays_the_network_by_one_reading(reading, slowdown):
    """Beside the worker are two of three PSs (0.1), apart is the third, of which two are remote (0.2)."""
    plan = Plan(workers=[[1, 0], [0, 0]], ps=[[2, 1], [0, 0]])
    none = [[0, 0], [0, 0]]
    changes = {"job_ps": [3, 1], "server_capacity": [[3], [4]], "server_free": [[3], [2]], "network_at": reading}
    assert value(plan, **changes, sigma_worker=none, sigma_ps=none) == 600_000 + 1_000_000 * 1000 // slowdown


def test_where_there_is_no_new_job_an_empty_plan_is_fine():
    nobody = {name: [] for name in ("job_type", "job_speed", "job_workers", "job_ps", "worker_demand", "ps_demand")}
    assert value(Plan(workers=[], ps=[]), **nobody) == 600_000


def test_linear_and_quadratic_interference_look_at_what_others_use():
    none = [[0, 0], [0, 0]]
    plan = Plan(workers=[[1, 0], [0, 0]], ps=[[0, 1], [0, 0]])
    # On server 1 job 0 sees 0.25 of a server in use: linear 0.2 * 0.25, quadratic 1.6 * 0.0625; the running job sees
    # the PS, 0.25 too. Job 0's worker pays the network, 0.3: the slowest.
    changes = {"sigma_worker": none, "sigma_ps": none, "linear": [[0], [200_000]], "quadratic": [[[0]], [[1_600_000]]]}
    assert value(plan, **changes) == 600_000 * 1000 // 1150 + 1_000_000 * 1000 // 1300


VIOLATIONS = [
    ([[1, 0], [0, 0]], [[0, 0], [0, 0]], {}, ["job 0 has 1 workers and 0 PSs placed, expected 1 and 1, or none"]),
    ([[1, 0], [1, 0]], [[1, 0], [0, 1]], {}, ["server 0: its new tasks need 3 cpu, free are 2"]),
    ([[1, 0], [0, 1]], [[1, 0], [0, 1]], {"most_new": 1}, ["2 new jobs are placed: at most 1 may be"]),
    (
        [[1, 0], [0, 1]],
        [[1, 0], [0, 1]],
        {"most_jobs": 2},
        ["2 placed and 1 running jobs: at most 2 may be concurrent"],
    ),
    (
        [[0, 1], [0, 0]],
        [[0, 1], [0, 0]],
        {"apart": [[0, 1], [1, 0]]},
        ["server 1: running job 0 and job 0 (b and a) must not share a server"],
    ),
    ([[0, 0, 0]], [[0, 0, 0]], {}, ["workers is 1 x 3, expected 2 x 2 (jobs x servers)"]),
]


@pytest.mark.parametrize(("workers", "ps", "changes", "sentences"), VIOLATIONS)
def test_each_violation_has_its_sentence(workers, ps, changes, sentences):
    assert small(**changes).violations(Plan(workers=workers, ps=ps)) == sentences


@pytest.mark.parametrize(
    ("answer", "named"), [(None, "a NoneType"), (3, "an int"), ("plan", "a str"), ({"workers": [], "ps": []}, "a dict")]
)
def test_anything_but_a_plan_is_one_violation(answer, named):
    assert small().violations(answer) == [f"the answer is {named}, expected a placement.plan"]


def test_a_plan_that_is_not_well_formed_has_no_value():
    with pytest.raises(InvalidInput, match="the plan cannot be evaluated: job 0 has 1 workers and 0 PSs"):
        small().evaluate(Plan(workers=[[1, 0], [0, 0]], ps=[[0, 0], [0, 0]]))


BAD = [
    ({"job_type": [0, 2]}, r"job_type\[1\]: 2, expected below 2"),
    ({"server_free": [[3], [2]]}, r"server_free\[0\]\[0\]: 3, expected at most server_capacity"),
    (
        {
            **dict.fromkeys(("server_capacity", "server_free"), np.zeros((0, 1), dtype=int)),
            **dict.fromkeys(("run_workers", "run_ps"), np.zeros((1, 0), dtype=int)),
        },
        "server_capacity: 0 servers, expected at least one",
    ),
    ({"apart": [[0, 1], [0, 0]]}, r"apart\[0\]\[1\]: 1, expected symmetric"),
    ({"run_workers": [[0, 0]]}, r"run_workers\[0\]: 0, a running job must have a worker somewhere"),
    ({"most_jobs": 0}, "most_jobs = 0: 1 jobs are running already"),
    ({"job_workers": [0, 1]}, r"job_workers\[0\]: 0, expected between 1 and 1000"),
    (
        {"sigma_worker": [[0, 10**9], [10**9, 0]], "job_workers": [1000, 1000], "job_ps": [1000, 1000]},
        "slowdown: with all jobs on one server it can reach",
    ),
    ({"network_at": "everywhere"}, "network_at: 'everywhere', expected one of workers, tasks"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_what_is_wrong_is_said_in_a_line(changes, message):
    with pytest.raises(InvalidInput, match=message):
        small(**changes)


@given(instance=strategies.placement())
def test_tables_agree_with_the_judge_in_exact_arithmetic(instance):
    plan = bin_packing(instance, rng=np.random.default_rng(0))
    assert instance.violations(plan) == []
    full = [np.concatenate([r, n])[None] for r, n in ((instance.run_workers, plan.workers), (instance.run_ps, plan.ps))]
    assert int(Pace(instance).total(*full)[0]) == instance.evaluate(plan)["total_speed"]


@given(instance=strategies.placement(), seed=integers(0, 1000))
def test_tables_and_the_judge_agree_on_plans_that_are_scattered_without_a_rule(instance, seed):
    """Values are defined for every well-formed plan: parts anywhere, crowded servers and empty ones."""
    rng, servers = np.random.default_rng(seed), len(instance.server_free)
    placed = rng.random(len(instance.job_type)) < 0.8
    shares = [1 / servers] * servers
    workers = np.array([rng.multinomial(n * on, shares) for n, on in zip(instance.job_workers, placed, strict=True)])
    ps = np.array([rng.multinomial(n * on, shares) for n, on in zip(instance.job_ps, placed, strict=True)])
    plan = Plan(workers=workers.reshape(-1, servers), ps=ps.reshape(-1, servers))
    full = [np.concatenate([r, n])[None] for r, n in ((instance.run_workers, plan.workers), (instance.run_ps, plan.ps))]
    assert int(Pace(instance).total(*full)[0]) == instance.evaluate(plan)["total_speed"]


def test_rounding_is_down_once():
    """Three terms of a third of a thousandth each: rounded down one by one they would vanish."""
    inst = small(
        types=["a", "b"],
        sigma_worker=[[0, 400], [0, 0]],
        sigma_ps=[[0, 300], [0, 0]],
        rho_ps=[300, 0],
        job_speed=[999_999, 1],
        linear=[[0], [0]],
    )
    plan = Plan(workers=[[0, 1], [0, 0]], ps=[[1, 0], [0, 0]])
    slowdown = Fraction(10**6 + 400 + 300 + 300, 1000)
    assert slowdown == 1001
    assert inst.evaluate(plan)["total_speed"] == 600_000 + 999_999 * 1000 // 1001
