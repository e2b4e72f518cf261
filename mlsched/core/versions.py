"""Versions of what an answer depends on, read from package metadata: nothing is imported for it."""

from __future__ import annotations

import functools
import importlib.metadata
import platform

#: Distributions whose version may change an answer.
RELEVANT = ("mlsched", "numpy", "scipy", "ortools", "highspy", "pyomo", "torch")


@functools.cache
def versions() -> dict[str, str]:
    """Name -> version of Python and of every relevant distribution that is installed."""
    found = {"python": platform.python_version()}
    for name in RELEVANT:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
