"""A job that holds nodes between two events of the iteration engine: how far it is at any time, and when it ends."""

from __future__ import annotations

import dataclasses

from mlsched.simulation.taskgraph.iterations.workload import WHOLE


@dataclasses.dataclass(slots=True)
class Segment:
    """A job that holds nodes: since when, with which progress, and how fast it runs (`first` 0: not at all)."""

    start: int
    finished: int
    part: int
    nodes: tuple[int, ...]
    first: int = 0
    cycle: int = 0
    delay: int = 0
    cost: int = 0  # 10^-6 ticks after the delay without progress, since the job goes on after a pause
    later: bool = False  # the iteration under way is not the first since the job last started
    gpus: tuple[tuple[int, ...], ...] = ()

    def progress(self, time: int) -> tuple[int, int, int]:
        """Finished iterations and ppm of the next at a time, and the tick in which the last one of this segment ended.

        The tick is -1 where none has.
        """
        elapsed = max(0, (time - self.start - self.delay) * WHOLE - self.cost)
        head = (WHOLE - self.part) * self.first  # in 10^-12 ticks, to be exact
        if not self.first or elapsed * WHOLE < head:
            gained = elapsed * WHOLE // self.first if self.first else 0
            return self.finished, self.part + gained, -1
        whole, rest = divmod(elapsed * WHOLE - head, self.cycle * WHOLE)
        end = -(-(self.cost * WHOLE + head + whole * self.cycle * WHOLE) // WHOLE**2)
        return self.finished + 1 + whole, rest // self.cycle, self.start + self.delay + end

    def length(self, iterations: int) -> int:
        """Ticks from the segment's start until the job has so many iterations in all."""
        work = (WHOLE - self.part) * self.first + (iterations - self.finished - 1) * self.cycle * WHOLE
        return self.delay - (-(self.cost * WHOLE + work) // WHOLE**2)

    def rest(self, time: int) -> Segment:
        """What follows from a time on with the same nodes; its pace is still to be said."""
        finished, part, boundary = self.progress(time)
        return Segment(
            time,
            finished,
            part,
            self.nodes,
            delay=max(0, self.start + self.delay - time),
            cost=max(0, self.cost - max(0, time - self.start - self.delay) * WHOLE),
            later=self.later or boundary >= 0,
            gpus=self.gpus,
        )
