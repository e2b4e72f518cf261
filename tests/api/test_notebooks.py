"""What a notebook shows: HTML of instances, results, fronts and runs, DataFrames of them, and `help`."""

from __future__ import annotations

import pydoc
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from preemption_examples import small

import mlsched
from mlsched.core.formulation import Outcome
from mlsched.core.registry import solver
from mlsched.instances.taskgraph import Instance


class Page(HTMLParser):
    """The tags and the text of some HTML; every tag that is opened must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + "\n"


@solver("gives-up", problem="preemption", kind="exact", backend="direct", objectives=("total_score",))
def gives_up(instance, *, objective, limits):
    return Outcome("infeasible", None, None)


def test_results_show_how_they_ended_and_every_objective():
    result = mlsched.solve(small(), "fitgpp")
    page = Page(result._repr_html_())
    assert "fitgpp on preemption" in page.text
    assert all(name in page.text and str(value) in page.text for name, value in result.sort_keys.items())
    assert len(result._repr_html_()) < 4000
    none = Page(mlsched.solve(small(), gives_up)._repr_html_())
    assert "no plan" in none.text
    assert "infeasible" in none.text


def test_instances_fronts_and_runs_show_themselves():
    instance = Page(mlsched.generate("taskgraph", "small")._repr_html_())
    assert "taskgraph.instance" in instance.text
    assert "duration" in instance.text
    front = mlsched.pareto(small(), ("total_score", "victim_count"), solve_limit=1)
    assert "total_score (min)" in Page(front._repr_html_()).text
    assert "solve limit" in Page(front._repr_html_()).text
    run = mlsched.simulate(mlsched.workload("synthetic:z:jobs=20,nodes=2"), "fifo")
    assert "fifo on preemption" in Page(run._repr_html_()).text


def test_names_are_escaped():
    evil = "<script>alert(1)</script>"
    instance = mlsched.generate("taskgraph", "small")
    named = instance.replace(task_names=tuple(f"{evil}{t}" for t in range(len(instance.task_job))))
    assert "script" not in Page(named._repr_html_()).seen
    assert "<script>" in Page(named._repr_html_()).text


def test_names_are_no_part_of_the_question():
    instance = mlsched.generate("taskgraph", "small")
    named = instance.replace(task_names=tuple(f"t{t}" for t in range(len(instance.task_job))))
    assert named != instance
    assert named.hash == instance.hash
    assert Instance.from_json(named.to_json()) == named


def test_data_frames():
    import pandas

    results = [mlsched.solve(small(), rule) for rule in ("fitgpp", "brute-force")]
    frame = pandas.concat([result.dataframe() for result in results], ignore_index=True)
    assert frame.solver.tolist() == ["fitgpp", "brute-force"]
    assert frame.value.tolist() == [result.sort_key for result in results] == frame.total_score.tolist()
    front = mlsched.pareto(small(), ("total_score", "victim_count"))
    assert front.dataframe().to_numpy().tolist() == front.sort_keys.tolist()
    assert list(front.dataframe()) == ["total_score", "victim_count"]


@pytest.mark.parametrize(
    ("problem", "rule"),
    [("preemption", "fitgpp"), ("placement", "tetris"), ("quality", "slaq"), ("workers", "optimus")],
)
def test_plans_as_data_frames(problem, rule):
    """Every figure of the plan is in the table of decisions."""
    instance = mlsched.generate(problem, "small")
    plan = mlsched.solve(instance, rule).plan
    frame = instance.dataframe(plan)
    if problem == "preemption":
        suspended = frame[(frame["class"] == "BE") & (frame.fate == "suspended")]
        assert suspended.job.tolist() == sorted(plan.victims.tolist())
        assert frame[frame["class"] == "TE"].node.tolist() == plan.te_node.tolist()
    elif problem == "quality":
        assert frame.cores.tolist() == plan.cores.tolist()
    else:
        assert frame.workers.sum() == plan.workers.sum()
        assert frame.ps.sum() == plan.ps.sum()
        assert set(frame.job) == set(range(len(plan.workers)))


def test_help_shows_shapes_ranges_and_units():
    text = pydoc.render_doc(Instance, renderer=pydoc.plaintext)
    assert "duration (int64 array, tasks, >= 0): ticks that one run takes" in text
    assert "movement ('none' or 'between_iterations'): whether tasks may change node" in text


def test_testing_comes_with_the_package():
    code = "import sys, mlsched\nassert 'hypothesis' not in sys.modules\nmlsched.testing.check_scheduler"
    subprocess.run([sys.executable, "-c", code], check=True)
