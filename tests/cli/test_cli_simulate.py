"""`simulate`: synthetic workloads, workload files and traces."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

from mlsched import api
from mlsched.core.registry import registry
from mlsched.core.solver import Solver
from mlsched.instances.preemption import Plan

SMALL = "synthetic:z:jobs=80,nodes=2"


CLUSTER = ["--cluster", "1x(32cpu,64gb,4gpu)"]


@pytest.fixture
def replaced(monkeypatch):
    """`replaced(name, function)`: that rule answers with another function."""

    def change(name, function):
        found = registry().solvers["preemption", name]
        changed: Solver = dataclasses.replace(found, function=function, rule=None)
        monkeypatch.setitem(registry().solvers, ("preemption", name), changed)

    return change


# -- what it does -----------------------------------------------------------------------------------------------------


def test_several_policies_and_the_problem_is_inferred(cli):
    found = cli("simulate", "fifo", "fitgpp:s=8", "lrtp", "rand", "--trace", SMALL, "--seed", 2)
    assert (found.status, found.err) == (0, "")
    for text in (
        "fifo",
        "fitgpp:s=8",
        "te_slowdown p95",
        "80 jobs on 2x(32 cpu, 256 ram, 8 gpu)",
        "every run passed the independent replay check",
    ):
        assert text in found.out


def test_the_document_is_that_of_the_api(cli):
    document = cli("simulate", "fitgpp", "--trace", SMALL, "--seed", 2, "--json").document
    run = api.simulate(api.workload(SMALL, seed=2), "fitgpp", seed=2)
    assert document["violations"] == []
    assert document["workload_hash"] == run.workload.hash
    (entry,) = document["runs"]
    assert entry["summary"] == json.loads(json.dumps(run.summary()))
    assert (entry["policy"], entry["seed"], entry["scheduling_events"], entry["optimality"]) == (
        "fitgpp",
        2,
        "interval:60",
        None,
    )


def test_set_reaches_the_source_and_the_world(cli):
    settings = {"te_share": "0.5", "blocking": "none", "preemption_limit": "inf", "te_first": "false"}
    given = itertools.chain.from_iterable(("--set", f"{k}={v}") for k, v in settings.items())
    document = cli("simulate", "lrtp", "--trace", SMALL, "--scheduling-events", "events", *given, "--json").document
    (entry,) = document["runs"]
    assert "te_share=0.5" in document["source"]
    assert entry["summary"]["te_jobs"] == 40
    assert (entry["options"]["blocking"], entry["options"]["te_first"]) == ("none", False)
    assert entry["options"]["preemption_limit"] == 2**31 - 1
    assert entry["scheduling_events"] == "events"


def test_record_compares_with_the_optimum(cli):
    document = cli(
        "simulate", "fitgpp", "cp-sat", "--trace", SMALL, "--time-limit", 60, "--record", 1, "--json"
    ).document
    rule, exact = document["runs"]
    for entry in (rule, exact):
        assert entry["recorded_decisions"] == entry["summary"]["decisions"] == entry["optimality"]["count"] > 0
        gaps = entry["optimality"]
        assert gaps["relative"] + gaps["absolute"] + gaps["behind"] == gaps["count"]
    assert exact["optimality"]["optimal"] == 1
    assert {exact["optimality"][name] for name in ("mean", "mean_difference", "mean_behind")} <= {0, None}
    assert 0 <= rule["optimality"]["optimal"] <= 1
    shown = cli("simulate", "fitgpp", "--trace", SMALL, "--record", 1).out
    assert "decisions optimal" in shown
    assert "Gap: (value - optimum) / |optimum|" in shown


def test_the_output_file_holds_every_run(cli, tmp_path):
    path = tmp_path / "runs.json"
    assert cli("simulate", "fifo", "lrtp", "--trace", SMALL, "-o", path).status == 0
    data = json.loads(path.read_text())
    assert (data["kind"], data["version"]) == ("preemption.runs", 1)
    assert [run["solver"] for run in data["runs"]] == ["fifo", "lrtp"]
    assert len(data["runs"][0]["jobs"]["finish"]) == 80
    assert [p.name for p in tmp_path.iterdir()] == ["runs.json"]


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_plot_is_a_picture(cli, tmp_path, suffix, magic):
    path = tmp_path / f"cdf.{suffix}"
    assert cli("simulate", "fifo", "--trace", SMALL, "--plot", path).status == 0
    assert path.read_bytes().startswith(magic)


def test_a_workload_file_with_a_colon_in_its_name(cli, tmp_path):
    path = tmp_path / "a:b.json"
    load = api.workload(SMALL)
    api.save(load, path)
    assert cli("simulate", "fifo", "--trace", path, "--json").document["workload_hash"] == load.hash


def test_an_empty_workload(cli, tmp_path):
    path = tmp_path / "empty.json"
    empty = {"submit": [], "te": [], "execution": [], "demand": [], "grace": []}
    api.save(api.workload(SMALL).replace(**empty), path)
    assert cli("simulate", "fifo", "--trace", path, "--json").document["runs"][0]["summary"]["jobs"] == 0


def test_a_trace(cli, pods):
    document = cli("simulate", "fitgpp", "fifo", "--trace", pods, *CLUSTER, "--json").document
    assert document["cluster"] == "1x(32 cpu, 64 gb, 4 gpu)"
    assert [run["summary"]["te_jobs"] for run in document["runs"]] == [4, 4]
    assert document["runs"][0]["summary"]["preemptions"] > 0
    options = ["--limit", 5, "--set", "kinds=random", "--set", "te_share=1"]
    cut = cli("simulate", "lrtp", "--trace", pods, *CLUSTER, *options, "--json").document["runs"][0]["summary"]
    assert (cut["jobs"], cut["te_jobs"]) == (5, 5)


def test_a_policy_of_several_problems_is_told_apart_by_the_workload_or_must_be_said(cli, pods, tmp_path):
    """fifo is a rule for preemption and for taskgraph; a log runs as gangs, unless the problem is said."""
    gangs = cli("simulate", "fifo", "--trace", pods, *CLUSTER, "--json").document
    assert "; gangs; shape=log; a pause costs 30 s; movement=anytime; ticks of 60 s" in gangs["source"]
    cli("simulate", "fifo", "--trace", "synthetic:none").refused("unknown synthetic workload 'none'; there are")
    graphs = cli("simulate", "fifo", "--trace", "synthetic:mlfs:jobs=4,runs=10", "--json").document
    assert graphs["runs"][0]["summary"]["jobs"] == 4
    path = tmp_path / "w.json"
    api.save(api.workload("synthetic:mlfs:jobs=4,runs=10"), path)
    assert cli("simulate", "fifo", "--trace", path, "--json").document["workload_hash"] == graphs["workload_hash"]


def test_what_a_run_assumed_is_printed_a_line_each(cli, pods):
    """Of policies that assume alike once, of others with their names."""
    printed = cli("simulate", "fifo", "--trace", "synthetic:mlfs:jobs=4,runs=10").out
    names = [line.partition(":")[0] for line in printed.splitlines()]
    for name in ("shape", "pause cost", "movement", "tick"):
        assert names.count(name) == 1, printed
    printed = cli("simulate", "fifo", "srpt:preempt=true", "--trace", pods, *CLUSTER).out
    costs = [line for line in printed.splitlines() if line.startswith("pause cost")]
    assert any("occupies its nodes for 30 s without progress" in line and "srpt" in line for line in costs), printed
    assert any("jobs do not pause here" in line and "fifo" in line for line in costs), printed


def test_a_trace_on_a_node_file(cli, pods, tmp_path):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,32000,65536,4,T4\n")
    document = cli(
        "simulate", "fifo", "--trace", pods, "--problem", "preemption", "--cluster", nodes, "--json"
    ).document
    assert document["cluster"] == "1x(32 cpu, 64 gb, 4 gpu)"


@pytest.mark.filterwarnings("ignore:the offered load")
def test_the_alibaba_trace(cli, shared_data):
    path = shared_data / "alibaba_gpu_v2023" / "openb_pod_list_default.csv.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    found = cli(
        "simulate",
        "fifo",
        "fitgpp",
        "lrtp",
        "rand",
        "--trace",
        path,
        "--limit",
        300,
        "--set",
        "oversize=drop",
        "--cluster",
        "5x(88cpu,320gb,8gpu)",
        "--record",
        1,
        "--json",
    )
    assert found.status == 0
    assert found.document["violations"] == []
    fifo, *others = (run["summary"] for run in found.document["runs"])
    assert (fifo["jobs"], fifo["preemptions"]) == (300, 0)
    for rule in others:
        assert rule["preemptions"] > 0
        assert rule["te_slowdown"]["p95"] < fifo["te_slowdown"]["p95"]


# -- what fails -------------------------------------------------------------------------------------------------------


def test_a_run_that_does_not_replay_exits_1_with_its_output_written(cli, replaced, tmp_path):
    """A rule with a hidden state of its own: the same question gets another answer the second time."""
    seen = set()

    def fickle(instance, *, rng):
        able = np.flatnonzero(instance.preemptible)[: int(instance.hash in seen)]
        seen.add(instance.hash)
        return Plan(te_node=[-1] * len(instance.te_demand), victims=able)

    replaced("fifo", fickle)
    path = tmp_path / "runs.json"
    found = cli("simulate", "fifo", "--trace", SMALL, "--set", "te_first=true", "--record", 1, "-o", path)
    assert found.status == 1
    lines = found.err.splitlines()
    assert lines
    assert all(line.startswith("mlsched: fifo: decision ") and line.endswith("does not replay") for line in lines)
    assert "every run passed" not in found.out
    assert json.loads(path.read_text())["runs"]


@pytest.mark.parametrize(
    ("rule", "fragment"),
    [
        (lambda i, *, rng: Plan(te_node=[0], victims=[]), "infeasible plan: node 0"),
        (lambda i, *, rng: None, "infeasible plan: the answer is a NoneType"),
        (lambda i, *, rng: 1 // 0, "raised ZeroDivisionError"),
    ],
)
def test_a_rule_that_breaks_the_contract_exits_1(cli, replaced, tmp_path, rule, fragment):
    replaced("lrtp", lambda instance, *, rng, P=0: rule(instance, rng=rng))
    found = cli("simulate", "lrtp", "--trace", SMALL, "-o", tmp_path / "runs.json")
    found.refused("lrtp: decision 0 at ", fragment, status=1)
    assert list(tmp_path.iterdir()) == []


def test_a_policy_that_breaks_does_not_keep_the_others_from_running(cli, replaced, tmp_path):
    def ends(instance, *, rng, P=0):
        raise SystemExit(0)

    replaced("lrtp", ends)
    found = cli("simulate", "lrtp", "fifo", "--trace", SMALL, "--json", "-o", tmp_path / "runs.json")
    assert found.status == 1
    assert "lrtp: decision 0 at " in found.err
    document = json.loads(found.out)
    failed, ran = document["runs"]
    assert (failed["policy"], failed["status"], ran["policy"]) == ("lrtp", "failed", "fifo")
    assert "raised SystemExit: 0" in failed["reason"]
    assert "raised SystemExit: 0" in document["violations"][0]
    assert [run["solver"] for run in json.loads((tmp_path / "runs.json").read_text())["runs"]] == ["fifo"]


def test_an_interrupt_exits_130(cli, replaced, tmp_path, control_c):
    def interrupt(instance, *, rng):
        control_c()

    replaced("fifo", interrupt)
    found = cli("simulate", "fifo", "--trace", SMALL, "--json", "-o", tmp_path / "runs.json")
    assert (found.status, found.out) == (130, "")
    assert found.err.strip() == "mlsched: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_keeps_the_policies_that_are_done(cli, replaced, tmp_path, control_c):
    asked = []

    def interrupt(instance, *, rng, P=0):
        asked.append(instance.hash)
        if len(asked) > 1:  # the first question is asked before the first run
            control_c()
        return Plan(te_node=[-1] * len(instance.te_demand), victims=[])

    replaced("lrtp", interrupt)
    found = cli("simulate", "fifo", "lrtp", "--trace", SMALL, "--json", "-o", tmp_path / "runs.json")
    assert found.status == 130
    assert [run["policy"] for run in json.loads(found.out)["runs"]] == ["fifo"]
    assert [run["solver"] for run in json.loads((tmp_path / "runs.json").read_text())["runs"]] == ["fifo"]


# -- worlds that count milliseconds -----------------------------------------------------------------------------------


def test_the_workers_world(cli):
    """Its options belong to source and world; exact gaps of recorded decisions."""
    given = ["--set", "jobs=2", "--set", "rate=20", "--set", "window=1", "--set", "floor=never", "--set", "most_ps=4"]
    document = cli(
        "simulate",
        "optimus",
        "fair",
        "--trace",
        "synthetic:chic",
        *given,
        "--record",
        1,
        "--problem",
        "workers",
        "--json",
    ).document
    assert document["violations"] == []
    for entry in document["runs"]:
        assert entry["options"] == {"window": 1, "floor": "never"}
        assert entry["optimality"]["count"] == entry["recorded_decisions"] == 2
        assert entry["summary"]["average_completion_s"] > 0
    ticks = cli(
        "simulate",
        "optimus",
        "--trace",
        "synthetic:chic",
        *given,
        "--scheduling-events",
        "interval:600",
        "--json",
        "--problem",
        "workers",
    ).document
    assert ticks["runs"][0]["summary"]["average_completion_s"] > document["runs"][0]["summary"]["average_completion_s"]
