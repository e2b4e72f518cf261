"""Usage apart from demand: an example with overload, a move and a shared GPU computed by hand; faults; and the draws.

Two nodes, of 2 GPUs (1000 each) and 100 of memory. Without a spread, tasks use their mean.

Job 0: one task, 600 of a GPU and 50 of memory; uses all of what it asks for. 4 ticks per iteration, 5 iterations.
Job 1: one task, 400 of a GPU and 10 of memory; uses twice of the GPU. 4 ticks per iteration, 4 iterations; moving costs
1 tick. Job 2: a gang of two tasks of one GPU and 20 of memory; uses half of the GPUs and four times the memory. 3 ticks
per iteration, 4 iterations, from 6 on.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from jobs_examples import ends, jobs_of, play, rows
from snapshot_examples import scripted

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.simulation.taskgraph.iterations import Options, Segments
from mlsched.simulation.taskgraph.iterations.outcome import summary
from mlsched.simulation.taskgraph.iterations.replay import violations
from mlsched.simulation.taskgraph.iterations.replay_usage import splitmix
from mlsched.simulation.taskgraph.iterations.sources import gangs
from mlsched.simulation.taskgraph.iterations.usage import GRAIN, Usage, mixed
from mlsched.simulation.wake import Wake

M = 10**6
EVENTS = Wake(True, 0)
JOBS = jobs_of(
    [[(4, 600, 50)], [(4, 400, 10)], [(3, 1000, 20), (3, 1000, 20)]],
    [(0, 0, 5), (0, 1, 4), (6, 2, 4)],
    nodes=((2000, 100), (2000, 100)),
    resources=("gpu_milli", "memory"),
    edges=[(1, 1, 1, 7, 1)],
    gpu_unit=1000,
    usage=[[M, M], [2 * M, M], [M // 2, 4 * M], [M // 2, 4 * M]],
)
READ = {"pausing": "keep", "movement": "anytime", "usage": "drawn", "usage_spread": 0.0, "usage_every": 60}
#: From 0 on, 600 + 800 is used of GPU 0 of node 0: all takes 1.4 as long, 5.6 ticks per iteration. At 6 job 2 comes,
#: with a task on each node: 50 + 10 + 80 = 140 of memory is used on node 0, of which each task uses some; that is as
#: bad as the GPU, so jobs 0 and 1 go on at their pace, and the gang goes at that of its slower task, 4.2 ticks.
#: At 7, after 7 / 5.6 = 1.25 iterations, job 1 moves to GPU 1 of node 1: it fetches for a tick and goes on undisturbed,
#: 2.75 x 4 = 11 ticks, to 19. On node 0, 50 + 80 of memory is used: job 0 takes 5.2 ticks per iteration, the gang 3.9.
#: The gang has done 1 / 4.2 (238,095 ppm) and needs 0.761905 x 3.9 + 3 x 3.9 = 14.67 ticks: it ends at 22.
#: Job 0 has then done, since 7, 0.75 x 5.2 = 3.9 and 11.1 / 5.2 = 2.134615 iterations; it is alone from then on and
#: takes 0.865385 x 4 = 3.46 ticks for its last: it ends at 26.
SCRIPT = {
    0: {"start": [(0, 0, 0), (1, 0, 0)]},
    6: {"start": [(2, 0), (3, 1, 0)], "wake_at": 7},
    7: {"migrate": [(1, 1, 1)]},
}


@pytest.fixture(scope="module")
def played():
    return play(JOBS, scripted(SCRIPT), **READ)


def test_an_example_with_overload_a_move_and_a_shared_gpu(played):
    world, asked = played
    seen = [(r["job"], r["start"], r["end"], r["finished"], r["part"], r["cycle"], r["delay"]) for r in rows(world.log)]
    assert seen == [
        (0, 0, 7, 0, 0, 5_600_000, 0),
        (1, 0, 7, 0, 0, 5_600_000, 0),
        (2, 6, 7, 0, 0, 4_200_000, 0),
        (0, 7, 22, 1, 250_000, 5_200_000, 0),
        (1, 7, 19, 1, 250_000, 4_000_000, 1),
        (2, 7, 22, 0, 238_095, 3_900_000, 0),
        (0, 22, 26, 4, 134_615, 4_000_000, 0),
    ]
    assert ends(world.log, 3) == [26, 19, 22]
    assert violations(JOBS, Options(**READ), EVENTS, world.log) == []
    first = asked[6]
    assert first.usage.tolist() == [[600, 50], [800, 10], [0, 0], [0, 0]]
    assert (first.node_usage.tolist(), first.gpu_usage.tolist()) == ([[1400, 60], [0, 0]], [[1400, 0], [0, 0]])
    assert first.in_use.tolist() == [[1000, 60], [0, 0]], "reserved is what they asked for"
    later = asked[7]
    assert (later.finished.tolist(), later.start.tolist(), later.progress.tolist()) == (
        [1, 1, 0],
        [6, 6, 6, 6],
        [0] * 4,
    )
    assert later.node_usage.tolist() == [[1900, 140], [500, 80]]


def test_what_overload_comes_to(played):
    """GPU 0 of node 0 is overloaded until 7, the memory of node 0 from 6 to 22."""
    log = played[0].log
    assert log.above == [7, 16]
    found = summary(JOBS, log)
    assert found["overload"]["above"] == {"gpu_milli": 7 / (4 * 26), "memory": 16 / (2 * 26)}
    worked = 7 + 7 + 1 + 15 + 11 + 15 + 4
    undisturbed = 14 / 1.4 + 1 / 1.4 + 15 / 1.3 + 11 + 15 / 1.3 + 4
    assert found["overload"]["slowdown"] == pytest.approx(worked / undisturbed)
    assert (found["migrations"], found["pauses"], set(found["utilisation"])) == (1, 0, {"gpu_milli", "memory"})
    assert not {"deadlines_met"} & set(found), "no job has a deadline"
    assert "overload" not in summary(JOBS, Segments(log.rows, log.places, gpus=log.gpus))


def faulty(played, number=None, above=None, readings=None, jobs=JOBS, cut=None, **fields):
    """What the check finds when entries of a row (by its place in the order of `rows`) are others, or one is cut."""
    log, names = (
        played[0].log,
        ("job", "start", "end", "finished", "part", "first", "cycle", "delay", "cost", "outcome"),
    )
    table = [list(row) for row in log.rows]
    places, held = list(log.places), list(log.gpus)
    if number is not None:
        order = sorted(range(len(table)), key=lambda r: (table[r][1], table[r][0]))
        row = order[number]
        for name, value in fields.items():
            table[row][names.index(name)] = value
        if cut:
            rest = list(table[row])
            table[row][2], table[row][9] = cut[0], 4
            rest[1], rest[3], rest[4] = cut
            table.append(rest)
            places.append(places[row])
            held.append(held[row])
    other = Segments([tuple(r) for r in table], places, log.stops, log.wakes, held, above or log.above)
    found = violations(jobs, Options(**READ | (readings or {})), EVENTS, other)
    return {sentence.partition(":")[0] for sentence in found}


def test_the_check_names_what_is_wrong_with_slowdowns(played):
    assert faulty(played) == set()
    assert "pace" in faulty(played, 0, first=4 * M, cycle=4 * M), "no slowdown where there is one"
    assert "usage" in faulty(played, above=[7, 15])
    assert "usage" in faulty(played, 5, cut=(10, 1, 0)), "nothing changes at 10"
    assert {"usage", "pace", "log"} <= faulty(played, readings={"usage": "demand"})
    assert "pace" in faulty(played, readings={"usage_seed": 1, "usage_spread": 0.5})
    less = JOBS.replace(usage=np.minimum(JOBS.usage, M))
    assert "pace" in faulty(played, jobs=less)


def test_a_segment_that_goes_on_while_its_pace_changes_is_named():
    """Two jobs share a GPU and use all of it each, from 2 on; the log leaves the first as it was."""
    jobs = jobs_of([[(4, 500)]], [(0, 0, 2), (2, 0, 2)], nodes=((1000,),), resources=("gpu_milli",), gpu_unit=1000)
    jobs = jobs.replace(usage=[[2 * M]])
    world, _ = play(jobs, scripted({0: {"start": [(0, 0, 0)]}, 2: {"start": [(1, 0, 0)]}}), **READ)
    assert ends(world.log, 2) == [14, 16]
    log = Segments(
        [(0, 0, 8, 0, 0, 4 * M, 4 * M, 0, 0, 1), (1, 2, 10, 0, 0, 8 * M, 8 * M, 0, 0, 1)],
        [(0,), (0,)],
        gpus=[((0,),), ((0,),)],
        above=[6],
    )
    assert {s.partition(":")[0] for s in violations(jobs, Options(**READ), EVENTS, log)} == {"usage", "work"}


@pytest.mark.parametrize(("power", "expected"), [(1, [14, 16]), (2, [26, 28]), (3, [50, 52]), (5, [194, 196])])
def test_a_gpu_used_twice_is_two_to_the_power_slower(power, expected):
    """Job 0 is alone until 2 and at its end has 3 / 2 of an iteration of 4 x 2^p ticks behind it; job 1, too."""
    jobs = jobs_of([[(4, 500)]], [(0, 0, 2), (2, 0, 2)], nodes=((1000,),), resources=("gpu_milli",), gpu_unit=1000)
    jobs = jobs.replace(usage=[[2 * M]])
    read = READ | {"overload_power": power}
    script = {0: {"start": [(0, 0, 0)]}, 2: {"start": [(1, 0, 0)]}}
    world, _ = play(jobs, scripted(script), **read)
    assert ends(world.log, 2) == expected
    assert world.log.above == [expected[0] - 2]
    for checked in range(1, 6):
        found = violations(jobs, Options(**read | {"overload_power": checked}), EVENTS, world.log)
        assert ("pace" in {sentence.partition(":")[0] for sentence in found}) == (checked != power) == bool(found)


def test_a_slowdown_beyond_64_bits_is_refused():
    """At the highest usage and power a job of decades would run for longer than the log can count."""
    jobs = jobs_of([[(10**9, 1000)]], [(0, 0, 2)], nodes=((1000,),), usage=[[100 * M]])
    with pytest.raises(InvalidInput, match="overload_power: 5, too high for job 0"):
        play(jobs, scripted({0: {"start": [(0, 0)]}}), **READ, overload_power=5)


def test_an_iteration_that_is_slowed_down_stays_what_it_is():
    """Task 1 sends on to task 0 of the next iteration, 4 ticks away: the first iteration takes 5, later ones 9 ticks.

    A neighbour comes at 7, inside the second iteration, and everything works half as fast: 2 x 5 + 4 = 14 ticks.
    """
    jobs = jobs_of(
        [[(2, 10), (3, 10)], [(50, 10)]],
        [(0, 0, 3), (7, 1, 1)],
        nodes=((20,), (20,)),
        edges=[(0, 1, 0, 0, 0), (1, 0, 1, 0, 4)],
        usage=[[2 * M], [2 * M], [2 * M]],
    )
    script = {0: {"start": [(0, 0), (1, 1)]}, 7: {"start": [(2, 0)]}}
    world, _ = play(jobs, scripted(script), **READ)
    first = [(r["start"], r["finished"], r["part"], r["first"], r["cycle"]) for r in rows(world.log) if r["job"] == 0]
    assert first == [(0, 0, 0, 5 * M, 9 * M), (7, 1, 222_222, 11 * M, 11 * M)]
    assert violations(jobs, Options(**READ), EVENTS, world.log) == []


def by_task(usage, time):
    """What each task of jobs 0, 1 and 2 uses at a time; the first two of them have one."""
    used = usage.seen(time)
    found = np.zeros((4, used.amount.shape[1]), dtype=np.int64)
    found[used.job + used.task] = used.amount
    return found


def test_usage_is_drawn_alike_by_engine_and_check_whatever_happens():
    jobs = JOBS.replace(usage=[[M // 2, M], [2 * M, 3 * M], [M, M], [0, M]])
    options = Options(usage="drawn", usage_spread=0.2, usage_every=10, usage_seed=5)
    usage = Usage(jobs, options, jobs.demand)
    usage.look(0)
    usage.come(2, 1, 0, (1,), 0)
    usage.come(1, 0, 0, (0,), 0)
    seen = {}
    for time in (0, 9, 10, 35):
        seen[time] = by_task(usage, time).tolist()
    assert seen[0] == seen[9]
    assert seen[0] != seen[10]
    assert [row[0] for row in seen.values()] == [[0, 0]] * 4
    assert all(row[3][0] == 0 for row in seen.values())
    assert seen[35][1][1] == used(3)


def used(word, base=30):
    """What task 0 of job 1 uses of memory by the draw with this word; base: its mean use."""
    key = splitmix(splitmix(splitmix(splitmix(0, 5), 1), 0), 1)
    factor = M + round(0.2 * 3**0.5 * M) * (2 * (splitmix(key, word) >> 44) + 1 - GRAIN) // GRAIN
    return base * factor // M


@pytest.mark.parametrize("at_start", [False, True])
def test_usage_is_drawn_anew_where_a_task_takes_its_place(at_start):
    """Job 1's task comes at 12 and again at 17, in the period from 10 to 19; from 20 on, the period's draw counts."""
    jobs = JOBS.replace(usage=np.where(np.arange(8).reshape(4, 2) == 3, 100 * M, M))
    options = Options(usage="drawn", usage_spread=0.2, usage_every=10, usage_seed=5, usage_at_start=at_start)
    usage = Usage(jobs, options, jobs.demand)
    usage.come(2, 0, 0, (1,), 0)
    seen = []
    for time in (12, 17):
        usage.come(1, 0, 0, (0,), time)
        seen.append(int(by_task(usage, time)[1, 1]))
        usage.go(1, 0)
    usage.come(1, 0, 1, (0,), 17)
    usage.go(2, 0)
    for time in (19, 20):
        seen.append(int(by_task(usage, time)[1, 1]))
    draws = [2**40 + 12, 2**40 + 17, 2**40 + 17, 2] if at_start else [1, 1, 1, 2]
    assert seen == [used(word, 1000) for word in draws]
    assert len(set(seen)) == (3 if at_start else 2)


def test_the_check_draws_at_the_start_that_the_log_has():
    """A job whose task uses 60 to 140 % of a GPU: by the period alone, the run is another one."""
    jobs = jobs_of([[(4, 1000)]], [(3, 0, 9)], nodes=((1000,),), resources=("gpu_milli",), gpu_unit=1000)
    read = READ | {"usage_spread": 0.25, "usage_every": 7}
    logs = {}
    for at_start in (True, False):
        world, _ = play(jobs, scripted({3: {"start": [(0, 0, 0)]}}), **read, usage_at_start=at_start)
        logs[at_start] = world.log
    for drawn, log in logs.items():
        for checked in logs:
            wrong = violations(jobs, Options(**read, usage_at_start=checked), EVENTS, log)
            assert bool(wrong) == (drawn != checked)


def test_draws_are_even_and_have_the_mean_and_spread_that_they_should():
    jobs = jobs_of([[(4, M)]], [(0, 0, 2)], nodes=((M,),), usage=[[700_000]])
    usage = Usage(jobs, Options(usage="drawn", usage_spread=0.3), jobs.demand)
    usage.come(0, 0, 0, (), 0)
    drawn = []
    for period in range(4000):
        drawn.append(int(usage.seen(60 * period).amount[0, 0]))
    assert np.mean(drawn) == pytest.approx(700_000, rel=0.02)
    assert np.std(drawn) / 700_000 == pytest.approx(0.3, rel=0.05)
    assert (min(drawn) > 700_000 * (1 - 0.52), max(drawn) < 700_000 * 1.52) == (True, True)
    words = mixed(np.array([0, 7], dtype=np.uint64), np.array([3, 2**40]))
    assert words.tolist() == [splitmix(0, 3), splitmix(7, 2**40)]


def test_usage_that_is_drawn_slows_down_a_cluster_that_demand_leaves_alone():
    load = gangs(jobs=60, nodes=4, length=30, load=0.9)
    milli = {"demand": 1000 * load.demand, "node_capacity": 1000 * load.node_capacity, "gpu_unit": 1000}
    load = load.replace(resources=("gpu_milli",), **milli)
    calm, drawn = (api.simulate(load, "fifo", options={"usage": usage}) for usage in ("demand", "drawn"))
    assert (calm.violations(), drawn.violations()) == ([], [])
    assert "overload" not in calm.summary()
    found = drawn.summary()["overload"]
    assert 0 < found["above"]["gpu_milli"] < 1
    assert 1 < found["slowdown"] < 1.35
    again = api.simulate(load, "fifo", options={"usage": "drawn"})
    assert (again.log.rows, again.log.above) == (drawn.log.rows, drawn.log.above)
    other = api.simulate(load, "fifo", options={"usage": "drawn", "usage_seed": 1})
    assert other.log.rows != drawn.log.rows


def test_options_out_of_range_are_refused():
    wrong = (("usage", "guessed"), ("usage_spread", 0.6), ("usage_every", 0), ("usage_seed", -1))
    for name, value in (*wrong, ("overload_power", 0), ("overload_power", 6), ("overload_power", 1.5)):
        with pytest.raises(InvalidInput, match=name):
            dataclasses.replace(Options(), **{name: value})
