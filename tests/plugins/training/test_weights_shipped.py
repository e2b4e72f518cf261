"""The weights that come with mlsched are those of its recipes."""

from __future__ import annotations

import pytest

from mlsched.learned import weights as w
from mlsched_training import recipes

#: Whose criterion the weights that come along have not met; MLFS then lets MLF-H answer.
NOT_TRAINED = {"mlf-rl"}


@pytest.mark.parametrize("policy", sorted(recipes()))
def test_weights_come_with_the_package(policy):
    found = w.of(policy, recipes()[policy].problem)
    assert found.card["policy"] == policy
    scores = found.card["scores"]
    if policy in NOT_TRAINED:
        assert found.card["trained"] is False
    if recipes()[policy].trained is None or policy in NOT_TRAINED:
        assert scores["validation"] < scores["untrained_validation"]
    else:  # what the paper's reward teaches is not to be faster
        assert found.card["trained"] is scores["meets_criterion"] is True
    assert {"numpy", "torch", "mlsched", "python"} <= found.card["versions"].keys()
    assert found.card["data"]["models"]
