"""Numbers of pods without a bound of their own."""

from __future__ import annotations

from admission_examples import one_node

import mlsched


def test_so_many_pods_that_ask_for_nothing():
    """How many pods fit a node has no bound of its own: cp-sat proved that such a job waits."""
    many = one_node(shape_count=[2**32], shape_demand=[[0]])
    for name in ("brute-force", "cp-sat"):
        found = mlsched.solve(many, name, objective="victims")
        assert (found.status, found.sort_key, found.plan.start.tolist()) == ("optimal", 0, [1])
