"""Files of others: STG, PSPLIB, job shop, and profiles of models."""

from __future__ import annotations

import csv
import json
import tarfile

import numpy as np
import pytest
from draws import share
from taskgraph_examples import list_schedule

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName
from mlsched.instances.taskgraph import from_networkx
from mlsched.instances.taskgraph.algorithms import ALGORITHMS
from mlsched.instances.taskgraph.profiles import job_graph, read_profiles

STG = """ 3
 0 0 0
 1 4 1 0
 2 3 1 0
 3 2 2 1 2
 4 0 1 3
# a comment
"""
JOBSHOP = "2 2\n0 3 1 2\n1 4 0 1\n"
PSPLIB = """****
jobs (incl. supersource/sink ):  4
RESOURCES
  - renewable                 :  2   R
  - nonrenewable              :  0   N
  - doubly constrained        :  0   D
****
PRECEDENCE RELATIONS:
jobnr.    #modes  #successors   successors
   1        1          2           2   3
   2        1          1           4
   3        1          1           4
   4        1          0
****
REQUESTS/DURATIONS:
jobnr. mode duration  R 1  R 2
------------------------------
  1      1     0       0    0
  2      1     8       4    0
  3      1     4       3    1
  4      1     0       0    0
****
RESOURCEAVAILABILITIES:
  R 1  R 2
    6    1
****
"""


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def makespan(instance):
    best = mlsched.solve(instance, "brute-force", objective="makespan")
    assert best.status == "optimal"
    return best.sort_key


def test_a_task_graph(tmp_path):
    path = write(tmp_path, "g.stg", STG)
    inst = mlsched.load(path, processors=2)
    assert inst.duration.tolist() == [0, 4, 3, 2, 0]
    assert inst.node_capacity.tolist() == [[1], [1]]
    assert sorted(zip(inst.edge_from.tolist(), inst.edge_to.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 3),
        (2, 3),
        (3, 4),
    ]
    assert [makespan(mlsched.load(path, processors=m)) for m in (1, 2, 3)] == [9, 6, 6]
    assert mlsched.load(path, processors="2") == inst


def test_a_job_shop(tmp_path):
    inst = mlsched.load(write(tmp_path, "j.txt", "# comment\n" + JOBSHOP))
    assert inst.task_job.tolist() == [0, 0, 1, 1]
    assert inst.eligible.tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
    assert makespan(inst) == 6


def test_a_project(tmp_path):
    inst = mlsched.load(write(tmp_path, "p.sm", PSPLIB))
    assert (inst.resources, inst.node_capacity.tolist()) == (("R1", "R2"), [[6, 1]])
    assert inst.demand.tolist() == [[0, 0], [4, 0], [3, 1], [0, 0]]
    assert makespan(inst) == 12


def test_records_keep_any_name(tmp_path):
    inst = mlsched.generate("taskgraph", seed=0)
    mlsched.save(inst, tmp_path / "inst.txt")
    assert mlsched.load(tmp_path / "inst.txt") == inst
    with pytest.raises(InvalidInput, match="processors: options are for files of other programs"):
        mlsched.load(tmp_path / "inst.txt", processors=3)


BAD = [
    ("g.stg", "x", "line 1: 'x' is not an integer, expected the number of tasks"),
    ("g.stg", "", "the file ends here; the number of tasks should follow"),
    ("g.stg", "1\n0 0 0\n1 4 1 0", "line 3: the file ends here; task 2"),
    ("g.stg", STG.replace(" 2 3 1 0", " 7 3 1 0"), "line 4: task 7: expected 2, tasks come in order"),
    ("g.stg", STG.replace("3 2 2 1 2", "3 2 2 1"), "line 5: task 3 announces 2 predecessors and names 1"),
    ("g.stg", STG.replace("3 2 2 1 2", "3 2 2 1 9"), "line 5: predecessor 9: expected between 0 and 4"),
    ("g.stg", STG.replace("1 4 1 0", "1 -4 1 0"), "line 3: duration -4"),
    ("g.stg", STG.replace("1 4 1 0", "1 4 1 3"), "task 1 waits for itself"),
    ("g.stg", STG + "5 5 5", "unexpected after the last task"),
    ("g.stg", "99999999999", "tasks: expected between"),
    ("j.txt", "2", "line 1: 1 numbers: the numbers of jobs and machines needs 2"),
    ("j.txt", "1 2\n0 3 1", "line 2: job 0 has 3 numbers, expected pairs"),
    ("j.txt", "1 2\n0 3 2 5", "line 2: machine 2: expected between 0 and 1"),
    ("j.txt", "2 2\n0 3 1 5", "the file ends here; job 1"),
    ("j.txt", "hello", "line 1: 'hello' is not an integer"),
    ("j.txt", "[1, 2]", "line 1: '[1,' is not an integer"),
    ("p.sm", "nothing", "the file ends without 'jobs (incl. supersource/sink )'"),
    ("p.sm", PSPLIB.replace("supersource/sink ):  4", "supersource/sink ):  x"), "line 2: jobs"),
    ("p.sm", PSPLIB.replace(":  0   N", ":  1   N"), "line 5: nonrenewable resources: only renewable"),
    (
        "p.sm",
        PSPLIB.replace("   2        1          1           4", "   2        2          1           4"),
        "line 11: expected job 2, 1 mode",
    ),
    (
        "p.sm",
        PSPLIB.replace("2        1          1           4", "2        1          1           9"),
        "line 11: successor 9: expected between 1 and 4",
    ),
    ("p.sm", PSPLIB.replace("4       3    1", "4       3"), "line 20: 4 numbers: the requests of job 3 needs 5"),
    ("p.sm", PSPLIB.replace("    6    1", ""), "the availabilities"),
    ("p.sm", PSPLIB.replace("RESOURCEAVAILABILITIES", "NOTHING"), "the file ends without the section RESOURCEAV"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD)
def test_bad_files_are_refused_in_one_line(tmp_path, name, text, message):
    options = {"processors": 2} if name.endswith("stg") else {}
    with pytest.raises(InvalidFile) as found:
        mlsched.load(write(tmp_path, name, text), **options)
    assert message in str(found.value)
    assert str(found.value).startswith(str(tmp_path / name))
    assert "\n" not in str(found.value)


def test_options_of_readers(tmp_path):
    with pytest.raises(InvalidInput, match="give processors="):
        mlsched.load(write(tmp_path, "g.stg", STG))
    with pytest.raises(InvalidInput, match="processors: -1"):
        mlsched.load(tmp_path / "g.stg", processors=-1)
    with pytest.raises(UnknownName, match="unknown parameter 'machines'"):
        mlsched.load(tmp_path / "g.stg", machines=2)
    with pytest.raises(InvalidFile, match="file not found"):
        mlsched.load(tmp_path / "missing.stg", processors=2)
    (tmp_path / "b.sm").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidFile, match="is not text"):
        mlsched.load(tmp_path / "b.sm")


def published(known_optima):
    """(file, options, published optimal makespan) of every file."""

    def rows(name):
        return csv.DictReader((known_optima / name).read_text().splitlines())

    for row in rows("stg/optima.csv"):
        yield known_optima / "stg" / row["file"], {"processors": int(row["processors"])}, int(row["optimal_makespan"])
    for row in rows("jsp/optima.csv"):
        yield known_optima / "jsp" / row["file"], {}, int(row["optimal_makespan"])
    for row in rows("psplib_j30/optimum.csv"):
        path = known_optima / "psplib_j30" / row["problem"]
        if path.exists():
            yield path, {}, int(row["optimum"])


def test_every_published_instance_loads_and_no_schedule_beats_its_optimum(known_optima):
    """All are read; every third is scheduled, or each."""
    files, ratios = list(published(known_optima)), []
    assert len(files) > 100
    read = [mlsched.load(path, **options) for path, options, _ in files]
    for number in share(range(len(files)), 3):
        (path, _, optimum), inst = files[number], read[number]
        result = mlsched.solve(inst, list_schedule)
        assert result.sort_keys["makespan"] >= optimum, path
        assert result.sort_keys["traffic"] == result.sort_keys["total_accuracy"] == 0
        ratios.append(result.sort_keys["makespan"] / optimum)
    assert np.mean(ratios) < 2.5, "a list schedule is not this bad: the instance must have been read wrongly"


GRAPH = """node2 -- Linear(in=4, out=2) -- forward_compute_time=2.000, backward_compute_time=4.000, activation_size=3000000.000, parameter_size=80.000
node1 -- Input -- forward_compute_time=640.000, backward_compute_time=0.000, activation_size=1000000.0, parameter_size=0.000
node3 -- Two -- forward_compute_time=1.000, backward_compute_time=1.000, activation_size=[500000.0; 500000.0], parameter_size=8.000
\tnode1 -- node2
\tnode2 -- node3"""  # noqa: E501 - as in the files
DNN = {
    "nodes": [{"id": 0, "fpgaLatency": 2.5, "size": 8.0}, {"id": 1, "fpgaLatency": 1, "size": 4}],
    "edges": [{"sourceId": 0, "destId": 1, "cost": 9, "size": 2e6}],
}


def test_a_pipedream_profile(tmp_path):
    profile = read_profiles(write(tmp_path, "graph.txt", GRAPH))["graph"]
    assert dict(profile.nodes(data="time")) == {"node2": 6.0, "node1": 0.0, "node3": 2.0}, "loading data takes no time"
    assert profile.nodes["node2"]["parameters"] == 20
    assert profile.edges["node2", "node3"]["bytes"] == 3e6
    graph = job_graph(profile, 2, tick=2.0, bandwidth=500.0)
    inst = from_networkx(graph, [{"gpu": 1}] * 2)
    assert inst.duration.tolist() == [3, 1]
    assert inst.parameters.tolist() == [20, 2]
    # 3 MB at 500 MB/s are 6 ms, three ticks; the next iteration waits without one.
    assert (inst.edge_volume.tolist(), inst.edge_delay.tolist(), inst.edge_lag.tolist()) == ([3, 0], [3, 0], [0, 1])


def test_a_dnn_partitioning_profile(tmp_path):
    profile = read_profiles(write(tmp_path, "g.json", json.dumps(DNN)))["g"]
    assert dict(profile.nodes(data="time")) == {0: 2.5, 1: 1.0}
    assert len(job_graph(profile, 1)) == 1
    assert len(job_graph(profile, 9)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GRAPH + "\n\tnode3 -- node9", "line 6: unknown layer 'node9'"),
        (GRAPH + "\n\tnode3 - node1", "line 6: expected 'id -- id'"),
        (GRAPH.replace("2.000, backward", "nan, backward"), "line 1: nan must be at least 0"),
        (GRAPH.replace("2.000, backward", "two, backward"), "line 1: 'two' is not a number"),
        (GRAPH.replace("node2 -- Linear", "node2 Linear"), "line 1: expected 'id -- layer"),
        (GRAPH + "\n\tnode3 -- node2", "has a cycle"),
        ("", "is empty"),
        ("{", "line 1: is not JSON"),
        ("{}", "is not a dnn-partitioning graph"),
        (json.dumps({**DNN, "edges": [{"sourceId": 0, "destId": 5, "size": 1}]}), "edge 0 -> 5: names a node"),
    ],
)
def test_bad_profiles_are_refused(tmp_path, text, message):
    with pytest.raises(InvalidFile) as found:
        read_profiles(write(tmp_path, "graph.txt", text))
    assert message in str(found.value)


def test_archives(tmp_path):
    write(tmp_path, "graph.txt", GRAPH)
    with tarfile.open(tmp_path / "p.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "graph.txt", "a/graph.txt")
    assert list(read_profiles(tmp_path / "p.tar.gz")) == ["a/graph.txt"]
    (tmp_path / "q.tar.gz").write_bytes(b"no archive")
    for name, fragment in (("q.tar.gz", "cannot be read"), ("missing.txt", "file not found")):
        with pytest.raises(InvalidFile, match=fragment):
            read_profiles(tmp_path / name)


def test_the_public_profiles(shared_data):
    """All 30 can be cut and asked; AlexNet's and ResNet-50's parameters are those of our table."""
    layers = read_profiles(shared_data / "pipedream" / "pipedream_profiles.tar.gz")
    others = read_profiles(shared_data / "dnn_partitioning" / "dnn_partitioning_graphs.tar.gz")
    assert (len(layers), len(others)) == (14, 16)
    for name, ours in (("alexnet", "alexnet"), ("resnet50", "resnet")):
        profile = layers[f"image_classification/profiles/{name}/graph.txt"]
        assert sum(p for _, p in profile.nodes(data="parameters")) == sum(
            layer.parameters for layer in ALGORITHMS[ours].layers
        )
        assert max(t for _, t in profile.nodes(data="time")) < 400
    for profile in [*layers.values(), *others.values()]:
        graph = job_graph(profile, 4)
        total = sum(t for _, t in profile.nodes(data="time"))
        inst = from_networkx(graph, [{"gpu": 2}] * 2)
        assert total / 10 <= inst.duration.sum() <= total / 10 + 4
        assert inst.violations(mlsched.solve(inst, list_schedule).plan) == []
