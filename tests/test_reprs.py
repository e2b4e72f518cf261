"""What `print` shows of public objects is one short line without addresses; notebooks show tables."""

from __future__ import annotations

import contextlib
import re

import pytest

import mlsched
from mlsched.core.brief import MAX_LINE
from mlsched.core.registry import registry

SURGE = {"problem": "preemption", "preset": "surge", "seed": 1}


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """One object of each public class whose fields would fill a screen."""
    folder = tmp_path_factory.mktemp("things")
    with contextlib.chdir(folder):
        surge = mlsched.generate(**SURGE)
        rule, best = mlsched.solve(surge, "fitgpp"), mlsched.solve(surge, "cp-sat")
        work = mlsched.workload("synthetic:gangs", jobs=6)
        run = mlsched.simulate(work, "fifo", record=1.0)
        losses = mlsched.worst_cases("fifo", [mlsched.generate("preemption", "small", seed=s) for s in range(2)])
        small = mlsched.generate("quality", "small")
        mlsched.save(small, "0.json")
        (folder / "suite").mkdir()
        mlsched.save(small, "suite/0.json")
        rows = mlsched.run_suite("suite", solvers=["slaq", "dp"])
        return {
            "instance": surge,
            "result": rule,
            "gap": rule.gap_to(best),
            "gaps": mlsched.sum_up([loss.gap for loss in losses]),
            "workload": work,
            "run": run,
            "simulation": run.simulation,
            "rule": run.rule,
            "windows": run.windows(),
            "front": mlsched.pareto(mlsched.generate("quality", "contended", seed=1)),
            "loss": losses[0],
            "losses": losses,
            "certificate": mlsched.certify(small, "proof"),
            "reference": mlsched.make_reference(work, "reference", moves=2),
            "decomposition": mlsched.decompose(run),
            "report": mlsched.check_scheduler("fifo", "preemption", examples=4, checks=["answers"]),
            "row": rows[0],
            "gap line": mlsched.gap_lines(rows)[0],
            "solver": mlsched.solvers.available("preemption")[0],
            "problem": registry().problem("quality"),
        }


def test_all_are_short_and_without_addresses(things):
    shown = {name: repr(thing) for name, thing in things.items()}
    for name, line in shown.items():
        assert len(line) <= MAX_LINE + 1, name
        assert not re.search(r" at 0x|\n|array\(", line), name
        assert str(things[name]) == line or name in ("gap", "gaps", "report"), (
            "print says the same, or says it in words"
        )


def test_they_say_what_matters(things):
    assert re.fullmatch(
        r"<Result: fitgpp on preemption, total_score 17598331 millionths, feasible>", repr(things["result"])
    )
    assert re.fullmatch(r"<Run: fifo on taskgraph, 6 jobs on .*, \d+ decisions>", repr(things["run"]))
    assert repr(things["gap"]) == f"<Gap: {things['gap']}>"
    assert repr(things["certificate"]).endswith("certified>")


@pytest.mark.parametrize(
    "name",
    [
        "instance",
        "result",
        "workload",
        "run",
        "front",
        "loss",
        "losses",
        "certificate",
        "reference",
        "decomposition",
        "report",
    ],
)
def test_notebooks_show_a_table(things, name):
    html = things[name]._repr_html_()
    assert html.count("<table") == html.count("</table>") >= 1
    assert html.startswith("<div><b>")
