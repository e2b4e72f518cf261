"""Features of admission instances that rules of the judge distinguish (`Problem.features`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import Feature
from mlsched_admission.instances.instance import Instance

Rng = np.random.Generator


def _replace_entry(instance: Instance, at: Any, **values: Any) -> Instance:
    changed = {name: getattr(instance, name).copy() for name in values}
    for name, value in values.items():
        changed[name][at] = value
    return instance.replace(**changed)


def _drain_node(instance: Instance, rng: Rng) -> Instance:
    return _replace_entry(instance, int(rng.integers(len(instance.node_free))), node_draining=1)


def _let_unit_move(instance: Instance, rng: Rng) -> Instance:
    """Let a unit with pods be moved."""
    return _replace_entry(instance, int(rng.choice(instance.pod_unit)), unit_movable=1)


def _make_gang(instance: Instance, rng: Rng) -> Instance:
    """Make two units one gang that needs all of their pods."""
    one, other = rng.choice(len(instance.unit_group), size=2, replace=False).tolist()
    group = int(instance.unit_group[one])
    with_gang = _replace_entry(instance, other, unit_group=group)
    units = np.flatnonzero(with_gang.unit_group == group)
    pods = sum(max(1, int((with_gang.pod_unit == u).sum())) for u in units.tolist())
    return _replace_entry(with_gang, group, group_min=pods)


def _add_budget(instance: Instance, rng: Rng) -> Instance:
    covered = (rng.integers(0, 2, (1, len(instance.pod_node))) if len(instance.pod_node) else np.zeros((1, 0))).astype(
        int
    )
    covered[0, :1] = 1
    return instance.replace(
        budget_left=np.append(instance.budget_left, 0),
        pod_budget=np.vstack([instance.pod_budget, covered]),
        budget_names=(*instance.budget_names, "another") if instance.budget_names else (),
    )


def _add_limit(instance: Instance, rng: Rng) -> Instance:
    """Make a job's use of a limit depend on the return by a unit."""
    return instance.replace(
        limit_left=np.append(instance.limit_left, 0),
        limit_job=np.vstack([instance.limit_job, np.ones((1, len(instance.job_priority)), dtype=np.int64)]),
        limit_unit=np.vstack([instance.limit_unit, rng.integers(0, 2, (1, len(instance.unit_group)))]),
        limit_names=(*instance.limit_names, "another") if instance.limit_names else (),
    )


def _limit_spread(instance: Instance, rng: Rng) -> Instance:
    shape = int(rng.integers(len(instance.shape_job)))
    return _replace_entry(instance, shape, shape_spread=1, shape_count=2, shape_slice=0)


def _restricted(instance: Instance, rng: Rng) -> Instance:
    shape, node = int(rng.integers(len(instance.shape_job))), int(rng.integers(len(instance.node_free)))
    return _replace_entry(instance, (shape, node), shape_nodes=0)


def _add_domains(instance: Instance, rng: Rng) -> Instance:
    """Add a level of two domains; a shape must stay within one."""
    domain = rng.integers(0, 2, (1, len(instance.node_free)))
    with_domains = instance.replace(node_domain=np.vstack([instance.node_domain, domain]))
    shape = int(rng.integers(len(instance.shape_job)))
    return _replace_entry(with_domains, shape, shape_level=len(with_domains.node_domain) - 1)


def _add_slices(instance: Instance, rng: Rng) -> Instance:
    """Make a shape of two slices, each within one domain."""
    shape = int(rng.integers(len(instance.shape_job)))
    with_slices = _replace_entry(instance, shape, shape_count=2, shape_slice=1)
    return _replace_entry(_add_domains(with_slices, rng), shape, shape_level=len(with_slices.node_domain))


def _shape_group(instance: Instance, rng: Rng) -> Instance:
    """Make all shapes of a job share a domain of a level with two domains."""
    job = int(rng.choice(instance.shape_job))
    group, level = len(instance.shape_group_level), len(instance.node_domain)
    return instance.replace(
        node_domain=np.vstack([instance.node_domain, rng.integers(0, 2, (1, len(instance.node_free)))]),
        shape_group=np.where(instance.shape_job == job, group, instance.shape_group),
        shape_group_level=np.append(instance.shape_group_level, level),
    )


def _unit_level(instance: Instance, rng: Rng) -> Instance:
    """Let a unit with pods be moved within one of two domains."""
    changed_instance = _let_unit_move(instance, rng)
    unit = int(rng.choice(np.flatnonzero(changed_instance.unit_movable == 1)))
    domain = rng.integers(0, 2, (1, len(instance.node_free)))
    changed_instance = changed_instance.replace(node_domain=np.vstack([changed_instance.node_domain, domain]))
    return _replace_entry(changed_instance, unit, unit_level=len(changed_instance.node_domain) - 1)


def _add_second_job(instance: Instance, rng: Rng) -> Instance:
    """Add a second job with a shape like one of the first; its victims no longer depend on their quota."""
    shape, jobs = int(rng.integers(len(instance.shape_job))), len(instance.job_priority)
    fields = {
        name: np.concatenate([getattr(instance, name), getattr(instance, name)[shape : shape + 1]])
        for name in ("shape_count", "shape_demand", "shape_nodes", "shape_level", "shape_slice", "shape_spread")
    }
    job = int(instance.shape_job[shape])
    fields |= {
        name: np.concatenate([getattr(instance, name), getattr(instance, name)[job : job + 1]])
        for name in ("job_priority", "may", "job_queue", "job_use")
    }
    longer_names = {n: (*getattr(instance, n), "another") for n in ("job_names", "shape_names") if getattr(instance, n)}
    return instance.replace(
        **fields,
        **longer_names,
        above_nominal=0,
        shape_job=np.append(instance.shape_job, jobs),
        shape_group=np.append(instance.shape_group, -1),
        limit_job=np.hstack([instance.limit_job, instance.limit_job[:, job : job + 1]]),
    )


def _priorities(instance: Instance, rng: Rng) -> Instance:
    job = int(rng.integers(len(instance.job_priority)))
    return _replace_entry(instance, job, job_priority=int(instance.job_priority.max()) + 1)


def _draw_losses(instance: Instance, rng: Rng) -> Instance:
    return _replace_entry(instance, int(rng.integers(len(instance.unit_group))), unit_lost=5, unit_grace=30)


def _forbid_evictions(instance: Instance, rng: Rng) -> Instance:
    at = int(rng.integers(len(instance.job_priority))), int(rng.integers(len(instance.unit_group)))
    return _replace_entry(instance, at, may=0)


def _without_borrowing(instance: Instance, rng: Rng) -> Instance:
    job = int(rng.choice(np.flatnonzero(instance.job_queue >= 0)))
    return _replace_entry(instance, (job, int(rng.integers(len(instance.unit_group)))), may=2)


def _let_queue_borrow(instance: Instance, rng: Rng) -> Instance:
    queue, flavor = int(rng.integers(len(instance.quota_parent))), int(rng.integers(instance.quota_borrow.shape[1]))
    return _replace_entry(instance, (queue, flavor), quota_borrow=int(rng.integers(0, 2)))


def _let_queue_lend(instance: Instance, rng: Rng) -> Instance:
    queue, flavor = int(rng.integers(len(instance.quota_parent))), int(rng.integers(instance.quota_lend.shape[1]))
    return _replace_entry(instance, (queue, flavor), quota_lend=int(rng.integers(0, 2)))


def _has_gang(instance: Instance) -> bool:
    return len(np.unique(instance.unit_group)) < len(instance.unit_group)


FEATURES = {
    "quotas": Feature(lambda i: len(i.quota_parent) > 0),
    "queue below a queue": Feature(lambda i: bool((i.quota_parent >= 0).any())),
    "borrowing limit": Feature(lambda i: bool((i.quota_borrow >= 0).any()), _let_queue_borrow),
    "lending limit": Feature(lambda i: bool((i.quota_lend >= 0).any()), _let_queue_lend),
    "eviction without borrowing": Feature(lambda i: bool((i.may == 2).any()), _without_borrowing),
    "unit that may not be evicted": Feature(lambda i: bool((i.may == 0).any()), _forbid_evictions),
    "gang of several units": Feature(_has_gang, _make_gang),
    "movable unit": Feature(lambda i: bool(i.unit_movable[i.pod_unit].any()), _let_unit_move),
    "draining node": Feature(lambda i: bool(i.node_draining.any()), _drain_node),
    "restricted shape": Feature(lambda i: bool((i.shape_nodes == 0).any()), _restricted),
    "spread": Feature(lambda i: bool(((i.shape_spread > 0) & (i.shape_count > i.shape_spread)).any()), _limit_spread),
    "domain": Feature(lambda i: bool((i.shape_level >= 0).any()), _add_domains),
    "slices": Feature(
        lambda i: bool(((i.shape_level >= 0) & (i.shape_slice > 0) & (i.shape_slice < i.shape_count)).any()),
        _add_slices,
    ),
    "group of shapes": Feature(lambda i: bool((i.shape_group >= 0).any()), _shape_group),
    "level of a moved unit": Feature(lambda i: bool(((i.unit_level >= 0) & (i.unit_movable == 1)).any()), _unit_level),
    "two jobs": Feature(lambda i: len(i.job_priority) >= 2, _add_second_job),
    "two priorities of jobs": Feature(lambda i: len(np.unique(i.job_priority)) > 1, _priorities),
    "disruption budget": Feature(lambda i: bool(i.pod_budget.any()), _add_budget),
    "further limit": Feature(lambda i: bool(i.limit_job.any()), _add_limit),
    "lost work": Feature(lambda i: bool(i.unit_lost.any()), _draw_losses),
}
