"""`mlsched simulate` on task graphs, by tasks and by iterations."""

from __future__ import annotations

import json


def test_rules_for_task_graphs(cli, tmp_path):
    found = cli(
        "simulate",
        "fifo",
        "srpt",
        "tiresias",
        "--trace",
        "synthetic:dags:jobs=5,runs=8,nodes=2",
        "--record",
        1,
        "--set",
        "pausing=keep",
        "--plot",
        tmp_path / "jct.png",
        "-o",
        tmp_path / "runs.json",
    )
    assert found.status == 0
    for text in (
        "total_jct",
        "total_jct above its bound",
        "at most this far from the best",
        "jct_percentiles p95",
        "utilisation gpu",
        "every run passed",
    ):
        assert text in found.out
    data = json.loads((tmp_path / "runs.json").read_text())
    assert data["kind"] == "taskgraph.runs"
    assert [run["options"]["pausing"] for run in data["runs"]] == ["keep"] * 3


def test_task_graphs_by_iterations(cli, tmp_path):
    """A trace's jobs as gangs; and a synthetic workload that only the iteration engine has."""
    trace = tmp_path / "philly.csv"
    rows = ["timestamp,duration,num_gpus,gpu_time,cluster"]
    rows += [f"2017-10-09 07:0{i}:00,90.0,{1 + i},90,a" for i in range(4)]
    trace.write_text("\n".join(rows) + "\n")
    words = ("--problem", "taskgraph", "--simulator", "iterations", "--cluster", "1x(8gpu)", "--set", "tick=1")
    data = cli("simulate", "fifo", "srpt", "--trace", str(trace), *words, "--json").document
    assert data["violations"] == []
    assert [run["summary"]["jobs"] for run in data["runs"]] == [4, 4]
    assert data["runs"][0]["summary"]["total_jct"] == 4 * 90
    assert (data["runs"][0]["bound"]["total_jct"], data["runs"][0]["gaps"]["total_jct"]) == (4 * 90, 0)
    data = cli("simulate", "fair", "--trace", "synthetic:gangs:jobs=20", "--set", "pausing=keep", "--json").document
    assert data["violations"] == []
