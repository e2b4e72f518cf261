"""The judge of admission by hand; its quotas against Kueue's recursion, its order of eviction against all orders."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from admission_examples import one_node, plan_of
from draws import draws

from mlsched.core.errors import InvalidInput
from mlsched_admission.instances import Instance, judge, judge_quotas
from mlsched_admission.instances.quotas import Quotas

STARTED = {"start": [0], "place": [[1]]}


@pytest.mark.parametrize(
    ("changes", "evict", "rule"),
    [
        ({}, [2], None),
        ({}, [0, 1], None),
        ({}, [0], "node 0: what comes needs 4 gpu, free and released are 2"),
        ({"shape_nodes": [[0]]}, [2], "shape 0 may not run on node 0"),
        ({"shape_count": [2]}, [2], "shape 0: 1 pods are placed, expected 2"),
        ({"may": [[1, 1, 0]]}, [2], "unit 2 is evicted: no job that starts may evict it"),
        ({"unit_group": [0, 1, 1], "group_min": [1, 2]}, [2], "gang 1: 1 pods stay, expected at least 2"),
        ({"unit_group": [0, 1, 1], "group_min": [1, 2]}, [1, 2], None),
        ({"limit_left": [3], "limit_job": [[4]], "limit_unit": [[0, 0, 0]]}, [2], "limit 0: the jobs that start use 4"),
        ({"limit_left": [3], "limit_job": [[4]], "limit_unit": [[0, 0, 1]]}, [2], None),
        ({"limit_left": [-1], "limit_job": [[0]], "limit_unit": [[0, 0, 0]]}, [2], None),
        ({"limit_left": [0], "limit_job": [[1]], "limit_unit": [[0, 0, 0]]}, [2], "limit 0: the jobs that start use 1"),
        ({"unit_group": [0, 1, 1], "group_min": [1, 1]}, [2], None),
        ({"group_min": [9, 1, 1]}, [2], None),  # a gang below its least already, of which nobody is evicted
        ({"node_domain": [[-1]], "shape_level": [0]}, [2], "shape 0 runs on node 0, which is in no domain of level 0"),
    ],
)
def test_each_rule(changes, evict, rule):
    instance = one_node(**changes)
    found = instance.violations(plan_of(instance, evict, **STARTED))
    assert found == [] if rule is None else rule in " ".join(found)


def three_nodes(**changes) -> Instance:
    """Nodes with 3, 3 and no GPUs free; on the third is a unit of two pods, which may move, and one that may not.

    The job has four pods of a GPU in slices of two, which keep to nodes 0 and 1, or to node 2; two of them on a node.
    """
    return one_node(**({
        "node_free": [[3], [3], [0]], "node_domain": [[0, 0, 1]], "pod_node": [2, 2, 2], "pod_unit": [0, 0, 1],
        "pod_demand": [[2], [1], [1]], "unit_movable": [1, 0], "node_sets": [[0, 1, 0], [1, 0, 0]],
        "pod_set": [0, -1, -1], "unit_group": [0, 1], "unit_priority": [0, 0],
        "group_min": [1, 1], "unit_lost": [0, 0], "may": [[1, 1]],
        "shape_count": [4], "shape_demand": [[1]], "shape_nodes": [[1, 1, 1]], "shape_level": [0], "shape_slice": [2],
        "shape_spread": [2],
    } | changes))  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({}, [2, 2, 0], []),
        ({}, [3, 1, 0], ["shape 0: 3 pods on node 0, expected at most 2"]),
        ({"shape_spread": [0]}, [3, 1, 0], []),
        ({"node_domain": [[0, 1, 1]]}, [2, 2, 0], []),
        (
            {"node_domain": [[0, 1, 1]], "shape_spread": [3]},
            [1, 3, 0],
            [f"shape 0: {n} pods in domain {d} of level 0, expected whole slices of 2" for d, n in enumerate((1, 3))],
        ),
        (
            {"node_domain": [[0, 1, 1]], "shape_slice": [0]},
            [2, 2, 0],
            [f"shape 0: 2 pods in domain {d} of level 0, expected whole slices of 4" for d in (0, 1)],
        ),
        ({"node_domain": [[0, -1, 1]]}, [2, 2, 0], ["shape 0 runs on node 1, which is in no domain of level 0"]),
        ({"node_free": [[1], [3], [0]]}, [2, 2, 0], ["node 0: what comes needs 2 gpu, free and released are 1"]),
        ({"node_free": [[1], [3], [0]], "node_draining": [[1], [0], [0]]}, [2, 2, 0], []),
    ],
)
def test_where_pods_of_a_shape_may_be(changes, place, said):
    instance = three_nodes(**changes)
    assert instance.violations(plan_of(instance, start=[0], place=[place])) == said


@pytest.mark.parametrize(
    ("move", "evict", "place", "said"),
    [
        ([1, 0, -1], [], [0, 0, 0], []),
        ([1, 2, -1], [], [0, 0, 0], []),
        ([1, -1, -1], [], [0, 0, 0], ["pod 1 of the moved unit 0 goes nowhere"]),
        ([0, 1, -1], [], [0, 0, 0], ["pod 0 may not run on node 0"]),
        ([-1, -1, 0], [], [0, 0, 0], ["unit 1 is moved: it may not be"]),
        ([1, 0, -1], [0], [2, 0, 2], ["unit 0 is both evicted and moved"]),
        ([1, 0, -1], [], [2, 0, 2], []),
        ([1, 1, -1], [], [0, 2, 2], ["node 1: what comes needs 5 gpu, free and released are 3"]),
        ([-1, -1, -1], [0], [2, 0, 2], []),
        ([-1, -1, -1], [1], [2, 0, 2], ["node 2: what comes needs 2 gpu, free and released are 1"]),
    ],
)
def test_what_moves_takes_room_and_gives_some_back(move, evict, place, said):
    instance = three_nodes()
    plan = plan_of(instance, evict, start=[0] if any(place) else [], place=[place])
    assert instance.violations(plan.replace(move=move)) == said


def test_objectives_by_hand():
    instance = one_node(
        unit_group=[0, 0, 1], group_min=[2, 1], unit_priority=[5, 7, 9], unit_grace=[30, 60, 5], budget_left=[1],
        pod_budget=[[1, 1, 0]], may=[[1, 1, 1]],
    )  # fmt: skip
    plan = plan_of(instance, [0, 1], **STARTED)
    assert instance.violations(plan) == []
    expected = {"victims": 2, "lost": 30, "top_priority": 2, "budget_violations": 1, "moves": 0, "grace": 60}
    assert judge.base_values(instance, plan) == expected == instance.evaluate(plan)
    waiting = instance.evaluate(plan_of(instance))
    assert waiting == {"victims": 4, "lost": 121, "top_priority": 4, "budget_violations": 2, "moves": 1, "grace": 61}


def test_a_job_outweighs_all_those_of_lower_priority():
    instance = one_node(job_priority=[1, 1, 2, 3], may=[[1, 1, 1]] * 4)
    assert instance.waiting_weight.tolist() == [1, 1, 3, 6]
    with pytest.raises(InvalidInput, match=r"victims can reach .*, expected below 2\^53; ask for fewer jobs at once"):
        one_node(job_priority=list(range(60)), may=[[1, 1, 1]] * 60)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"pod_unit": [0, 1, 3]}, r"pod_unit\[2\]: 3, expected below 3"),
        ({"shape_slice": [2], "shape_count": [3]}, r"shape_slice\[0\]: 2, must divide the shape's count"),
        ({"quota_parent": [0]}, r"quota_parent\[0\]: 0, must not lead back to the queue itself"),
        (
            {"quota_parent": [-1], "quota_nominal": [[1]], "job_use": [[1]]},
            r"job_queue\[0\]: -1, a job that uses quota",
        ),
        ({"above_nominal": 1, "job_priority": [1, 1], "may": [[0] * 3] * 2}, "above_nominal: 1 with 2 waiting jobs"),
    ],
)
def test_what_is_wrong_is_a_line(changes, rule):
    with pytest.raises(InvalidInput, match=rule):
        one_node(**changes)


# --- quotas ----------------------------------------------------------------------------------------------------------


def tree(rng: np.random.Generator, units: int = 0, f: int = 1, depth: int = 2) -> Instance:
    """A random quota tree of one or two levels of cohorts, with units, and a job."""
    parent = [-1, 0, 0, 0] if depth == 1 else [-1, 0, 0, 1, 1, 2, 2]
    queues = [q for q in range(len(parent)) if q not in parent]
    unit_queue = rng.choice(queues, units)
    use = rng.integers(0, 3, (units, f))
    used = np.zeros((len(parent), f), dtype=np.int64)
    used[queues] = rng.integers(0, 3, (len(queues), f))
    np.add.at(used, unit_queue, use)
    shape = (len(parent), f)
    return Instance(
        resources=("gpu",), node_free=[], pod_node=[], pod_unit=[], pod_demand=[], unit_group=np.arange(units),
        unit_priority=np.zeros(units, int), group_min=np.ones(units, int), job_priority=[1], shape_job=[],
        shape_count=[], shape_demand=[], shape_nodes=[], may=np.ones((1, units), int), quota_parent=parent,
        quota_nominal=rng.integers(0, 5, shape), quota_borrow=rng.choice([-1, -1, 0, 1, 2], shape),
        quota_lend=rng.choice([-1, -1, 0, 1, 2], shape), quota_used=used, job_queue=[int(rng.choice(queues))],
        job_use=rng.integers(1, 4, (1, f)), unit_queue=unit_queue, unit_use=use, above_nominal=1,
    )  # fmt: skip


def available(quotas: Quotas, q: int, f: int) -> int:
    """Kueue's recursion: what a queue may still use (`pkg/cache/scheduler/resource_node.go`)."""
    instance, used = quotas.instance, int(quotas.used[q, f])
    if quotas.parent[q] < 0:
        return int(quotas.subtree[q, f]) - used
    local, above = int(quotas.local[q, f]), available(quotas, quotas.parent[q], f)
    if (borrow := int(instance.quota_borrow[q, f])) >= 0:
        above = min(int(quotas.subtree[q, f]) - local - max(0, used - local) + borrow, above)
    return max(0, local - used) + above


def test_quotas_are_those_of_the_recursion(report):
    rng, seen = np.random.default_rng(5), Counter()
    for _ in range(draws(1_200, 100_000)):
        instance = tree(rng, depth=int(rng.integers(1, 3)))
        quotas, queue = Quotas(instance), int(instance.job_queue[0])
        mine = not judge_quotas.over_quota(instance, [0], [])
        assert mine == quotas.fitting_flavors(quotas.changed_use([0], []), 0).all()
        over = [q for q, _ in quotas.exceeded_quotas() if q in quotas.path_to_root(queue)]
        theirs = int(instance.job_use[0, 0]) <= available(quotas, queue, 0)
        seen["an ancestor is over-admitted" if over else "fits" if mine else "does not fit"] += 1
        seen["differ where an ancestor is over-admitted"] += bool(over) and theirs != mine
        assert over or theirs == mine, instance
    report("admission: quota trees against Kueue's recursion", [f"{n:7d}  {case}" for case, n in seen.items()])
    assert min(seen["fits"], seen["does not fit"]) > 0.1 * seen.total()


def flavors(**changes) -> Instance:
    """Two queues of one cohort and two flavors, 2 of each; job 0 is in queue 1 and uses one of each."""
    fields = {
        "resources": ("gpu",), "node_free": [], "pod_node": [], "pod_unit": [], "pod_demand": [], "unit_group": [0],
        "unit_priority": [0], "group_min": [1], "job_priority": [1], "shape_job": [], "shape_count": [],
        "shape_demand": [], "shape_nodes": [], "may": [[1]], "quota_parent": [-1, 0, 0],
        "quota_nominal": [[0, 0], [2, 2], [2, 2]], "quota_borrow": [[-1, -1]] * 3, "quota_lend": [[-1, -1]] * 3,
        "quota_used": [[0, 0], [0, 0], [1, 0]], "job_queue": [1], "job_use": [[1, 1]], "unit_queue": [2],
        "unit_use": [[1, 0]], "above_nominal": 1,
    }  # fmt: skip
    return Instance(**(fields | changes))


def test_a_flavor_that_a_job_does_not_use_is_not_held_against_it():
    over = {"quota_used": [[0, 0], [0, 5], [1, 0]]}
    assert judge_quotas.over_quota(flavors(job_use=[[1, 0]], **over), [0], []) == []
    assert judge_quotas.over_quota(flavors(**over), [0], []) == ["queue 0 uses 6 of flavor 1: expected at most 4"]


def test_a_job_borrows_beyond_the_quota_of_its_queue():
    for used, borrows in ((1, False), (2, True)):
        assert judge_quotas.queue_borrows(flavors(quota_used=[[0, 0], [0, used], [1, 0]]), 0, [0], []) == borrows
    assert not judge_quotas.queue_borrows(flavors(quota_used=[[0, 0], [0, 2], [1, 0]], job_use=[[1, 0]]), 0, [0], [])


def test_what_is_contested_is_what_does_not_fit_or_else_all_that_is_used():
    assert judge_quotas.contested_flavors(flavors(), 0) == [0, 1]
    assert judge_quotas.contested_flavors(flavors(job_use=[[0, 1]]), 0) == [1]
    assert judge_quotas.contested_flavors(flavors(quota_used=[[0, 0], [0, 4], [1, 0]]), 0) == [1]


def test_a_victim_that_uses_nothing_contested_is_named_alone():
    lacking = flavors(quota_used=[[0, 0], [0, 4], [1, 0]])
    assert judge_quotas.not_reclaimable(lacking, [0]) == [(0, "unit 0 is evicted: it uses no flavor that job 0 lacks")]


def starting(instance: Instance, evict: list[int]) -> list[str]:
    """What is wrong with job 0 starting where these units are evicted."""
    return instance.violations(plan_of(instance, evict, start=[0]))


def test_a_job_that_borrows_may_evict_less():
    """Queue 1 has 2 of each flavor, and its cohort 4; the unit is of queue 2."""
    for used, said in ((1, []), (2, ["unit 0 is evicted: only a job that ends without borrowing may do so"])):
        asked = flavors(may=[[2]], above_nominal=0, quota_used=[[0, 0], [used, 0], [1, 0]])
        assert starting(asked, [0]) == said
    assert starting(flavors(above_nominal=0, quota_used=[[0, 0], [2, 0], [1, 0]]), [0]) == []


def test_what_is_reclaimed_exceeds_its_quota():
    """Queue 2 has 2 of flavor 0. The unit, which holds 1, may go where the queue holds more than 2."""
    kept = "queue 2 does not exceed its quota of what job 0 lacks when its last victim goes"
    for used, able in ((2, False), (3, True)):
        found = starting(flavors(quota_used=[[0, 0], [0, 0], [used, 0]]), [0])
        assert (found == []) == able
        assert able or found == [kept]
    assert starting(flavors(may=[[0]]), [0]) == ["unit 0 is evicted: no job that starts may evict it"]


def removable(instance: Instance, victims: list[int]) -> bool:
    """By trying every order: whether each goes while the queues above it exceed their quota of what the job lacks."""
    quotas = Quotas(instance)
    flavors = judge_quotas.contested_flavors(instance, 0)
    own = set(quotas.path_to_root(int(instance.job_queue[0])))
    for order in itertools.permutations(victims):
        for i, u in enumerate(order):
            usage = quotas.usage_of(quotas.changed_use([], order[:i]))
            foreign = [q for q in quotas.path_to_root(int(instance.unit_queue[u])) if q not in own]
            if not all((usage[q, flavors] > quotas.subtree[q, flavors]).any() for q in foreign):
                break
        else:
            return True
    return False


def test_an_order_of_eviction_exists_where_the_judge_says_so(report):
    rng, seen = np.random.default_rng(6), Counter()
    for _ in range(draws(400, 10_000)):
        depth = int(rng.integers(1, 3))
        instance = tree(rng, units=6, f=int(rng.integers(1, 3)), depth=depth)
        flavors = judge_quotas.contested_flavors(instance, 0)
        able = [u for u in range(6) if instance.unit_use[u, flavors].any()]
        victims = sorted(rng.permutation(able)[: int(rng.integers(1, 5))].tolist())
        mine = not judge_quotas.not_reclaimable(instance, victims)
        assert mine == removable(instance, victims), (instance, victims)
        seen[f"{depth} level{'s' * (depth > 1)} of cohorts, {'removable' if mine else 'not removable'}"] += 1
    report("admission: sets of victims against all orders", [f"{n:7d}  {case}" for case, n in sorted(seen.items())])
    assert len(seen) == 4
    assert min(seen.values()) > 0.05 * seen.total()
