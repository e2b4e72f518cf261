"""`simulate` for the placement world: patterns, traces, exact solvers within a limit; and what it refuses."""

from __future__ import annotations

import json

import pytest

from mlsched import api

SMALL = "synthetic:uniform:jobs=12"


def test_several_policies_and_the_problem_is_inferred(cli):
    found = cli("simulate", "load-balancing", "tetris:weight=2", "standalone", "--trace", SMALL, "--seed", 1)
    assert (found.status, found.err) == (0, "")
    for text in (
        "load-balancing",
        "tetris:weight=2",
        "average_completion",
        "12 jobs on 6x(8 cpu, 2 gpu, 48 ram)",
        "every run passed the independent replay check",
    ):
        assert text in found.out


def test_the_document_is_that_of_the_api(cli):
    document = cli("simulate", "bin-packing", "--trace", SMALL, "--seed", 1, "--json").document
    run = api.simulate(api.workload(SMALL, seed=1), "bin-packing", seed=1)
    assert document["violations"] == []
    assert document["workload_hash"] == run.workload.hash
    (entry,) = document["runs"]
    assert entry["summary"] == json.loads(json.dumps(run.summary()))
    assert entry["scheduling_events"] == "interval:1200"


def test_set_reaches_the_source_and_the_world(cli):
    given = [("load", "0.1"), ("departure", "instant"), ("most_new", "2"), ("model", "linear"), ("window", "3")]
    settings = [item for key, value in given for item in ("--set", f"{key}={value}")]
    document = cli("simulate", "bin-packing", "--trace", SMALL, *settings, "--json").document
    assert "load=0.1 model=linear" in document["source"]
    options = document["runs"][0]["options"]
    assert (options["departure"], options["most_new"], options["window"]) == ("instant", 2, 3)


@pytest.mark.slow
def test_exact_policies_within_a_limit(cli):
    arguments = [
        "--problem",
        "placement",
        "--trace",
        "synthetic:uniform:jobs=8",
        "--time-limit",
        60,
        "--record",
        1,
        "--json",
    ]
    document = cli("simulate", "cp-sat", "highs", "bin-packing", *arguments).document
    *exact, rule = document["runs"]
    for entry in exact:
        assert entry["optimality"]["count"] == entry["summary"]["decisions"] > 0
        assert entry["optimality"]["optimal"] == 1
    assert rule["optimality"]["optimal"] < 1
    assert rule["summary"]["average_completion"] > exact[0]["summary"]["average_completion"]


def test_the_output_file_holds_both_tables_of_the_log(cli, tmp_path):
    path = tmp_path / "runs.json"
    assert cli("simulate", "tetris", "--trace", SMALL, "-o", path).status == 0
    data = json.loads(path.read_text())
    assert (data["kind"], data["version"]) == ("placement.runs", 1)
    log = data["runs"][0]["log"]
    assert set(log["placements"]["job"]) == set(log["segments"]["job"]) == set(range(12))


def test_real_arrivals(cli, shared_data):
    path = shared_data / "philly" / "philly.csv.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    options = ["--problem", "placement", "--limit", 40, "--set", "skip=10", "--set", "rate=3", "--set", "lengths=trace"]
    document = cli("simulate", "bin-packing", "--trace", path, *options, "--json").document
    assert document["source"].startswith("a join: arrivals of ")
    assert document["runs"][0]["summary"]["jobs"] == 30


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["tetris", "--trace", "synthetic:nope"], "unknown synthetic workload 'nope' for placement; there are uniform"),
        (["tetris", "--trace", "synthetic:uniform:mean=0"], "mean: 0.0, expected at least 0.5"),
        (
            ["tetris", "--trace", SMALL, "--set", "departure=x"],
            "--set: departure=x, expected one of scheduling_event, instant",
        ),
        (["tetris", "--trace", SMALL, "--set", "most_jobs=0"], "--set: most_jobs=0, expected between 1"),
        (["tetris", "--trace", SMALL, "--set", "speed=1"], "--set speed: there are all_reduce, departure"),
    ],
)
def test_a_wrong_call_is_refused(cli, arguments, fragment):
    cli("simulate", *arguments).refused(fragment)
