"""`mlsched bench SUITE`: a suite of instances x answerers, as a verified gap table."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsched.cli.output import Json


def bench(
    suite: Annotated[str, typer.Argument(help="The suite: see `mlsched list suites`.")],
    as_json: Json = False,
) -> None:
    """Answer a suite of instances with every solver and compare them on the gap to the proven optimum."""
