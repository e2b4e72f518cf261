"""Pictures of plans say what a reader looks for: names, amounts, units; checked on the objects that are drawn."""

from __future__ import annotations

import matplotlib as mpl
import networkx as nx
import pytest
from preemption_examples import small

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.instances.preemption import Plan

mpl.use("Agg")

PSPLIB = """jobs (incl. supersource/sink ):  5
  - renewable : 2 R
  - nonrenewable : 0 N
  - doubly constrained : 0 D
PRECEDENCE RELATIONS:
jobnr. #modes #successors successors
1 1 3 2 3 4
2 1 1 5
3 1 1 5
4 1 1 5
5 1 0
REQUESTS/DURATIONS:
jobnr. mode duration R 1 R 2
------------------------
1 1 0 0 0
2 1 5 2 1
3 1 4 1 0
4 1 6 1 1
5 1 0 0 0
RESOURCEAVAILABILITIES:
R 1 R 2
3 1
"""


@pytest.fixture(autouse=True)
def closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def texts(axes) -> set[str]:
    return {text.get_text() for text in axes.texts} - {""}


def named():
    train = nx.DiGraph(name="train")
    for name, ticks in (("load", 4), ("fit", 9)):
        train.add_node(name, duration=ticks, demand={"gpu": 1})
    train.add_edge("load", "fit")
    dump = nx.DiGraph(name="dump")
    dump.add_node("write", duration=6, demand={"gpu": 1})
    return mlsched.from_networkx([train, dump], [{"gpu": 1}] * 2, tick_ms=60_000)


def test_names_of_tasks_survive_from_networkx_to_table_and_picture():
    instance = named()
    result = mlsched.solve(instance, "brute-force", objective="makespan")
    table = instance.table(result.plan)
    rows = set(zip(table["job"], table["task"], strict=True))
    assert rows == {("train", "load"), ("train", "fit"), ("dump", "write")}
    assert dict(zip(table["task"], table["end"] - table["start"], strict=True)) == {"load": 4, "fit": 9, "write": 6}
    axes = mlsched.plot(result)
    assert texts(axes) == {"load", "fit", "write"}
    (legend,) = axes.figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"train", "dump"}
    assert axes.get_xlabel() == "minutes"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["gpu 0", "gpu 1"]
    assert axes.get_title().startswith("brute-force: makespan 13 minutes (optimal)")


def test_a_project_shows_its_activities_by_number_in_many_colours_and_its_resources(tmp_path):
    (tmp_path / "p.sm").write_text(PSPLIB)
    result = mlsched.solve(mlsched.load(tmp_path / "p.sm"), "brute-force", objective="makespan")
    axes = mlsched.plot(result)
    assert texts(axes) == {"2", "3", "4"}, "PSPLIB's own numbers"
    assert len({bar.get_facecolor() for bar in axes.patches if bar.get_width()}) == 3
    strips = [other for other in axes.figure.axes if other is not axes]
    assert [strip.get_ylabel() for strip in strips] == ["R1", "R2"]
    assert [strip.get_yticks().tolist() for strip in strips] == [[0, 3], [0, 1]]
    area = strips[0].patches[0].get_data()
    assert (area.values * (area.edges[1:] - area.edges[:-1])).sum() == 2 * 5 + 4 + 6, "demand x duration"
    assert all(float(tick).is_integer() for tick in axes.get_xticks())


def test_a_preemption_plan_shows_jobs_rule_and_value():
    result = mlsched.solve(small(), "fitgpp")
    axes = mlsched.plot(result)
    assert axes.get_title().splitlines()[0] == f"fitgpp: total_score {result.value} millionths (feasible)"
    assert "suspended: " + ", ".join(map(str, sorted(result.plan.victims.tolist()))) in axes.get_title()
    assert {str(j) for j in range(3)} | {"T0"} == texts(axes)
    assert {t.get_text() for t in axes.get_xticklabels(minor=True)} == set(small().resources)


@pytest.mark.parametrize(
    ("problem", "rule", "signed"),
    [("workers", "optimus", True), ("quality", "slaq", False), ("placement", "tetris", False)],
)
def test_counts_are_whole_and_not_negative(problem, rule, signed):
    axes = mlsched.plot(mlsched.solve(mlsched.generate(problem, "small"), rule))
    axes.figure.draw_without_rendering()
    assert all(float(tick).is_integer() for tick in axes.get_yticks())
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert all(label.isdigit() for label in labels)
    assert (min(axes.get_yticks()) < 0) == signed, "PSs are drawn downwards, and counted upwards"


def test_plot_draws_where_it_is_told_and_returns_the_axes():
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2)
    plan = mlsched.solve(small(), "fitgpp").plan
    assert mlsched.plot(plan, small(), ax=right) is right
    assert right.patches
    assert not left.patches


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan.json",), "a str cannot be drawn; give a plan, a Result, a Front, a Run or several, or losses"),
        ((Plan(te_node=[1], victims=[2]),), r"which instance does the plan answer\? give plot\(plan, instance\)"),
        ((Plan(te_node=[1], victims=[]), small()), "the plan is infeasible"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        mlsched.plot(*arguments)
