"""A Hypothesis strategy of small admission instances: adversarial, unlike the realistic generator.

Few distinct numbers make ties, exact fits, equal nodes and equal units common. Every field occurs: gangs, moves,
domains, slices, spreads, quotas of two levels, limits and budgets.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import IntArray
from mlsched.instances.values import one_of
from mlsched_admission.instances.instance import Instance

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


class _Draw:
    """Arrays of few distinct numbers."""

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw

    def draw_one(self, *entries: int) -> int:
        return int(self.draw(one_of(*entries)))

    def draw_array(self, *shape_and_entries: Any) -> IntArray:
        from hypothesis import strategies as st

        shape, entries = shape_and_entries[0], shape_and_entries[1:]
        size = int(np.prod(shape))
        flat = self.draw(st.lists(one_of(*entries), min_size=size, max_size=size))
        return np.array(flat, dtype=np.int64).reshape(shape)


@functools.cache
def instances(*, nodes: int = 3, units: int = 5, jobs: int = 2) -> SearchStrategy[Instance]:
    """Generate instances up to these numbers of nodes, units and waiting jobs (defaults: brute force takes ms)."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        d = _Draw(draw)
        n, r = draw(st.integers(0, nodes), label="nodes"), d.draw_one(1, 1, 2)
        u, j = draw(st.integers(0, units), label="units"), draw(st.integers(1, jobs), label="jobs")
        levels, groups = d.draw_one(0, 1, 2), max(1, u)
        pods = d.draw_array((u,), 1, 1, 1, 2).sum() if n and u else 0
        pod_unit = (
            np.sort(np.concatenate([np.arange(u), d.draw_array((pods - u,), *range(u))])) if pods else np.zeros(0, int)
        )
        k = draw(st.integers(0, 3), label="shapes") if n else 0
        count, size = d.draw_array((k,), 1, 1, 2, 2, 4), d.draw_array((k,), 0, 0, 1, 2)
        fields: Data = {
            "resources": ("gpu", "cpu")[:r],
            "node_free": d.draw_array((n, r), -1, 0, 0, 1, 2),
            "pod_node": d.draw_array((pods,), *range(max(n, 1))),
            "pod_unit": pod_unit.astype(np.int64),
            "pod_demand": d.draw_array((pods, r), 0, 1, 1, 2),
            "unit_group": d.draw_array((u,), *range(groups)),
            "unit_priority": d.draw_array((u,), 0, 1, 2),
            "group_min": d.draw_array((groups,), 1, 1, 2, 3),
            "job_priority": d.draw_array((j,), 1, 1, 2),
            "shape_job": d.draw_array((k,), *range(j)),
            "shape_count": count,
            "shape_demand": d.draw_array((k, r), 0, 1, 2, 2),
            "shape_nodes": d.draw_array((k, n), 0, 1, 1, 1),
            "may": d.draw_array((j, u), 0, 1, 1),
            "node_draining": d.draw_array((n, r), 0, 0, 0, 1),
            "node_domain": d.draw_array((levels, n), -1, 0, 0, 1, 1),
            "unit_lost": d.draw_array((u,), 0, 1, 5),
            "unit_grace": d.draw_array((u,), 0, 30, 60),
            "unit_movable": d.draw_array((u,), 0, 0, 1),
            "unit_level": d.draw_array((u,), -1, -1, *range(levels)),
            "shape_level": d.draw_array((k,), -1, *range(levels)),
            "shape_slice": np.where(count % np.maximum(size, 1) == 0, size, 0),
            "shape_spread": d.draw_array((k,), 0, 0, 1),
            "node_sets": d.draw_array((1, n), 0, 1),
            "pod_set": d.draw_array((pods,), -1, -1, 0),
        }
        if levels and d.draw_one(0, 1):  # the shapes of a job share a domain
            fields |= {"shape_group": fields["shape_job"], "shape_group_level": d.draw_array((j,), *range(levels))}
        if d.draw_one(0, 1):
            fields |= _draw_quotas(d, u, j)
        b, h = d.draw_one(0, 0, 1), d.draw_one(0, 0, 1)
        fields |= {"budget_left": d.draw_array((b,), 0, 1), "pod_budget": d.draw_array((b, pods), 0, 1)}
        fields |= {
            "limit_left": d.draw_array((h,), -1, 0, 0, 1),
            "limit_job": d.draw_array((h, j), 0, 1),
            "limit_unit": d.draw_array((h, u), 0, 1),
        }
        return Instance(**fields)

    return draw_instance()


def _draw_quotas(d: _Draw, units: int, jobs: int) -> Data:
    """Draw quotas of one or two flavors: queues 2 and 3 below cohort 1, that and queue 4 below the root 0."""
    parent = np.array([-1, 0, 1, 1, 0], dtype=np.int64)
    f = d.draw_one(1, 1, 2)
    unit_queue, unit_use = d.draw_array((units,), 2, 3, 4), d.draw_array((units, f), 0, 1, 1, 2)
    usage = np.where((parent >= 1)[:, None], d.draw_array((5, f), 0, 0, 1), 0)
    np.add.at(usage, unit_queue, unit_use)
    one = jobs == 1
    return {
        "quota_parent": parent,
        "quota_nominal": d.draw_array((5, f), 0, 1, 2, 3),
        "quota_borrow": d.draw_array((5, f), -1, -1, 0, 1),
        "quota_lend": d.draw_array((5, f), -1, -1, 0, 1),
        "quota_used": usage,
        "job_queue": d.draw_array((jobs,), 2, 3, 4),
        "job_use": d.draw_array((jobs, f), 0, 1, 1, 2),
        "unit_queue": unit_queue,
        "unit_use": unit_use,
        "may": d.draw_array((jobs, units), 0, 1, 1, 2),
        "above_nominal": d.draw_one(0, 1) if one else 0,
    }


@functools.cache
def contended() -> SearchStrategy[Instance]:
    """Generate instances in which two to four jobs compete for the same room: one fits, two do not, and nodes are
    equal.
    """
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        d = _Draw(draw)
        n, u, j = draw(st.integers(1, 2)), draw(st.integers(0, 4)), draw(st.integers(2, 4))
        return Instance(
            resources=("gpu",),
            node_free=np.full((n, 1), d.draw_one(0, 1, 2, 2)),
            pod_node=d.draw_array((u,), *range(n)),
            pod_unit=np.arange(u),
            pod_demand=d.draw_array((u, 1), 1, 2, 2),
            unit_group=np.arange(u),
            unit_priority=d.draw_array((u,), 0, 1),
            group_min=np.ones(u, dtype=np.int64),
            job_priority=d.draw_array((j,), 1, 1, 2),
            shape_job=np.arange(j),
            shape_count=d.draw_array((j,), 1, 1, 2),
            shape_demand=d.draw_array((j, 1), 1, 2, 2),
            shape_nodes=np.ones((j, n), dtype=np.int64),
            may=d.draw_array((j, u), 0, 1, 1),
            unit_lost=d.draw_array((u,), 0, 60, 600),
            unit_grace=d.draw_array((u,), 0, 30),
        )

    return draw_instance()
