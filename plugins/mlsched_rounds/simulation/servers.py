"""Which GPUs of a type the jobs of a round hold: leases are kept where they can be, larger jobs choose first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import TypeVar

#: A job, or a pair that shares its GPUs.
One = TypeVar("One", bound=Hashable)


def assign(
    jobs: Sequence[tuple[One, int]], gpus: int, before: Mapping[One, tuple[int, ...]], runs: Set[One]
) -> dict[One, tuple[int, ...]]:
    """GPUs, by number within the type, for the jobs of a type in the coming round.

    jobs: (job or pair, GPUs it needs) in the order in which they were taken; gpus: of the type, numbered server by
    server; before: what jobs held on this type in the round before; runs: those that get GPUs at all. Groups of jobs of
    one size are served one after the other, the largest first: in each, first those whose GPUs of before are still free
    keep them, then the others take the first free ones.
    """
    held: dict[One, tuple[int, ...]] = {}
    taken: set[int] = set()
    pointer = 0
    for size in sorted({size for _, size in jobs}, reverse=True):
        group = [job for job, its in jobs if its == size]
        for job in group:
            if job in before and taken.isdisjoint(before[job]):
                held[job] = before[job]
                taken.update(before[job])
        for job in group:
            if job in held or job not in runs:
                continue
            chosen: list[int] = []
            while len(chosen) < size and pointer < gpus:
                if pointer not in taken:
                    chosen.append(pointer)
                pointer += 1
            taken.update(chosen)
            held[job] = tuple(chosen)
    return held
