"""What of names is there: the core's tests pass without plug-ins, and hold for what those add where they are."""

from __future__ import annotations

from mlsched.core import plugins
from mlsched.core.registry import registry


def problems(*names: str) -> list[str]:
    """Those of these problems that are installed."""
    return [name for name in names if name in registry().problems]


def rules(problem: str, *texts: str) -> list[str]:
    """Those of these solvers, with their parameters, that are installed."""
    known = {solver.name for solver in registry().available(problem)}
    return [text for text in texts if text.partition(":")[0] in known]


def commands(*names: str) -> list[str]:
    """Return those of these commands that installed plug-ins add."""
    known = {point.name for point in plugins.points_of_group("commands")}
    return [name for name in names if name in known]
