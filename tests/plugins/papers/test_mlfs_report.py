"""The evaluation of MLFS end to end, at a tiny size; and its claims on made-up runs."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from draws import THOROUGH, draws

from mlsched.core.errors import InvalidInput
from mlsched_papers import EXPERIMENTS, render, reproduce
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs import measure, report
from mlsched_papers.mlfs.claims import METRICS, ORDERED, STATEMENTS
from mlsched_papers.mlfs.measure import MORE, NAMES, REACHABLE, Metrics, better, workload

#: One in the default profile: that several have a table each is tested on made-up runs.
LOADS = g.QUICK.loads if THOROUGH else (1.0,)


@pytest.fixture(scope="module")
def tiny():
    return reproduce("mlfs", quick=True, jobs=draws(1, 2), seeds=1, loads=list(LOADS))


def test_every_table_figure_and_claim_is_there(tiny):
    names = [table.name for table in tiny.tables]
    of_loads = [f"Figures 4 and 5, x = {x:g}" for x in LOADS]
    features = ["Figure 6, urgency", "Figure 6, deadline", "Figure 7", "Figure 8", "Figure 9"]
    assert names == [*of_loads, "Percentiles", *features, *(f"{name}, anew" for name in features)]
    assert [figure.name for figure in tiny.figures] == [f"Figure 4({letter})" for letter in "abcdefgh"]
    assert [claim.name for claim in tiny.claims] == [s.name for s in STATEMENTS]
    assert tiny.verdicts() == {}
    for table in tiny.tables:
        assert all(len(numbers) == len(table.header) - 1 for _, numbers in table.rows)
    assert json.loads(json.dumps(tiny.to_json()))["title"].startswith("MLFS")
    assert render(tiny, verbose=True)
    assert EXPERIMENTS["mlfs"].doc


def test_every_scheduler_is_a_row(tiny):
    rows = [label for label, _ in tiny.tables[0].rows]
    assert rows == [p.label for p in g.policies() if not p.feature or p == g.BOUND]
    assert {"MLF-H, anew", "MLF-H, anew, as printed", "MLF-H, anew, as printed, lowest"} < set(rows)
    assert {"Graphene, preemptive (ours)", "srpt, preemptive (ours)", "lower bound"} < set(rows)
    ours = {"MLFS", "MLF-RL", "MLF-H + MLF-C", "MLF-H"}
    assert ours | {"Graphene", "Tiresias", "HyperSched", "RL", "Gandiva", "TensorFlow", "SLAQ"} <= set(rows)
    assert not any(sentence.startswith("Not there") for sentence in tiny.interpretations)


def made_up(of, most=1000.0, few=None):
    """A report of six workloads at two loads: a metric of a policy is `of(policy, metric)`, with some noise.

    No scheduler could have more than `most` of what should be much.
    """
    noise = np.random.default_rng(0)
    grid = g.Grid(seeds=6, loads=(1.0, 3.0), few=few)
    metrics = (*NAMES, "urgent_deadlines")
    bound = Metrics(dict.fromkeys((*REACHABLE, "deadlines_stopping"), most) | {"jct": 0.0})
    runs = {
        case: bound
        if case.policy == g.BOUND
        else Metrics({name: of(case.policy, name) * (1 + 0.01 * noise.standard_normal()) for name in metrics})
        for case in g.cases(grid)
    }
    return report(grid, runs)


def test_verdicts_follow_the_runs():
    """Where MLF-H is better by a half than all others, and each feature brings much, the paper is right; else not."""
    verdicts = made_up(right).verdicts()
    for name in (*(f"{who}-{metric}" for who in ("first", "order") for metric in ORDERED), "mlf-c", "mlfs-jct"):
        assert verdicts[name] == "holds", name
    assert verdicts["gandiva-bandwidth"] == "holds"
    assert verdicts["ours-first"] == verdicts["ours-order"] == "holds"
    assert {verdicts[f"mlf-rl-{metric}"] for metric in METRICS} == {"not trained"}
    wrong = made_up(lambda policy, name: 200.0 - right(policy, name)).verdicts()
    assert {wrong[name] for name in ("order-jct", "first-deadlines", "mlf-c")} == {"does not hold"}


def right(policy, name):
    """MLF-H is better by a half than all others, and MLFS by a half than MLF-H; Gandiva sends most."""
    best = [g.as_read(policy, interpretation) for policy in (g.MLFS, g.MLF_H_C) for interpretation in g.INTERPRETATIONS]
    mine = {g.as_read(policy, interpretation) for policy in g.OURS for interpretation in g.INTERPRETATIONS}
    step = 0.5 if policy in best else 1 if policy in mine else 2
    return 100.0 / step if name in MORE else 10.0 * step * (2 if policy.label.startswith("Gandiva") else 1)


def test_claims_beyond_what_any_scheduler_could_reach_are_excluded():
    """No scheduler can have a quarter more than 60 of 100 if one in four is hopeless."""
    found = made_up(lambda policy, name: 60.0 if name in MORE else 10.0, most=75.0).verdicts()
    assert {found[f"mlfs-{name}"] for name in ("deadlines", "accuracy", "guarantee")} == {"excluded by the simulator"}
    assert found["mlfs-jct"] == "does not hold"


def test_few_workloads_beside_the_main_comparison():
    """Pairs are of the workloads on which both ran; what did not run at a load is no evidence there."""
    grid = g.Grid(seeds=6, loads=(1.0, 3.0), few=5)
    runs = [(case.policy.label, case.x) for case in g.cases(grid)]
    assert [runs.count(("MLF-H, anew", x)) for x in grid.loads] == [5, 6]
    assert [runs.count((label, 3.0)) for label in ("MLF-RL", "MLF-H without urgency", "fifo (ours)")] == [5, 5, 5]
    assert runs.count(("fifo (ours)", 1.0)) == 0
    found = made_up(right, few=5)
    pieces = {claim.name: claim.measurements for claim in found.claims}
    assert {piece.measured.count for piece in pieces["order-jct"]} == {5, 6}
    assert {piece.measured.count for piece in pieces["urgency"]} == {5}
    assert "lower loads" in found.interpretations[0]
    assert "fifo (ours)" not in dict(found.tables[0].rows)


def test_percentiles_are_over_workloads():
    grid = g.Grid()
    runs = {case: Metrics(dict.fromkeys(NAMES, float(case.seed))) for case in g.cases(grid)}
    found = next(table for table in report(grid, runs).tables if table.name == "Percentiles")
    label, numbers = found.rows[0]
    assert label == g.policies()[0].label
    assert [n.measured.mean for n in numbers[:3]] == pytest.approx([0.09, 4.5, 8.91])


def test_better_is_a_cut_of_times_and_a_rise_of_what_should_be_much():
    assert better("jct", np.array([5.0]), np.array([10.0])).tolist() == [50.0]
    assert better("deadlines", np.array([6.0]), np.array([4.0])).tolist() == [50.0]


def test_a_trace_is_refused():
    with pytest.raises(InvalidInput, match="leave it out"):
        reproduce("mlfs", trace="philly.csv")


def test_the_papers_size_is_that_of_figure_4():
    """20 servers of four GPUs, 155 to 1,860 jobs that arrive within about a week; no run without a feature."""
    grid = g.PAPERS_SIZE
    assert not any(case.policy in g.WITHOUT for case in g.cases(grid))
    assert [round(grid.jobs * x) for x in grid.loads] == [155, 310, 620, 1240, 1860]
    load = workload(grid, 1.0, seed=0)
    assert (len(load.arrival), load.node_capacity.shape[0]) == (620, 20)
    weeks = [workload(grid, x, seed).arrival[-1] / (7 * 24 * 3600) for x in grid.loads for seed in range(draws(1, 4))]
    assert 0.9 < np.mean(weeks) < 1.1


def test_the_papers_numbers_stand_beside_runs_of_its_size_only():
    def printed(grid):
        runs = {case: Metrics(dict.fromkeys(NAMES, 1.0)) for case in g.cases(grid)}
        tables = {table.name: dict(table.rows) for table in report(grid, runs).tables}
        columns = [list(NAMES).index(name) for name in ("soon", "makespan", "overhead")]
        loads = [tables[f"Figures 4 and 5, x = {x:g}"]["Tiresias"] for x in grid.loads]
        return [[numbers[i].paper for i in columns] for numbers in loads]

    nothing = [None] * 3
    assert printed(dataclasses.replace(g.FULL, seeds=2)) == [*[nothing] * 4, [None, None, 35.0]]
    at_size = [[None, 56.0, None], nothing, [61.0, None, None], nothing, [None, 125.0, 35.0]]
    assert printed(dataclasses.replace(g.PAPERS_SIZE, seeds=2)) == at_size


def test_loads_are_chosen_at_any_size(monkeypatch):
    monkeypatch.setattr(measure, "run_case", lambda case, grid: Metrics(dict.fromkeys(NAMES, 1.0)))
    found = reproduce("mlfs", papers_size=True, loads=[0.5, 0.25], jobs=4, seeds=1)
    assert [table.name for table in found.tables][:2] == ["Figures 4 and 5, x = 0.25", "Figures 4 and 5, x = 0.5"]
    assert "4 jobs at x = 1 on 80 GPUs" in found.interpretations[0]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("mlfs", {"loads": [0.7]}, "expected some of 0.25, 0.5, 1, 2, 3"),
        ("mlfs", {"loads": []}, "expected some of"),
        ("mlfs", {"papers_size": True, "quick": True}, "one of them"),
        ("slaq", {"papers_size": True}, "slaq has one size"),
        ("chic", {"loads": [1.0]}, "chic has one size"),
    ],
)
def test_sizes_that_are_not_there_are_refused(name, given, words):
    with pytest.raises(InvalidInput, match=words):
        reproduce(name, **given)


def test_an_interpretation_has_its_own_runs_of_mlf_h_and_shares_all_others():
    assert g.as_read(g.MLF_H, g.ANEW).text == "mlf-h:queueing=iteration"
    assert g.as_read(g.MLF_H, g.PRINTED).text == "mlf-h:queueing=iteration,overdue=printed"
    assert g.as_read(g.MLF_H, g.LAST).text == "mlf-h:queueing=last-task,overdue=printed"
    for policy in g.PAPERS:
        assert [g.as_read(policy, interpretation) for interpretation in g.INTERPRETATIONS] == [policy] * 4
    assert g.as_read(g.MLF_RL, g.LAST) == g.as_read(g.MLF_RL, g.ANEW) != g.MLF_RL
    assert g.as_read(g.WITHOUT[0], g.PRINTED).text == "mlf-h:urgency=false,queueing=iteration,overdue=printed"


def test_baselines_are_as_the_paper_describes_them():
    """Section 3.3.3: of Tiresias, RL, TensorFlow and SLAQ only Tiresias preempts; none places near (Section 4.2.1)."""
    grid = dataclasses.replace(g.QUICK, jobs=draws(4, 8))
    for policy in (g.SLAQ, g.TENSORFLOW):
        assert measure.run_case(g.Case(policy, 3.0, 0), grid).values["pauses"] == 0
    assert not any(word in p.text for p in g.PAPERS for word in ("queueing=iteration", "turn="))
    assert all("nodes=balance" in p.text for p in g.PAPERS if p not in (g.RL, g.GANDIVA))


def test_a_claim_may_hold_under_one_reading_alone():
    """MLF-H is best where it gives way, and last where it does not."""

    def of(policy, name):
        gives_way = policy in {g.as_read(g.MLF_H, interpretation) for interpretation in g.INTERPRETATIONS[1:]}
        good = 2.0 if gives_way else 0.5 if policy == g.MLF_H else 1.0
        return 10.0 * good if name in MORE else 10.0 / good

    found = {claim.name: claim for claim in made_up(of).claims}["order-jct"]
    assert found.verdict == "depends on the interpretation"
    assert list(found.by_interpretation.values()) == ["does not hold", "holds", "holds", "holds"]


def test_a_run_pays_for_pauses_and_the_bound_is_below_every_run():
    grid = dataclasses.replace(g.QUICK, jobs=draws(3, 6))
    assert set(workload(grid, 1.0, 0).pause_cost.tolist()) == {30 * 10**6}
    found = {
        policy: measure.run_case(g.Case(policy, 3.0, 0), grid).values["jct"]
        for policy in (g.BOUND, g.as_read(g.MLF_H, g.ANEW), g.OTHERS[3])
    }
    assert min(found.values()) == found[g.BOUND] > 0
