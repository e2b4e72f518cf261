"""Graphs in and out, the picture, and what else reads the problem from the registry."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import just
from taskgraph_examples import GOOD, list_schedule, plan, running, small

import mlsched
from mlsched.api import adapters
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.registry import registry
from mlsched.instances import strategies
from mlsched.instances.taskgraph import PROBLEM, from_networkx, to_networkx
from mlsched.testing import check_scheduler

NODES = [{"gpu": 1, "cpu": 4}, {"cpu": 8, "gpu": 2}]


def job(**attributes):
    graph = nx.DiGraph(arrival=3, max_iterations=2, accuracy=[0, 5, 9], **attributes)
    graph.add_node("a", duration=2, demand={"cpu": 3}, parameters=7)
    graph.add_node("b", duration=np.int64(4), eligible=[1])
    graph.add_edge("a", "b", volume=5, delay=1)
    graph.add_edge("b", "a", lag=1)
    return graph


def test_a_graph_becomes_an_instance():
    inst = from_networkx([job(min_iterations=1), job(deadline=9)], NODES)
    assert inst.resources == ("gpu", "cpu")
    assert inst.node_capacity.tolist() == [[1, 4], [2, 8]]
    assert inst.duration.tolist() == [2, 4, 2, 4]
    assert inst.demand.tolist() == [[0, 3], [0, 0]] * 2
    assert inst.eligible.tolist() == [[1, 1], [0, 1]] * 2
    assert (inst.min_iterations.tolist(), inst.max_iterations.tolist()) == ([1, 2], [2, 2])
    assert inst.deadline.tolist() == [2**31 - 1, 9]
    assert list(zip(inst.edge_from, inst.edge_to, inst.edge_lag, inst.edge_volume, inst.edge_delay, strict=True)) == [
        (0, 1, 0, 5, 1),
        (1, 0, 1, 0, 0),
        (2, 3, 0, 5, 1),
        (3, 2, 1, 0, 0),
    ]
    assert from_networkx(job(), NODES) == from_networkx([job()], NODES)


def test_shorter_accuracy_tables_are_filled_with_their_last_entry():
    short = nx.DiGraph(accuracy=[1, 2])
    short.add_node(0, duration=1)
    assert from_networkx([job(), short], NODES).accuracy.tolist() == [[0, 5, 9], [1, 2, 2]]


@given(instance=strategies.taskgraph())
def test_there_and_back(instance):
    capacity = [dict(zip(instance.resources, row.tolist(), strict=True)) for row in instance.node_capacity]
    readings = {name: getattr(instance, name) for name in ("movement", "accuracy_at", "tick_ms")}
    back = from_networkx(to_networkx(instance), capacity, **readings)
    again = from_networkx(to_networkx(back), capacity, **readings)
    assert back == again
    for name in ("arrival", "deadline", "min_iterations", "duration", "demand", "eligible", "task_job", "parameters"):
        assert np.array_equal(getattr(back, name), getattr(instance, name)), name
    columns = [f"edge_{name}" for name in ("from", "to", "lag", "volume", "delay")]
    edges = [sorted(zip(*(getattr(i, c).tolist() for c in columns), strict=True)) for i in (back, instance)]
    assert edges[0] == edges[1]


def changed(**changes):
    graph = job()
    graph.graph.update(changes.pop("graph", {}))
    graph.nodes["a"].update(changes.pop("a", {}))
    graph.edges["a", "b"].update(changes.pop("edge", {}))
    for name in changes.pop("drop", ()):
        del graph.nodes["a"][name]
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.Graph(), "job 0: is a Graph, expected a networkx DiGraph"),
        (3, "graphs: expected a networkx graph for each job"),
        (changed(drop=["duration"]), "job 0, task 'a': 'duration' is missing"),
        (changed(a={"duration": 1.5}), "job 0, task 'a': duration: 1.5, expected an integer"),
        (changed(a={"durations": 1}), "job 0, task 'a': unknown attribute 'durations'"),
        (changed(a={"demand": {"tpu": 1}}), "job 0, task 'a': demand of 'tpu': the nodes have gpu, cpu"),
        (changed(a={"eligible": [2]}), "job 0, task 'a': eligible node 2: there are 2"),
        (changed(edge={"deley": 1}), "job 0, edge 'a' -> 'b': unknown attribute 'deley'"),
        (changed(edge={"lag": 2}), r"edge_lag\[0\]: 2, expected between 0 and 1"),
        (changed(graph={"accuracy": [0, 1]}), "job 0: accuracy has 2 entries, expected 3"),
        (changed(graph={"arrival": "soon"}), "job 0: arrival: 'soon', expected an integer"),
        (changed(graph={"nome": "x"}), "job 0: unknown attribute 'nome'"),
        (changed(a={"duration": 2**70}), "duration|beyond 64 bits"),
        (nx.DiGraph(), "job 0 has 0 tasks"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(graph, message):
    with pytest.raises(InvalidInput, match=message):
        from_networkx([graph], NODES)


def test_wrong_nodes_and_ignored_attributes():
    with pytest.raises(InvalidInput, match="nodes: is empty"):
        from_networkx(job(), [])
    with pytest.raises(InvalidInput, match=r"nodes\[1\]: has gpu, expected gpu, cpu"):
        from_networkx(job(), [NODES[0], {"gpu": 1}])
    assert from_networkx(changed(graph={"name": "x"}), NODES, ignore=("name",)) == from_networkx(job(), NODES)


@pytest.mark.parametrize("inst", [small(), running()])
def test_the_picture_shows_every_run(inst):
    from matplotlib.figure import Figure

    answer = plan(inst, *GOOD) if not inst.now else plan(inst, (0, 1, 0, 5), (1, 1, 0, 7), (2, 0, 1, 6))
    axes = Figure().subplots()
    PROBLEM.draw(inst, answer, axes)
    assert len(axes.patches) == len(answer.task)
    assert {t.get_text() for t in axes.get_yticklabels()} == {"node 0", "node 1"}
    assert "total_jct" in axes.get_title()


def test_pictures_of_every_preset():
    from matplotlib.figure import Figure

    for preset in ("small", "six-replicas", "dags", "moving"):
        inst = mlsched.generate("taskgraph", preset, seed=1)
        PROBLEM.draw(inst, mlsched.solve(inst, list_schedule).plan, Figure().subplots())
    empty = mlsched.generate("taskgraph", jobs=0)
    PROBLEM.draw(empty, plan(empty), Figure().subplots())


def test_a_picture_from_the_command_line(tmp_path):
    from mlsched.cli.main import run as main

    assert main(["generate", "taskgraph", "--preset", "small", "-o", str(tmp_path / "i.json")]) == 0
    call = ["solve", str(tmp_path / "i.json"), "--solver", "brute-force", "--plot", str(tmp_path / "p.png")]
    assert main(call) == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "g.stg").write_text("1\n0 0 0\n1 5 1 0\n2 0 1 1\n")
    solve = ["solve", str(tmp_path / "g.stg"), "--solver", "brute-force", "--objective", "makespan"]
    assert main(solve) == 2
    assert main([*solve, "--read", "processors=2"]) == 0


def test_rules_can_be_checked():
    seen = check_scheduler(list_schedule, "taskgraph", examples=40)
    assert 20 <= seen.instances <= 40
    assert seen.gaps.largest > 0
    assert seen.gaps.count == seen.instances
    assert str(seen).startswith(f"{seen.instances} instances: optimal on ")


def test_what_has_no_plan_is_left_out(monkeypatch):
    def never(instance):
        raise AssertionError("asked for the impossible")

    impossible = small(node_capacity=[[0], [0]])
    one = dataclasses.replace(registry().problem("taskgraph"), strategy=lambda: just(impossible), contended=None)
    monkeypatch.setitem(
        registry().problems, "taskgraph", dataclasses.replace(one, generate=lambda rng, **sizes: impossible)
    )
    with pytest.raises(InvalidInput, match="brute-force finds every instance infeasible"):
        check_scheduler(never, "taskgraph", examples=4)


def test_a_rule_that_decides_now_is_rolled_out(monkeypatch):
    asked = []

    def decide(snapshot, *, rng):
        raise AssertionError("called by the world only")

    def rollout(instance, rule, seed):
        asked.append(rule.name)
        return list_schedule(instance, rng=np.random.default_rng(seed))

    monkeypatch.setattr(adapters, "_adapter", lambda problem, called: rollout)
    assert check_scheduler(decide, "taskgraph", examples=10, called="online", checks=["feasible"]).instances > 0
    assert set(asked) == {"decide"}


def test_a_rule_that_cheats_is_caught():
    def early(instance, *, rng):
        made = list_schedule(instance, rng=rng)
        return made.replace(start=np.zeros_like(made.start))

    with pytest.raises((AssertionError, SolverError), match="the plan is infeasible"):
        check_scheduler(early, "taskgraph", examples=4)
