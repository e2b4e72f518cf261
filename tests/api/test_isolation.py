"""Solvers in processes of their own: whatever they do there, the caller gets an answer, or a line that says how."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import hostile_rules as hostile
import pytest
from benchmark_examples import registered, suite, timeless

import mlsched
from mlsched.api import isolated_output, isolation
from mlsched.api.isolation import Isolated, seconds_until_kill
from mlsched.benchmark.reference import failures
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.store import read_rows
from mlsched.benchmark.table import gap_lines
from mlsched.core.errors import InvalidInput, RuleFailure, SolverError, TooLarge
from mlsched.core.registry import registry

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="isolation needs processes that can fork")
GIGABYTE = 10**9


@pytest.fixture(scope="module")
def instance():
    return mlsched.generate("preemption", "small", seed=1)


def isolated(instance, solver, **options):
    return mlsched.solve(instance, solver, isolate=True, **options)


@pytest.mark.parametrize("asked", [hostile.right, "fifo", "rand", "cp-sat", "brute-force"])
def test_an_answer_is_the_same(instance, asked):
    here, there = mlsched.solve(instance, asked, seed=3), isolated(instance, asked, seed=3)
    assert there.plan == here.plan
    assert (there.sort_keys, there.sort_bound, there.status, there.work) == (
        here.sort_keys,
        here.sort_bound,
        here.status,
        here.work,
    )


@pytest.mark.parametrize(
    ("rule", "how", "said"),
    [
        (hostile.exits, "crash", r"exits ended its process \(status 0\) instead of answering"),
        (hostile.crashes, "crash", "crashes was ended by SIGSEGV"),
        (hostile.hangs, "timeout", r"hangs took longer than 0\.05 s"),
        (hostile.hoards, "memory", "hoards took more memory than its limit"),
        (hostile.cheats, "cheated", "cheats changed the instance that it received"),
        (hostile.stops_its_parent, "timeout", r"stops_its_parent took longer than 0\.05 s"),
    ],
)
def test_how_a_rule_ends_is_told(instance, rule, how, said):
    limits = {
        "hangs": {"time_limit": 0.05},
        "hoards": {"memory_limit": GIGABYTE},
        "stops_its_parent": {"time_limit": 0.05},
    }.get(rule.__name__, {})
    with pytest.raises(RuleFailure, match=said) as caught:
        isolated(instance, rule, **limits)
    assert caught.value.how == how
    load = mlsched.workload("synthetic:z:jobs=20,nodes=2")
    with pytest.raises(RuleFailure, match=said):
        mlsched.simulate(load, rule, isolate=True, **limits)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (hostile.leaves, "leaves raised SystemExit: 0"),
        (hostile.answers_text, "answers_text returned a str, expected a preemption.plan"),
        (hostile.rewrites_the_judge, "returned an infeasible plan"),
        (hostile.raises_without_words, r"raised Speechless, whose text cannot be shown \(KeyError\)"),
    ],
)
def test_what_breaks_the_contract_is_told(instance, rule, said):
    with pytest.raises(SolverError, match=said):
        isolated(instance, rule)


@pytest.mark.parametrize(
    "rule", [hostile.forks, hostile.leaves_a_thread, hostile.prints, hostile.stops_its_parent_and_answers]
)
def test_who_forks_prints_or_leaves_a_thread_answers_all_the_same(instance, rule):
    assert isolated(instance, rule).plan == mlsched.solve(instance, "fifo").plan


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a process other than the first")
def test_nothing_that_a_rule_starts_outlives_it(instance, tmp_path, monkeypatch):
    """A grandchild in a session of its own."""
    place = tmp_path / "children"
    monkeypatch.setenv("MLSCHED_TEST_PLACE", str(place))
    monkeypatch.setattr(isolation, "_server", isolation._Server())  # one that has this environment
    assert isolated(instance, hostile.leaves_a_child).plan is not None
    pid = int(place.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the offspring of a process")
def test_who_has_its_parent_stopped_again_and_again_is_ended_all_the_same(instance, monkeypatch):
    """By a process that outlives the rule, until the caller ends it."""
    monkeypatch.setattr(isolation, "PATIENCE", 0.01)
    plan = mlsched.solve(instance, "fifo").plan
    assert isolated(instance, hostile.stops_its_parent_again_and_again).plan == plan


@pytest.mark.skipif(sys.platform != "linux", reason="the rule finds the server in /proc")
def test_a_server_that_a_rule_has_stopped_goes_on(instance, monkeypatch):
    server = isolation._Server()
    monkeypatch.setattr(isolation, "_server", server)
    monkeypatch.setattr(isolation, "PATIENCE", 0.01)
    plan = isolated(instance, hostile.stops_the_server).plan
    assert isolated(instance, "fifo").plan == plan
    isolated(instance, hostile.stops_the_server)
    isolation._end(server._line, server._process)
    assert server._process.returncode == 0


def test_a_run_has_one_process_which_keeps_the_memory():
    load = mlsched.workload("synthetic:z:jobs=60,nodes=2")
    with registered("remembers", hostile.remembers, stateful=True):
        here, there = (mlsched.simulate(load, "remembers", record=1.0, isolate=x) for x in (False, True))
    assert there.log.to_json() == here.log.to_json()
    assert there.violations() == []
    memories = [decision.memory for decision in there.recorded]
    assert memories[0] is None
    assert [m["calls"] for m in memories[1:]] == list(range(1, len(memories)))
    assert len(memories[-1]["processes"]) == 1
    assert os.getpid() not in memories[-1]["processes"]
    assert all(there.replay(d) == d.plan for d in there.recorded[:3]), "in a new process"


def test_a_registered_rule_runs_alike():
    load = mlsched.workload("synthetic:z:jobs=60,nodes=2")
    runs = [mlsched.simulate(load, "fitgpp:s=2", isolate=x, seed=5) for x in (False, True)]
    assert runs[0].log.to_json() == runs[1].log.to_json()


def test_what_is_wrong_with_a_call_is_told(instance):
    with pytest.raises(InvalidInput, match="define it at the top level of a module"):
        isolated(instance, lambda given, *, rng: None)
    with pytest.raises(InvalidInput, match="memory_limit: needs isolate=True"):
        mlsched.solve(instance, "fifo", memory_limit=GIGABYTE)
    with pytest.raises(TooLarge):
        isolated(mlsched.generate("preemption", "paper", seed=0), "brute-force")


def test_who_keeps_to_a_limit_gets_a_little_more():
    rule, exact = (registry().solvers["preemption", name] for name in ("fifo", "cp-sat"))
    assert seconds_until_kill(rule, None) is None
    assert seconds_until_kill(rule, 2.0) == 2.0
    assert seconds_until_kill(exact, 2.0) == pytest.approx(2.7)


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"[]", b"9" * 5000, b"[" * 10**5, b"{}", b'{"plan": 3}', b'{"plan": {"kind": "preemption.instance"}}',
        b'{"plan": {"kind": "preemption.plan", "version": 1, "te_node": "x", "victims": []}}',
        b'{"plan": {"kind": "preemption.plan", "version": 1, "te_node": [1], "victims": [2]}, "status": "best"}',
        b'{"plan": null, "status": "unknown", "bound": NaN, "stopped_by": "proof", "work": {}}',
        b'{"message": 3, "how": "won", "error": "RuleFailure"}', b'{"message": 3, "error": "MOST_LINES"}',
    ],
)  # fmt: skip
def test_a_false_answer_is_refused(instance, answer, monkeypatch):
    """Whatever a worker sends is data, and read as such."""
    exchanges = iter([b"{}", answer])
    monkeypatch.setattr(isolation, "_exchange", lambda *_: next(exchanges))
    with pytest.raises(SolverError):
        isolated(instance, "fifo")


def test_the_server_may_be_killed(instance, monkeypatch):
    server = isolation._Server()
    monkeypatch.setattr(isolation, "_server", server)
    plan = isolated(instance, "fifo").plan
    server._process.kill()
    server._process.wait()
    assert isolated(instance, "fifo").plan == plan


def test_the_worker_ends_with_its_caller():
    """The caller is killed while the rule hangs; the rule's process ends."""
    script = (
        "import mlsched, hostile_rules as h\n"
        "i = mlsched.generate('preemption', 'small', seed=1)\n"
        "mlsched.solve(i, h.tells, isolate=True)\n"
    )
    path = os.pathsep.join([str(Path(hostile.__file__).parent), os.environ.get("PYTHONPATH", "")])
    reader, writer = os.pipe()
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=writer) as caller:
        os.close(writer)
        with os.fdopen(reader) as said:
            pid = int(said.readline())
            caller.send_signal(signal.SIGKILL)
            assert said.read() == "", "which ends when the last process that could write ends"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# -- bench ------------------------------------------------------------------------------------------------------------


def test_a_suite_goes_on_whatever_a_foreign_rule_does(tmp_path, monkeypatch):
    from mlsched.benchmark import answer

    monkeypatch.setattr(answer, "FOREIGN_SECONDS", 0.05)
    ends = {"exits": "crash", "hangs": "timeout", "hoards": "memory", "cheats": "cheated", "leaves": "failed"}
    with_rules = [registered(name, getattr(hostile, name)) for name in ends]
    store = tmp_path / "rows.sqlite"
    for one in with_rules:
        one.__enter__()
    try:
        rows = run_suite(suite("fifo", *ends, seeds=[0]), store=store)
    finally:
        for one in with_rules:
            one.__exit__(None, None, None)
    assert {row.solver: row.status for row in rows} == {"fifo": "feasible", **ends}
    untouched = [row for row in rows if row.solver == "fifo"]
    assert timeless(untouched) == timeless(run_suite(suite("fifo", seeds=[0])))
    assert all(row.sort_key is None and row.error for row in rows if row.solver != "fifo")
    assert [row.status for row in read_rows(store)] == [row.status for row in rows]
    assert len(failures(rows)) == len(ends)
    assert {line.solver: line.failures for line in gap_lines(rows)} == {"fifo": 0, **dict.fromkeys(ends, 1)}


def test_mlscheds_own_are_asked_in_this_process(monkeypatch):
    monkeypatch.setattr(Isolated, "start", lambda self: pytest.fail("a process"))
    assert {row.status for row in run_suite(suite("fifo", seeds=[0]))} == {"feasible"}


def test_what_a_rule_prints_is_not_in_the_document(tmp_path):
    """With and without a process of its own."""
    path = tmp_path / "instance.json"
    mlsched.save(mlsched.generate("preemption", "small", seed=1), path)
    script = (
        "import hostile_rules as h\nfrom mlsched.core.solver import Solver\n"
        "from mlsched.core.registry import registry\n"
        "registry().add(Solver('says', 'preemption', 'heuristic', h.says))\n"
        "from mlsched.cli import main\nmain()"
    )
    folder = os.pathsep.join([str(Path(hostile.__file__).parent), os.environ.get("PYTHONPATH", "")])
    for more in ([], ["--isolate"]):
        command = [sys.executable, "-c", script, "solve", str(path), "--solver", "says", "--json", *more]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": folder}
        )
        assert json.loads(done.stdout)["solver"] == "says"
        assert "said by the rule" in done.stderr


def test_of_what_a_rule_prints_64_kilobytes_are_shown_and_the_rest_is_counted(tmp_path):
    folder = os.pathsep.join([str(Path(hostile.__file__).parent), os.environ.get("PYTHONPATH", "")])
    script = (
        "import mlsched, hostile_rules as h\n"
        "print(mlsched.solve(mlsched.generate('preemption', 'small', seed=1), h.floods, isolate=True).status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": folder},
    )
    assert done.stdout == "feasible\n"
    assert done.stderr.startswith("?[2Jbegin\nxxx")
    shown, _, last = done.stderr.rstrip("\n").rpartition("\n")
    assert len(shown) == isolated_output.MAX_OUTPUT
    more = 32 * 2**16 + len("\x1b[2Jbegin\n") - isolated_output.MAX_OUTPUT
    assert last == f"mlsched: {more} bytes more that an isolated solver printed are left out"
