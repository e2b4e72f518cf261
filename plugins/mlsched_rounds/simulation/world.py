"""The world of rounds: Gavel's (Narayanan et al., OSDI 2020), as in its simulator.

1. Job j of s_j GPUs does tau_jm steps per second on any s_j GPUs of type m; pausing and moving are free (but see the
   option `resume`).
2. Time moves from round to round. A running job does min(floor(360 tau), remaining) steps; the round lasts until the
   last job has done its own. Until then freed GPUs idle, and arrivals wait.
3. At the end of a round: record the slices, the last to end first; admit new jobs; then choose the next jobs. With a
   policy of shares (`Options.shares`) its mechanism chooses (`mechanism`), with plans of windows of rounds the planner
   (`planner`); without either, the solver decides each round.
4. If the workload has rates of pairs, two jobs with equal GPU counts may share GPUs (`packing`), but only under
   policies that pack. Both jobs use the GPUs until the later one has done its steps. A slice of a pair fails if a job's
   GPU gets no step; Gavel's program does not count such failures.
5. Jobs that change their batch sizes do so at the ends of slices (`adaptation`).

The simulator counts time in floats, as Gavel's program does; the clock gets it in 10^-6 s, rounded up.
"""

from __future__ import annotations

import math

from mlsched.core.errors import InvalidInput, Stuck
from mlsched_rounds.heuristics.shares import policy
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.simulation.log import Log
from mlsched_rounds.simulation.mechanism import Mechanism, rounds_of
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.planner import Planner
from mlsched_rounds.simulation.question import Asker
from mlsched_rounds.simulation.simulator import Rounds
from mlsched_rounds.simulation.workload import MICRO, Workload


class RoundsWorld:
    """State of one run."""

    def __init__(self, workload: Workload, options: Options) -> None:
        self.workload, self.options, self.log = workload, options, Log()
        self.rounds = rounds_of(workload, options)
        self.mechanism = _make_mechanism(self.rounds, workload, options)
        self._asker = Asker(workload, options)
        self._asking = False
        self._noted = 0

    @property
    def decided(self) -> int:
        """Return the number of calls of a policy of shares or of the planner."""
        return 0 if self.mechanism is None else self.mechanism.decided

    def next_event(self) -> int | None:
        """Return the end of the round, or the next arrival if the cluster is idle."""
        following = self.rounds.next()
        return None if following is None else math.ceil(following * MICRO)

    def pending(self) -> bool:
        """Return whether jobs wait although the cluster is idle."""
        return bool(len(self.rounds.active)) and not self.rounds.running

    def unfinished(self) -> int:
        """Return the number of unfinished jobs."""
        return self.rounds.unfinished

    def advance(self, time: int) -> None:
        """Advance to the next event; a mechanism then begins the next round at once."""
        following = self.rounds.next()
        if following is not None and math.ceil(following * MICRO) <= time:
            self.rounds.advance()
        self._log_new_slices()
        self._asking = self.mechanism is None and bool(len(self.rounds.active))
        if self.mechanism is not None and self.rounds.unfinished:
            self.mechanism.begin()
            if self.rounds.next() is None:  # idle without future arrivals: the shares are due at once
                self.rounds.advance()
                self.mechanism.begin()
                if self.rounds.next() is None:
                    raise Stuck(self.mechanism.stuck())

    def ask(self) -> Instance | None:
        """Return the instance of the coming round."""
        return self._asker.ask(self.rounds) if self._asking and not self.rounds.running else None

    def apply(self, plan: Plan) -> None:
        """Begin the round."""
        self._asking = False
        kinds = self._asker.kinds(plan)
        selection = [
            [(job,) for job in self.rounds.active[kinds == m].tolist()] for m in range(len(self.workload.types))
        ]
        self.rounds.run(selection, {(job,) for job in self.rounds.active.tolist()})

    def _log_new_slices(self) -> None:
        for one in self.rounds.slices[self._noted :]:
            self.log.add(one)
        self._noted = len(self.rounds.slices)


def _make_mechanism(rounds: Rounds, workload: Workload, options: Options) -> Mechanism | Planner | None:
    """Return the mechanism or planner that decides in place of the solver, if any."""
    if options.plan and options.shares:
        raise InvalidInput("plan: a planner of rounds does not use shares; leave out plan or shares")
    if options.plan:
        return Planner(rounds, workload, options)
    return Mechanism(rounds, workload, options, policy(options.shares)) if options.shares else None
