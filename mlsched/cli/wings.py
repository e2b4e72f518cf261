"""The two wings, papers and training, which the library does without: either may be absent.

The command line finds their commands, and what it lists of them, by name.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import typer

from mlsched.core.errors import InvalidInput

#: Command -> the wing that has it, in its module `command`.
COMMANDS = {"train": "mlsched_training", "reproduce": "mlsched_papers"}


def add_commands(app: typer.Typer) -> None:
    """Give the application the commands of both wings; those of an absent one say what is missing."""
    for name, wing in COMMANDS.items():
        if importlib.util.find_spec(wing) is not None:
            app.command(name)(getattr(importlib.import_module(f"{wing}.command"), name))
        else:
            _add_absent(app, name, wing)


def import_wing(name: str) -> Any:
    """A wing. Raises InvalidInput, with the remedy, where it is absent."""
    if importlib.util.find_spec(name) is None:
        raise InvalidInput(
            f"this installation of mlsched has no {name}; install all of it: pip install --force-reinstall mlsched"
        )
    return importlib.import_module(name)


def _add_absent(app: typer.Typer, name: str, wing: str) -> None:
    """A command that takes whatever it is given, and refuses."""

    @app.command(name, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
    def absent() -> None:
        import_wing(wing)

    absent.__doc__ = f"Not here: {wing} is not installed."
