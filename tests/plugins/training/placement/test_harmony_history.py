"""Random placements, from which Harmony's reward model is trained."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched_training.placement.history import measured_slowdowns, random_placement


def test_a_history_is_saturated_and_measured_by_the_judge():
    instance = random_placement(np.random.default_rng(0))
    assert (instance.server_free >= 0).all()
    speeds = instance.evaluate(type(instance).plan_type(workers=[], ps=[]))["total_speed"]
    assert speeds == pytest.approx(sum(10**9 / measured_slowdowns(instance)), abs=len(instance.run_type))
