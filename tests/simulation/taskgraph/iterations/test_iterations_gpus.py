"""GPUs inside nodes: who holds which, what a scheduler sees of it, and the faults that the replay check names.

Two nodes of 2 GPUs (1000 each). Jobs 0 and 1 take 600 and 400 of GPU 0 of node 0; job 2 is a gang of two tasks of one
GPU each; job 3 takes two GPUs. Every iteration takes 4 ticks, every job has 2.
"""

from __future__ import annotations

import pytest
from jobs_examples import ends, jobs_of, play, rows
from snapshot_examples import scripted

from mlsched.simulation.taskgraph.iterations import Options, Segments
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.replay import violations
from mlsched.simulation.wake import Wake

EVENTS = Wake(True, 0)
JOBS = jobs_of(
    [[(4, 600)], [(4, 400)], [(4, 1000), (4, 1000)], [(4, 2000)]],
    [(0, job, 2) for job in range(4)],
    nodes=((2000,), (2000,)),
    resources=("gpu_milli",),
    gpu_unit=1000,
)
#: Job 2 has GPU 1 of node 0 (the world's choice) and GPU 1 of node 1 (by name). At 4 its second task moves to GPU 0 of
#: node 1, from 5 to 6 it pauses; at 6, job 0 moves to GPU 1 of node 0, next to job 1's 400 on GPU 0.
SCRIPT = {
    0: {"start": [(0, 0, 0), (1, 0, 0), (2, 0), (3, 1, 1)], "wake_at": 4},
    4: {"migrate": [(3, 1, 0)], "wake_at": 5},
    5: {"pause": [2, 3], "wake_at": 6},
    6: {"migrate": [(0, 0, 1)], "start": [(2, 1), (3, 1)]},
    8: {"wake_at": 9},
    9: {"wake_at": 11},
    11: {"start": [(0, 0)]},
}
READ = {"pausing": "keep", "movement": "anytime"}


@pytest.fixture(scope="module")
def played():
    return play(JOBS, scripted(SCRIPT), **READ)


def test_who_holds_what(played):
    world = played[0]
    assert [(r["job"], r["start"], r["end"], r["nodes"]) for r in rows(world.log)] == [
        (0, 0, 6, (0,)),
        (1, 0, 8, (0,)),
        (2, 0, 4, (0, 1)),
        (2, 4, 5, (0, 1)),
        (0, 6, 8, (0,)),
        (2, 6, 9, (1, 1)),
        (3, 11, 19, (0,)),
    ]
    by_row = {(row[0], row[1]): held for row, held in zip(world.log.rows, world.log.gpus, strict=True)}
    assert by_row == {
        (0, 0): ((0,),),
        (1, 0): ((0,),),
        (2, 0): ((1,), (1,)),
        (2, 4): ((1,), (0,)),
        (0, 6): ((1,),),
        (2, 6): ((0,), (1,)),
        (3, 11): ((0, 1),),
    }
    assert violations(JOBS, Options(**READ), EVENTS, world.log) == []
    assert world.log.to_json()["gpus"][0] == [[1], [1]]


def test_what_is_seen(played):
    asked = played[1]
    first = asked[4]
    assert (first.gpu.tolist(), first.gpu_unit) == ([0, 0, 1, 1, -1], 1000)
    assert first.gpu_in_use.tolist() == [[1000, 1000], [0, 1000]]
    assert first.gpu_holder.tolist() == [[-1, 2], [-1, 3]]
    assert first.gpu_usage.tolist() == [[1000, 1000], [0, 1000]]
    paused = asked[6]
    assert (paused.gpu.tolist(), paused.gpu_free.tolist()) == ([0, 0, -1, -1, -1], [[0, 1000], [1000, 1000]])
    assert paused.waiting_since.tolist() == [6, 6, 5, 5, 0]


def test_it_asks_when_a_task_finds_room_on_a_gpu():
    """Two parts of 600 leave 400 of each GPU: 800 in all, and no room for a third."""
    most = {"max_iterations": [2, 1, 1, 1], "min_iterations": [1] * 4, "arrival": [0, 0, 1, 2]}
    jobs = JOBS.replace(node_capacity=[[2000]], eligible=[[1]], template=[0] * 4, **most)
    script = {0: {"start": [(0, 0, 0), (1, 0, 1)]}, 4: {"start": [(1, 0, 1)]}, 8: {"start": [(0, 0, 0)]}}
    world, asked = play(jobs, scripted(script))
    assert sorted(asked) == [0, 4, 8]
    assert ends(world.log, 4) == [8, 4, 8, 12]


def test_what_never_finds_room_on_a_gpu():
    jobs = JOBS.replace(node_capacity=[[1000], [1000]])
    assert never_start(jobs) == [
        "1 of 4 jobs ask for 1 task of 2 gpu at once and never fit the nodes that may run them; the first is job 3"
    ]


def changed(played, row, gpus=None, unit=1000, **fields):
    """What the check finds when GPUs of a segment (by its job and start) are others."""
    log = played[0].log
    held = [gpus if gpus is not None and (r[0], r[1]) == row else g for r, g in zip(log.rows, log.gpus, strict=True)]
    other = Segments(log.rows, log.places, log.stops, log.wakes, fields.get("held", held))
    found = violations(JOBS.replace(gpu_unit=unit), Options(**READ | fields.get("readings", {})), EVENTS, other)
    return {sentence.partition(":")[0] for sentence in found}


FAULTS = {
    "a part on no GPU": ("gpu", (1, 0), ((),)),
    "a part on two": ("gpu", (1, 0), ((0, 1),)),
    "one GPU for two": ("gpu", (3, 11), ((0,),)),
    "a GPU twice": ("gpu", (3, 11), ((1, 1),)),
    "no such GPU": ("gpu", (1, 0), ((2,),)),
    "a GPU below 0": ("gpu", (1, 0), ((-1,),)),
    "a part of another's GPU": ("capacity", (1, 0), ((1,),)),
    "two tasks on one GPU": ("capacity", (2, 6), ((0,), (0,))),
    "a move that the log does not call one": ("log", (2, 4), ((1,), (1,))),
    "GPUs of too many tasks": ("log", (1, 0), ((0,), ())),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_fault_is_named(played, fault):
    kind, row, gpus = FAULTS[fault]
    assert kind in changed(played, row, gpus)


def test_moves_between_gpus_are_moves_and_every_segment_names_its_gpus(played):
    assert "move" in changed(played, None, readings={"movement": "none"})
    assert {"log", "gpu"} <= changed(played, None, held=played[0].log.gpus[:3])
    assert "gpu" in changed(played, None, unit=0)
