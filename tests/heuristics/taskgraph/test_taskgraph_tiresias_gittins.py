"""2D-Gittins: the index by hand, and what it changes against first starts inside a queue."""

from __future__ import annotations

import math

import numpy as np
import pytest
from jobs_examples import jobs_of, play, rows

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph._gittins import index
from mlsched.heuristics.taskgraph.tiresias_gittins import answer
from mlsched.simulation.clock import Rule

SIZES = np.array([10.0, 10.0, 100.0])


@pytest.mark.parametrize(
    ("attained", "quantum", "value"),
    [
        (0, 20, (2 / 3) / ((10 + 10 + 20) / 3)),  # two of three end within 20; the third uses all of them
        (5, 5, (2 / 3) / 5),
        (10, math.inf, 1 / 90),  # only the size of 100 is above 10
        (0, math.inf, 1 / 40),  # all end; 40 on average
        (99, 0.5, 0),
        (100, 20, 0),
    ],
)
def test_the_index_by_hand(attained, quantum, value):
    found = index(SIZES, np.array([float(attained)]), np.array([float(quantum)]))
    assert found.tolist() == pytest.approx([value])


def test_without_any_size_all_are_alike():
    assert index(np.zeros(0), np.array([0.0, 5.0]), np.array([1.0, math.inf])).tolist() == [0, 0]


#: One GPU, ticks of a second. Job 0 has run from 0 to 5 when job 1 comes, of which nothing is known.
LOAD = jobs_of([[(1, 1)]], [(0, 0, 40), (5, 0, 4)], nodes=[(1,)], tick_ms=1000)


def round_at_5(sizes):
    def call(seen, memory, rng):
        if seen.now < 5:
            return answer(seen, memory=None, rng=rng)
        return answer(seen, memory={"promoted": {}, "seen": {}, "sizes": sizes}, rng=rng)

    world, _ = play(LOAD, Rule("gittins", call), pausing="keep")
    return [(row["job"], row["start"], row["end"]) for row in rows(world.log)]


def test_inside_a_queue_the_larger_index_goes_first():
    """Sizes 4, 4, 40: of 5 GPU-seconds on, only 40 is left: 1 / 35. A new job: 1 / 16. With sizes of 6 it is 1 / 1."""
    assert round_at_5([4.0, 4.0, 40.0]) == [(0, 0, 5), (1, 5, 9), (0, 9, 44)]
    assert round_at_5([6.0, 6.0, 6.0]) == [(0, 0, 40), (1, 40, 44)]
    assert round_at_5([]) == [(0, 0, 40), (1, 40, 44)], "nothing is known: first start, as tiresias has it"


def test_sizes_are_observed_when_jobs_end():
    """Job 0 holds two GPUs for 3 ticks, job 1 one for 5; when it ends the cluster is empty, and nobody is asked."""
    load = jobs_of([[(1, 1), (1, 1)], [(1, 1)]], [(0, 0, 3), (0, 1, 5), (20, 1, 1)], nodes=[(3,)], tick_ms=1000)
    seen = {d.time: d.memory for d in api.simulate(load, "tiresias-gittins", record=1.0).recorded}
    assert (seen[3]["sizes"], seen[20]["sizes"]) == ([], [6.0])
    kept = api.simulate(load, "tiresias-gittins:window=1", record=1.0)
    last = kept.recorded[-1]
    _, memory = answer(last.instance, memory=last.memory, rng=np.random.default_rng(0), window=1)
    assert memory["sizes"] == [5.0]


def test_settings_are_checked():
    with pytest.raises(InvalidInput, match="window: 0, expected at least 1"):
        api.simulate(LOAD, "tiresias-gittins:window=0")
