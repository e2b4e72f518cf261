"""Training of the library's policies: `train("chic", iterations=100, seed=0, output="chic.safetensors")`.

A plug-in of mlsched: the core does not need it, and policies answer without it. Needs the extra `learn` (torch). A
recipe is one file in `mlsched_training/<problem>/` that exports a `Recipe` named `RECIPE`; the trainer (`trainer.py`)
owns the loop, the validation, the best weights, checkpoints and resuming. What is named here is imported when it is
used, so that `mlsched train --help` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.core.deferred import imported_at_first_use

if TYPE_CHECKING:
    from mlsched_training._recipe import Learner, Recipe, Validation, recipe, recipes
    from mlsched_training.trainer import Training, checkpoint_of, train

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


__getattr__ = imported_at_first_use(__name__, _HOME)
