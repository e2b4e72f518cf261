"""Units, nodes, queues and amounts in sentences for people: by name if the instance has names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlsched_admission.instances import Instance

#: Most names in a sentence; longer lists show their length.
MOST_NAMES = 6


def name_of(what: str, names: Sequence[str], number: int) -> str:
    """Return "node n7", or "node 7" if nodes lack names."""
    return f"{what} {names[number] if names else number}"


def name_of_queue(instance: Instance, q: int) -> str:
    """Return "queue a" or "cohort ml"."""
    return name_of("queue", instance.queue_names, q).replace("queue cohort:", "cohort ")


def names_in_words(what: str, names: Sequence[str], numbers: Iterable[int]) -> str:
    """Return "units a, b and c", "unit a", or "12 units"."""
    indices = list(numbers)
    if len(indices) > MOST_NAMES:
        return f"{len(indices)} {what}s"
    texts = [names[n] if names else str(n) for n in indices]
    listing = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    return f"{what}{'' if len(texts) == 1 else 's'} {listing}"


def not_evictable(names: Sequence[str], faults: Sequence[tuple[int, str]]) -> str:
    """Return the sentence on units that may not be evicted, with the reason, or the first of different reasons."""
    reasons = {why for _, why in faults}
    first = faults[0][1] if len(reasons) == 1 else f"{names_in_words('unit', names, [faults[0][0]])}: {faults[0][1]}"
    return f"{names_in_words('unit', names, sorted({u for u, _ in faults}))} may not be evicted for this: {first}"
