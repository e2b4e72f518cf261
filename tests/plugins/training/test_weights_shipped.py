"""The weights that come with mlsched are those of its recipes."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled_runs import skip_without_compiled
from draws import THOROUGH

import mlsched.learned
from mlsched.learned import weights as w
from mlsched_training import recipes, revalidate

FILES = sorted(Path(mlsched.learned.__file__).parent.glob("*/weights/*.safetensors"))
#: Files whose validation takes more than two CPU seconds.
SLOW = ("harmony-plus", "harmony-reward", "mlf-rl", "mlf-rl-iteration", "mlf-rl-plus", "mirhoseini-rl")


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(f, marks=pytest.mark.skipif(f.stem in SLOW and not THOROUGH, reason="slow: thorough profile"))
        for f in FILES
    ],
    ids=lambda f: f.stem,
)
def test_the_card_has_the_score_of_this_version(file):
    skip_without_compiled(file.stem)
    weights = w.read(file)
    scores, result = weights.card["scores"], revalidate(weights)
    assert result.score == pytest.approx(scores["validation"], rel=1e-5), "run tools/make_cards.py, or train again"
    assert result.meets is scores["meets_criterion"]


@pytest.mark.parametrize("policy", sorted(recipes()))
def test_weights_come_with_the_package(policy):
    found = w.of(policy, recipes()[policy].problem)
    assert found.card["policy"] == policy
    scores = found.card["scores"]
    if recipes()[policy].trained is None:
        assert scores["validation"] < scores["untrained_validation"]
    else:  # what the paper's reward teaches is not to be faster
        assert found.card["trained"] is scores["meets_criterion"] is True
    assert {"numpy", "torch", "mlsched", "python"} <= found.card["versions"].keys()
    assert found.card["data"]["models"]
