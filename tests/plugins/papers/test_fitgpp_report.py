"""The FitGpp experiment end to end, at a tiny size: complete, serialisable, the same for any number of workers."""

from __future__ import annotations

import dataclasses
import io
import json

import pytest
from draws import THOROUGH, draws
from rich.console import Console

from mlsched.core.errors import InvalidInput, SolverError, UnknownName
from mlsched.simulation.run import Run
from mlsched_papers import EXPERIMENTS, render, reproduce
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp import paper
from mlsched_papers.fitgpp import report as experiment_report
from mlsched_papers.fitgpp.claims import STATEMENTS
from mlsched_papers.fitgpp.claims_tables import TRACE_STATEMENTS
from mlsched_papers.fitgpp.measure import Source, measure

TINY = {"quick": True, "jobs": 2**10, "seeds": 2}
#: The sweeps of figures 6 and 7 with two points each, by default.
FEW = g.QUICK if THOROUGH else dataclasses.replace(g.QUICK, shares=(0.3, 0.7), scales=(1.0, 2.0))
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
OURS = ["Steady state, Z", "Length of the run, Z"]
TABLES = ["Table 1", "Table 2", "Table 2, Z, pooled", "Table 3", "Table 4", *OURS, "Table 5"]


@pytest.fixture(scope="module")
def tiny():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(g, "QUICK", FEW)
        return reproduce("fitgpp", **TINY)


@pytest.fixture
def trace(tmp_path):
    """Forty pods of a node each, every third latency-sensitive, one of them too large for any node."""
    rows = [
        f"p{i},{64000 if i == 7 else 32000},1024,1,1000,,{'LS' if i % 3 == 0 else 'BE'},Succeeded,{60 * i},"
        f"{60 * i + 900},{60 * i}"
        for i in range(40)
    ]
    path = tmp_path / "pods.csv"
    path.write_text(PODS + "\n".join(rows) + "\n")
    return path


def test_the_experiment_is_found_by_scanning():
    assert EXPERIMENTS["fitgpp"].name == "fitgpp"
    assert EXPERIMENTS["fitgpp"].doc


def test_every_table_figure_and_claim_is_there(tiny):
    assert [table.name for table in tiny.tables] == TABLES
    assert [figure.name for figure in tiny.figures] == [f"Figure {n}" for n in range(3, 8)]
    assert [claim.name for claim in tiny.claims] == [s.name for s in (*STATEMENTS, *TRACE_STATEMENTS)]
    assert tiny.verdicts() == {}
    for table in tiny.tables[:-1]:
        assert all(len(numbers) == len(table.header) - 1 for _, numbers in table.rows)
    for table in tiny.tables[:5]:
        assert all(number.measured is not None for _, numbers in table.rows for number in numbers[:1])


def test_measured_stands_beside_the_papers(tiny):
    rows = dict(tiny.tables[0].rows)
    assert [number.paper for number in rows[paper.FIFO]] == list(paper.TABLE_1[paper.FIFO])
    assert rows[paper.FIFO][0].deviation == pytest.approx(rows[paper.FIFO][0].measured.mean / 9.38 - 1)
    assert [number.paper for number in rows[g.MINMAX.label]] == [None] * 6
    assert g.MINMAX.label in dict(tiny.tables[1].rows)
    assert g.MINMAX.label not in dict(tiny.tables[4].rows)
    assert g.FIRST.label in dict(tiny.tables[0].rows)


def test_what_is_not_stationary_is_named(tiny):
    assert "Not stationary (the drift's 95 % interval, corrected for" in tiny.tables[5].note
    assert [label for label, _ in tiny.tables[5].rows] == [p.label for p in (*g.PAPER, g.FIRST, *g.BESIDE)]


def test_the_rise_of_be_jobs_stands_by_the_length_of_the_run():
    grid = dataclasses.replace(FEW, jobs=512, lengths=(128, 256))
    made = experiment_report(grid, measure(g.cases(grid), Source(grid.jobs)))
    (table,) = [t for t in made.tables if t.name == "Length of the run, Z"]
    labels = [label for label, _ in table.rows]
    assert labels[:3] == [f"{g.FITGPP.label}, {n} jobs" for n in (128, 256, 512)]
    assert [numbers[0].paper for _, numbers in table.rows[:3]] == [None, None, paper.BE_MEDIAN_RISE]


def test_readings_say_what_was_run(tiny):
    text = " ".join(tiny.interpretations)
    for phrase in ("2 workloads (seeds 0 to 1) of 1024 jobs", "during_grace=work", "blocking=", "python", "4 runs"):
        assert phrase in text


def test_without_a_trace_table_5_says_how_to_get_one(tiny):
    assert not tiny.tables[-1].rows
    assert "--trace FILE --cluster" in tiny.tables[-1].note
    assert {claim.verdict for claim in tiny.claims[-len(TRACE_STATEMENTS) :]} == {"not measured"}


def test_a_distribution_agrees_with_the_percentiles_of_table_1(tiny):
    for panel, column in (("TE slowdown", 0), ("BE slowdown", 3)):
        xs, shares = tiny.figures[0].panels[panel][paper.FIFO]
        assert list(shares) == [(i + 0.5) / len(xs) for i in range(len(xs))]
        median = dict(tiny.tables[0].rows)[paper.FIFO][column].measured.mean
        assert (xs[len(xs) // 2 - 1], xs[len(xs) // 2]) == (pytest.approx(median, rel=0.02),) * 2


def test_json_is_plain_and_complete(tiny):
    data = json.loads(json.dumps(tiny.to_json(), allow_nan=False))
    assert data["kind"] == "experiment.report"
    assert [table["name"] for table in data["tables"]] == TABLES
    for claim in data["claims"]:
        assert "verdict" not in claim
        assert claim["tested"]
        assert claim["where"]
    assert data["tables"][0]["rows"][0]["numbers"][0].keys() == {
        "measured",
        "ci95",
        "paper",
        "deviation",
        "lower_bound",
    }


@pytest.mark.parametrize("width", [80, 200])
def test_rendering_shows_tables_and_claims(tiny, width):
    console = Console(width=width, file=io.StringIO())
    for item in render(tiny, verbose=True):
        console.print(item, highlight=False)
    text = console.file.getvalue()
    for phrase in ("Table 1", "9.38", "33.4", "No verdicts", "needed", "Figure 7", "--trace FILE"):
        assert phrase in text


def test_the_html_is_one_self_contained_page(tiny):
    drawn = tiny.figures[:: draws(3, 1)]
    page = dataclasses.replace(tiny, figures=drawn).to_html()
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == len(drawn)
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    assert "No verdicts" in page


def test_two_workers_give_the_same_report(two_workers):
    grid = g.Grid(
        ("z", "a"),
        seeds=1,
        jobs=draws(256, 512),
        rand_repeats=2,
        weights=(4.0,),
        limits=("1",),
        shares=(0.3, 0.6),
        scales=(1.0, 4),
    )
    cases, source = g.cases(grid), Source(grid.jobs)
    assert measure(cases, source, workers=2) == measure(cases, source)


def test_progress_counts_every_run():
    grid = g.Grid(("z",), seeds=1, jobs=256, rand_repeats=2, weights=(), limits=(), shares=(), scales=())
    cases, seen = g.cases(grid), []
    measure(cases, Source(grid.jobs), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(n, len(cases)) for n in range(len(cases) + 1)]


def test_a_failing_replay_check_fails_the_report(monkeypatch):
    monkeypatch.setattr(Run, "violations", lambda self: ["work: job 3 did 1 s of its 2 s of work"])
    with pytest.raises(SolverError, match="replay check fails: work: job 3 did 1 s"):
        reproduce("fitgpp", quick=True, jobs=256, seeds=1)


def test_a_trace_stands_in_for_the_private_one(trace):
    report = reproduce("fitgpp", quick=True, jobs=256, seeds=1, trace=str(trace), cluster="2x(32cpu,256gb,8gpu)")
    table = report.tables[-1]
    assert "public stand-in, not the paper's private trace" in table.title
    assert [label for label, _ in table.rows] == [policy.label for policy in (*g.PAPER, *g.BESIDE)]
    assert table.rows[0][1][0].measured is not None
    assert report.figures[-1].name == "Figure 8"
    best = next(claim for claim in report.claims if claim.name == "trace-best")
    assert best.verdict == "not measured", "one trace is one workload"
    assert all(piece.measured is not None and piece.repeats for piece in best.measurements)
    text = " ".join(report.interpretations)
    assert "1 jobs dropped" in text
    assert "2x(32 " in text.replace("2x(32000", "2x(32 ")


def test_a_wrong_call_is_refused_before_anything_runs(tmp_path):
    for wrong in ({"workers": 0}, {"jobs": 0}, {"seeds": True}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            reproduce("fitgpp", **wrong)
    with pytest.raises(InvalidInput, match="cluster"):
        reproduce("fitgpp", cluster="2x(32cpu,256gb,8gpu)")
    with pytest.raises(UnknownName, match=r"there are .*fitgpp"):
        reproduce("fitgp")
    with pytest.raises(InvalidInput, match=r"missing\.csv"):
        reproduce("fitgpp", quick=True, trace=tmp_path / "missing.csv")
