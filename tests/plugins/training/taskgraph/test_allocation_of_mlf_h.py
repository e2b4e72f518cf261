"""The choices that training imitates are MLF-H's."""

from __future__ import annotations

import pytest

from mlsched.heuristics.taskgraph.measures import stops_after
from mlsched.heuristics.taskgraph.mlf_h import Settings, competing, decided, made_round
from mlsched.simulation.taskgraph.allocation import Allocation
from mlsched_training.taskgraph._episodes import episode, follow, nothing, workload


@pytest.mark.parametrize(("queueing", "seed", "jobs", "x"), [("held", 3, 8, 2.0), ("iteration", 8, 12, 3.0)])
def test_the_choices_of_mlf_h_make_its_round(queueing, seed, jobs, x):
    counts = {"followed": 0, "all": 0, "pauses": 0}
    kept = nothing()

    def answer(seen, rng):
        last = stops_after(seen, "most")
        competition = competing(seen, "most", Settings(queueing=queueing))
        placed, leaving, hosts = decided(seen, last, Settings(), competition)
        due = Allocation(seen, last, queueing=queueing)
        counts["all"] += 1
        expected = made_round(hosts, placed, leaving, last)
        counts["pauses"] += len(expected.pause_task)
        if follow(due, placed, leaving, [hosts.held[task][0] for task in placed], kept, competition):
            counts["followed"] += 1
            assert due.round() == expected
        return expected

    episode(workload(seed, jobs, 2, 1.0, x, first=True), answer, 0, 0)
    assert (counts["pauses"] > 0) == (queueing == "iteration")
    assert counts["followed"] >= 0.9 * counts["all"]
    assert len(kept.rows) == len(kept.row) == len(kept.time) > 0
    assert all(0 <= row < len(rows) for rows, row in zip(kept.rows, kept.row, strict=True))
