"""The pytest plugin (entry point `mlsched`): number of examples, folder of counterexamples, and summary.

pytest loads it in every run, so it imports modules only when they are used.
"""

from __future__ import annotations

import sys
from typing import Any


def pytest_addoption(parser: Any) -> None:
    """Add `--mlsched-examples N` and `--mlsched-keep FOLDER`."""
    group = parser.getgroup("mlsched", "checks of schedulers")
    group.addoption("--mlsched-examples", type=int, default=None, help="instances for each check of a scheduler")
    group.addoption("--mlsched-keep", default=None, metavar="FOLDER", help="keep counterexamples as files and pictures")


def pytest_configure(config: Any) -> None:
    """Pass the options to `parametrize_with_checks`."""
    options = {"examples": config.getoption("--mlsched-examples"), "keep": config.getoption("--mlsched-keep")}
    if any(value is not None for value in options.values()):
        from mlsched.testing.parametrize import SETTINGS

        SETTINGS.update({name: value for name, value in options.items() if value is not None})


def pytest_unconfigure() -> None:
    """Reset the options, because pytest may run again in the same process."""
    module = sys.modules.get("mlsched.testing.parametrize")
    if module is not None:
        module.SETTINGS.clear()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line for each passed check if pytest is verbose."""
    module = sys.modules.get("mlsched.testing.parametrize")
    if module is None or not module.REPORTS or terminalreporter.verbosity < 1:
        return
    terminalreporter.section("schedulers checked")
    for report in module.REPORTS:
        terminalreporter.line("; ".join(line.strip() for line in report.lines()))
