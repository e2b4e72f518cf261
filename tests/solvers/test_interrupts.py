"""Ctrl-C ends a search, and after one it does what it did before: a solver that takes the signal must not keep it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading

import installed
import pytest

import mlsched
from mlsched.core.formulation import Limits
from mlsched.solvers.backends import highs
from mlsched.solvers.backends.interruptible import interruptible
from mlsched.solvers.backends.limits import within
from mlsched.solvers.backends.search import Search

FRONT = "mlsched.pareto(instance, ('total_score', 'victim_count'), {!r}, confirm=True)"
SEARCHES = (
    *(f"mlsched.solve(instance, {name!r})" for name in ("cp-sat", "highs", "highs:engine=scip")),
    *(FRONT.format(name) for name in ("cp-sat", "highs")),
)
BEFORE = """
import signal
import mlsched
instance = mlsched.generate("preemption", "small", seed=1)
"""
#: CP-SAT, unless told otherwise, leaves SIGINT with the action that ends the process at once.
EACH = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test in the background would not get it
{search}
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print({search!r}, flush=True)
"""


def test_an_interrupt_is_still_one():
    code = BEFORE + "".join(EACH.format(search=search) for search in SEARCHES)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (0, list(SEARCHES)), done.stderr


class ControlC:
    """Presses Ctrl-C once, from any thread, however often it is called."""

    def __init__(self):
        self.pressed = False

    def __call__(self, *_):
        if not self.pressed:
            self.pressed = True
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


@pytest.fixture
def python_handles():
    """Ctrl-C raises KeyboardInterrupt; tests in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


#: Equations over 0 and 1 with random coefficients: nobody solves so many (market split).
EQUATIONS, VARIABLES = 6, 50


def split():
    draw = random.Random(1)
    rows = [[draw.randrange(1, 100) for _ in range(VARIABLES)] for _ in range(EQUATIONS)]
    return [(row, sum(row) // 2) for row in rows]


@pytest.mark.usefixtures("python_handles")
def test_an_interrupt_ends_the_search_and_is_raised():
    ended, threads = threading.Event(), []

    def search():
        threads.append(threading.current_thread())
        ControlC()()
        ended.wait()

    with pytest.raises(KeyboardInterrupt):
        interruptible(search, ended.set)
    assert ended.is_set()
    assert threading.main_thread() not in threads
    assert interruptible(lambda: 5, ended.set) == 5
    with pytest.raises(ValueError, match="x"):
        interruptible(lambda: int("x"), ended.set)


def test_where_no_thread_can_be_started_the_search_runs_without_one(monkeypatch):
    def no_more(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_more)
    assert interruptible(threading.current_thread, lambda: None) is threading.main_thread()
    with pytest.raises(ValueError, match="x"):
        interruptible(lambda: int("x"), lambda: None)


@pytest.mark.usefixtures("python_handles")
def test_an_interrupt_ends_cp_sat():
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    take = [model.new_bool_var("") for _ in range(VARIABLES)]
    over = [model.new_int_var(0, 10**4, "") for _ in range(2 * EQUATIONS)]
    for k, (row, total) in enumerate(split()):
        model.add(sum(a * x for a, x in zip(row, take, strict=True)) + over[2 * k] - over[2 * k + 1] == total)
    model.minimize(sum(over))
    search = Search(model, within(Limits()).parameters, bound=ControlC())
    with pytest.raises(KeyboardInterrupt):
        search.run()


@pytest.mark.usefixtures("python_handles")
def test_an_interrupt_ends_highs():
    import highspy

    solver = highs.new_highs(Limits())
    take = [solver.addBinary() for _ in range(VARIABLES)]
    for row, total in split():
        solver.addConstr(sum(a * x for a, x in zip(row, take, strict=True)) == total)
    solver.cbMipInterrupt += ControlC()
    with pytest.raises(KeyboardInterrupt):
        highs.run(solver)
    assert solver.getModelStatus() == highspy.HighsModelStatus.kInterrupt


@pytest.mark.parametrize(
    "problem", installed.problems("preemption", "placement", "workers", "rounds", "admission", "quality")
)
@pytest.mark.parametrize("name", ["cp-sat", "highs"])
def test_no_integer_program_is_solved_on_the_main_thread(problem, name, monkeypatch):
    """Linear programs may be: they soon end."""
    import highspy
    from ortools.sat.python import cp_model

    if (problem, name) == ("quality", "cp-sat"):
        problem, name = "taskgraph", "moulded"  # quality has no such model
    wrong = []

    def watched(kind, method):
        call = getattr(kind, method)

        def noted(self, *given):
            integer = kind is cp_model.CpSolver or len(self.getLp().integrality_) > 0
            if integer and threading.current_thread() is threading.main_thread():
                wrong.append(kind)
            return call(self, *given)

        monkeypatch.setattr(kind, method, noted)

    watched(cp_model.CpSolver, "solve")
    watched(highspy.Highs, "run")
    mlsched.solve(mlsched.generate(problem, "small", seed=1), name)
    assert wrong == []
