"""What the distribution's own plug-ins register counts as built in."""

from __future__ import annotations

from mlsched.api.guard import is_foreign
from mlsched.core import plugins
from mlsched.core.registry import registry


def test_no_solver_of_the_distribution_is_foreign():
    assert plugins.own_packages() == {
        "mlsched",
        "mlsched_admission",
        "mlsched_papers",
        "mlsched_rounds",
        "mlsched_training",
    }
    found = registry().available()
    assert {a.function.__module__.partition(".")[0] for a in found} == {
        "mlsched",
        "mlsched_admission",
        "mlsched_rounds",
    }
    assert not any(is_foreign(a) for a in found)
