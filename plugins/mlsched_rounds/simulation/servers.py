"""Which GPUs of a type the jobs of a round hold: leases are kept where they can be, larger jobs choose first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Job -> the GPUs that it holds, by number within its type.
Held = dict[int, tuple[int, ...]]


def assign(jobs: Sequence[tuple[int, int]], gpus: int, before: Mapping[int, tuple[int, ...]], runs: set[int]) -> Held:
    """GPUs for the jobs of a type in the coming round.

    jobs: (job, GPUs it needs) in the order in which they were taken; gpus: of the type, numbered server by server;
    before: what jobs held on this type in the round before; runs: the jobs that get GPUs at all. Groups of jobs of one
    size are served one after the other, the largest first: in each, first those whose GPUs of before are still free
    keep them, then the others take the first free ones.
    """
    held: Held = {}
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
