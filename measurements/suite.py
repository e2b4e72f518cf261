"""CPU seconds of the test suite by folder and by test.

    python measurements/suite.py [--slowest 30] [PATH ...]

Runs the tests in this process, one after the other, and prints one JSON document. A test has the CPU seconds of its
set-up, call and tear-down, those of its child processes that have ended included. In calibration loads, one taken
afterwards, a suite costs about the same on every machine. Where tests fail, their names are in the document, and the
status is 1: Hypothesis then looks for a smaller example, which may cost minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
COLLECTING = "collecting and importing tests"


def used() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Recorder:
    """A pytest plugin: test -> CPU seconds, and the tests that failed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @contextlib.contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        begun = used()
        yield
        self.seconds[name] = used() - begun

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        with self._counted(item.nodeid):
            return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self, session: Any) -> Any:
        with self._counted(COLLECTING):
            return (yield)


def table(first: str, cells: dict[str, list[float]], most: int | None = None) -> dict[str, Any]:
    """Rows of a name, how many tests it stands for, and their CPU seconds; the dearest first."""
    ranked = sorted(cells.items(), key=lambda entry: -sum(entry[1]))[:most]
    rows = [[name, str(len(seconds)), f"{sum(seconds):.1f}"] for name, seconds in ranked]
    return {"header": [first, "tests", "CPU [s]"], "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=["tests"])
    parser.add_argument("--slowest", type=int, default=30)
    given = parser.parse_args()
    recorder = Recorder()
    with contextlib.redirect_stdout(sys.stderr):
        status = pytest.main(["-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *given.paths], plugins=[recorder])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(f"the tests ended with status {int(status)}")
    from _calibration import cpu_seconds, load  # not before: pytest rewrites what it imports itself

    unit = cpu_seconds(load)
    folders, tests = defaultdict(list), defaultdict(list)
    for name, seconds in recorder.seconds.items():
        folders["/".join(name.split("::")[0].split("/")[:2])].append(seconds)
        tests[name.split("[")[0]].append(seconds)
    total = sum(recorder.seconds.values())
    whole = {"cpu_seconds": total, "calibration_seconds": unit, "calibrations": total / unit}
    tables = {"folders": table("folder", folders), "slowest": table("test", tests, given.slowest)}
    failed = sorted(recorder.failed)
    print(json.dumps({**whole, "tests": len(recorder.seconds) - 1, "failed": failed, "tables": tables}))
    if failed:
        sys.exit(f"{len(failed)} tests failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
