"""Schedules by rank: the judge accepts them, and sizes that divide each other lose nothing to the shape of nodes."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of
from shares import told_shares
from small_logs import best_with_pauses, logs, odd_logs

import mlsched
from mlsched.api.taskgraph import references
from mlsched.core.errors import InvalidInput
from mlsched.simulation.taskgraph.iterations import Options, replay
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.log import MOVE
from mlsched.simulation.taskgraph.iterations.reference import folder as files
from mlsched.simulation.taskgraph.iterations.reference import proof, ranks
from mlsched.simulation.taskgraph.iterations.reference.by_rank import ByRank
from mlsched.simulation.taskgraph.iterations.reference.decomposition import pooled
from mlsched.simulation.taskgraph.iterations.reference.packing import Packing
from mlsched.simulation.taskgraph.iterations.reference.question import log_of, question
from mlsched.simulation.wake import Wake


@functools.cache
def counted() -> dict[str, int]:
    names = ("logs", "weighted", "restricted", "pauses cost", "the best by ranks", "waits")
    return dict.fromkeys(names, 0)


def by_rank(load, power=1.0, factor=None):
    asked = question(load, np.ones(len(load.arrival), dtype=np.int64))
    return asked, ByRank(asked, power, np.ones(len(load.arrival)) if factor is None else np.array(factor))


def judged(load, asked, found):
    log = log_of(asked, found.rows)
    assert replay.violations(load, Options(pausing="keep"), Wake.parse("events"), log) == []
    return log


@settings(max_examples=draws(15, 2000), deadline=None)
@given(
    load=st.one_of(odd_logs(), logs().filter(lambda load: not never_start(load))),
    seed=st.integers(0, 9),
    data=st.data(),
)
def test_every_schedule_is_one_of_the_world_and_none_beats_the_best(load, seed, data):
    weights = data.draw(st.sampled_from(["jobs", "urgency", "area"]))
    asked, values = question(load, proof.weights(load, weights)), []

    def kept(found, made):
        log = judged(load, asked, found)
        assert found.value() == files.total(load, log, weights)
        values.append(found.value())

    assume(fits(asked))
    assert ranks.search(asked, 6, seed, lambda *_: False, kept) == len(ranks.POWERS) + 6
    assert values == sorted(values, reverse=True)
    pieces = proof.weighted(load, asked.weight)
    climb = references.climbed(
        pieces, references.earliest_end(pieces), pausing=True, effort=references.OF_REFERENCES[True]
    )
    best = best_with_pauses(load, asked.weight)  # which pauses for nothing
    assert proof.rounded(pieces, climb, True)[1] <= best <= values[-1]
    seen = counted()
    for name, happened in (
        ("logs", True),
        ("weighted", len(set(asked.weight.tolist())) > 1),
        ("restricted", not load.eligible[load.task_class].all()),
        ("pauses cost", bool(load.pause_cost.any())),
        ("the best by ranks", values[-1] == best),
        ("waits", best > sum((asked.weight * asked.length).tolist())),
    ):
        seen[name] += happened


def test_the_logs_were_hard_enough(report):
    """Run after the test above; alone it has nothing to say."""
    seen = told_shares(report, "ranks on small logs", counted())
    assert seen["waits"], "a log on which nobody waits says nothing"


def fits(asked):
    """Whether each job finds nodes in an empty cluster by first fit, the largest task first."""
    empty = [Packing(asked.capacity, asked.tasks, asked.nodes, asked.kind) for _ in asked.release]
    return all(packing.place(job) for job, packing in enumerate(empty))


@st.composite
def powers_of_two(draw):
    """Jobs of 1, 2, 4, 8 and 16 GPUs on three nodes of 8; pauses and moves cost nothing."""
    kinds = [[1], [2], [4], [8], [8, 8]]
    job = st.tuples(st.integers(0, 20), st.sampled_from([0, 0, 0, 1, 2, 3, 4]), st.integers(1, 12))
    jobs = sorted(draw(st.lists(job, min_size=10, max_size=40)))
    return jobs_of([[(1, gpus) for gpus in kind] for kind in kinds], jobs, nodes=((8,),) * 3, movement="anytime")


@settings(max_examples=draws(15, 1000), deadline=None)
@given(load=powers_of_two(), power=st.sampled_from([0.0, 1.0, 2.5]))
def test_sizes_that_divide_each_other_lose_nothing_to_the_shape_of_nodes(load, power):
    asked, found = by_rank(load, power)
    judged(load, asked, found)
    free = by_rank(pooled(load), power)[1]
    assert found.completion.tolist() == free.completion.tolist()


def test_smaller_jobs_move_out_of_the_way_and_pay_for_it():
    jobs = [(0, 0, 5), (1, 0, 12), (2, 0, 3), (3, 0, 12), (6, 1, 4)]
    load = jobs_of([[(1, 1)], [(1, 2)]], jobs, movement="anytime", pause_cost=[500_000] * 5)
    asked, found = by_rank(load)
    log = judged(load, asked, found)
    moved = [row for row in log.rows if row[-1] == MOVE]
    assert len(moved) == 1
    assert moved[0][0] in (1, 3), "one of the two long ones, which are on nodes of their own"
    assert moved[0][2] == 6
    assert found.completion.tolist()[4] == 10, "at once, on an emptied node"
    assert found.completion[[1, 3]].sum() == 13 + 15 + 1, "who moved is half a tick late"


def test_a_job_that_holds_part_of_a_gpu_is_placed_on_one():
    load = jobs_of(
        [[(1, 500)], [(1, 1000)], [(1, 2000)]],
        [(0, 0, 9), (0, 1, 8), (1, 2, 2), (1, 0, 3), (2, 2, 1)],
        nodes=((2000,), (2000,)),
        resources=("gpu_milli",),
        gpu_unit=1000,
        movement="anytime",
        pause_cost=[500_000] * 5,
    )
    asked, found = by_rank(load)
    assert all(min(map(len, gpus)) >= 1 for gpus in judged(load, asked, found).gpus)


def test_a_job_that_fits_no_nodes_is_named():
    load = jobs_of([[(1, 2), (1, 1)]], [(0, 0, 1)], nodes=((2,), (2,)), eligible=[[1, 0]], movement="anytime")
    with pytest.raises(InvalidInput, match="job 0 does not fit on the empty cluster"):
        by_rank(load)


def test_nobody_has_moved_where_moves_do_not_help():
    capacity, rows = np.array([[4], [4]]), [np.array([[1]]), np.array([[2]]), np.array([[4]])]
    packing = Packing(capacity, rows, [np.ones(2, dtype=np.int64)] * 3, np.array([1, 1, 0, 2]))
    for job, node in ((0, 0), (1, 1), (2, 0)):
        assert packing.put(job, (node,))
    before = dict(packing.places)
    assert not packing.place(3, moving=True), "5 of 8 are in use"
    assert (packing.places, packing.free.ravel().tolist()) == (before, [1, 2])
    packing.begin()
    packing.leave(2)
    assert packing.place(3, moving=True)
    assert packing.before.keys() >= {2, 3}
    assert len({packing.places[0], packing.places[1]}) == 1


def test_the_schedule_with_pauses_is_near_the_bound(tmp_path):
    load = mlsched.workload(
        "synthetic:gangs:jobs=40,nodes=2,load=1.0,length=20,shape=fewest,pause_cost=30,movement=anytime"
    )
    rules = [mlsched.simulate(load, rule).summary()["total_jct"] for rule in references.WITH_PAUSES]
    found = mlsched.make_reference(load, tmp_path / "ranks", pausing=True, moves=100)
    assert found.value < min(rules), "no rule moves what is in the way"
    assert found.how == "jobs by rank, where smaller ones make way"
    assert mlsched.check_reference(tmp_path / "ranks", load)[2] == []
    again = mlsched.make_reference(load, tmp_path / "ranks", pausing=True, moves=100)
    assert again == found, "nothing is left to do"
    more = mlsched.make_reference(load, tmp_path / "ranks", pausing=True, moves=150)
    assert more.value <= found.value


def test_an_interrupted_search_goes_on(tmp_path):
    load = mlsched.workload("synthetic:gangs:jobs=25,nodes=2,load=1.0,length=20,shape=fewest,pause_cost=30")
    load = load.replace(movement="anytime")
    whole = mlsched.make_reference(load, tmp_path / "whole", pausing=True, moves=60)
    first = mlsched.make_reference(load, tmp_path / "parts", pausing=True, moves=60, progress=lambda *_: True)
    assert first.moves < whole.moves
    rest = mlsched.make_reference(load, tmp_path / "parts", pausing=True, moves=60)
    assert dataclasses.replace(rest, cpu_seconds=0) == dataclasses.replace(whole, cpu_seconds=0)


def test_jobs_that_are_not_free_to_move_are_run_by_rules(tmp_path):
    load = mlsched.workload("synthetic:gangs:jobs=30,nodes=2,load=1.0,length=20,shape=fewest,pause_cost=30")
    said = []
    found = mlsched.make_reference(
        load.replace(movement="none"), tmp_path / "x", pausing=True, progress=lambda stage, *_: bool(said.append(stage))
    )
    assert found.how in references.WITH_PAUSES
    assert any("may not move at any time" in stage for stage in said)
