"""A simulation of Gavel's rounds under a policy of shares: when it is called, and the jobs that then run."""

from __future__ import annotations

import random

import numpy as np

from mlsched.core.errors import InvalidInput, Stuck
from mlsched.core.fields import FloatArray, IntArray
from mlsched_rounds.heuristics.greedy import taken
from mlsched_rounds.heuristics.pairs import PairAccounts
from mlsched_rounds.heuristics.shares import Asked, Policy, Readings
from mlsched_rounds.simulation.adaptation import Progress
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.simulator import Rounds
from mlsched_rounds.simulation.workload import MICRO, PPM, Workload

#: Rounds that are empty or fail completely, without future arrivals, after which a run is stuck.
MOST_IDLE = 100


class Mechanism:
    """The jobs of each round, by accounts and shares. `calls`: calls of the policy with their answers."""

    def __init__(self, rounds: Rounds, workload: Workload, options: Options, policy: Policy) -> None:
        self.rounds, self.workload, self.options, self.policy = rounds, workload, options, policy
        first = options.first or options.round
        if policy.packs:
            if workload.packing is None:
                raise InvalidInput(f"{policy.name}: rates of pairs are missing; give packing=true with Gavel's table")
            together = workload.packing.together
            rounds.accounts = PairAccounts(workload.gpus, rounds.rate, options.round / 2, together)
        self.shares = policy.start(Readings(options.seed, options.fifo, options.optimum, first))
        self.calls: list[tuple[float, list[int], FloatArray]] = []
        self._shuffle = random.Random(options.seed + 5)

    @property
    def decided(self) -> int:
        """Return the number of calls of the policy with at least one job."""
        return sum(bool(jobs) for _, jobs, _ in self.calls)

    def _visible_rates(self) -> FloatArray:
        """Return the rates as the policy sees them."""
        rate, w = self.rounds.rate, self.workload
        if not self.policy.aware:
            one = rate[:, :1] if self.options.unaware == "first" else (rate @ w.capacity / w.capacity.sum())[:, None]
            rate = np.repeat(one, len(w.types), axis=1)
        return np.where(w.gpus[:, None] <= w.capacity, rate, 0.0) if self.options.oversized == "excluded" else rate

    def asked(self, rows: IntArray) -> Asked:
        """Return the policy's input; `rows`: of the accounts."""
        r, w = self.rounds, self.workload
        packs = self.policy.packs
        return Asked(
            jobs=r.active,
            rate=self._visible_rates()[r.active],
            gpus=w.gpus[r.active],
            weight=w.weight[r.active] / PPM,
            remaining=np.array([r.remaining[j] for j in r.active.tolist()], dtype=np.float64),
            age=r.now - np.array([r.arrival[j] for j in r.active.tolist()], dtype=np.float64),
            served=r.served[r.active],
            capacity=w.capacity,
            types=w.types,
            runs=r.rate[r.active] > 0,
            units=[r.accounts.unit(row) for row in rows.tolist()] if packs else (),
            together=None if w.packing is None else w.packing.together,
        )

    def begin(self) -> None:
        """Reset accounts and shares if that is due, and begin the round."""
        r = self.rounds
        rows = r.accounts.rows(r.active)
        if self.policy.packs:
            self._refuse_barren()
        due = r.now - r.accounts.last_reset >= self.options.reset or r.accounts.last_reset == 0
        if r.need and due:
            r.accounts.reset(rows, r.now)
            shares = self.shares(self.asked(rows))
            r.accounts.allocate(rows, shares)
            self.calls.append((r.now, r.active.tolist(), shares))
            r.need = False
        order = list(range(len(self.workload.types)))
        if not self.policy.aware:
            self._shuffle.shuffle(order)
        queues = taken(r.accounts, rows, r.gpus, r.capacity, order, strict=self.policy.strict)
        runs = {r.accounts.unit(row) for queue in queues for row in queue if r.accounts.known[row]}
        r.run([[r.accounts.unit(row) for row in queue] for queue in queues], runs)

    def _refuse_barren(self) -> None:
        """Raise Stuck if pairs run, and all of them fail: Gavel's program would run them forever."""
        r = self.rounds
        rounds, since = r.fruitful
        if not r.expects and r.rounds - rounds > MOST_IDLE and r.now - since > self.options.reset:
            raise Stuck(
                f"{self.policy.name}: since {since:.10g} s all slices fail, and arrivals are over: in each pair a "
                "job's GPU gets 0 steps; give remainder=run, or lengthen round"
            )

    def stuck(self) -> str:
        """Explain why jobs never start on an idle cluster after the last arrival, and suggest a remedy."""
        r, w = self.rounds, self.workload
        job = int(r.active[0])
        shares = r.accounts.share[r.accounts.row((job,))]
        inputs = [name for name, share in zip(w.types, shares, strict=True) if share > 0]
        model = f" ({w.models[job]})" if w.models else ""
        where = f"on {r.gpus[job]} GPUs was given {', '.join(inputs) or 'no type'} of {w.cluster}, where it cannot run"
        return (
            f"{self.policy.name}: at {r.now:.10g} s nothing runs, nothing will arrive and "
            f"{len(r.active)} of {len(r.gpus)} jobs wait: job {job}{model} {where}; "
            "take a policy that knows the rates, such as fifo_perf, or leave such jobs out"
        )


def rounds_of(workload: Workload, options: Options) -> Rounds:
    """Return the simulator of a workload in its first state."""
    return Rounds(
        (workload.submit / MICRO).tolist(),
        workload.steps.tolist(),
        workload.gpus.tolist(),
        workload.rates,
        workload.capacity.tolist(),
        options,
        None if workload.adaptation is None else Progress(workload.adaptation, workload.steps),
        workload.packing,
    )


def play(workload: Workload, policy: Policy, options: Options) -> Mechanism:
    """Run a complete simulation; raise Stuck if the remaining jobs can never run."""
    rounds = rounds_of(workload, options)
    mechanism = Mechanism(rounds, workload, options, policy)
    idle = 0
    while rounds.unfinished:
        idle = idle + 1 if rounds.next() is None else 0
        if idle > MOST_IDLE:
            raise Stuck(mechanism.stuck())
        rounds.advance()
        if rounds.unfinished:
            mechanism.begin()
    return mechanism
