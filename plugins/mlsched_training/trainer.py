"""Training loop of every recipe: iterations, validation, best weights, checkpoints, resuming.

A training returns the weights with the best validation score (Chic, Section 5). If a recipe has a criterion for
policies, weights that meet it are preferred. A checkpoint has the learner's complete state, the best weights and the
curve. It is written atomically at every validation.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Count, Range
from mlsched.core.safe_open import target_of
from mlsched.core.versions import versions
from mlsched.learned.weights import KIND, VERSION, Weights, read, write
from mlsched_training._recipe import Learner, Recipe, Validation, recipe
from mlsched_training._torch import choose_device, repeatable_numbers

CHECKPOINT = "mlsched.checkpoint"
Curve = list[dict[str, float]]


@dataclasses.dataclass(frozen=True)
class Training:
    """Result of a training.

    Attributes:
        weights: The best weights, with their card.
        curve: One entry per iteration, with the validation score of validated iterations.
        cpu_seconds: CPU seconds of this call.
        iterations_run: Number of iterations of this call.
        trained: Whether the recipe's criterion is met; None for a recipe without a criterion.
    """

    weights: Weights
    curve: Curve
    cpu_seconds: float
    iterations_run: int
    trained: bool | None


def checkpoint_of(output: str | os.PathLike[str]) -> Path:
    """Return the path of the checkpoint beside a weights file."""
    return Path(output).with_suffix(".checkpoint")


@validate_arguments
def train(
    policy: str,
    *,
    iterations: Count | None = None,
    seed: Annotated[int, Range(0, 2**31)] = 0,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "cpu",
    until_trained: bool | None = None,
    cpu_limit: Annotated[float, Range(0, 10**7, open_low=True)] | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    **params: Any,
) -> Training:
    """Train a policy.

    The same seed and parameters give the same bytes on the same machine.

    Args:
        policy: Name of the policy.
        iterations: Total number of iterations, including iterations before a resumed checkpoint. By default the
            recipe's number, which is a maximum if the recipe has a criterion.
        seed: Random seed of the training.
        output: Weights file to write, with a checkpoint beside it.
        resume: Continue from that checkpoint.
        device: "cpu", "cuda" or "auto". The networks are small, so a GPU is not faster.
        until_trained: End at the first validation that meets the recipe's criterion. Default: True if the recipe has
            one and `iterations` is not given.
        cpu_limit: CPU seconds of this call after which the training ends at the next validation.
        progress: Called with (iterations done, all iterations, best score) after each iteration.
        params: Further keywords are parameters of the recipe.

    Returns:
        The training with its best weights.

    Raises:
        InvalidInput: An argument is invalid, or the validation score is not finite.
        UnknownName: The policy or a parameter is unknown.
    """
    chosen_recipe = recipe(policy)
    settings = chosen_recipe.resolve(params)
    total = chosen_recipe.iterations if iterations is None else iterations
    if until_trained is None:
        until_trained = iterations is None and chosen_recipe.trained is not None
    if until_trained and chosen_recipe.trained is None:
        raise InvalidInput(f"until_trained: the recipe of {policy} lacks a criterion; give iterations instead")
    if resume and output is None:
        raise InvalidInput("resume: needs the output beside the checkpoint")
    if output is not None:
        target_of(output)
        target_of(checkpoint_of(output))
    where = choose_device(device)
    start_time = time.process_time()
    with repeatable_numbers(), contextlib.ExitStack() as ends_with:
        learner = chosen_recipe.learner(settings, seed, where)
        if isinstance(learner, contextlib.AbstractContextManager):
            ends_with.enter_context(learner)
        run = _Run(chosen_recipe, settings, seed, learner)
        if resume:
            run.resume(checkpoint_of(os.fspath(output or "")))
        before = len(run.curve)
        if before >= total:
            raise InvalidInput(f"iterations = {total}: expected more than the {before} of the checkpoint")
        if not before:
            run.validate(0)
        for k in range(before + 1, total + 1):
            run.curve.append({"iteration": k, **_rounded_figures(run.learner.improve(k))})
            ends = False
            if k % chosen_recipe.every(settings) == 0 or k == total:
                run.validate(k)
                if output is not None:
                    run.save(Path(output))
                cpu_seconds = time.process_time() - start_time
                ends = (until_trained and bool(run.trained)) or (cpu_limit is not None and cpu_seconds >= cpu_limit)
            if progress is not None:
                progress(k, total, run.best_score)
            if ends:
                break
    return Training(run.result(), run.curve, time.process_time() - start_time, len(run.curve) - before, run.trained)


@validate_arguments
def revalidate(weights: Weights) -> Validation:
    """Return the result of trained weights on the validation set of their recipe, as this version computes it.

    Args:
        weights: Weights with the card of their training; `scores["validation"]` in it is the score to compare with.

    Returns:
        The score, whether the weights meet the recipe's criterion for policies, and further figures.

    Raises:
        InvalidInput: A parameter of the recipe in the card is invalid now.
        UnknownName: The policy or a parameter of its recipe no longer exists.
    """
    chosen = recipe(weights.card["policy"])
    settings = chosen.resolve(weights.card["recipe"])
    with repeatable_numbers(), contextlib.ExitStack() as ends_with:
        learner = chosen.learner(settings, weights.card["seed"], choose_device("cpu"))
        if isinstance(learner, contextlib.AbstractContextManager):
            ends_with.enter_context(learner)
        return learner.validate(dict(weights.tensors))


def _rounded_figures(figures: Mapping[str, float]) -> dict[str, float]:
    """Round to six significant digits, because the curve is part of every weights file."""
    return {name: float(f"{value:.6g}") for name, value in figures.items()}


class _Run:
    """Training in progress."""

    def __init__(self, recipe: Recipe, settings: Any, seed: int, learner: Learner) -> None:
        self.recipe, self.settings, self.seed, self.learner = recipe, settings, seed, learner
        self.curve: Curve = []
        self.best: dict[str, Any] = {}
        self.best_score, self.best_at, self.first_score, self.best_meets = math.inf, 0, math.inf, False

    @property
    def trained(self) -> bool | None:
        """Return whether the curve and the best weights meet the recipe's criterion; None without a criterion."""
        if self.recipe.trained is None:
            return None
        return self.best_meets and self.recipe.trained(self.settings, self.curve)

    def validate(self, iteration: int) -> None:
        """Score the current policy, and keep the best so far; the untrained policy counts as iteration 0."""
        validation = self.learner.validate(self.learner.weights())
        if not math.isfinite(validation.score):
            raise InvalidInput(
                f"iteration {iteration}: the validation score is {validation.score}; lower the learning rate"
            )
        if iteration == 0:
            self.first_score = validation.score
        else:
            self.curve[-1]["validation"] = validation.score
            self.curve[-1] |= {f"validation_{name}": v for name, v in _rounded_figures(validation.figures).items()}
        if (not validation.meets, validation.score) < (not self.best_meets, self.best_score) or not self.best:
            self.best = {k: v.copy() for k, v in self.learner.weights().items()}
            self.best_score, self.best_at, self.best_meets = validation.score, iteration, validation.meets

    def card(self, kind: str) -> Data:
        """Return the model card, which does not depend on the clock."""
        return {
            "kind": kind,
            "version": VERSION,
            "policy": self.recipe.policy,
            "problem": self.recipe.problem,
            "recipe": _settings_of_params(self.settings),
            "seed": self.seed,
            "iterations": len(self.curve),
            "data": self.recipe.data(self.settings),
            "versions": versions(),
            "scores": {
                "validation": self.best_score,
                "best_iteration": self.best_at,
                "untrained_validation": self.first_score,
                "meets_criterion": self.best_meets,
            },
            "trained": self.trained,
            "curve": self.curve,
        }

    def result(self) -> Weights:
        """Return the best weights; their card has only the validated iterations of the curve."""
        card = self.card(KIND)
        return Weights(self.best, {**card, "curve": [entry for entry in self.curve if "validation" in entry]})

    def save(self, output: Path) -> None:
        """Write the best weights and the checkpoint."""
        write(output, self.result())
        tensors = {f"best/{k}": v for k, v in self.best.items()}
        tensors |= {f"state/{k}": v for k, v in self.learner.state().items()}
        write(checkpoint_of(output), Weights(tensors, self.card(CHECKPOINT)))

    def resume(self, path: Path) -> None:
        """Continue from a checkpoint of the same recipe, seed and parameters."""
        checkpoint = read(path, self.recipe.policy, kind=CHECKPOINT)
        mine = self.card(CHECKPOINT)
        for field in ("problem", "seed", "recipe", "data"):
            if checkpoint.card[field] != mine[field]:
                raise InvalidInput(
                    f"{path}: {_difference(field, checkpoint.card[field], mine[field])}; "
                    "resume with the settings it was begun with, or start again"
                )
        self.curve = list(checkpoint.card["curve"])
        scores = checkpoint.card["scores"]
        self.best_score, self.best_at = scores["validation"], scores["best_iteration"]
        self.first_score, self.best_meets = scores["untrained_validation"], scores.get("meets_criterion", True)
        self.best = {k.removeprefix("best/"): v for k, v in checkpoint.tensors.items() if k.startswith("best/")}
        self.learner.restore(
            {k.removeprefix("state/"): v for k, v in checkpoint.tensors.items() if k.startswith("state/")}
        )


def _settings_of_params(params: Any) -> Data:
    """Return a recipe's parameters, except paths of files (metadata `card` False)."""
    fields = dataclasses.fields(params)
    return {f.name: getattr(params, f.name) for f in fields if f.metadata.get("card", True)}


def _difference(field: str, theirs: Any, ours: Any) -> str:
    """Describe the first difference between two settings."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        for key in sorted({*theirs, *ours}):
            if theirs.get(key) != ours.get(key):
                return f"{key} = {theirs.get(key)!r} there, {ours.get(key)!r} here"
    return f"{field} = {theirs!r} there, {ours!r} here"
