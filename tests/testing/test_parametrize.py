"""The decorator and the plugin, in a pytest of its own."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from planted_bugs import first_fit

from mlsched.testing import CheckFailed, parametrize_with_checks

pytest_plugins = ["pytester"]

#: Pytest finds the plugin by itself where mlsched is installed as it is here, and takes it once only.
PLUGIN = () if entry_points(group="pytest11", name="mlsched") else ("-p", "mlsched.testing.plugin")

FILE = """
from planted_bugs import first_fit
from mlsched.testing import parametrize_with_checks

@parametrize_with_checks(
    {"preemption": ["fifo", first_fit], "quality": ["fair"]},
    expected_failures={"first_fit": {"feasible": "forgets its own placements"}},
    calls=0,
)
def test_mine(check):
    check()
"""


@parametrize_with_checks({"quality": ["slaq-max-min"]}, examples=6)
def test_as_anyone_would_use_it(check):
    assert check().outcomes[check.name].status in ("passed", "skipped")


def test_every_check_is_a_test_and_expected_failures_are_xfails(pytester):
    pytester.makepyfile(FILE)
    done = pytester.runpytest_inprocess(
        *PLUGIN, "-v", "-rx", "--mlsched-examples=8", "--mlsched-keep=kept", "-p", "no:cacheprovider"
    )
    done.assert_outcomes(passed=17, xfailed=1)
    done.stdout.fnmatch_lines(
        [
            "*preemption-first_fit-feasible* XFAIL*",
            "*schedulers checked*",
            "fifo, preemption*",
            "XFAIL *forgets its own placements*",
        ]
    )
    assert (pytester.path / "kept" / "first_fit-feasible.json").is_file()


def test_without_options_nothing_is_set(pytester):
    pytester.makepyfile("def test_nothing(): pass")
    pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_failure_says_what_to_look_at():
    mark = parametrize_with_checks({"preemption": [first_fit]}, examples=20, calls=0)
    feasible = next(p.values[0] for p in mark.args[1] if p.values[0].name == "feasible")
    with pytest.raises(CheckFailed, match="first_fit fails\nfeasible: the plan is infeasible: node 0"):
        feasible()
