"""Deferred imports: names of a package that are imported at first use (PEP 562), so that `import mlsched` is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def imported_at_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for the `__init__.py` of a package.

    Args:
        package: The package's `__name__`.
        homes: Public name -> module that defines it, relative to the package ("trainer", "benchmark.worst"). A trailing
            colon ("training.environments:") means the module itself.
    """

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module = importlib.import_module(f"{package}.{homes[name].removesuffix(':')}")
        return module if homes[name].endswith(":") else getattr(module, name)

    return look_up
