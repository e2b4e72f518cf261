"""The placement world: scenarios worked out by hand, and any registered solver under any interpretation.

`load(...)`: servers with two slots, an interval of 10 s; a worker or a PS takes a slot. A job is (submit, type, K, W,
P). Type a is slowed down by 1.0 by every foreign worker of b, and by 0.5 with its PS elsewhere; b by nobody. A
row of the log is (job, start, end, speed, done).
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.registry import registry
from mlsched.instances.placement import Instance, Plan
from mlsched.simulation.placement import Options, Workload
from mlsched.simulation.placement.strategies import options, workloads

M = 10**6
#: All but one of two exact models, and the policy whose network knows six servers alone.
NAMES = [a.name for a in registry().available("placement") if a.name not in ("highs", "harmony")]
EXACT = [a.name for a in registry().available("placement", "exact")]


def load(jobs, servers=1, **changes) -> Workload:
    submit, kind, speed, workers, ps = map(list, zip(*jobs, strict=True))
    one = np.ones((len(jobs), 1), dtype=np.int64)
    fields = {
        "resources": ["slots"],
        "types": ["a", "b"],
        "pressures": [],
        "server_capacity": [[2]] * servers,
        "sigma_worker": [[0, M], [0, 0]],
        "sigma_ps": [[0, 0], [0, 0]],
        "apart": [[0, 0], [0, 0]],
        "use_worker": [],
        "use_ps": [],
        "linear": [],
        "quadratic": np.zeros((2, 0, 0), dtype=np.int64),
        "rho_ps": [M // 2, 0],
        "rho_worker": [0, 0],
        "submit": submit,
        "job_type": kind,
        "job_speed": speed,
        "job_workers": workers,
        "job_ps": ps,
        "worker_demand": one,
        "ps_demand": one,
        "interval": 10,
    }
    for name in ("use_worker", "use_ps", "linear"):
        fields[name] = np.zeros((2, 0), dtype=np.int64)
    return Workload(**{**fields, **changes})


def simulate(workload, rule="bin-packing", scheduling_events="interval:10", **readings):
    run = api.simulate(workload, rule, scheduling_events=scheduling_events, record=1.0, options=readings)
    assert run.violations() == []
    return run


def rows(*args, **kwargs):
    return sorted(tuple(map(int, row)) for row in simulate(*args, **kwargs).log.rows)


A, B = (0, 0, M, 1, 0), (0, 1, M, 1, 0)


def test_a_job_alone_takes_its_isolated_length():
    assert rows(load([A])) == [(0, 0, 10, M, 10 * M)]
    assert rows(load([(0, 0, M // 2, 1, 0)])) == [(0, 0, 20, M // 2, 10 * M)]


def test_it_leaves_at_the_end_of_the_interval_in_which_it_is_done():
    short = load([(0, 0, 2_500_000, 1, 0)])
    run = simulate(short)
    assert rows(short) == [(0, 0, 10, 2_500_000, 10 * M)]
    assert run.jobs["finish"].tolist() == [4]
    assert run.jobs["completion"].tolist() == [0.4]
    assert run.jobs["whole"].tolist() == [1]
    assert rows(short, departure="instant") == [(0, 0, 4, 2_500_000, 10 * M)]
    assert rows(short, scheduling_events="events") == [(0, 0, 4, 2_500_000, 10 * M)]


def test_neighbours_slow_down_while_they_share_a_server():
    """Beside b, a trains at half its speed; b is done at 10 s, then a is alone for the other half."""
    assert rows(load([A, B])) == [(0, 0, 10, M // 2, 5 * M), (0, 10, 20, M, 10 * M), (1, 0, 10, M, 10 * M)]


def test_a_job_that_is_done_disturbs_until_the_end_of_its_interval_unless_it_leaves_at_once():
    """b takes 4 s. Then a either crawls on to 10 s, or trains at its full speed from 4 s on."""
    both = load([A, (0, 1, 2_500_000, 1, 0)])
    assert rows(both)[:2] == [(0, 0, 10, M // 2, 5 * M), (0, 10, 20, M, 10 * M)]
    at_once = rows(both, departure="instant")[:3]  # the clock wakes at 10 s, for b
    assert at_once == [(0, 0, 4, M // 2, 2 * M), (0, 4, 10, M, 8 * M), (0, 10, 12, M, 10 * M)]


def test_a_remote_ps_slows_its_job_down():
    """Two jobs of a worker and a PS on servers of two slots each: packed nobody pulls over the network, spread both."""
    two = load([(0, 0, M, 1, 1)] * 2, servers=2)
    assert {row[3] for row in rows(two, "bin-packing")} == {M}
    assert {row[3] for row in rows(two, "load-balancing") if row[1] == 0} == {M * 1000 // 1500}


def test_a_job_waits_whole_for_the_end_of_an_interval():
    late = load([(0, 1, 2_500_000, 2, 0), (1, 1, M, 1, 1)])
    assert [row[:3] for row in rows(late)] == [(0, 0, 10), (1, 10, 20)]
    assert [row[:3] for row in rows(late, scheduling_events="events")] == [(0, 0, 1), (0, 1, 4), (1, 4, 14)]
    assert simulate(late).jobs["wait"].tolist() == [0.0, 0.9]


def test_a_job_that_fits_passes_one_that_does_not():
    jobs = [(0, 1, M, 1, 0), (0, 1, M, 2, 0), (0, 1, M, 1, 0)]
    assert [row[:3] for row in rows(load(jobs))] == [(0, 0, 10), (1, 10, 20), (2, 0, 10)]


def test_placed_jobs_are_never_moved():
    run = simulate(load([(0, 1, 400_000, 1, 1), (5, 0, M, 1, 1), (25, 1, M, 2, 2)], servers=2), "cp-sat")
    for decision in run.recorded:
        placed = decision.instance.run_workers
        assert (placed.sum(axis=1) == 1).all()
    assert len(run.log.placements) == len({(p[0], p[2]) for p in run.log.placements})


# -- what is asked ----------------------------------------------------------------------------------------------------


def test_the_caps_are_the_papers_n():
    jobs = [(0, 1, M, 1, 0)] * 4
    assert [row[:3] for row in rows(load(jobs, servers=2), most_new=1)] == [(j, 10 * j, 10 * j + 10) for j in range(4)]
    assert [row[1] for row in rows(load(jobs, servers=2), most_jobs=3)] == [0, 0, 0, 10]
    asked = simulate(load(jobs, servers=2), most_new=1, most_jobs=3).recorded[0].instance
    assert (asked.most_new, asked.most_jobs) == (1, 3)


def test_the_window_shows_the_first_jobs_only():
    run = simulate(load([(0, 1, M, 1, 0)] * 3, servers=2), window=2)
    assert [len(d.instance.job_type) for d in run.recorded] == [2, 1]
    assert sorted(row[1] for row in run.log.rows) == [0, 0, 10]


def test_nobody_is_asked_where_nothing_can_fit():
    """The second job needs both slots: no question until the first one leaves."""
    run = simulate(load([(0, 1, 400_000, 1, 0), (5, 1, M, 2, 0)]))
    assert [d.time for d in run.recorded] == [0, 30]


def test_a_rule_that_waits_is_asked_again_when_something_has_changed():
    asked = []

    def one_at_a_time(instance, *, rng):
        asked.append(len(instance.run_type))
        plan = np.zeros((len(instance.job_type), len(instance.server_free)), dtype=np.int64)
        if not len(instance.run_type):
            plan[0, 0] = 1
        return Plan(workers=plan, ps=np.zeros_like(plan))

    run = simulate(load([(0, 1, 400_000, 1, 0)] * 2, servers=2), one_at_a_time)
    assert [row[1] for row in sorted(run.log.rows)][::2] == [0, 30]
    assert asked == [0, 1, 0]  # at 10 s the first job runs, which is new; at 20 s nothing is


def test_a_rule_that_never_places_ends_the_run_with_an_error():
    def nobody(instance, *, rng):
        none = np.zeros((len(instance.job_type), len(instance.server_free)), dtype=np.int64)
        return Plan(workers=none, ps=none)

    with pytest.raises(SolverError, match="stuck"):
        simulate(load([A]), nobody)


def test_types_that_must_be_apart_wait_for_each_other():
    apart = load([A, B], apart=[[0, 1], [1, 0]])
    assert [row[:3] for row in rows(apart)] == [(0, 0, 10), (1, 10, 20)]


# -- what is refused --------------------------------------------------------------------------------------------------


def test_a_job_that_fits_no_empty_servers_is_refused_before_the_run():
    with pytest.raises(InvalidInput, match=r"1 of 2 jobs do not fit the empty servers 1x\(2 slots\); .* job 1"):
        simulate(load([A, (0, 0, M, 2, 1)]))
    assert simulate(load([A, (0, 0, M, 2, 1)], servers=2)).log.rows
    with pytest.raises(InvalidInput, match="could never end"):  # room for three tasks, not for one of two slots
        simulate(load([(0, 0, M, 1, 0)], server_capacity=[[1], [1]], worker_demand=[[2]]))


def test_a_load_that_no_placement_could_carry_warns():
    heavy = load([(10 * k, 0, M // 4, 2, 0) for k in range(12)])
    with pytest.warns(UserWarning, match="offered load on slots is 4.00 times"):
        simulate(heavy)


@pytest.mark.parametrize("wrong", [{"most_jobs": 0}, {"most_new": 0}, {"window": -1}, {"departure": "never"}])
def test_the_world_refuses_readings_it_does_not_know(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Options(**wrong)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"submit": [5]}, None),
        ({"job_type": [2]}, "job_type[0]: 2, expected below 2"),
        ({"job_speed": [0]}, "job_speed[0]: 0"),
        ({"apart": [[0, 1], [0, 0]]}, "expected symmetric"),
        ({"server_capacity": np.zeros((0, 1), dtype=np.int64)}, "0 servers, expected at least one"),
        ({"interval": 0}, "interval: 0"),
    ],
)
def test_a_workload_refuses(change, rule):
    if rule is None:
        assert load([A], **change).cluster == "1x(2 slots)"
        return
    with pytest.raises(InvalidInput) as caught:
        load([A], **change)
    assert rule in str(caught.value)


def test_a_workload_refuses_submissions_that_fall():
    with pytest.raises(InvalidInput, match="expected at least"):
        load([(5, 0, M, 1, 0), (4, 0, M, 1, 0)])


# -- exact solvers --------------------------------------------------------------------------------------------------


def test_a_time_limit_starts_from_the_warm_start_rules(monkeypatch):
    """Cut off at once, an exact solver still places what the rules place: without it the run would be stuck."""
    from mlsched.solvers.placement import _from_the_top as _exact

    monkeypatch.setattr(_exact, "MOST_CONFIGURATIONS", 1)
    many = load([(0, k % 2, M, 1, 1) for k in range(4)], servers=2)
    with pytest.raises(SolverError, match="stuck"):
        simulate(many, "cp-sat")
    run = api.simulate(many, "cp-sat", scheduling_events="interval:10", time_limit=1e6)
    assert run.violations() == []


@pytest.mark.parametrize("name", EXACT)
def test_exact_solvers_give_the_optimum_at_every_decision(name):
    run = simulate(load([(10 * (k // 2), k % 2, M // 2, 1, 1) for k in range(6)], servers=2), name)
    assert run.decisions > 1
    for decision in run.recorded:
        best = api.solve(decision.instance, "brute-force").sort_key
        assert decision.instance.evaluate(decision.plan)["total_speed"] == best


# -- any rule, any interpretation
# --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=2 * settings().max_examples)
@given(
    workload=workloads(),
    readings=options(),
    name=st.sampled_from(NAMES),
    scheduling_events=st.sampled_from(["interval:10", "interval:10", "interval:4", "events", "events+interval:10"]),
)
def test_every_run_is_sound_repeatable_and_can_be_replayed(workload, readings, name, scheduling_events):
    assume(not name.startswith("lif-") or len(workload.pressures) == 2)  # LIF refuses the others: it needs both
    run = api.simulate(workload, name, options=readings, scheduling_events=scheduling_events, record=1.0, seed=3)
    assert run.violations() == []
    again = api.simulate(workload, name, options=readings, scheduling_events=scheduling_events, seed=3)
    assert (again.log.rows, again.log.placements) == (run.log.rows, run.log.placements)
    assert again.summary() == run.summary()
    assert len(run.recorded) == run.decisions
    for decision in run.recorded[:5]:
        assert run.replay(decision) == decision.plan
        assert Instance.from_json(decision.instance.to_json()) == decision.instance
        assert decision.instance.violations(decision.plan) == []
    json.dumps(run.to_json(), allow_nan=False)


@given(workload=workloads())
def test_a_workload_survives_its_file(workload, tmp_path_factory):
    path = tmp_path_factory.mktemp("placement") / "w.json"
    api.save(workload, path)
    assert api.load(path) == workload
