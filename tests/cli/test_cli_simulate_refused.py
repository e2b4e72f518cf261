"""What `simulate` refuses: wrong calls, traces that cannot be, outputs that cannot be written."""

from __future__ import annotations

import pytest

from mlsched import api

SMALL = "synthetic:z:jobs=80,nodes=2"
CLUSTER = ["--cluster", "1x(32cpu,64gb,4gpu)"]


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["fitgp", "--trace", SMALL], "unknown policy 'fitgp' (did you mean 'fitgpp'?); see `mlsched list solvers`"),
        (["fifo", "nope", "--trace", SMALL], "unknown policy 'nope'; see `mlsched list solvers`"),
        (
            ["fitgpp", "max-rate", "--trace", SMALL],
            "fitgpp of preemption; max-rate of workers: run policies of one problem at a time",
        ),
        (["fifo", "fitgpp", "fifo", "--trace", SMALL], "POLICY fifo: is given twice; leave one out"),
        (
            ["fifo", "cp-sat", "--problem", "preemption", "--trace", SMALL],
            "cp-sat: is exact, expected a time limit for each decision; add --time-limit SECONDS, such as 1",
        ),
        (["nope", "--trace", SMALL, "--problem", "preemption"], "unknown solver 'nope' for preemption"),
        (["fifo", "--trace", SMALL, "--problem", "x"], "x is not simulated; there are placement"),
        (["fitgpp:z=1", "--trace", SMALL], "fitgpp: unknown parameter 'z'"),
        (["fitgpp:fallback=x", "--trace", SMALL], "fallback: 'x', expected one of random, again"),
        (["fifo", "--trace", "synthetic:q"], "unknown synthetic workload 'q'; there are uniform (placement), "),
        (["fifo", "--trace", "synthetic:z:jobs=0"], "jobs: 0, expected between 1 and 10000000"),
        (["fifo", "--trace", "synthetic:z:jobs=x"], "jobs: 'x', expected an integer"),
        (["fifo", "--trace", SMALL, "--set", "speed=1"], "--set speed: there are ask_again, asked"),
        (["fifo", "--trace", SMALL, "--set", "seed=1"], "--set seed: there are"),
        (["fifo", "--trace", SMALL, "--set", "blocking"], "--set: blocking, expected KEY=VALUE"),
        (["fifo", "--trace", SMALL, "--set", "blocking=x"], "--set: blocking=x, expected one of all, be, none"),
        (["fifo", "--trace", SMALL, "--set", "te_first=maybe"], "--set: te_first=maybe, expected true or false"),
        (["fifo", "--trace", SMALL, "--set", "te_share=nan"], "te_share: nan, expected a finite number"),
        (["fifo", "--trace", SMALL, "--set", "snapshot=0"], "--set: snapshot=0, expected between 1"),
        (["fifo", "--trace", SMALL, "--scheduling-events", "never"], "--scheduling-events: 'never', expected 'events'"),
        (["fifo", "--trace", SMALL, "--record", "2"], "--record: 2.0, expected between 0 and 1"),
        (["fifo", "--trace", SMALL, "--objective", "x"], "unknown objective 'x' of preemption"),
        (
            ["cp-sat", "--problem", "preemption", "--trace", SMALL, "--time-limit", "-1"],
            "--time-limit: -1.0, expected above 0",
        ),
        (["fifo", "--trace", SMALL, "--limit", "3"], "cluster and limit are for traces"),
        (["fifo", "--trace", SMALL, "--limit", "0"], "see `mlsched simulate --help`"),
        (["fifo", "--trace", SMALL, "--cluster", "1x(1gpu)"], "cluster and limit are for traces"),
        (["fifo", "--trace", "none.csv"], "none.csv: file not found; check the path"),
        (["fifo", "--trace", "/"], "/: is a directory; give a regular file"),
        (["fifo"], "see `mlsched simulate --help`"),
        (["--trace", SMALL], "see `mlsched simulate --help`"),
    ],
)
def test_a_wrong_call_is_refused(cli, arguments, fragment):
    cli("simulate", *arguments).refused(fragment)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--cluster", "4x(8tpu)"], "'8tpu' is not an amount of cpu, gb or gpu"),
        (["--cluster", "none.csv"], "none.csv"),
        (["--cluster", "1x(32cpu,64gb)"], "the run could never end: 12 of 12 jobs fit no node of"),
        (["--set", "kinds=x"], "--set: kinds=x, expected one of auto, qos, random, short"),
        (["--set", "arrivals=nan"], "--set: arrivals=nan, expected a finite number"),
        (["--set", "jobs=5"], "--set jobs: there are arrivals"),
        (["--set", "arivals=trace"], "--set arivals (did you mean 'arrivals'?): there are arrivals"),
        (["--set", "arrivals=0"], "--set: arrivals=0.0, expected above 0"),
        (
            ["--cluster", "1x(1gpu)", "--set", "oversize=drop"],
            "no job is left; check other_qos, oversize and the cluster",
        ),
    ],
)
def test_a_wrong_use_of_a_trace_is_refused(cli, pods, arguments, fragment):
    cli("simulate", "fifo", "--trace", pods, "--problem", "preemption", *arguments).refused(fragment)


@pytest.mark.parametrize(
    ("row", "fragment"),
    [
        ("x,2000,1024,1,2000,,BE,Succeeded,0,10,0", "line 4: gpu_milli"),
        ("x,many,1024,1,1000,,BE,Succeeded,0,10,0", "line 4: cpu_milli"),
        ("x,2000", "line 4: has 2 fields, expected 11"),
    ],
)
def test_a_bad_row_is_named_by_its_line(cli, pods, row, fragment):
    lines = pods.read_text().splitlines()
    pods.write_text("\n".join([*lines[:3], row, *lines[3:]]) + "\n")
    cli("simulate", "lrtp", "--trace", pods, *CLUSTER).refused(str(pods), fragment)


def test_a_row_that_ends_before_it_starts_is_skipped_and_counted(cli, pods):
    lines = pods.read_text().splitlines()
    pods.write_text("\n".join([*lines[:3], "x,2000,1024,1,1000,,BE,Succeeded,0,10,20", *lines[3:]]) + "\n")
    done = cli("simulate", "lrtp", "--trace", pods, *CLUSTER)
    assert done.status == 0
    assert "ends before it starts: 1" in done.out


def test_a_finished_workload_takes_no_further_settings(cli, tmp_path):
    path = tmp_path / "load.json"
    api.save(api.workload(SMALL), path)
    cli("simulate", "fifo", "--trace", path, *CLUSTER).refused("is a finished workload")
    cli("simulate", "fifo", "--trace", path, "--set", "kinds=short").refused("is a finished workload")


@pytest.mark.parametrize("kind", ["instance", "plan"])
def test_a_file_of_another_kind_is_no_workload(cli, instance_file, plan_file, kind):
    path = {"instance": instance_file, "plan": plan_file}[kind]
    cli("simulate", "fifo", "--trace", path).refused(f"{path}: kind: 'preemption.{kind}', expected a log of jobs, or")


def test_two_outputs_do_not_go_to_one_file(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = ("simulate", "fifo", "--trace", SMALL, "--table", "x.csv", "-o", tmp_path / "x.csv")
    cli(*call).refused("x.csv: is given with --table and with --output; give each a file of its own")
    assert list(tmp_path.iterdir()) == []


def test_outputs_that_cannot_be_written(cli, tmp_path):
    for option, name, fragment in (
        ("-o", "none/runs.json", "cannot be written: No such file or directory"),
        ("--plot", "none/cdf.png", "cannot be written: No such file or directory"),
        ("--plot", "cdf.xyz", "expected a name ending in .png, .svg or .pdf"),
    ):
        cli("simulate", "fifo", "--trace", SMALL, option, tmp_path / name).refused(name, fragment)
    assert list(tmp_path.iterdir()) == []
