"""The loop around every recipe: iterations, validation, best weights, checkpoints, resuming.

The weights with the best validation score are what a training comes to (Chic, Section 5). A checkpoint holds the
learner's whole state, the best weights and the curve; it is written atomically at every validation.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mlsched.core.errors import InvalidInput
from mlsched.core.params import within
from mlsched.core.versions import versions
from mlsched.learned.training._torch import choose_device, repeatable
from mlsched.learned.training.recipe import Learner, Recipe, recipe
from mlsched.learned.weights import KIND, VERSION, Weights, read, write

CHECKPOINT = "mlsched.checkpoint"
Curve = list[dict[str, float]]


@dataclasses.dataclass(frozen=True)
class Training:
    """What a training came to. weights: the best, with their card. curve: one entry an iteration done, with the
    validation score where there was one. cpu_seconds: of this call; iterations_run: of this call.
    """

    weights: Weights
    curve: Curve
    cpu_seconds: float
    iterations_run: int


def checkpoint_of(output: str | os.PathLike[str]) -> Path:
    """The checkpoint beside a weights file."""
    return Path(output).with_suffix(".checkpoint")


def train(
    policy: str,
    *,
    iterations: int | None = None,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "cpu",
    progress: Callable[[int, int, float], None] | None = None,
    **params: Any,
) -> Training:
    """Train a policy.

    iterations: how many in all, those before a resumed checkpoint included (default: the recipe's). output: weights
    file to write, with a checkpoint beside it; resume: go on from that checkpoint. device: "cpu", "cuda" or "auto"; the
    networks are small, and a GPU is no faster. progress(done, all, best score). Further keywords are the recipe's.
    Raises InvalidInput for a wrong call; the same seed and parameters give the same bytes on the same machine.
    """
    chosen = recipe(policy)
    settings = chosen.resolve(params)
    total = chosen.iterations if iterations is None else iterations
    within("iterations", total, 1, 10**6)
    within("seed", seed, 0, 2**31)
    if resume and output is None:
        raise InvalidInput("resume: needs the output whose checkpoint to go on from")
    if output is not None and not os.access(Path(output).parent, os.W_OK):
        raise InvalidInput(f"{output}: its folder does not exist or cannot be written; choose another place")
    where = choose_device(device)
    started = time.process_time()
    with repeatable():
        run = _Run(chosen, settings, seed, chosen.learner(settings, seed, where))
        if resume:
            run.resume(checkpoint_of(os.fspath(output or "")))
        before = len(run.curve)
        if before >= total:
            raise InvalidInput(f"iterations = {total}: the checkpoint has done {before} already; ask for more")
        if not before:
            run.validate(0)
        for k in range(before + 1, total + 1):
            run.curve.append({"iteration": k, **run.learner.improve(k)})
            if k % chosen.every(settings) == 0 or k == total:
                run.validate(k)
                if output is not None:
                    run.save(Path(output))
            if progress is not None:
                progress(k, total, run.best_score)
    return Training(run.result(), run.curve, time.process_time() - started, total - before)


class _Run:
    """A training under way."""

    def __init__(self, chosen: Recipe, settings: Any, seed: int, learner: Learner) -> None:
        self.recipe, self.settings, self.seed, self.learner = chosen, settings, seed, learner
        self.curve: Curve = []
        self.best: dict[str, Any] = {}
        self.best_score, self.best_at, self.first_score = math.inf, 0, math.inf

    def validate(self, iteration: int) -> None:
        """Score the current policy, and keep it when it is the best so far. The untrained one counts as iteration 0."""
        score = self.learner.validate()
        if not math.isfinite(score):
            raise InvalidInput(f"iteration {iteration}: the validation score is {score}; lower the learning rate")
        if iteration == 0:
            self.first_score = score
        else:
            self.curve[-1]["validation"] = score
        if score < self.best_score or not self.best:
            self.best = {k: v.copy() for k, v in self.learner.weights().items()}
            self.best_score, self.best_at = score, iteration

    def card(self, kind: str) -> dict[str, Any]:
        """The model card; nothing in it depends on the clock."""
        return {
            "kind": kind,
            "version": VERSION,
            "policy": self.recipe.policy,
            "problem": self.recipe.problem,
            "recipe": dataclasses.asdict(self.settings),
            "seed": self.seed,
            "iterations": len(self.curve),
            "data": self.recipe.data(self.settings),
            "versions": versions(),
            "scores": {
                "validation": self.best_score,
                "best_iteration": self.best_at,
                "untrained_validation": self.first_score,
            },
            "curve": self.curve,
        }

    def result(self) -> Weights:
        return Weights(self.best, self.card(KIND))

    def save(self, output: Path) -> None:
        """Write the best weights and the checkpoint."""
        write(output, self.result())
        tensors = {f"best/{k}": v for k, v in self.best.items()}
        tensors |= {f"state/{k}": v for k, v in self.learner.state().items()}
        write(checkpoint_of(output), Weights(tensors, self.card(CHECKPOINT)))

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint of the same recipe, seed and parameters."""
        found = read(path, self.recipe.policy, kind=CHECKPOINT)
        mine = self.card(CHECKPOINT)
        for field in ("problem", "seed", "recipe", "data"):
            if found.card[field] != mine[field]:
                raise InvalidInput(
                    f"{path}: {_difference(field, found.card[field], mine[field])}; "
                    "resume with the settings it was begun with, or begin anew"
                )
        self.curve = list(found.card["curve"])
        scores = found.card["scores"]
        self.best_score, self.best_at = scores["validation"], scores["best_iteration"]
        self.first_score = scores["untrained_validation"]
        self.best = {k.removeprefix("best/"): v for k, v in found.tensors.items() if k.startswith("best/")}
        self.learner.restore({k.removeprefix("state/"): v for k, v in found.tensors.items() if k.startswith("state/")})


def _difference(field: str, theirs: Any, ours: Any) -> str:
    """Where two settings differ, in words."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        for key in sorted({*theirs, *ours}):
            if theirs.get(key) != ours.get(key):
                return f"{key} = {theirs.get(key)!r} there, {ours.get(key)!r} here"
    return f"{field} = {theirs!r} there, {ours!r} here"
