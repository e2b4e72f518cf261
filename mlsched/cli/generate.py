"""`mlsched generate PROBLEM`: a random instance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsched.cli.output import Json, Preset, Seed, Sizes, complete_problem, emit, settings, to_write
from mlsched.core.errors import with_article


def generate(
    problem: Annotated[
        str,
        typer.Argument(
            help="Choose the problem, e.g. preemption; see `mlsched list problems`.", autocompletion=complete_problem
        ),
    ],
    preset: Preset = None,
    size: Sizes = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        to_write("-o", "--output", text="Write the instance to this file, e.g. instance.json. Default: print it."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw a random instance of a problem."""
    from mlsched import api

    instance = api.generate(problem, preset, seed, **settings(size or [], "--size"))
    if output is None:
        emit(True, instance.to_json, list)
        return
    api.save(instance, output)
    document = {"file": str(output), "problem": problem, "instance_hash": instance.hash}
    emit(as_json, lambda: document, lambda: [f"{output}: {with_article(instance.kind)}, hash {instance.hash[:12]}"])
