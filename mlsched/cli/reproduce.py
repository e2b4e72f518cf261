"""`mlsched reproduce EXPERIMENT`: a paper's tables and figures, side by side with the paper."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsched.cli.output import Json


def reproduce(
    experiment: Annotated[str, typer.Argument(help="The experiment: see `mlsched list experiments`.")],
    as_json: Json = False,
) -> None:
    """Repeat a paper's evaluation and say which of its claims hold."""
