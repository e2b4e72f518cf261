"""Versions of what an answer depends on: its own, and others' as their metadata say, for which nothing is imported."""

from __future__ import annotations

import functools
import importlib.metadata
import platform

from mlsched._version import __version__

#: Distributions whose version may change an answer.
RELEVANT = ("numpy", "scipy", "ortools", "highspy", "pyomo", "torch")


@functools.cache
def versions() -> dict[str, str]:
    """Name -> version of Python and of every relevant distribution that is installed."""
    installed = {"python": platform.python_version(), "mlsched": __version__}
    for name in RELEVANT:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed
