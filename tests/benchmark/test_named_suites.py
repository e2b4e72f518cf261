"""What `gaps`, `exact`, `scale`, `speed`, `collection` and `outside` ask, each on a few of its smallest instances."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from typing import Any

import installed
import pytest
from benchmark_examples import row, rule

import mlsched
from mlsched import InvalidInput
from mlsched.benchmark.cases import Suite
from mlsched.benchmark.cost import cost_lines, growth_exponent
from mlsched.benchmark.outside import outside
from mlsched.benchmark.reference import failures
from mlsched.benchmark.rerun import rerun
from mlsched.benchmark.row import canonical_json
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.suites import EDITIONS, SUITES
from mlsched.cli.main import run
from mlsched.core.registry import registry


def first(name: str, problem: str, cases: int = 1, **changes: Any) -> Suite:
    """The first cases of a problem, with their first seeds."""
    own = [case for case in SUITES[name].cases if case.problem == problem][:cases]
    return Suite(name, "for tests", tuple(dataclasses.replace(c, seeds=c.seeds[:1], **changes) for c in own))


def test_gaps_asks_every_solver_by_every_objective_and_knows_all_optima():
    rows = run_suite(first("gaps", "quality"))
    asked = {(r.solver, r.objective) for r in rows}
    objectives = [o.name for o in registry().problem("quality").instance_type.objectives]
    known = [a.name for a in registry().available("quality") if a.called == "online"]
    assert asked == {(name, o) for name in known for o in objectives}
    assert all(r.gap_to_optimum is not None for r in rows)
    assert {case.problem for case in SUITES["gaps"].cases} == set(registry().problems)


def test_gaps_has_harder_task_graphs_that_rules_do_not_solve():
    small, harder = (case for case in SUITES["gaps"].cases if case.problem == "taskgraph")
    suite = Suite("gaps", "for tests", (dataclasses.replace(harder, seeds=harder.seeds[1:2]),))
    rows = run_suite(suite, solvers=["cp-sat", "srpt", "fifo", "mlf-h"], confirm=False)
    assert harder.preset != small.preset
    assert {r.objective for r in rows} == {"total_jct"}
    assert all(r.gap_to_optimum > 0.01 for r in rows if r.kind == "heuristic")


@pytest.mark.parametrize("problem", ["quality", "preemption", "placement"])
def test_exact_holds_the_exact_solvers_against_a_plain_model(problem):
    rows = run_suite(first("exact", problem))
    plain = [r for r in rows if r.solver == f"mlsched.benchmark.plain:{problem}"]
    assert len(plain) == len(registry().problem(problem).instance_type.objectives)
    assert {(r.status, r.evidence, r.engine) for r in plain} == {("optimal", "confirmed", "cp-sat")}
    assert {r.kind for r in rows} == {"exact"}
    assert failures(rows) == []
    again = rerun(plain[0])
    assert (again.status, again.sort_key) == (plain[0].status, plain[0].sort_key)


def test_a_plain_model_and_cp_sat_are_one_engine():
    pair = ("cp-sat", "mlsched.benchmark.plain:preemption")
    rows = run_suite(first("exact", "preemption", solvers=pair), confirm=False)
    assert {r.evidence for r in rows} == {"unconfirmed"}


def test_scale_shows_cost_against_size():
    lines = cost_lines(run_suite(first("scale", "quality", 4, solvers=("slaq",))))
    assert [x.case for x in lines] == [f"floored cores={4 * n} jobs={n}" for n in (10, 20, 40, 80)]
    assert [x.size for x in lines] == sorted(x.size for x in lines)
    assert growth_exponent(lines) is not None


def test_growth_is_the_exponent_and_leaves_out_censored_times():
    def costs(*points, **changes):
        return [
            row(size=n, cpu_seconds=t, preset=str(n), instance_hash=str(n), **(changes if n == points[-1][0] else {}))
            for n, t in points
        ]

    assert growth_exponent(cost_lines(costs((10, 1.0), (20, 4.0), (40, 16.0)))) == pytest.approx(2)
    ended = {"status": "feasible", "stopped_by": "work limit"}
    lines = cost_lines(costs((10, 1.0), (20, 2.0), (40, 4.0), (80, 4.0), **ended))
    assert [x.censored for x in lines] == [0, 0, 0, 1]
    assert growth_exponent(lines) == pytest.approx(1)
    assert growth_exponent(lines[1:]) is None, "two sizes are no line"
    assert cost_lines([rule(None, status="failed", cpu_seconds=1.0)]) == []


def test_speed_repeats_each_call_and_times_the_judge():
    rows = run_suite(first("speed", "quality", repeat=0.001, preset="small"))
    assert {r.solver for r in rows} == {"judge", *(a.name for a in registry().available("quality", "heuristic"))}
    assert all(r.work["calls"] >= 3 and 0 < r.cpu_seconds < r.work["calibration"] for r in rows)
    assert all(line.load > 0 for line in cost_lines(rows))
    with pytest.raises(InvalidInput, match="'judge' is not a solver"):
        rerun(next(r for r in rows if r.solver == "judge"))


def test_the_collection_keeps_its_first_200_instances_and_has_50_more_of_each_problem():
    cases = SUITES["collection"].cases
    counts = Counter({p: sum(len(c.seeds) for c in cases if c.problem == p) for p in registry().problems})
    edition = {p.name: p.suites.edition for p in registry().problems.values()}
    assert counts == {name: sum(EDITIONS[first - 1 :]) if first else 0 for name, first in edition.items()}
    first = [c for c in cases if max(c.seeds) < EDITIONS[0] and edition[c.problem] == 1]
    kept = repr([(c.problem, c.preset, c.seeds) for c in first])
    assert hashlib.sha256(kept.encode()).hexdigest()[:16] == "4bb7c875f791465d"
    assert sum(len(c.seeds) for c in first) == 200
    for problem in installed.problems("placement", "admission"):
        drawn = [(c.preset, seed) for c in cases if c.problem == problem for seed in c.seeds]
        hashes = {mlsched.generate(problem, preset, seed=seed).hash for preset, seed in drawn}
        assert len(hashes) == counts[problem], "two presets draw the same instances from the same seeds"


# -- outside ----------------------------------------------------------------------------------------------------------

GRAPH = "2\n0 0 0\n1 3 1 0\n2 2 1 1\n3 0 1 2\n"  # a chain of 3 and 2 ticks in the format of Standard Task Graphs
PROGRAM = "2 1 2\nmaxsum maxsum\n1 0\n0 1\n1 1\n1 2\n0 0\n2 2\n"  # x + y <= 2, both to be maximised


@pytest.fixture
def published(tmp_path):
    """A folder of published instances: a task graph and an integer program."""
    for place, files in {
        "stg": {"chain.stg": GRAPH, "optima.csv": "file,processors,optimal_makespan\nchain.stg,2,5\ngone.stg,2,9\n"},
        "kirlik14": {"p.fgt": PROGRAM, "p.front.csv": "f1,f2\n-2,0\n-1,-1\n0,-2\n"},
    }.items():
        (tmp_path / place).mkdir()
        for name, text in files.items():
            (tmp_path / place / name).write_text(text)
    return tmp_path


def test_outside_reproduces_published_optima_and_fronts(published):
    rows = run_suite(outside(published))
    found = {(r.problem, r.solver): (r.status, r.sort_key, r.evidence) for r in rows if r.kind == "exact"}
    assert found == {
        ("taskgraph", "published"): ("optimal", 5, "confirmed"),
        ("taskgraph", "cp-sat"): ("optimal", 5, "confirmed"),
        ("programs", "published"): ("optimal", 3, "confirmed"),
        ("programs", "cp-sat"): ("optimal", 3, "confirmed"),
    }
    assert failures(rows) == []
    assert len({canonical_json({"key": r.key}) for r in rows}) == len(rows)


def test_outside_says_what_is_not_as_published(published):
    (published / "stg" / "optima.csv").write_text("file,processors,optimal_makespan\nchain.stg,2,4\n")
    (published / "kirlik14" / "p.front.csv").write_text("f1,f2\n-2,0\n-1,0\n0,-2\n")
    said = failures(run_suite(outside(published)))
    assert any("published proves 4 optimal, but cp-sat proves 5" in sentence for sentence in said)
    assert any("0 points of the published front are missing, and 1 others were found" in sentence for sentence in said)


def test_outside_without_its_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MLSCHED_DATA", raising=False)
    assert run(["bench", "outside"]) == 2
    assert "needs published instances: give their --folder, or set MLSCHED_DATA" in capsys.readouterr().err
    monkeypatch.setenv("MLSCHED_DATA", str(tmp_path))
    assert run(["bench", "outside"]) == 2
    assert f"{tmp_path / 'known_optima'} is missing" in capsys.readouterr().err
    assert run(["bench", "outside", "--folder", str(tmp_path)]) == 2
    assert "expected a folder of published instances" in capsys.readouterr().err
    assert run(["bench", "quick", "--folder", str(tmp_path)]) == 2
    assert "belongs to the suite outside" in capsys.readouterr().err


def test_a_damaged_file_is_named(published):
    (published / "kirlik14" / "p.fgt").write_text("2 1 2\nmaxsum maxsum\n1 0\n")
    with pytest.raises(InvalidInput, match=r"p\.fgt: is not an integer program with a front"):
        outside(published)


def test_no_rule_refuses_an_instance_of_quick():
    # `make demo` asks it, and ends with status 1 where a solver fails.
    asked = 0
    for case in SUITES["quick"].cases:
        instance = mlsched.generate(case.problem, case.preset, seed=case.seeds[0], **case.sizes)
        for known in registry().available(case.problem, "heuristic"):
            if known.name not in case.without and (case.solvers is None or known.name in case.solvers):
                assert mlsched.solve(instance, known.name).plan is not None, (case.preset, known.name)
                asked += 1
    assert asked > 150
