"""Training of the library's policies: `train("chic", iterations=100, seed=0, output="chic.safetensors")`.

A wing of mlsched: no part of the library needs it, and policies answer without it. Needs the extra `learn` (torch). A
recipe is one file in `training/<problem>/` that exports a `Recipe` named `RECIPE`; the trainer (`trainer.py`) owns the
loop, the validation, the best weights, checkpoints and resuming. What is named here is imported when it is used, so
that `mlsched train --help` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlsched.training._recipe import Learner, Recipe, Validation, recipe, recipes
    from mlsched.training.trainer import Training, checkpoint_of, train

#: Public name -> module that defines it.
_HOME = {
    "Learner": "_recipe",
    "Recipe": "_recipe",
    "Training": "trainer",
    "Validation": "_recipe",
    "checkpoint_of": "trainer",
    "recipe": "_recipe",
    "recipes": "_recipe",
    "train": "trainer",
}

__all__ = ["Learner", "Recipe", "Training", "Validation", "checkpoint_of", "recipe", "recipes", "train"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
