"""Units, nodes, queues and amounts in sentences for people: by name where the instance has names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlsched_admission.instances import Instance

#: So many names stand in a sentence; of more, their number.
MOST_NAMES = 6


def named(what: str, names: Sequence[str], number: int) -> str:
    """ "node n7", or "node 7" where nodes have no names."""
    return f"{what} {names[number] if names else number}"


def place(instance: Instance, q: int) -> str:
    """ "queue a", "cohort ml"."""
    return named("queue", instance.queue_names, q).replace("queue cohort:", "cohort ")


def several(what: str, names: Sequence[str], numbers: Iterable[int]) -> str:
    """ "units a, b and c", "unit a", or "12 units"."""
    chosen = list(numbers)
    if len(chosen) > MOST_NAMES:
        return f"{len(chosen)} {what}s"
    shown = [names[n] if names else str(n) for n in chosen]
    joined = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{what}{'' if len(shown) == 1 else 's'} {joined}"
