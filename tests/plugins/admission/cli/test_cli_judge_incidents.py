"""`mlsched judge` on the states of reported incidents: one screen each, and the optimum that was proved apart."""

from __future__ import annotations

import json


def test_reported_incidents_are_judged_on_one_screen(cli, tmp_path, shared_data):
    found = sorted((shared_data / "incidents").glob("*.json"))
    assert len(found) >= 14
    for path in found:
        incident = json.loads(path.read_text())
        done = cli("judge", path)
        assert done.status == 0, f"{incident['name']}: {done.err}"
        assert done.out.count("\n") <= 40, incident["name"]
        document = cli("judge", path, "--json").document
        best, optimum = document["front"], incident["optimum"]
        assert document["front_complete"], incident["name"]
        if "units" in optimum:
            assert min(len(point["evict"]) for point in best) == optimum["units"], incident["name"]
        waits = len(document["jobs"]) - max(len(point["start"]) for point in best)
        assert waits == optimum["waiting"], incident["name"]
        assert bool(document["needs"]["cannot"]) == bool(waits), incident["name"]


REPORT = {
    "name": "two jobs of 4 GPUs",
    "scheduler_did": "evicted both",
    "instance": {
        "resources": ["gpu"],
        "node_free": [[0]],
        "pod_node": [0, 0],
        "pod_unit": [0, 1],
        "pod_demand": [[4], [4]],
        "pod_nodes": [[1], [1]],
        "unit_group": [0, 1],
        "unit_priority": [1, 1],
        "unit_lost": [60, 120],
        "unit_movable": [0, 0],
        "group_min": [1, 1],
        "job_priority": [10],
        "may": [[1, 1]],
        "shape_job": [0],
        "shape_count": [1],
        "shape_demand": [[4]],
        "shape_nodes": [[1]],
        "shape_level": [-1],
        "node_domain": [],
        "limits": [],
    },
}


def test_a_report_is_read_as_it_is(cli, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(REPORT))
    done = cli("judge", path)
    assert (done.status, done.err) == (0, "")
    assert "a reported incident: the scheduler evicted both" in done.out
    assert [point["evict"] for point in cli("judge", path, "--json").document["front"]] == [["0"]]
    for change, said in (({"gpus": [1]}, "instance.gpus: unknown field"), ({"unit_lost": [1]}, "instance: unit_lost")):
        path.write_text(json.dumps({**REPORT, "instance": {**REPORT["instance"], **change}}))
        done = cli("judge", path)
        assert (done.status, done.out) == (2, "")
        assert said in done.err
        assert done.err.count("\n") == 1


def test_the_sentence_that_proves_that_nothing_helps(cli, tmp_path, shared_data):
    """kueue 5243: eight were evicted, and the pod stayed pending."""
    state = shared_data / "incidents" / "kueue-5243.json"
    done = cli("judge", state)
    assert "no node can free more than 2 gpu (of 8) by allowed evictions" in done.out
    (tmp_path / "victims.json").write_text('["24", "25", "26", "27", "28", "29", "30", "31"]')
    done = cli("judge", state, "--decision", tmp_path / "victims.json")
    assert done.status == 1
    assert "DOES NOT START" in done.out
