"""`@parametrize_with_checks({"preemption": [my_rule, "fitgpp"]})`: one test per scheduler and check."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from mlsched.core.aliases import Data
from mlsched.core.contract import Question
from mlsched.testing.checks import CHECKS
from mlsched.testing.report import Report
from mlsched.testing.scheduler import check_scheduler

if TYPE_CHECKING:
    import pytest

#: Examples per test; `pytest --mlsched-examples` sets another number.
EXAMPLES = 50
#: Settings from the command line of pytest for all tests (`plugin.py`).
SETTINGS: Data = {}

Scheduler = str | Callable[..., Any]


class CheckSettings(TypedDict, total=False):
    """Arguments of `check_scheduler` that apply to several schedulers and checks."""

    objective: str | None
    examples: int
    reference: str | None
    stateful: bool
    called: Question | None
    largest_gap: float | None
    mean_gap: float | None
    calls: int | None
    keep: str | Path | None


@dataclasses.dataclass(frozen=True)
class Check:
    """One check of one scheduler; a call runs it, raises CheckFailed, and appends its report to `REPORTS`."""

    scheduler: Scheduler
    problem: str
    name: str
    settings: CheckSettings

    def __call__(self) -> Report:
        settings: Data = {"examples": EXAMPLES, **self.settings, **SETTINGS}
        report = check_scheduler(self.scheduler, self.problem, checks=[self.name], raise_failures=True, **settings)
        REPORTS.append(report)
        return report

    def __str__(self) -> str:
        return f"{self.problem}-{_scheduler_name(self.scheduler)}-{self.name}"


#: Reports of the checks that passed in this process, for the summary.
REPORTS: list[Report] = []


def parametrize_with_checks(
    schedulers: Mapping[str, Sequence[Scheduler]],
    *,
    expected_failures: Mapping[str, Mapping[str, str]] | None = None,
    **settings: Unpack[CheckSettings],
) -> pytest.MarkDecorator:
    """Return a pytest decorator: the test gets every check of every scheduler as its argument `check`, and calls it.

    Args:
        schedulers: Problem -> rules, by name or as functions.
        expected_failures: Scheduler's name -> check -> reason of a known failure; such a test is an `xfail` with that
            reason.
        settings: Further keywords are arguments of `check_scheduler`, for all tests.

    Returns:
        The decorator.

    Examples:
        >>> @mlsched.testing.parametrize_with_checks({"preemption": ["fifo"], "quality": ["slaq"]}, examples=20)
        ... def test_schedulers(check):
        ...     check()
    """
    import pytest

    cases, reasons = [], expected_failures or {}
    for problem, rules in schedulers.items():
        for scheduler in rules:
            for name in CHECKS:
                if name == "gap" and not {"largest_gap", "mean_gap"} & set(settings):
                    continue
                check = Check(scheduler, problem, name, settings)
                reason = reasons.get(_scheduler_name(scheduler), {}).get(name)
                marks = [pytest.mark.xfail(reason=reason, raises=AssertionError)] if reason is not None else []
                cases.append(pytest.param(check, id=str(check), marks=marks))
    return pytest.mark.parametrize("check", cases)


def _scheduler_name(scheduler: Scheduler) -> str:
    return scheduler if isinstance(scheduler, str) else getattr(scheduler, "__name__", type(scheduler).__name__)
