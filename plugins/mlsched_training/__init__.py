"""Training of the library's policies: `train("chic", iterations=100, seed=0, output="chic.safetensors")`.

This plug-in of mlsched is required only for training, with the extra `learn` (torch). A recipe is one file in
`mlsched_training/<problem>/` that exports a `Recipe` named `RECIPE`. The trainer (`trainer.py`) runs the loop and the
validation, keeps the best weights, and writes and resumes checkpoints. Public names are imported at first use, so that
`mlsched train --help` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.core.deferred import imported_at_first_use

if TYPE_CHECKING:
    from mlsched_training._recipe import Learner, Recipe, Validation, recipe, recipes
    from mlsched_training.trainer import Training, checkpoint_of, revalidate, train

#: Public name -> module that defines it.
_HOME = {
    "Learner": "_recipe",
    "Recipe": "_recipe",
    "Training": "trainer",
    "Validation": "_recipe",
    "checkpoint_of": "trainer",
    "recipe": "_recipe",
    "recipes": "_recipe",
    "revalidate": "trainer",
    "train": "trainer",
}

__all__ = ["Learner", "Recipe", "Training", "Validation", "checkpoint_of", "recipe", "recipes", "revalidate", "train"]


__getattr__ = imported_at_first_use(__name__, _HOME)
