"""`check_scheduler` finds fifty-four planted bugs, passes what is correct, and says what it has seen."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from draws import THOROUGH, draws
from fresh_bugs import FRESH
from planted_bugs import BUGS, first_fit, good, tires
from subtle_bugs import SUBTLE
from unusual_rules import UNUSUAL

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.instances.preemption import Instance
from mlsched.simulation import every_simulation
from mlsched.simulation.placement import SIMULATION as PLACEMENT
from mlsched.testing import CHECKS, CheckFailed, check_scheduler, runs
from mlsched.testing.checks import Examiner, Failed, exact_reference
from mlsched.testing.scheduler import _mean_gap_failure

#: By default two of each problem, of all checks but `untouched`, that are shrunk in a moment: others take seconds.
QUICK = {
    "preemption": ("preempts once too often", "takes jobs without grace for free"),
    "quality": ("ignores caps", "draws from everyone's stream"),
    "placement": ("takes PSs for free", "passes the last server"),
    "workers": ("fails without jobs", "remembers how much it said"),
    "taskgraph": ("ignores arrivals", "pauses without asking"),
}
ALL = BUGS + SUBTLE + FRESH
SOME = [bug for bug in ALL if bug.mistake in QUICK[bug.problem]]
#: Rules that never serve some jobs, and are right not to.
STUBBORN = ("never_splits_a_job", "all_or_nobody", "one_node_for_a_job")
#: What refuses instances that it cannot answer, in a line that says so; its own tests check it on those it can.
REFUSES = {
    **dict.fromkeys(("lif-linear", "lif-quadratic"), "it needs to know the use of CPU and network"),
    "harmony": "its weights know six servers",
    **dict.fromkeys(("chic", "chic-pair"), "its weights know three models"),
}
#: Random actions may give nobody anything; a run in which nothing runs or arrives any more is stuck.
KNOWN = {
    "uniform-random": {"runs": "it may give nobody anything"},
    **{name: dict.fromkeys(("answers", "runs"), reason) for name, reason in REFUSES.items()},
}
RULES = [a for a in registry().available() if a.kind != "exact"]


@pytest.mark.parametrize("bug", ALL if THOROUGH else SOME, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_and_shown_in_under_thirty_lines(bug, report):
    with pytest.raises(CheckFailed) as caught:
        check_scheduler(bug.make(), bug.problem, examples=draws(20, 200), **bug.calling)
    text = str(caught.value)
    assert caught.value.report.failures[0].check == bug.check, text
    assert len(text.splitlines()) < 30
    assert max(map(len, text.splitlines())) < 400
    report(f"planted bugs, {bug.name}", [caught.value.report.failures[0].check])


@pytest.mark.parametrize("unusual", UNUSUAL, ids=lambda unusual: unusual.name)
def test_a_correct_rule_passes_however_unusual_it_is(unusual):
    count = draws(12, 200)
    report = check_scheduler(unusual.rule, unusual.problem, examples=count, **unusual.calling)
    assert report.outcomes["runs"].status == "passed"


@pytest.mark.parametrize("unusual", [u for u in UNUSUAL if u.rule.__name__ in STUBBORN], ids=lambda u: u.name)
def test_a_rule_that_leaves_jobs_waiting_for_more_room_is_not_called_stuck(unusual, monkeypatch):
    """In placement it happens in the long run only, here a shorter one: small workloads have a server for every job."""
    drawn = dataclasses.replace(PLACEMENT.drawn, long=lambda: PLACEMENT.sources["uniform"](jobs=draws(60, 500)))
    worlds = [w if w is not PLACEMENT else dataclasses.replace(w, drawn=drawn) for w in every_simulation()]
    monkeypatch.setattr(runs, "every_simulation", lambda: worlds)
    given = {"examples": draws(64, 240), "calls": int(THOROUGH or unusual.problem != "taskgraph"), "checks": ["runs"]}
    report = check_scheduler(unusual.rule, unusual.problem, **given, **unusual.calling)
    said = str(report.outcomes["runs"])
    assert "of them jobs wait for ever, which it serves in a larger cluster" in said
    assert report.to_json()["checks"]["runs"]["note"] in said


@pytest.mark.parametrize("rule", RULES if THOROUGH else RULES[:1], ids=lambda a: f"{a.problem}-{a.name}")
def test_every_built_in_solver_passes(rule):
    """Each is also checked beside its own tests, with fewer examples."""
    check_scheduler(rule.name, rule.problem, examples=draws(12, 200), expected_failures=KNOWN.get(rule.name, {}))


def test_the_report_says_what_was_checked():
    report = check_scheduler("fitgpp", "preemption", examples=8, mean_gap=100.0)
    assert list(report.outcomes) == list(CHECKS)
    assert {o.status for o in report.outcomes.values()} == {"passed"}
    assert report.instances == report.gaps.count == 8
    assert report.lines()[1] == "  answers       passed on 8 instances"
    assert report.lines()[-1].startswith("  runs          passed on ")
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["checks"]["runs"]["status"] == "passed"


def test_a_counterexample_is_kept_as_file_and_picture(tmp_path):
    with pytest.raises(CheckFailed) as caught:
        check_scheduler(first_fit, "preemption", examples=20, keep=tmp_path, calls=0)
    found = caught.value.report.failures[0]
    assert found.file == tmp_path / "first_fit-feasible.json"
    assert Instance.from_json(json.loads(found.file.read_text())) == found.instance
    assert found.instance.violations(found.plan)
    assert found.picture.read_bytes().startswith(b"\x89PNG")
    assert f"kept in {found.file}" in str(caught.value)
    assert caught.value.report.outcomes["untouched"].status == "passed"


def test_an_expected_failure_is_reported_and_not_raised():
    report = check_scheduler(
        first_fit, "preemption", examples=12, expected_failures={"feasible": "known", "untouched": "was so once"}
    )
    outcome = report.outcomes["feasible"]
    assert (outcome.status, outcome.reason) == ("expected", "known")
    assert outcome.counterexample.instance.violations(outcome.counterexample.plan)
    assert str(report.outcomes["untouched"]).endswith(
        "passed on 12 instances, though a failure was expected: was so once"
    )
    assert not report.failures


def test_state_that_goes_wrong_late_is_found_by_calls_alone(monkeypatch):
    import planted_bugs

    monkeypatch.setattr(planted_bugs, "PATIENCE", 50)
    check_scheduler(tires(), "preemption", examples=8, checks=["reproducible"])
    with pytest.raises(CheckFailed, match="answers an instance otherwise than an earlier one did"):
        check_scheduler(tires(), "preemption", examples=8, checks=["reproducible"], calls=100)


def test_gaps_have_thresholds():
    with pytest.raises(CheckFailed, match=r"gap: total_loss_reduction = .* worse than the optimum .*: 0.01 is allowed"):
        check_scheduler("fair", "quality", examples=20, largest_gap=0.01, checks=["gap"])
    with pytest.raises(CheckFailed, match="a mean gap of 0 is allowed"):
        check_scheduler("fair", "quality", examples=20, mean_gap=0.0, checks=["gap"])
    assert check_scheduler("fair", "quality", examples=20, largest_gap=100.0).outcomes["gap"].status == "passed"


def test_without_a_reference_a_rolled_out_rule_is_not_blamed_for_what_has_no_plan():
    report = check_scheduler("fifo", "taskgraph", examples=8, reference=None, checks=["answers", "feasible"])
    assert 0 < report.instances < 8
    assert report.outcomes["answers"].status == "passed"


def test_where_the_optimum_is_0_no_gap_is_small_enough():
    """Nobody need go, and somebody does: a gap without a percentage must not pass for one of 0 %."""
    easy = mlsched.generate("preemption", "small", seed=0)
    easy = easy.replace(te_demand=easy.te_demand[:0])
    one = easy.plan_type(te_node=[], victims=np.flatnonzero(easy.preemptible)[:1])

    def examiner(largest: float | None) -> Examiner:
        best = exact_reference("brute-force", "victim_count")
        return Examiner(lambda instance: one, easy.objective("victim_count"), best, {"gap"}, largest)

    with pytest.raises(Failed, match="victim_count = 1 is 1 jobs worse than the optimum 0: 100 is allowed"):
        examiner(100.0)(easy)
    on_average = examiner(None)
    on_average(easy)
    assert "1 jobs worse on average: a mean gap of 100 is allowed" in str(_mean_gap_failure(on_average, 100.0))


def test_a_rule_that_beats_the_optimum_is_found(monkeypatch):
    """Here the reference is a bad one."""
    from mlsched.testing import checks

    honest = checks.api.solve

    def worse(instance, solver, **given):
        best = honest(instance, solver, **given)
        object.__setattr__(best, "sort_key", best.sort_key - 1)
        return best

    monkeypatch.setattr(checks.api, "solve", worse)
    with pytest.raises(CheckFailed, match=r"bounded: total_loss_reduction = .* beats the proven optimum"):
        check_scheduler("slaq", "quality", examples=8)


def test_all_failures_at_once():
    def careless(instance, *, rng):
        object.__setattr__(instance, "capacity", instance.capacity + 1)
        one = np.ones(len(instance.waiting), dtype=np.int64)
        return instance.plan_type(workers=one, ps=0 * one)

    report = check_scheduler(careless, "workers", examples=12, raise_failures=False)
    assert {c.check for c in report.failures} == {"feasible", "untouched", "runs"}
    assert {report.outcomes[name].status for name in ("feasible", "untouched", "runs")} == {"failed"}
    failing = str(report).partition("; ")[0].removeprefix("fails ").split(", ")
    assert sorted(failing) == ["feasible", "runs", "untouched"], "print() shows the failures first"


def test_runs_alone(tmp_path):
    def waits(instance, *, rng):
        nothing = np.zeros(len(instance.waiting), dtype=np.int64)
        return instance.plan_type(workers=nothing, ps=nothing)

    with pytest.raises(CheckFailed, match=r"runs: waits: at .* the run is stuck; workers world") as error:
        check_scheduler(waits, "workers", checks=["runs"], calls=0, keep=tmp_path)
    example = error.value.report.failures[0]
    assert "in a run of this workers.workload:\n  resources = " in str(example)
    assert "hash" not in str(example)
    assert mlsched.load(example.file) == example.workload
    skipped = check_scheduler(good("taskgraph"), "taskgraph", examples=8).outcomes["runs"]
    assert str(skipped) == "runs          skipped: another failed before, or it answers a horizon"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"checks": ["speed"]}, "checks: unknown check 'speed'; there are answers, feasible"),
        ({"expected_failures": {"speed": "slow"}}, "checks: unknown check 'speed'"),
        ({"checks": ["gap"]}, "for 'gap', give largest_gap or mean_gap"),
        ({"examples": 3}, "examples: 3, expected at least 4"),
        ({"objective": "x"}, "objective = 'x': preemption has total_score"),
    ],
)
def test_wrong_calls(given, message):
    with pytest.raises(InvalidInput, match=message):
        check_scheduler("fitgpp", "preemption", **given)


def test_exact_solvers_are_refused():
    with pytest.raises(InvalidInput, match="cp-sat: is exact"):
        check_scheduler("cp-sat", "preemption")
