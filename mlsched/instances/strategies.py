"""Hypothesis strategies by problem: `from mlsched.instances import strategies; strategies.preemption()`.

Needs the `testing` extra (Hypothesis).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.registry import registry

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def __getattr__(name: str) -> Any:
    """Return the strategy of the problem called `name`."""
    problems = registry().problems
    if name not in problems:
        raise AttributeError(f"unknown problem '{name}'; there are {', '.join(sorted(problems))}")

    def strategy(**limits: int) -> SearchStrategy[Any]:
        return problems[name].strategy(**limits)

    strategy.__doc__ = f"Random small instances of {name}; limits are those of its `strategies` module."
    return strategy


def __dir__() -> list[str]:
    return sorted(registry().problems)
