"""Property tests for any scheduler: `check_scheduler(my_function, "preemption")`. See docs/guides/testing.md.

They need the `testing` extra (Hypothesis); `parametrize_with_checks` also needs pytest. Names are imported at first use
because pytest loads this package as a plugin in every run.
"""

from __future__ import annotations

from mlsched.core.deferred import imported_at_first_use

_HOME = {
    "CHECKS": "checks",
    "CheckFailed": "report",
    "Report": "report",
    "check_scheduler": "scheduler",
    "check_metamorphic_relations": "relations",
    "clock_machine": "machine",
    "parametrize_with_checks": "parametrize",
}

__all__ = [
    "CHECKS",
    "CheckFailed",
    "Report",
    "check_metamorphic_relations",
    "check_scheduler",
    "clock_machine",
    "parametrize_with_checks",
]


__getattr__ = imported_at_first_use(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
