"""MLF-H: a round with placement, relief of an overloaded node and migration worked out by hand, and its parts."""

from __future__ import annotations

import pytest
from mlf_examples import snapshot

from mlsched import api
from mlsched.core.errors import InvalidInput


def ask(seen, **params):
    plan = api.solve(seen, "mlf-h", **params).plan
    assert seen.violations(plan) == []
    return plan


def rows(plan, verb):
    return list(zip(*(getattr(plan, f"{verb}_{what}").tolist() for what in ("task", "node", "gpu")), strict=True))


def job(urgency, demand, usage=None, **given):
    """A job of one task: by `alpha=1`, its priority is its urgency over 10."""
    return {"urgency": urgency}, [(demand, given | ({"usage": usage} if usage else {}))]


def crowded(**changes):
    """Three nodes of 10 CPUs and two GPUs of 100; the first uses 12 CPUs, and 100 of its second GPU.

    Task 0 has GPU 0 of node 0 for itself, tasks 1 and 2 share its GPU 1; 3 waits; 4 and 5 run on nodes 1 and 2.
    """
    jobs = [
        job(9, (4, 100), (6, 100), node=0, gpu=0),
        job(5, (3, 60), (4, 70), node=0, gpu=1),
        job(3, (2, 30), (2, 30), node=0, gpu=1),
        job(6, (3, 50)),
        job(1, (2, 100), (2, 80), node=1, gpu=0),
        job(1, (5, 40), node=2, gpu=1),
    ]
    given = {"movement": "anytime", "pausing": "keep"} | changes
    return snapshot(9, jobs, nodes=[(10, 200)] * 3, resources=("cpu", "gpu_percent"), gpu_unit=100, **given)


def test_a_round_by_hand():
    """Thresholds are 9 CPUs and 90 of a shared GPU.

    Relief of node 0. Its GPU 1 is overloaded (100 > 90); of the tasks there, 10 % but at least one: the lowest
    priority, task 2. CPUs are then at 10 > 9. The ideal virtual task has the most CPUs, .6, and the fewest GPUs,
    .35: task 0 is .15 from it, task 1 .2. Task 0 leaves; 4 CPUs are used.

    The queue is 0 (.9), 3 (.6), 2 (.3).
    Task 0 (uses 6 CPUs, holds a whole GPU): node 0 would use 10, node 2 11; node 1 8, and its GPU 1 is free.
    Task 3 (3 CPUs, half a GPU): node 1 would use 11. Node 0 could take it on GPU 0 (4 + 3 CPUs, used .4 and .35 so
    far), node 2 as well (5 + 3, used .5 and .2). The ideal host uses .4 and .2: node 0 is .15 from it, node 2 .1.
    Of node 2's GPUs both could take it (40 + 50 <= 90); the first is the least used.
    Task 2 (2 CPUs, 30 of a GPU): nodes 1 and 2 would use 10 CPUs. Node 0, where it is, may take it again (4 + 2), but
    on GPU 0: on GPU 1 there would be 70 + 30.
    """
    plan = ask(crowded(), alpha=1.0)
    assert rows(plan, "migrate") == [(0, 1, 1), (2, 0, 0)]
    assert rows(plan, "start") == [(3, 2, 0)]
    assert plan.pause_task.tolist() == []


def test_what_finds_no_host_pauses_or_where_it_may_not_stays():
    """Nodes 1 and 2 now use 9 CPUs: task 0 finds no host, and pauses. Task 3 starts on its GPU, and task 2 moves there,
    to 50 + 30 on the GPU and 4 + 3 + 2 CPUs on the node.
    """
    full = crowded().replace(usage=[(6, 100), (4, 70), (2, 30), (0, 0), (9, 80), (9, 40)])
    plan = ask(full, alpha=1.0)
    assert plan.pause_task.tolist() == [0]
    assert rows(plan, "start") == [(3, 0, 0)]
    assert rows(plan, "migrate") == [(2, 0, 0)]
    stays = ask(full.replace(pausing="none"), alpha=1.0)
    assert [len(stays.pause_task), len(stays.start_task), len(stays.migrate_task)] == [0, 0, 0]


def test_without_migration_only_what_waits_is_placed():
    """Of the nodes that are not overloaded, node 1 uses .2 of its CPUs and .4 of its GPUs, node 2 .5 and .2: the ideal
    host uses .2 and .2, and node 1 is nearer.
    """
    plan = ask(crowded(), alpha=1.0, migration=False)
    assert (rows(plan, "start"), rows(plan, "migrate"), plan.pause_task.tolist()) == ([(3, 1, 1)], [], [])


def test_where_tasks_may_not_move_they_pause():
    plan = ask(crowded(movement="between_iterations"), alpha=1.0)
    assert plan.pause_task.tolist() == [2, 0]
    assert rows(plan, "migrate") == []
    nothing = ask(crowded(movement="none", pausing="none"), alpha=1.0)
    assert rows(nothing, "start") == [(3, 1, 1)]
    assert not len(nothing.pause_task)


def test_a_gang_is_relieved_by_moves_alone():
    """Tasks 0 and 1 are a gang: neither may pause by itself."""
    both = [((6, 10), {"node": 0, "gpu": 0}), ((4, 10), {"node": 0, "gpu": 1})]
    seen = snapshot(
        9, [({"gang": 1}, both)], nodes=[(10, 200)], resources=("cpu", "gpu_percent"), gpu_unit=100, pausing="keep"
    )
    assert not len(ask(seen).pause_task)
    assert len(ask(seen.replace(gang=[0])).pause_task) == 1


def test_busy_gpus_are_no_overload_and_more_use_than_there_is_is():
    """Four tasks have a GPU each of a pool of four: not overloaded. When they use 4.4, one leaves."""
    jobs = [job(5, (100,), node=0) for _ in range(4)]
    seen = snapshot(9, jobs, nodes=[(400,), (400,)], resources=("gpu_percent",), movement="anytime", pausing="keep")
    assert not len(ask(seen).migrate_task)
    assert rows(ask(seen.replace(usage=[(110,)] * 4)), "migrate") == [(0, 1, -1)]


def test_a_task_goes_to_its_neighbours_and_without_the_bandwidth_to_the_emptiest_node():
    """Task 1 waits for what task 0 sends, on node 0, which is half full."""
    tasks = [((5, 5), {"node": 0, "state": 1}), ((1, 1), {})]
    seen = snapshot(
        9, [({}, tasks)], nodes=[(10, 10)] * 2, resources=("a", "b"), edges=[(0, 1, 1, 8, 0)], simulator="iterations"
    )
    # Node 0: (.5, .5) from the least use, nothing from the most volume: .71. Node 1: 1 from the most volume.
    assert rows(ask(seen), "start") == [(1, 0, -1)]
    assert rows(ask(seen, bandwidth=False), "start") == [(1, 1, -1)]


def test_hosts_as_listed_take_the_least_work_or_the_fullest():
    """Node 0 runs a task of 1 of 10 with 20 ticks left, node 1 two of 2 with one tick each: the ideal is node 0."""
    busy = ((1,), {"node": 0, "duration": 20}), ((2,), {"node": 1}), ((2,), {"node": 1})
    seen = snapshot(9, [*(({}, [task]) for task in busy), job(5, (1,))], nodes=[(10,), (10,)], resources=("cpu",))
    found = {how: rows(ask(seen, hosts=how), "start") for how in ("ideal", "least-work", "best-fit")}
    assert found == {"ideal": [(3, 0, -1)], "least-work": [(3, 1, -1)], "best-fit": [(3, 1, -1)]}


def test_without_the_threshold_relief_goes_on_and_places_are_not_limited():
    full = snapshot(9, [job(5, (8,), node=0), job(5, (2,))], nodes=[(10,)], resources=("cpu",))
    assert rows(ask(full, threshold=False), "start") == [(1, 0, -1)]
    assert len(ask(crowded(), alpha=1.0, threshold=False).migrate_task)


@pytest.mark.parametrize(("order", "first"), [("arrival", 1), ("remaining", 0), ("priority", 2)])
def test_other_orders_stand_in_for_the_priority(order, first):
    """Of three jobs for one place, 0 has least to do, 1 came first and 2 is most urgent."""
    given = [({"arrival": 3}, 1), ({"arrival": 1}, 5), ({"arrival": 2, "urgency": 9}, 4)]
    jobs = [({"urgency": 1} | columns, [((1,), {"duration": ticks})]) for columns, ticks in given]
    assert rows(ask(snapshot(9, jobs, nodes=[(1,)]), alpha=1.0, order=order), "start") == [(first, 0, -1)]


def test_a_move_costs_what_it_degrades():
    """A paused task may go on at home, where .05 of the CPUs are used, or on node 1, where .04 are.

    To move takes as many ticks as it has left: q = .1 x its CPU share (.4) x 20 / 20 = .04, against .01 at home.
    """
    tasks = [((40,), {"state": 2, "node": 0, "duration": 20}), ((4,), {"node": 1}), ((5,), {"node": 0})]
    jobs = [({}, [task]) for task in tasks]
    given = {"resources": ("cpu",), "movement": "anytime", "pausing": "keep"}
    seen = snapshot(9, jobs, nodes=[(100,), (100,)], edges=[(0, 0, 1, 8, 20)], **given)
    assert rows(ask(seen), "start") == [(0, 0, -1)]
    assert rows(ask(seen.replace(edge_delay=[0])), "start") == [(0, 1, -1)]


def test_the_threshold_keeps_room_free_except_on_an_idle_node_and_in_an_idle_cluster():
    """Of 10 CPUs, 9 may be used; a task of 10 starts on an idle node."""
    full = snapshot(9, [job(5, (8,), node=0), job(5, (2,))], nodes=[(10,)], resources=("cpu",))
    assert not len(ask(full).start_task)
    assert rows(ask(full, h_r=1.0), "start") == [(1, 0, -1)]
    idle = snapshot(9, [job(5, (8,), node=0), job(5, (10,))], nodes=[(10,), (10,)], resources=("cpu",))
    assert rows(ask(idle), "start") == [(1, 1, -1)]
    gang = snapshot(9, [({"gang": 1}, [((5,), {}), ((5,), {})])], nodes=[(10,)], resources=("cpu",))
    assert rows(ask(gang), "start") == [(0, 0, -1), (1, 0, -1)]


def test_by_iterations_a_job_starts_whole():
    """There is room for two of its three tasks: none starts; another job's two do."""
    jobs = [({"urgency": 9}, [((1,), {})] * 3), ({"urgency": 1}, [((1,), {})] * 2)]
    seen = snapshot(9, jobs, nodes=[(2,)], resources=("gpu",), simulator="iterations")
    assert rows(ask(seen, alpha=1.0), "start") == [(3, 0, -1), (4, 0, -1)]
    assert len(ask(seen.replace(simulator="tasks"), alpha=1.0).start_task) == 2


def test_by_iterations_no_task_pauses_alone():
    """It would stop the others of its job, which hold their nodes on: with nothing else there, for ever."""
    seen = crowded(movement="none")
    assert len(ask(seen, alpha=1.0).pause_task)
    assert not len(ask(seen.replace(simulator="iterations"), alpha=1.0).pause_task)


def test_the_server_comes_first():
    """One place is left for a job whose server is its last task."""
    tasks = [((1,), {}), ((1,), {"role": 1})]
    seen = snapshot(9, [({}, tasks)], nodes=[(1,)], resources=("gpu",))
    assert rows(ask(seen), "start") == [(1, 0, -1)]


@pytest.mark.parametrize("wrong", [{"alpha": 1.1}, {"gamma": -0.1}, {"p_s": 2.0}, {"h_r": 0.0}, {"scale": -1.0}])
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        ask(crowded(), **wrong)
