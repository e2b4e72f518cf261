"""The steps that answer one objective: whatever the threads, limits and hints, the optimum and bounds around it."""

from __future__ import annotations

import threading

import networkx as nx
import numpy as np
import pytest
from contended_examples import contended
from draws import THOROUGH, draws

import mlsched
from mlsched import api
from mlsched.api import exact
from mlsched.core.deadline import Deadline
from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import from_networkx
from mlsched.solvers.taskgraph import completion, one_objective
from mlsched.solvers.taskgraph.bounds.alone import alone, sharpened
from mlsched.solvers.taskgraph.plans import annealed_lists
from mlsched.solvers.taskgraph.plans.improvement import Improvement
from mlsched.solvers.taskgraph.plans.neighbourhoods import Neighbourhoods
from mlsched.solvers.taskgraph.plans.schedule import search
from mlsched.solvers.taskgraph.proofs.values import Values
from mlsched.solvers.taskgraph.state import State


def six(kind: str, seed: int):
    return api.generate("taskgraph", preset=f"six-{kind}", seed=seed)


def test_any_number_of_threads_finds_the_optimum(report):
    spread = 0
    for number in range(draws(2, 8)):
        instance = contended(number)
        best = api.solve(instance, "brute-force", objective="total_jct")
        for threads in (1, 2, 3):
            found = api.solve(instance, "cp-sat", objective="total_jct", threads=threads)
            assert (found.status, found.sort_key) == (best.status, best.sort_key), (number, threads)
        spread += any(len(set(best.plan.node[best.plan.job == j])) > 1 for j in range(3))
    report("taskgraph: total_jct on one, two and three threads", [f"{spread} optima spread a job over nodes"])
    assert spread


def machines(number: int):
    """Three jobs of one to three chained or parallel tasks on two identical machines."""
    rng = np.random.default_rng([5, number])
    jobs = []
    for _ in range(3):
        job = nx.DiGraph(arrival=int(rng.integers(3)), deadline=99, max_iterations=1, accuracy=[0, 5])
        for k in range(int(rng.integers(1, 4))):
            job.add_node(k, duration=int(rng.integers(1, 6)), demand={"gpu": 1})
            if k and rng.random() < 0.5:
                job.add_edge(k - 1, k)
        jobs.append(job)
    return from_networkx(jobs, nodes=[{"gpu": 1}, {"gpu": 1}])


@pytest.mark.parametrize("objective", ["makespan", "total_jct"])
def test_only_the_makespan_of_a_job_shop_is_sought_without_a_start(tmp_path, monkeypatch, objective):
    file = tmp_path / "shop.txt"
    file.write_text("3 2\n0 3 1 2\n1 4 0 1\n0 2 1 5\n")
    shop, asked, honest = mlsched.load(file), [], exact.call_solver
    monkeypatch.setattr(exact, "call_solver", lambda call: asked.append(call.solver.name) or honest(call))
    found = api.solve(shop, "cp-sat", objective=objective)
    assert (found.status, found.sort_key) == ("optimal", api.solve(shop, "brute-force", objective=objective).sort_key)
    assert bool(asked) == (objective != "makespan")
    asked.clear()
    api.solve(six("loose", 0), "cp-sat", objective="makespan")
    assert asked


def test_machines_that_are_not_told_apart():
    for number in range(6):
        instance = machines(number)
        best = api.solve(instance, "highs", objective="total_jct")
        for threads in (1, 2):
            found = api.solve(instance, "cp-sat", objective="total_jct", threads=threads)
            assert (found.status, found.sort_key) == (best.status, best.sort_key), (number, threads)


@pytest.mark.slow
def test_one_thread_repeats_itself_and_two_threads_agree():
    instance = six("replicas", 0)
    first, again = (api.solve(instance, "cp-sat", objective="total_jct", seed=3) for _ in range(2))
    assert first.plan == again.plan
    assert first.work == again.work
    both = api.solve(instance, "cp-sat", objective="total_jct", threads=2)
    assert first.status == both.status == "optimal"
    assert first.sort_key == both.sort_key


@pytest.mark.parametrize("work", [1e-4, 0.05])
def test_a_work_limit_ends_early_with_a_bound(work):
    instance = six("replicas", 12)  # hard: open after half a minute
    found = api.solve(instance, "cp-sat", objective="total_jct", work_limit=work)
    assert found.status == "feasible"
    assert found.stopped_by == "work limit"
    assert instance.evaluate(found.plan)["total_jct"] == found.sort_key
    simple = completion.simple_bound(Layout.of(one_objective._mandatory(instance)))
    assert 0 < simple <= found.sort_bound <= found.sort_key


def test_a_hint_with_optional_iterations_is_cut_to_the_mandatory_ones():
    instance = six("loose", 2)
    assert (instance.min_iterations < instance.max_iterations).any()
    full = api.solve(instance, "cp-sat", objective="total_accuracy").plan
    kept = one_objective._cut(full, Layout.of(one_objective._mandatory(instance)))
    assert len(kept.task) < len(full.task)
    assert not instance.violations(kept)
    assert instance.evaluate(kept)["total_jct"] <= instance.evaluate(full)["total_jct"]
    found = api.solve(instance, "cp-sat", objective="total_jct", hint=full)
    assert found.sort_key == api.solve(instance, "cp-sat", objective="total_jct").sort_key


def test_a_job_alone_is_an_instance_of_its_own():
    instance = contended(2)
    layout = Layout.of(instance)
    looked_at = [j for j in range(layout.jobs) if layout.mandatory[j] > layout.finished[j]]
    assert looked_at
    for j in looked_at:
        single = alone(layout, j)
        assert len(single.arrival) == 1
        assert len(single.task_job) == len(layout.tasks_of[j])
        best = api.solve(single, "brute-force", objective="total_jct")
        sharp, _ = sharpened(layout)
        completion = best.sort_key + int(instance.arrival[j])
        assert layout.earliest_completion(j) <= sharp.earliest_completion(j) <= completion


def test_more_replicas_than_a_node_holds_need_longer_than_the_critical_path():
    layout = Layout.of(six("replicas", 12))
    sharp, work = sharpened(layout)
    paths, alone_ = (sum(x.earliest_completion(j) for j in range(layout.jobs)) for x in (layout, sharp))
    assert alone_ > paths
    assert work > 0
    gained = [sharp.head[k][i] - layout.head[k][i] for j, i, k in layout.runs() if i < layout.mandatory[j]]
    assert min(gained) >= 0 < max(gained)
    assert layout.alone == [0] * layout.jobs, "the given layout stays as it is"


def test_jobs_are_not_looked_at_alone_when_the_time_is_over():
    layout = Layout.of(six("replicas", 12))
    assert sharpened(layout, lambda: 0.0) == (layout, 0.0)
    looks = iter([1.0, 0.0])  # over within the first job that is looked at: a bound that needs no search
    sharp, _ = sharpened(layout, lambda: next(looks, 0.0))
    assert sharp is layout


def start(instance, decodings: int = 200) -> State:
    """Step 2 alone: a generated plan."""
    layout, _ = sharpened(Layout.of(one_objective._mandatory(instance)))
    best = State(layout, "total_jct", Limits(), Deadline())
    best.offer(search(layout, decodings, 0)[0])
    return best


def steps(state: State, count: int) -> None:
    search_ = Neighbourhoods(state)
    for _ in range(count):
        if not state.closed:
            search_.step()


def test_neighbourhoods_hold_better_plans(report):
    lines, better, count = [], 0, draws(5, 8)
    for kind, seed in (("replicas", 29), ("tight", 4), ("replicas", 12))[: draws(2, 3)]:
        best = start(six(kind, seed))
        before = best.upper
        steps(best, count)
        assert best.layout.instance.violations(best.plan) == []
        assert best.layout.instance.evaluate(best.plan)["total_jct"] == best.upper <= before
        better += best.upper < before
        lines.append(f"six-{kind} {seed}: {before} -> {best.upper} in {count} steps")
        assert best.work["deterministic_time"] > 0
    report("taskgraph: neighbourhood search", lines)
    assert better


def test_neighbourhoods_find_the_optimum_of_tiny_instances_and_nothing_better():
    found = []
    for number in range(draws(6, 12)):
        instance = one_objective._mandatory(contended(number, runs=7))
        layout = Layout.of(instance)
        plan, _ = search(layout, 1, 0)
        if plan is None or layout.reason is not None or instance.violations(plan):
            continue
        optimum = api.solve(instance, "brute-force", objective="total_jct").sort_key
        best = State(layout, "total_jct", Limits(seed=number), Deadline())
        best.offer(plan)
        steps(best, draws(10, 20))
        assert best.upper >= optimum
        found.append((best.upper == optimum, instance.evaluate(plan)["total_jct"] == optimum))
    assert len(found) >= draws(3, 8)
    assert sum(after for after, _ in found) > sum(before for _, before in found), "the first plans are worse"


def test_a_failure_beside_a_proof_is_raised(monkeypatch):
    """The value that is being refuted is stopped, whatever it takes."""

    def fail(self):
        raise RuntimeError("the step fails")

    monkeypatch.setattr(one_objective, "FIRST", 1e-6)
    monkeypatch.setattr(Improvement, "step", fail)
    with pytest.raises(SolverError, match="the step fails"):
        api.solve(six("replicas", 29), "cp-sat", objective="total_jct", threads=2)


@pytest.mark.parametrize("threads", [1, 2])
def test_values_take_over_where_intervals_have_no_time(monkeypatch, threads):
    monkeypatch.setattr(one_objective, "FIRST", 1e-9)
    monkeypatch.setattr(annealed_lists, "improve", lambda state: None)  # its plans meet the bounds here
    asked = threading.Event()
    ask, step = Values.ask, Improvement.step
    monkeypatch.setattr(Values, "ask", lambda self, *value: (asked.set(), ask(self, *value))[1])
    # Otherwise the second thread may close the gap before the first one begins with a value.
    monkeypatch.setattr(Improvement, "step", lambda self: (asked.wait(60), step(self))[1])
    for number in range(draws(3, 10)):
        instance = contended(number, runs=7)
        best = api.solve(instance, "brute-force", objective="total_jct")
        found = api.solve(instance, "cp-sat", objective="total_jct", threads=threads)
        assert (found.status, found.sort_key) == (best.status, best.sort_key), number
    assert asked.is_set()


@pytest.mark.parametrize("seed", [0, 2, 11])
@pytest.mark.parametrize("work", [1.0, 3.0] if THOROUGH else [0.3])
def test_a_work_limit_is_kept_and_gives_the_same_plan_twice(seed, work):
    """On instances where a loop once booked no work for models that presolve refutes."""
    first, again = (
        api.solve(six("replicas", seed), "cp-sat", objective="total_jct", work_limit=work) for _ in range(2)
    )
    assert first.work["deterministic_time"] <= 2 * work
    assert first.plan == again.plan
    assert first.sort_bound == again.sort_bound


def test_bounds_never_exceed_a_plan():
    best = start(six("loose", 1))
    best.raise_lower(best.upper + 5)
    assert best.closed
    assert best.lower == best.upper
