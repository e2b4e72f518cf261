"""`mlsched simulate` over one's own log, with one's own rule; `mlsched data`."""

from __future__ import annotations

import csv
import json

import pytest

from mlsched.instances.traces import public

READ = ("--read", "submit=when,duration=took:min,gpus=cards,user=who")
RULE = """
import mlsched

def latest_first(snapshot, *, rng, sign: int = -1):
    return mlsched.start_in_order(snapshot, sign * snapshot.arrival)

def broken(snapshot, *, rng):
    raise RuntimeError("no idea")

a_number = 3
"""


@pytest.fixture
def log(tmp_path):
    """Six jobs of two users, one of them on 16 GPUs."""
    rows = [
        "when,took,cards,who",
        *(f"{60 * k},10,{16 if k == 2 else 4},{'ann' if k % 2 else 'bob'}" for k in range(6)),
    ]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "log.csv"


@pytest.fixture
def nodes(tmp_path):
    (tmp_path / "nodes.csv").write_text("name,gpus\na,8\nb,8\n")
    return tmp_path / "nodes.csv"


@pytest.fixture
def rules(tmp_path, monkeypatch):
    (tmp_path / "own_rules_for_this_test.py").write_text(RULE)
    monkeypatch.syspath_prepend(tmp_path)
    return "own_rules_for_this_test"


def test_dates_and_errors_of_estimates_are_named(cli, tmp_path):
    log = tmp_path / "dates.csv"
    log.write_text("when;took_min;gpus\n2024-01-01 10:00:00;30;1\n2024-01-01 10:05:00;10;2\n")
    words = ("--trace", log, "--read", "submit=when,duration=took_min", "--cluster", "1x(8gpu)", "--set", "error=0.1")
    found = cli("simulate", "fifo", *words)
    assert "own log: submit=when (dates), duration=took_min in min; by their names: gpus=gpus" in found.out
    assert "; estimated running times are off by up to 20 %; " in found.out


def test_a_log_and_a_rule_in_one_command(cli, log, nodes, rules, tmp_path):
    target, picture = tmp_path / "jobs.csv", tmp_path / "runs.png"
    own = f"{rules}:latest_first"
    words = ("--trace", log, *READ, "--cluster", nodes, "--jobs", target, "--plot", picture)
    found = cli("simulate", "fifo", "srpt", own, *words)
    assert found.status == 0
    assert "6 jobs on 2x(8 gpu); times in minutes" in found.out
    assert "utilisation gpu " in found.out
    assert "own log: submit=when in s, duration=took in min, gpus=cards, user=who" in found.out
    assert "; estimated running times are exact; " in found.out
    assert "every run passed the independent replay check" in found.out
    assert found.err.count("\n") == 1, "each note once, whatever the number of policies"
    assert found.err.startswith(
        "mlsched: note: The log has no time limits of its users: backfilling goes by estimated running times."
    )
    with target.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["policy"] for row in rows] == ["fifo"] * 6 + ["srpt"] * 6 + [own] * 6
    assert rows[2] | {"job": "line-4", "user": "bob", "gpus": "16.0", "submit_s": "120.0"} == rows[2]
    assert picture.read_bytes().startswith(b"\x89PNG")
    first = cli(
        "simulate", f"{own}:sign=1", "best-effort-fifo", "--trace", log, *READ, "--cluster", nodes, "--json"
    ).document
    assert first["runs"][0]["summary"]["total_jct"] == first["runs"][1]["summary"]["total_jct"]


def test_what_is_wrong_is_one_line(cli, log, nodes, rules, tmp_path):
    def refused(policy, *words, source=log):
        return cli("simulate", policy, "--trace", source, *words).refused

    refused("fifo", "--read", "submit=x", "--cluster", nodes)("line 1: column 'x' for submit is missing; the columns")
    refused("fifo", *READ, "--cluster", "1x(8gpu)")(
        "1 of 6 jobs ask for 2 tasks of 8 gpu at once", "the first is job 2, 'line-4' of the log; enlarge"
    )
    huge = tmp_path / "huge.csv"
    huge.write_text("submit,duration,gpus\n0,1,1\n1,1,90000000\n")
    refused("fifo", source=huge)("job 'line-3' needs 90000000 GPUs or CPUs, expected at most 100000")
    refused("fifo", *READ, "--jobs", tmp_path / "x.txt")("expected a name ending in .csv or .parquet")
    refused("fifo", *READ, source="synthetic:gangs")("synthetic:gangs: read: options of logs; leave them out")
    refused("fitgpp", *READ, "--jobs", tmp_path / "x.csv")("not available for runs of preemption")
    for policy, message in (
        ("no_such_module:rule", "there is neither a solver nor a module 'no_such_module'"),
        (f"{rules}:nothing", "function 'nothing' is missing in"),
        (f"{rules}:a_number", "function 'a_number' is missing in"),
        (f"{rules}:latest_first:depth=3", "unknown parameter 'depth'"),
    ):
        refused(policy, *READ, "--cluster", nodes)(message)
    found = cli("simulate", f"{rules}:broken", "--trace", log, *READ, "--cluster", nodes, "--json")
    assert found.status == 1
    assert "raised RuntimeError: no idea" in found.err


def test_a_log_that_cannot_have_been_has_no_gap_but_a_proof(cli, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit,start,end,gpus\n0,0,100,3\n5,50,120,2\n7,6,20,1\n")
    words = ("--trace", path, "--cluster", "1x(4gpu)", "--set", "tick=1")
    found = cli("simulate", "as-logged", "fifo", *words)
    assert found.status == 1
    assert "no gap: capacity: from 50 s to 100 s, 5 GPUs are in use on the cluster, which has 4" in found.err
    assert "start before submit: line-4 starts at 6 s, 1 s before its submit" in found.err
    assert "total_jct above its bound" in found.out, "of fifo"
    document = json.loads(cli("simulate", "as-logged", *words, "--json").out)
    assert "gaps" not in document["runs"][0]
    assert document["runs"][0]["lint"][0]["amount"] == 5.0


def test_a_wrong_option_lists_all_options(cli, log):
    given = ("--trace", log, *READ, "--cluster", "1x(8gpu)", "--set", "foo=1")
    cli("simulate", "fifo", *given).refused("movement, overload_power, oversize, ", "usage_seed, usage_spread\n")


def test_oversized_jobs_can_be_left_out(cli, log):
    words = ("--trace", log, *READ, "--cluster", "1x(8gpu)", "--set", "oversize=drop", "--json")
    document = cli("simulate", "fifo", *words).document
    assert document["runs"][0]["summary"]["jobs"] == 5
    assert "1 jobs that never fit left out" in document["source"], "the hash depends on the source"
    assert "1 job that never fit left out" in cli("simulate", "fifo", *words[:-1]).out


@pytest.mark.filterwarnings("ignore:the offered load")
def test_samples_run_offline_and_a_log_of_processors_by_its_processors(cli, tmp_path):
    for name in public.CATALOGUE:
        document = cli("simulate", "fifo", "--trace", f"sample:{name}", "--limit", 30, "--json").document
        assert document["runs"][0]["summary"]["jobs"] == 30
    (tmp_path / "x.swf").write_text("1 0 5 100 4 -1 -1 4 300 -1 1 7 2 -1 1 -1 -1 -1\n")
    document = cli("simulate", "fifo", "--trace", tmp_path / "x.swf", "--cluster", "3x(2cpu)", "--json").document
    assert document["cluster"] == "3x(2 cpu)"
    cli("simulate", "fifo", "--trace", "sample:x").refused("unknown public trace 'x'; there are philly")
    cli("simulate", "fifo", "--trace", "data:philly-2").refused("unknown public trace 'philly-2'")


def test_the_list_of_public_traces(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("MLSCHED_CACHE", str(tmp_path))
    shown = cli("data", "list").out
    for text in ("philly", "CC-BY-4.0", "mlsched data fetch philly", "--trace sample:philly", "https://"):
        assert text in shown
    document = cli("data", "list", "--json").document
    assert document["folder"] == str(tmp_path)
    assert {entry["name"]: entry["fetched"] for entry in document["traces"]} == dict.fromkeys(public.CATALOGUE)
    cli("data", "fetch", "x").refused("unknown public trace 'x'")
    cli("data").refused("Missing command; see `mlsched data --help`")
    cli("simulate", "fifo", "--trace", "data:philly").refused("is not on this machine; fetch it with `mlsched data")


def test_a_job_that_requests_nothing_of_the_cluster_is_named(cli, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("submit,duration,gpus,cpus\n0,60,1,4\n10,60,0,4\n20,60,0,2\n")
    found = cli("simulate", "fifo", "--trace", log, "--cluster", "2x(8gpu)")
    assert "1 of the log's 3 jobs on 2x(8 gpu)" in found.out
    assert "2 jobs left out: they request only resources that the cluster does not state" in found.out


def test_a_log_of_cpus_needs_a_cluster_with_cpus(cli, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("submit,duration,cpus\n0,60,4\n10,60,2\n")
    found = cli("simulate", "fifo", "--trace", log, "--cluster", "2x(8gpu)")
    assert found.status == 2
    assert "cluster: states no cpu, which every job of the log requests" in found.err
    assert len(found.err.splitlines()) == 1
    assert cli("simulate", "fifo", "--trace", log, "--cluster", "2x(8gpu,8cpu)").status == 0


def test_jobs_of_several_sizes_that_never_fit_are_one_sentence(cli, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("submit,duration,gpus\n0,60,16\n10,60,32\n20,60,1\n")
    found = cli("simulate", "fifo", "--trace", log, "--cluster", "1x(8gpu)")
    assert found.status == 2
    assert "also 1 other kind of job; enlarge the cluster, or drop such jobs" in found.err
    assert " ... " not in found.err
