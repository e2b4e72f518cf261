"""CP-SAT in a process of its own: answers, stopping, and ends that are no answers."""

from __future__ import annotations

import gc
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from ortools.sat.python import cp_model

from mlsched.core.formulation import Limits
from mlsched.solvers.backends import process as _cp_apart
from mlsched.solvers.backends.limits import within
from mlsched.solvers.backends.process import Apart, Helpers


def knapsack() -> tuple[cp_model.CpModel, list]:
    model = cp_model.CpModel()
    taken = [model.new_bool_var("") for _ in range(6)]
    model.add(sum(w * x for w, x in zip((4, 5, 6, 7, 8, 9), taken, strict=True)) >= 20)
    model.minimize(sum(c * x for c, x in zip((5, 4, 7, 8, 6, 9), taken, strict=True)))
    return model, taken


def pigeons(holes: int) -> cp_model.CpModel:
    """One pigeon more than holes: hard for clauses, easy for cutting planes."""
    model = cp_model.CpModel()
    sits = [[model.new_bool_var("") for _ in range(holes)] for _ in range(holes + 1)]
    for pigeon in sits:
        model.add_bool_or(pigeon)
    for hole in zip(*sits, strict=True):
        model.add(sum(hole) <= 1)
    return model


def parameters(limits: Limits, **chosen):
    found = within(limits).parameters
    for name, value in chosen.items():
        setattr(found, name, value)
    return found


def test_it_answers_as_cp_sat_does():
    model, taken = knapsack()
    here = within(Limits())
    assert here.solve(model) == cp_model.OPTIMAL
    ended = Apart(model, parameters(Limits())).run()
    assert ended.status == "OPTIMAL"
    assert ended.bound == here.objective_value
    assert sum(c * ended.solution[x.index] for c, x in zip((5, 4, 7, 8, 6, 9), taken, strict=True)) == ended.bound
    assert ended.work >= 0


def test_cutting_planes_refute_pigeons():
    chosen = parameters(Limits(work=5.0), use_pb_resolution=True, cp_model_presolve=False, linearization_level=0)
    assert Apart(pigeons(12), chosen).run().status == "INFEASIBLE"


def test_a_limit_ends_it():
    chosen = parameters(Limits(work=0.05), cp_model_presolve=False, linearization_level=0, symmetry_level=0)
    ended = Apart(pigeons(14), chosen).run()
    assert ended.status == "UNKNOWN"
    assert ended.work >= 0.05


def endless(helpers: Helpers | None = None) -> Apart:
    """A search that has no end within the patience of anyone."""
    model = cp_model.CpModel()
    taken = [model.new_bool_var("") for _ in range(400)]
    for shift in (1, 2, 3, 7, 31, 101):
        for a, b in zip(taken, taken[shift:] + taken[:shift], strict=True):
            model.add_bool_or([a, b])
    model.minimize(sum((1 + k % 7) * x for k, x in enumerate(taken)))
    chosen = parameters(Limits(work=ENDLESS), cp_model_presolve=False, linearization_level=0, symmetry_level=0)
    return Apart(model, chosen, helpers=helpers)


#: The work after which what should be stopped ends in any case, so that a test fails rather than hangs.
ENDLESS = 300.0


def test_it_is_stopped_before_it_begins(started):
    search = endless()
    search.stop()
    assert search.run().status == "UNKNOWN"
    assert started == []


def test_another_thread_stops_it_whenever_it_does():
    search = endless()
    stopper = threading.Thread(target=search.stop)
    stopper.start()
    ended = search.run()
    stopper.join()
    assert ended.status in ("UNKNOWN", "FEASIBLE")
    assert ended.work < ENDLESS


@pytest.mark.parametrize("when", ["as its process starts", "as it is asked"])
def test_it_is_stopped_at_any_moment(when, monkeypatch):
    search = endless()
    begin = subprocess.Popen

    def popen(*args, **kwargs):
        helper = begin(*args, **kwargs)

        def flush():
            del helper.stdin.flush
            helper.stdin.flush()
            search.stop()

        if when == "as its process starts":
            search.stop()
        if when == "as it is asked":
            helper.stdin.flush = flush
        return helper

    monkeypatch.setattr(_cp_apart.subprocess, "Popen", popen)
    ended = search.run()
    assert ended.status in ("UNKNOWN", "FEASIBLE")
    assert ended.work < ENDLESS


def quick(helpers: Helpers) -> Apart:
    chosen = parameters(Limits(), use_pb_resolution=True, cp_model_presolve=False, linearization_level=0)
    return Apart(pigeons(6), chosen, helpers=helpers)


@pytest.fixture
def started(monkeypatch):
    """The processes that are started."""
    found, begin = [], subprocess.Popen

    def popen(*args, **kwargs):
        found.append(begin(*args, **kwargs))
        return found[-1]

    monkeypatch.setattr(_cp_apart.subprocess, "Popen", popen)
    return found


def test_a_helper_that_has_answered_answers_again_until_it_is_closed(started):
    helpers = Helpers()
    ended = [quick(helpers).run() for _ in range(3)]
    assert {one.status for one in ended} == {"INFEASIBLE"}
    assert len({one.work for one in ended}) == 1, "the same search in a used process"
    assert len(started) == 1
    assert started[0].poll() is None
    helpers.close()
    assert started[0].poll() is not None
    assert quick(helpers).run().status == "INFEASIBLE"
    assert len(started) == 2
    assert started[1].poll() is not None, "what is closed keeps none"


def test_helpers_end_with_whoever_holds_them(started):
    helpers = Helpers()
    quick(helpers).run()
    del helpers
    gc.collect()
    assert started[0].poll() is not None


def test_searches_at_once_have_a_helper_each(started):
    helpers = Helpers()
    with ThreadPoolExecutor(2) as pool:
        for ended in pool.map(lambda _: quick(helpers).run(), range(6)):
            assert ended.status == "INFEASIBLE"
    assert len(started) <= 2
    helpers.close()


def test_a_helper_that_was_stopped_is_not_used_again(started, monkeypatch):
    helpers, take = Helpers(), Helpers.take
    search = endless(helpers)
    with monkeypatch.context() as patch:
        patch.setattr(Helpers, "take", lambda self: (take(self), search.stop())[0])
        assert search.run().work < ENDLESS
    assert started[0].poll() is not None
    search.stop()
    assert quick(helpers).run().status == "INFEASIBLE"
    assert len(started) == 2
    helpers.close()


def test_a_check_of_cp_sat_that_fails_is_no_answer(monkeypatch, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os\nos.abort()\n")
    monkeypatch.setattr(_cp_apart, "__file__", str(program))
    ended = Apart(knapsack()[0], parameters(Limits())).run()
    assert (ended.status, ended.bound, ended.solution) == ("ABORTED", None, ())


def test_a_program_that_does_not_run_is_an_error(monkeypatch, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("raise ImportError('no CP-SAT here')\n")
    monkeypatch.setattr(_cp_apart, "__file__", str(program))
    with pytest.raises(RuntimeError, match="no CP-SAT here"):
        Apart(knapsack()[0], parameters(Limits())).run()
