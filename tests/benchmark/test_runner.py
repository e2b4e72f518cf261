"""The runner: every row kept, every failure a row, nothing computed twice."""

from __future__ import annotations

import dataclasses
import itertools
import multiprocessing
import os
import sys
import types
from collections import Counter

import pytest
from benchmark_examples import registered, suite, timeless
from draws import draws

import mlsched
from mlsched import InvalidInput
from mlsched.benchmark import runner
from mlsched.benchmark.answer import answer
from mlsched.benchmark.reference import failures, with_gaps
from mlsched.benchmark.runner import Interrupted, run_suite
from mlsched.benchmark.store import Store, read_rows
from mlsched.benchmark.table import gap_lines
from mlsched.benchmark.tasks import tasks_of
from mlsched.core.formulation import Outcome
from mlsched.core.registry import registry


def waits(instance, *, rng):
    """Defers every TE job: always feasible."""
    return instance.plan_type(te_node=[-1] * len(instance.te_demand), victims=[])


def invents_a_node(instance, *, rng):
    """Places every TE job on a node that does not exist: infeasible."""
    return instance.plan_type(te_node=[len(instance.node_free)] * len(instance.te_demand), victims=[])


def test_rows_of_a_clean_run():
    rows = run_suite(suite("brute-force", "cp-sat", "fifo"))
    assert len(rows) == 3 * 3 * 3
    assert failures(rows) == []
    exact = [r for r in rows if r.kind == "exact"]
    assert all((r.status, r.gap_to_optimum.difference, r.sort_bound) == ("optimal", 0, r.sort_key) for r in exact)
    assert all(r.gap_to_optimum.difference > 0 for r in rows if r.solver == "fifo" and r.objective == "total_score")
    assert all(r.work["plans"] > 0 and r.cases for r in exact if r.solver == "brute-force")
    bound = [r for r in exact if r.binding]
    assert {(r.solver, r.objective) for r in bound} == {("brute-force", "total_score")}
    assert {r.answer_seed - r.seed for r in rows} == {10**6}
    assert rows[0].versions["mlsched"] == mlsched.__version__


def test_values_are_those_of_solve():
    for row in run_suite(suite("highs", "fitgpp:s=8", seeds=[3])):
        instance = mlsched.generate("preemption", preset="small", seed=3)
        again = mlsched.solve(instance, row.solver, objective=row.objective, seed=row.answer_seed)
        assert (row.instance_hash, row.sort_key, row.sort_bound) == (instance.hash, again.sort_key, again.sort_bound)
        assert row.params == again.params


def test_a_rule_is_called_once_for_all_objectives():
    calls = Counter()

    def counts(instance, *, rng):
        calls[instance.hash] += 1
        return waits(instance, rng=rng)

    with registered("counts", counts):
        rows = run_suite(suite("counts", seeds=[0]), isolate=False)
    assert len(rows) == 3
    assert calls[mlsched.generate("preemption", preset="small").shown("observed").hash] == 1
    assert {r.sort_key for r in rows} == set(rows[0].sort_keys.values())


def test_a_refused_instance_is_skipped_with_the_reason():
    rows = run_suite(suite("brute-force", "cp-sat", preset="surge", seeds=[0], objectives=("victim_count",)))
    assert [r.status for r in rows] == ["skipped", "optimal"]
    assert "are more than" in rows[0].error
    assert failures(rows) == []


def raises(instance, *, rng):
    raise ZeroDivisionError("division by\n zero")


def malformed(instance, *, rng):
    return instance.plan_type(te_node=[-7], victims=[])


def lies(instance, *, objective, limits, hint):
    return Outcome("optimal", waits(instance, rng=None), 0)


@pytest.mark.parametrize(
    ("function", "details", "said"),
    [
        (invents_a_node, {}, "returned an infeasible plan"),
        (raises, {}, "raised ZeroDivisionError: division by zero"),
        (malformed, {}, "te_node"),
        (lambda instance, *, rng: None, {}, "did not return a plan"),
        (lies, {"kind": "exact", "algorithm": lies, "objectives": ("total_score",)}, "contradicts the judge"),
    ],
)
def test_a_lying_solver_is_a_failed_row_and_the_suite_goes_on(function, details, said):
    with registered("liar", function, **details):
        rows = run_suite(suite("liar", "cp-sat", "fifo"), isolate=False, confirm=False)
    bad = [r for r in rows if r.solver == "liar"]
    assert bad
    assert all(r.status == "failed" and r.sort_key is None and said in r.error for r in bad)
    assert all(r.status in ("optimal", "feasible") for r in rows if r.solver != "liar")
    found = failures(rows)
    assert len(found) == 3, "one sentence per call, not one per objective"
    assert all("\n" not in sentence and "liar" in sentence for sentence in found)
    assert ("preemption", "liar") not in registry().solvers


def test_the_row_of_another_packages_exact_solver_has_its_own_plan():
    """The plans of warm-start rules do not replace a worse plan of the solver."""

    def poor(instance, *, objective, limits, hint):
        return Outcome("feasible", waits(instance, rng=None), None, "time limit")

    details = {"kind": "exact", "algorithm": poor, "objectives": ("total_score",)}
    with registered("poor", poor, **details):
        rows = run_suite(suite("poor", "fitgpp", seeds=[0], objectives=("total_score",)), isolate=False, confirm=False)
    (row,) = [row for row in rows if row.solver == "poor"]
    instance = mlsched.generate("preemption", "small", row.seed)
    assert row.sort_key == instance.evaluate(waits(instance, rng=None))["total_score"]


def test_a_false_proof_is_a_failed_check_and_no_reference():
    def gives_up(instance, *, objective, limits, hint):
        plan = waits(instance, rng=None)
        return Outcome("optimal", plan, instance.evaluate(plan)[objective])

    details = {"kind": "exact", "algorithm": gives_up, "objectives": ("total_score",)}
    with registered("gives-up", gives_up, **details):
        rows = run_suite(suite("gives-up", "cp-sat", "fitgpp", seeds=[0], objectives=("total_score",)), isolate=False)
    assert any("gives-up proves" in s and "but cp-sat proves" in s for s in failures(rows))
    assert [r.gap_to_optimum for r in rows] == [None] * 3


def test_a_broken_warm_start_fails_the_rows_that_use_it():
    with registered("broken-start", raises, warm_start=True):
        rows = run_suite(suite("cp-sat", "brute-force", seeds=[0], objectives=("total_score",)))
    assert [r.status for r in rows] == ["failed", "optimal"]
    assert "ZeroDivisionError" in rows[0].error


def test_an_interrupted_run_keeps_its_rows_and_resuming_computes_the_rest_only(tmp_path, control_c):
    calls = Counter()
    stop_at = 4

    def counts(instance, *, rng):
        if len(calls) == stop_at:
            control_c()
        calls[instance.hash] += 1
        return waits(instance, rng=rng)

    asked, store = suite("counts", "cp-sat", "fifo", seeds=range(6)), tmp_path / "s.sqlite"
    with registered("counts", counts):
        with pytest.raises(Interrupted) as caught:
            run_suite(asked, store=store, isolate=False)
        kept = read_rows(store)
        assert [r.key for r in caught.value.rows] == [r.key for r in kept]
        assert 0 < len(kept) < 6 * 9
        before, stop_at = dict(calls), -1
        resumed = run_suite(asked, store=store, resume=True, isolate=False)
        seen = [mlsched.generate("preemption", preset="small", seed=seed).shown("observed") for seed in range(6)]
        wanted = {instance.hash for instance in seen}
        assert {calls[h] for h in wanted} == {1}, "no call twice"
        assert before.items() <= calls.items()
        # The store is complete: nothing is called now, not even for warming up.
        after = dict(calls)
        assert run_suite(asked, store=store, resume=True, isolate=False) == resumed
        assert dict(calls) == after
        fresh = run_suite(asked, isolate=False)
    assert timeless(fresh) == timeless(resumed)
    assert [x.gaps for x in gap_lines(fresh)] == [x.gaps for x in gap_lines(resumed)]
    assert [r.seconds for r in resumed if r.key in {k.key for k in kept}] == [k.seconds for k in kept]


@pytest.mark.parametrize(("seconds", "writes"), [(0.0, [3, 9]), (1.0, [3, 3, 3, 3])])
def test_tasks_that_finish_within_a_moment_are_written_together(seconds, writes, tmp_path, monkeypatch):
    """The clock advances by `seconds` at each look; at 1 s every task is written by itself."""
    clock, added = itertools.count(), []
    monkeypatch.setattr(runner, "time", types.SimpleNamespace(monotonic=lambda: seconds * next(clock)))
    add = Store.add
    monkeypatch.setattr(Store, "add", lambda self, rows: (added.append(len(rows)), add(self, rows))[1])
    rows = run_suite(suite("fifo", seeds=(0, 1, 2, 3)), store=tmp_path / "s.sqlite")
    assert sum(added) == len(rows) == len(read_rows(tmp_path / "s.sqlite"))
    assert added == writes


def test_a_store_with_rows_of_the_suite_needs_resume(tmp_path):
    store = tmp_path / "s.sqlite"
    run_suite(suite("fifo", seeds=[0]), store=store)
    with pytest.raises(InvalidInput, match=r"has 3 rows of suite tiny; use --resume .* or another file"):
        run_suite(suite("fifo", seeds=[0]), store=store)
    assert len(run_suite(suite("fifo"), store=store, resume=True)) == 9


def test_resume_returns_only_what_was_asked(tmp_path):
    store = tmp_path / "s.sqlite"
    run_suite(suite("fifo", "rand"), store=store)
    rows = run_suite(suite("fifo"), store=store, resume=True, solvers=["rand"], reference=False)
    assert {r.solver for r in rows} == {"rand"}


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_wrong_number_of_workers(workers):
    with pytest.raises(InvalidInput, match="workers: "):
        run_suite(suite(), workers=workers)


def test_resume_needs_a_store():
    with pytest.raises(InvalidInput, match="resume: needs a store"):
        run_suite(suite(), resume=True)


def test_progress_counts_rows(tmp_path):
    seen = []
    run_suite(suite("cp-sat", "fifo", seeds=[0]), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 6), (1, 6), (2, 6), (3, 6), (6, 6)]


def test_two_workers_make_the_rows_of_one(tmp_path):
    """All but those of a solver that only this process knows."""
    exact = ("brute-force", "cp-sat", "highs")[: draws(1, 3)]
    known, store = (*exact, "rand"), tmp_path / "s.sqlite"
    seeds = range(draws(2, 3))
    with registered("local", waits):
        rows = run_suite(suite(*known, "local", seeds=seeds), workers=2, store=store)
    local = [r for r in rows if r.solver == "local"]
    assert {r.status for r in local} == {"failed"}
    assert all("unknown solver 'local'" in r.error for r in local)
    others = [r for r in rows if r.solver != "local"]
    assert timeless(others) == timeless(run_suite(suite(*known, seeds=seeds)))
    assert len(read_rows(store)) == len(rows) == len(seeds) * 3 * (len(known) + 1)


def dies(instance, *, rng):
    os._exit(3)


def test_a_process_that_dies_fails_its_own_task_only(tmp_path, monkeypatch):
    """A plug-in package, because a worker knows only what its own registry finds."""
    registry()  # this process looks before the plug-in is there
    (tmp_path / "deadly.py").write_text(
        "import os\nfrom mlsched.core.registry import solver\n"
        "@solver('deadly', problem='preemption', kind='heuristic')\n"
        "def deadly(instance, *, rng):\n    os._exit(3)\n"
    )
    info = tmp_path / "deadly-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mlsched.solvers]\ndeadly = deadly\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])))
    with registered("deadly", dies):
        rows = run_suite(suite("rand", "deadly", "fifo", seeds=range(draws(1, 2))), workers=2, isolate=False)
    sys.modules.pop("deadly", None)
    assert {r.solver for r in rows if r.status == "failed"} == {"deadly"}
    assert all("its process died" in r.error for r in rows if r.solver == "deadly")
    assert len(rows) == draws(1, 2) * 9


def test_interrupting_workers_ends_them_and_keeps_what_is_done(tmp_path):
    def interrupts(done, total):
        if done >= 3:
            raise KeyboardInterrupt

    store = tmp_path / "s.sqlite"
    with pytest.raises(Interrupted) as caught:
        run_suite(suite("rand", "fifo", seeds=range(4)), workers=2, store=store, progress=interrupts)
    assert {r.key for r in caught.value.rows} == {r.key for r in read_rows(store)}
    assert len(caught.value.rows) >= 3
    assert multiprocessing.active_children() == []


def test_a_generator_that_draws_differently_elsewhere_is_a_failed_row():
    task = tasks_of(suite("fifo", seeds=[0]), None)[0]
    rows = answer(dataclasses.replace(task, instance_hash="another"))
    assert {r.status for r in rows} == {"failed"}
    assert "drew another instance from the same seed" in rows[0].error


def test_solves_cut_by_work_are_told():
    rows = run_suite(
        suite("cp-sat", preset="surge", seeds=[0], objectives=("total_score",), work_limit={"cp-sat": 1e-6})
    )
    assert rows[0].status in ("feasible", "unknown")
    assert (rows[0].stopped_by, rows[0].work_limit) == ("work limit", 1e-6)
    assert rows[0].gap_to_optimum is None


def test_a_second_engine_is_asked_where_one_stands_alone():
    def rows(*solvers, **more):
        found = run_suite(suite(*solvers, seeds=[0], objectives=("total_score",)), **more)
        return [(r.solver, r.evidence, r.confirmed_by) for r in found if r.kind == "exact"]

    assert rows("cp-sat", "fitgpp") == [("cp-sat", "confirmed", "highs:engine=scip")]
    assert rows("cp-sat", confirm=False) == [("cp-sat", "unconfirmed", None)]
    assert rows("cp-sat", "highs") == [("cp-sat", "confirmed", None), ("highs", "confirmed", None)]


WRAPPER = """
import mlsched
from mlsched.solvers import Outcome

@mlsched.solver(
    "wrapper", problem="preemption", kind="exact", backend="direct", engine="{engine}", objectives=("total_score",)
)
def answer(instance, *, objective, limits):
    best = mlsched.solve(instance, "highs", objective=objective)
    return Outcome("optimal", best.plan, best.sort_key)
"""


@pytest.mark.parametrize(
    ("engine", "evidence"), [("highs", "unconfirmed"), ("ortools-highs", "unconfirmed"), ("mine", "confirmed")]
)
def test_a_function_is_no_second_engine_beside_the_engine_it_declares(tmp_path, monkeypatch, engine, evidence):
    name = f"wrapper_of_{engine.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(WRAPPER.format(engine=engine))
    monkeypatch.syspath_prepend(tmp_path)
    tiny = suite(f"{name}:answer", "highs", seeds=[0], objectives=("total_score",))
    run_suite(tiny, isolate=False, confirm=False, store=tmp_path / "rows.sqlite")
    rows = with_gaps(read_rows(tmp_path / "rows.sqlite"))
    assert [row.evidence for row in rows] == [evidence] * 2
