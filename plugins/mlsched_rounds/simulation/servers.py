"""GPUs of a type for the jobs of a round: leases are kept if possible, and larger jobs choose first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import TypeVar

#: A job, or a pair that shares its GPUs.
One = TypeVar("One", bound=Hashable)


def assign(
    jobs: Sequence[tuple[One, int]], gpus: int, before: Mapping[One, tuple[int, ...]], runs: Set[One]
) -> dict[One, tuple[int, ...]]:
    """Return the GPUs, by number within the type, for the jobs of a type in the coming round.

    Groups of jobs of one size are served one after the other, the largest first. In each group, jobs whose earlier GPUs
    are still free keep them; then the others take the first free ones.

    Args:
        jobs: (job or pair, its number of GPUs) in the order of the mechanism.
        gpus: GPUs of the type, numbered server by server.
        before: GPUs of each job on this type in the round before.
        runs: Jobs that get GPUs at all.
    """
    usage: dict[One, tuple[int, ...]] = {}
    selection: set[int] = set()
    pointer = 0
    for size in sorted({size for _, size in jobs}, reverse=True):
        group = [job for job, its in jobs if its == size]
        for job in group:
            if job in before and selection.isdisjoint(before[job]):
                usage[job] = before[job]
                selection.update(before[job])
        for job in group:
            if job in usage or job not in runs:
                continue
            choice: list[int] = []
            while len(choice) < size and pointer < gpus:
                if pointer not in selection:
                    choice.append(pointer)
                pointer += 1
            selection.update(choice)
            usage[job] = tuple(choice)
    return usage
