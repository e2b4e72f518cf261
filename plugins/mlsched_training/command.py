"""`mlsched train POLICY`: train a policy and write its weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from mlsched.cli import groups
from mlsched.cli.output import Json, Seed, emit, number, progress, resume_hint, settings, table, to_write
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput


@groups.in_group(groups.PAPERS)
def train(
    policy: Annotated[
        str, typer.Argument(help="Choose the policy, e.g. chic-plus; harmony-reward trains the reward of harmony.")
    ],
    iterations: Annotated[
        int | None,
        typer.Option(
            help="Set the total number of iterations, e.g. 200. Default: until trained, at most the recipe's.", min=1
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a parameter of the recipe, e.g. batch=32 (repeatable). Default: the recipe's.",
        ),
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        to_write(
            "-o", "--output", text="Write the weights to this file, e.g. mine.safetensors. Default: POLICY.safetensors."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint beside the output.")] = False,
    device: Annotated[
        str, typer.Option(help="Choose the device, e.g. cuda, cpu, or auto for a GPU if one is present.")
    ] = "cpu",
    until_trained: Annotated[
        bool | None,
        typer.Option(
            "--until-trained/--all-iterations",
            help="Stop once the recipe's criterion is met. Default: yes, unless --iterations is given.",
        ),
    ] = None,
    cpu_limit: Annotated[
        float | None,
        typer.Option(help="Stop at the first validation after this many CPU seconds, e.g. 3600. Default: no limit."),
    ] = None,
    plot: Annotated[
        Path | None,
        to_write(
            text="Draw the learning curve to this file, e.g. curve.svg, .png or .pdf. Default: not drawn.", picture=True
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a policy, and write a checkpoint at every validation."""
    import mlsched_training as training

    target = output or Path(f"{policy}.safetensors")
    total = iterations or training.recipe(policy).iterations
    parameters = settings(option or [], "--set")
    own = {"iterations", "seed", "output", "resume", "device", "progress", "policy", "until_trained", "cpu_limit"}
    if own_parameters := sorted(own & set(parameters)):
        raise InvalidInput(
            f"--set {own_parameters[0]}: has an option of its own, --{own_parameters[0].replace('_', '-')}"
        )
    way_on = _resume_hint(training.checkpoint_of(target), resume)
    with resume_hint(way_on), progress(f"training {policy}", float(total)) as update:
        result = training.train(
            policy,
            iterations=iterations,
            seed=seed,
            output=target,
            resume=resume,
            device=device,
            until_trained=until_trained,
            cpu_limit=cpu_limit,
            progress=lambda k, n, best: update(float(k)),
            **parameters,
        )
    if plot is not None:
        from mlsched.benchmark import plots
        from mlsched_training.picture import training_picture

        plots.save(training_picture(policy, result.curve, result.weights.card["scores"]), plot)
    emit(as_json, lambda: _result_document(target, result), lambda: _result_lines(target, result))


def _resume_hint(checkpoint: Path, resume: bool) -> Callable[[], str]:
    """Return a function for the hint after an interrupt; it ignores the checkpoint of an earlier training."""

    def written_at() -> int:
        """Return when the checkpoint was written, in ns; 0 without a checkpoint."""
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0

    before = 0 if resume else written_at()

    def say_hint() -> str:
        if written_at() == before:
            return "nothing is kept: a checkpoint is written at every validation"
        return f"the training until its last validation is in {checkpoint}; the same command with --resume goes on"

    return say_hint


def _result_document(target: Path, result: Any) -> Data:
    return {
        "output": str(target),
        "card": {k: v for k, v in result.weights.card.items() if k != "curve"},
        "trained": result.trained,
        "curve": result.curve,
        "cpu_seconds": result.cpu_seconds,
        "cpu_seconds_an_iteration": result.cpu_seconds / result.iterations_run,
    }


def _result_lines(target: Path, result: Any) -> list[Any]:
    card = result.weights.card
    scores = card["scores"]
    rows = [
        ["validation score of the weights kept", number(scores["validation"])],
        ["  of the untrained policy", number(scores["untrained_validation"])],
        ["  found at iteration", number(scores["best_iteration"])],
        ["iterations", number(card["iterations"])],
        *_parts_of_reward(result.curve),
        *([] if result.trained is None else [["the recipe's criterion is met", "yes" if result.trained else "no"]]),
        ["CPU seconds per iteration, this call", number(result.cpu_seconds / result.iterations_run)],
    ]
    return [table("", [card["policy"], ""], rows), f"written to {target}; use it as {card['policy']}:weights={target}"]


#: Figure of a validation -> its title.
_PARTS = {
    "validation_reward": "reward of an episode, last validation",
    "validation_reward_completion": "  of which: completion",
    "validation_reward_absent": "  actions for empty slots",
    "validation_reward_halves": "  workers without PS, PSs without worker",
    "validation_punished_share": "share of actions for empty slots",
    "validation_useless_share": "share of actions that change nothing",
}


def _parts_of_reward(curve: list[dict[str, float]]) -> list[list[str]]:
    """Return the parts of the reward at the last validation that has them."""
    last = next((entry for entry in reversed(curve) if "validation" in entry), {})
    return [[title, number(last[name])] for name, title in _PARTS.items() if name in last]
