"""The commands of the two wings, papers and training, which the library does without: either may be absent.

The command line finds them in one table. Their modules are imported when they are called, so that help stays quick.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from typing import Any

from mlsched.core.errors import InvalidInput


@dataclasses.dataclass(frozen=True)
class Wing:
    """A part of mlsched that no other part needs. `module` has the function of the command; `about` is its help."""

    package: str
    module: str
    about: str


#: Command -> the wing that has it.
WINGS = {
    "train": Wing(
        "mlsched.training",
        "command",
        "Train a policy; its checkpoint is written at every validation, so that an interrupted training can go on.",
    ),
    "reproduce": Wing(
        "mlsched.papers",
        "command",
        "Repeat a paper's evaluation and say which of its claims hold; every run passes the replay check first.",
    ),
}


#: What typer is told of a stand-in: it takes whatever it is given.
ANY = {"allow_extra_args": True, "ignore_unknown_options": True}


def present(name: str) -> bool:
    """Whether the wing that has a command is installed."""
    return importlib.util.find_spec(WINGS[name].package) is not None


def command_of(name: str) -> Callable[..., Any]:
    """The function of a wing's command. Raises InvalidInput where the wing is absent."""
    wing = WINGS[name]
    found: Callable[..., Any] = getattr(import_wing(wing.package, wing.module), name)
    return found


def import_wing(package: str, module: str | None = None) -> Any:
    """A wing, or a module of it. Raises InvalidInput, with the remedy, where it is absent."""
    try:
        return importlib.import_module(package if module is None else f"{package}.{module}")
    except ModuleNotFoundError as missing:
        if missing.name != package:
            raise
        raise InvalidInput(
            f"this installation of mlsched has no {package}; install the whole package: "
            "pip install --force-reinstall mlsched"
        ) from None


def stand_in(name: str) -> Callable[[], None]:
    """What stands for a wing's command in the list of all commands."""

    def command() -> None:
        command_of(name)

    command.__doc__ = WINGS[name].about
    return command
