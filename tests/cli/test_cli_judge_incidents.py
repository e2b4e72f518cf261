"""`mlsched judge` on the states of reported incidents: one screen each, and the optimum that was proved apart."""

from __future__ import annotations

from incident_examples import incidents

import mlsched


def test_reported_incidents_are_judged_on_one_screen(cli, tmp_path, shared_data):
    found = incidents(shared_data / "incidents")
    assert len(found) >= 14
    for incident, instance in found:
        path = tmp_path / "instance.json"
        mlsched.save(instance, path)
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


def test_the_sentence_that_proves_that_nothing_helps(cli, tmp_path, shared_data):
    """kueue 5243: eight were evicted, and the pod stayed pending."""
    instance = next(one for said, one in incidents(shared_data / "incidents") if said["name"] == "kueue-5243")
    mlsched.save(instance, tmp_path / "instance.json")
    done = cli("judge", tmp_path / "instance.json")
    assert "no node can free more than 2 gpu (of 8) by allowed evictions" in done.out
    (tmp_path / "victims.json").write_text('["24", "25", "26", "27", "28", "29", "30", "31"]')
    done = cli("judge", tmp_path / "instance.json", "--decision", tmp_path / "victims.json")
    assert done.status == 1
    assert "DOES NOT START" in done.out
