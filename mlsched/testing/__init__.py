"""Property tests for anyone's scheduler: `check_scheduler(my_function, "preemption")`. See docs/testing.md.

Needs the `testing` extra (Hypothesis); `parametrize_with_checks` also needs pytest. Names are imported at first use,
since pytest loads this package as a plugin in every run.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "CHECKS": "checks",
    "CheckFailed": "report",
    "Report": "report",
    "check_scheduler": "scheduler",
    "check_relations": "relations",
    "clock_machine": "machine",
    "parametrize_with_checks": "parametrize",
}

__all__ = [
    "CHECKS",
    "CheckFailed",
    "Report",
    "check_relations",
    "check_scheduler",
    "clock_machine",
    "parametrize_with_checks",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
