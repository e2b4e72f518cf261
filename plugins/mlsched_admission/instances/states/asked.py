"""Selection of the waiting jobs of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlsched.core.errors import InvalidInput, did_you_mean, shorten
from mlsched_admission.instances.states.state import Options, State


@dataclass(frozen=True)
class Waiting:
    """A waiting job: its name, its other names, and its sort key in the scheduler's line."""

    name: str
    short: str
    priority: int
    since: int


def asked_about(waiting: Sequence[Waiting], options: Options, state: State) -> list[str]:
    """Return the names that the user names; by default, the first in line: highest priority, then longest waiting.

    The default is one job: schedulers decide for one at a time, and its possible victims depend on it.
    """
    if options.jobs:
        return list(dict.fromkeys(_job_of_name(name, waiting, state) for name in options.jobs))
    if not waiting:
        return []
    first = min(waiting, key=lambda one: (-one.priority, one.since, one.name))
    if len(waiting) > 1:
        state.assume(f"asked about {first.name}, the first of {len(waiting)} in line (--job names another)")
    return [first.name]


def _job_of_name(requested: str, waiting: Sequence[Waiting], state: State) -> str:
    matches = [one.name for one in waiting if one.name == requested] or [
        one.name for one in waiting if one.short == requested
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        several = shorten(", ".join(matches), 120)
        raise InvalidInput(f"{requested}: {len(matches)} waiting jobs are called so; name one of {several}")
    blocked = [name for name in state.held if requested in (name, name.rpartition("/")[2])]
    if blocked:
        raise InvalidInput(f"{requested}: {state.held[blocked[0]]}; choose another waiting job")
    names = [one.name for one in waiting]
    there = shorten(", ".join(names), 120) or "none"
    raise InvalidInput(f"{requested}: unknown waiting job{did_you_mean(requested, names)}; waiting: {there}")
