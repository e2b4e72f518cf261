"""The generator and its presets: what graphs they draw, and that they keep drawing the same."""

from __future__ import annotations

import itertools
import json

import networkx as nx
import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.instances import strategies
from mlsched.instances.taskgraph.algorithms import ALGORITHMS, SYNCS, neighbours, partition, pieces, training_graph
from mlsched.instances.taskgraph.convert import Link
from mlsched.instances.taskgraph.dags import DAGS, fork_join
from mlsched.instances.taskgraph.generate import GPUS

#: Hashes of seed 0: presets are frozen, so these never change.
FROZEN = {
    "small": "b194b3d7",
    "six-loose": "d2da88e1",
    "six-tight": "eb37bcc9",
    "six-replicas": "74ae1853",
    "eight-loose": "a91a89c5",
    "ten-loose": "f2587596",
    "dags": "7d1d356f",
    "moving": "1bddfb10",
    "fractional": "6cfedd65",
    "sharing": "25886f0f",
}
BETWEEN, SYNCING = Link(5, 1), Link(7, 2)


def test_presets_are_frozen():
    assert {name: mlsched.generate("taskgraph", name, seed=0).hash[:8] for name in FROZEN} == FROZEN


@pytest.mark.parametrize("preset", sorted(registry().problem("taskgraph").presets))
def test_presets_draw_the_same_every_time_and_meet_their_sizes(preset):
    sizes = registry().problem("taskgraph").presets[preset].sizes
    drawn = [mlsched.generate("taskgraph", preset, seed=seed) for seed in range(draws(4, 6))]
    assert drawn == [mlsched.generate("taskgraph", preset, seed=seed) for seed in range(len(drawn))]
    for inst, after in itertools.pairwise(drawn):
        assert inst != after
        runs = int(inst.max_iterations[inst.task_job].sum())
        assert abs(runs - sizes["runs"]) <= 1 + 0.1 * sizes["runs"], "nearly as many runs as announced"
        assert (inst.max_iterations - inst.min_iterations <= 1).all()
        assert len(inst.arrival) == sizes["jobs"]
        assert (inst.deadline > inst.arrival).all()
        assert (inst.required <= inst.accuracy[np.arange(len(inst.arrival)), inst.min_iterations]).all()


@pytest.mark.parametrize("size", ["six", "eight", "ten"])
def test_kinds_of_presets_differ_as_announced(size):
    drawn = {
        kind: [mlsched.generate("taskgraph", f"{size}-{kind}", seed=s) for s in range(10)]
        for kind in ("loose", "tight", "replicas")
    }
    room = {kind: np.mean([(i.deadline - i.arrival).mean() for i in many]) for kind, many in drawn.items()}
    assert room["loose"] > 1.5 * room["tight"]
    crowded = 0
    for inst in drawn["replicas"]:
        gpus = int(inst.node_capacity[0, 0])
        first = ~np.isin(np.arange(len(inst.task_job)), inst.edge_to[inst.edge_lag == 0])
        asked = [inst.demand[first & (inst.task_job == j), 0].sum() for j in range(len(inst.arrival))]
        crowded += max(asked) > gpus
    assert crowded >= 8, "in nearly every instance some job's replicas exceed a node"


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("parts", GPUS)
def test_partitions_keep_the_model_whole(name, parts):
    algorithm = ALGORITHMS[name]
    stages = partition(algorithm, parts)
    layers = [layer for stage in stages for layer in stage]
    assert len(layers) == (1 if name == "svm" else parts)
    for size in ("parameters", "work"):
        whole = sum(getattr(layer, size) for layer in algorithm.layers)
        assert sum(getattr(layer, size) for layer in layers) == pytest.approx(whole)
    if algorithm.cut == "sequential":
        assert all(len(stage) == 1 for stage in stages)
    if algorithm.cut == "layers" and parts > 1:
        assert all(len(stage) > 1 for stage in stages), "each layer is partitioned into several parts"


def test_no_piece_has_half_of_the_work():
    work = [p.work for p in pieces(ALGORITHMS["alexnet"].layers, 4)]
    assert max(work) < 0.5 * sum(work)


def test_a_parameter_server_ends_an_iteration_and_begins_the_next():
    graph = training_graph(partition(ALGORITHMS["mlp"], 2), 3, "parameter-server", BETWEEN, SYNCING)
    assert len(graph) == 3 * 2 + 1
    inside = {(u, v) for u, v, lag in graph.edges(data="lag") if lag == 0}
    assert inside == {((r, 0, 0), (r, 1, 0)) for r in range(3)} | {((r, 1, 0), "ps") for r in range(3)}
    outside = {(u, v): d for u, v, d in graph.edges(data=True) if d["lag"] == 1}
    assert set(outside) == {("ps", (r, s, 0)) for r in range(3) for s in range(2)}
    assert all((d["volume"], d["delay"]) == (7, 2) for d in outside.values())
    assert graph.nodes["ps"]["parameters"] == sum(x.parameters for x in ALGORITHMS["mlp"].layers)


@pytest.mark.parametrize("sync", ["ring", "torus"])
@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 6, 9])
def test_every_reducer_precedes_all_of_the_next_iteration(sync, replicas):
    graph = training_graph(partition(ALGORITHMS["lstm"], 4), replicas, sync, BETWEEN, SYNCING)
    assert len(graph) == 4 * replicas
    # Two iterations unrolled: every worker reaches every worker of the next.
    unrolled = nx.DiGraph()
    for u, v, lag in graph.edges(data="lag"):
        unrolled.add_edges_from(((u, i - lag), (v, i)) for i in (0, 1) if i >= lag)
    for worker in graph:
        reached = nx.descendants(unrolled, (worker, 0))
        assert {v for v, i in reached if i == 1} == set(graph)
    sent = [(u, v) for u, v, d in graph.edges(data=True) if d["lag"] == 1 and d["volume"]]
    assert all(u[1:] == v[1:] and u[0] != v[0] for u, v in sent), "the same partition of a neighbour"


def test_rings_and_tori():
    assert list(neighbours(1, "ring")) == []
    assert list(neighbours(3, "ring")) == [(0, 1), (1, 2), (2, 0)]
    assert sorted(neighbours(6, "torus")) == sorted(
        [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5), (3, 0), (4, 1), (5, 2)]
    )
    assert sorted(neighbours(4, "torus")) == sorted([(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (1, 3), (2, 0), (3, 1)])
    assert list(neighbours(5, "torus")) == list(neighbours(5, "ring")), "a prime number has no other torus"


@pytest.mark.parametrize("sync", SYNCS)
def test_a_single_worker_talks_to_nobody(sync):
    graph = training_graph(partition(ALGORITHMS["svm"], 1), 1, sync, BETWEEN, SYNCING)
    assert (len(graph), graph.number_of_edges()) == (1, 0)


@pytest.mark.parametrize(
    ("parallelism", "rule"),
    [
        ("none", lambda tasks: tasks == 1),
        ("data", lambda tasks: 1 <= tasks <= 4),
        ("model", lambda tasks: tasks in (1, 4, 5)),
    ],
)
def test_parallelism(parallelism, rule):
    sizes = {"partitions": 4, "replicas": 3, "graph": "mlfs", "jobs": 4, "runs": 200, "gpus": 4}
    for seed in range(10):
        inst = mlsched.generate("taskgraph", seed=seed, parallelism=parallelism, **sizes)
        counts = np.bincount(inst.task_job)
        if parallelism == "model":
            assert set(counts.tolist()) <= {1, 2, 3, 4, 5}
        else:
            assert all(rule(int(n)) for n in counts)


@given(tasks=st.integers(1, 25), seed=st.integers(0, 10**6), kind=st.sampled_from(sorted(DAGS)))
def test_random_graphs_have_their_size_and_no_cycle(tasks, seed, kind):
    graph = DAGS[kind](np.random.default_rng(seed), tasks)
    assert sorted(graph) == list(range(tasks))
    assert all(u < v for u, v in graph.edges())
    assert len(set(graph.edges())) == graph.number_of_edges()
    if kind == "series-parallel":
        reach = {v: nx.descendants(graph, v) for v in graph}
        # Series-parallel orders are those without the pattern N.
        less = [(u, v) for u in graph for v in reach[u]]
        for (a, c), (b, d) in ((x, y) for x in less for y in less):
            if len({a, b, c, d}) == 4 and c not in reach[b] and d in reach[a]:
                related = b in reach[a] or a in reach[b] or c in reach[d] or d in reach[c]
                assert related, f"{a} < {c}, {b} < {d}, {a} < {d} is an N"


def test_fork_join_joins_every_fork():
    graph = fork_join(np.random.default_rng(3), 20)
    assert [v for v in graph if graph.in_degree(v) == 0] == [0]
    assert nx.number_weakly_connected_components(graph) == 1


def test_roles_are_named_where_asked_for_and_reach_both_worlds():
    sizes = {"graph": "mlfs", "sync": "parameter-server", "runs": 40, "jobs": 2, "replicas": 3, "nodes": 3, "gpus": 4}
    plain, named = (mlsched.generate("taskgraph", seed=3, roles=roles, **sizes) for roles in (False, True))
    assert plain != named
    assert named.replace(role=plain.role, replica=plain.replica) == plain
    servers = named.demand[:, 0] == 0
    assert servers.any()
    assert (named.role == servers).all()
    assert named.replica.max() > 0
    load = mlsched.workload("synthetic:mlfs", jobs=3, seed=1)
    run = mlsched.simulate(load, "fifo", record=1.0)
    first = run.recorded[0].instance
    assert first.role.tolist() == load.horizon.role[load.horizon.task_job == first.job_id[0]].tolist()
    assert (
        mlsched.workload("synthetic:mlfs", jobs=3, seed=1, simulator="iterations").role.sum() == load.horizon.role.sum()
    )


def test_knobs():
    base = {"jobs": 6, "runs": 50, "nodes": 3, "gpus": 4}
    pinned = mlsched.generate("taskgraph", seed=1, pinned=1.0, **base)
    assert (pinned.eligible.sum(axis=1) == 2).all()
    halves = mlsched.generate("taskgraph", seed=1, fractional=1.0, graph="dags", **base)
    assert set(halves.demand[:, 0].tolist()) == {50}
    moving = mlsched.generate("taskgraph", seed=1, movement="between_iterations", **base)
    own = moving.edge_from == moving.edge_to
    assert set(moving.edge_from[own].tolist()) == set(range(len(moving.task_job))), "every task has a price of moving"
    assert mlsched.generate("taskgraph", seed=1, spread=0.0, **base).arrival.max() == 0
    assert len(mlsched.generate("taskgraph", jobs=0).arrival) == 0
    free = mlsched.generate("taskgraph", seed=1, optional=1.0, **base)
    assert (free.min_iterations == np.maximum(1, free.max_iterations - 1)).all()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"jobs": 9}, "jobs: 9, expected between 0 and 7"),
        ({"nodes": 0}, "nodes: 0"),
        ({"slack": 0.5}, "slack: 0.5"),
        ({"graph": "tree"}, "graph: 'tree'"),
        ({"sync": "tree"}, "sync: 'tree'"),
        ({"optional": 1.5}, "optional: 1.5"),
        ({"parallelism": "all"}, "parallelism: 'all'"),
        ({"movement": "free"}, "movement: 'free'"),
    ],
)
def test_wrong_sizes_are_named(sizes, message):
    with pytest.raises(InvalidInput, match=message):
        mlsched.generate("taskgraph", **sizes)


@given(instance=strategies.taskgraph(jobs=2, nodes=2, tasks=3, runs=5))
def test_limits_are_kept_and_files_come_back_equal(instance):
    assert len(instance.arrival) <= 2
    assert len(instance.node_capacity) <= 2
    assert len(instance.task_job) <= 3
    assert instance.max_iterations[instance.task_job].sum() <= 5
    assert type(instance).from_json(json.loads(json.dumps(instance.to_json()))) == instance


def test_the_strategy_draws_every_feature():
    seen = dict.fromkeys(("residual", "begun", "lag 1", "delay", "no time", "movement", "infeasible", "no job"), 0)

    @settings(max_examples=120, derandomize=True, database=None)
    @given(instance=strategies.taskgraph())
    def look(instance):
        seen["residual"] += instance.now > 0
        seen["begun"] += len(instance.fixed_task) > 0
        seen["lag 1"] += bool((instance.edge_lag == 1).any())
        seen["delay"] += bool((instance.edge_delay > 0).any())
        seen["no time"] += bool((instance.duration == 0).any())
        seen["movement"] += instance.movement != "none"
        seen["no job"] += len(instance.arrival) == 0
        seen["infeasible"] += mlsched.solve(instance, "brute-force").status == "infeasible"

    look()
    assert min(seen.values()) > 0, seen
