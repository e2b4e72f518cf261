"""Training of the library's policies: `train("chic", iterations=100, seed=0, output="chic.safetensors")`.

Needs the extra `learn` (torch). A recipe is one file in `training/<problem>/` that exports a `Recipe` named `RECIPE`;
the trainer (`trainer.py`) owns the loop, the validation, the best weights, checkpoints and resuming.
"""

from mlsched.training.recipe import Recipe, recipe, recipes
from mlsched.training.trainer import Training, checkpoint_of, train

__all__ = ["Recipe", "Training", "checkpoint_of", "recipe", "recipes", "train"]
