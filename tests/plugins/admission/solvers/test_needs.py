"""What it would take: worse domains are left out without changing the front, and known fronts answer again."""

from __future__ import annotations

import numpy as np
import pytest
from admission_examples import one_node
from draws import draws

from mlsched_admission.instances import Instance
from mlsched_admission.solvers import _changes
from mlsched_admission.solvers.verdicts import judge_decision, what_it_takes


def racks(seed):
    """A job of a few pods that need one rack, and racks of nodes of two sizes, partly in use."""
    rng = np.random.default_rng(seed)
    nodes, units = int(rng.integers(3, 9)), int(rng.integers(1, 6))
    capacity = rng.choice([2, 4, 8], size=nodes)
    held = rng.integers(0, nodes, size=units)
    demand = np.minimum(capacity[held], rng.integers(1, 4, size=units))
    free = capacity.copy()
    for n, amount in zip(held.tolist(), demand.tolist(), strict=True):
        free[n] -= amount
    keep = free >= 0
    free = np.where(keep, free, 0)
    return Instance(
        resources=("gpu",),
        node_free=free[:, None],
        node_draining=0 * free[:, None],
        node_domain=rng.integers(0, 3, size=(1, nodes)),
        pod_node=held,
        pod_unit=np.arange(units),
        pod_demand=demand[:, None],
        unit_group=np.arange(units),
        group_min=np.ones(units, dtype=np.int64),
        unit_priority=np.zeros(units, dtype=np.int64),
        job_priority=[1],
        shape_job=[0],
        shape_count=[int(rng.integers(2, 7))],
        shape_demand=[[2]],
        shape_nodes=rng.integers(0, 2, size=(1, nodes)),
        shape_level=[0],
        may=rng.integers(0, 2, size=(1, units)),
    )


def values(needs):
    return sorted((sum(c.nodes.values()), c.fewer_pods) for c in needs.changes)


def test_domains_that_others_are_better_than_do_not_matter(monkeypatch):
    fewer = 0
    for seed in range(draws(25, 1000)):
        instance = racks(seed)
        short = what_it_takes(instance)
        fewer += int(_changes._without_worse_domains(instance).shape_nodes.sum() < instance.shape_nodes.sum())
        with monkeypatch.context() as patched:
            patched.setattr(_changes, "_without_worse_domains", lambda whole: whole)
            whole = what_it_takes(instance)
        assert (short.starts_now, values(short)) == (whole.starts_now, values(whole)), seed
        assert short.complete
    assert fewer


@pytest.mark.parametrize("seed", range(8))
def test_a_known_front_answers_the_same(seed):
    instance = racks(seed)
    verdict = judge_decision(instance, [])
    assert what_it_takes(instance, verdict=verdict).changes == what_it_takes(instance).changes
    assert what_it_takes(instance, verdict=verdict).starts_now == what_it_takes(instance).starts_now
    again = judge_decision(instance, [], known=verdict)
    assert (again.kind, again.sentence, again.front, again.evidence) == (
        verdict.kind, verdict.sentence, verdict.front, verdict.evidence,
    )  # fmt: skip


def test_a_front_of_other_objectives_is_not_used_again():
    verdict = judge_decision(one_node(), [0], objectives=("victims", "grace"))
    assert judge_decision(one_node(), [0], known=verdict).objectives == ("victims", "lost")
