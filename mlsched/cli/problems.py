"""Commands, and modules of commands, of single problems: packages `cli/<problem>/` of the core."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

from mlsched import cli


def commands() -> list[Callable[..., None]]:
    """Return the commands that problems export as `COMMANDS`."""
    return [command for package in _packages() for command in importlib.import_module(package).COMMANDS]


def module(name: str) -> Any:
    """Return the module of this name in the folder of the first problem that has one."""
    candidates = (f"{package}.{name}" for package in _packages())
    return importlib.import_module(next(path for path in candidates if importlib.util.find_spec(path)))


def _packages() -> Iterator[str]:
    return (f"{cli.__name__}.{info.name}" for info in pkgutil.iter_modules(cli.__path__) if info.ispkg)
