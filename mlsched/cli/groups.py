"""Groups of commands and of options, as `--help` shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

#: Groups of commands, in the order of `mlsched --help`.
INSTANCES = "Instances and answers"
CLUSTERS = "Logs and clusters"
BENCHMARKS = "Benchmarks"
PAPERS = "Papers and trained policies"
INFORMATION = "Information"
#: Group of commands of other distributions that do not name one.
OTHERS = "Plug-ins"
ORDER = (INSTANCES, CLUSTERS, BENCHMARKS, PAPERS, INFORMATION, OTHERS)
#: Groups of options of commands with many.
WORKLOAD, CLUSTER, RUNS = "Workload", "Cluster", "Runs"
WINDOWS, FILES = "Windows and comparisons", "Output"


def in_group(group: str) -> Callable[[F], F]:
    """Return a decorator that puts a command into a group of `mlsched --help`."""

    def mark(command: F) -> F:
        command.__dict__["group"] = group
        return command

    return mark


def group_of(command: Callable[..., Any]) -> str:
    """Return the group of a command."""
    group = getattr(command, "group", OTHERS)
    return group if group in ORDER else OTHERS
