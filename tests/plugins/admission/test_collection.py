"""The collection with every plug-in."""

from __future__ import annotations

from mlsched.benchmark.suites import SUITES


def test_the_collection_is_500_instances_of_six_problems():
    cases = SUITES["collection"].cases
    assert len({case.problem for case in cases}) == 6
    assert sum(len(case.seeds) for case in cases) == 500
