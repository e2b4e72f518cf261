"""Names of a package that are imported when they are first used (PEP 562), so that importing the package is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def imported_at_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package's `__init__.py`.

    package: the package's `__name__`. homes: public name -> the module that defines it, relative to the package
    ("trainer", "benchmark.worst"); a name that ends the module's path and stands for the module itself is written
    with a trailing colon ("training.environments:").
    """

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module = importlib.import_module(f"{package}.{homes[name].removesuffix(':')}")
        return module if homes[name].endswith(":") else getattr(module, name)

    return look_up
