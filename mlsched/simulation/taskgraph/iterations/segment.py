"""Job with nodes between two events of the iteration engine: its progress at any time, and its end."""

from __future__ import annotations

import dataclasses

from mlsched.simulation.taskgraph.iterations.workload import WHOLE


@dataclasses.dataclass(slots=True)
class Segment:
    """Job with nodes: start, progress and pace of the segment (`first` 0: without progress)."""

    start: int
    finished: int
    part: int
    nodes: tuple[int, ...]
    first: int = 0
    cycle: int = 0
    delay: int = 0
    cost: int = 0  # 10^-6 ticks without progress after the delay, since the job continues after a pause
    later: bool = False  # the current iteration is not the first since the job last started
    gpus: tuple[tuple[int, ...], ...] = ()

    def progress(self, time: int) -> tuple[int, int, int]:
        """Return finished iterations and ppm of the next at a time, and the end of the segment's last one.

        The end is a tick, -1 if iterations did not end in it.
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
        """Return the ticks from the segment's start until the job has this total number of iterations."""
        work = (WHOLE - self.part) * self.first + (iterations - self.finished - 1) * self.cycle * WHOLE
        return self.delay - (-(self.cost * WHOLE + work) // WHOLE**2)

    def rest(self, time: int) -> Segment:
        """Return the rest from a time on with the same nodes; its pace is set later."""
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
