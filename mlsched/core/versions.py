"""Versions that an answer depends on, read from metadata without importing the packages."""

from __future__ import annotations

import functools
import importlib.metadata
import platform

from mlsched._version import __version__

#: Distributions whose version may change an answer.
RELEVANT = ("numpy", "scipy", "ortools", "highspy", "pyomo", "torch")


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of every relevant installed distribution by name."""
    installed = {"python": platform.python_version(), "mlsched": __version__}
    for name in RELEVANT:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed
