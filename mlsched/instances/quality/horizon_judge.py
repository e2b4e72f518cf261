"""The judge of quality over many epochs, written only from the problem statement.

1. Epoch e lasts from e * T to (e + 1) * T seconds. A job is present from the first epoch that does not begin before its
submission, to the epoch in which it has done all of its iterations.
2. Of the present jobs, the first cores / least (rounded down) run, in order of submission; the others wait and get 0
cores, as do absent jobs. A running job gets at least `least` cores, and at most its cap `most`.
3. All jobs together get at most the cores.
4. A job with a cores for an epoch does a * T core-seconds of work. An iteration takes `work` core-milliseconds on any
number of cores; a partly done iteration continues in the next epoch. A finished job leaves its cores idle for the rest
of the epoch.
5. A plan has exactly one row for every epoch up to the last job's last.
6. The loss of a job between two iterations is on the line between theirs, rounded up to integer ppm.
7. `total_loss`: sum over the epochs, and over the jobs present at their beginning, of weight * loss then.
`total_worst_loss`: sum over the epochs of the largest weight * loss of a present job. `total_time_to_goal`: sum over
the jobs of weight * (time from submission to the end of iteration `goal`), ms rounded up.

Plain loops over Python integers; it does not share code with the simulated world and the solvers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.instances.quality.horizon import Epochs, Horizon

OBJECTIVES = (
    Objective("total_loss", "min", "ppm", "sum over epochs and jobs that are there of weight * loss"),
    Objective("total_worst_loss", "min", "ppm", "sum over epochs of the largest weight * loss"),
    Objective("total_time_to_goal", "min", "ms", "sum over the jobs of weight * time from submission to their goal"),
)


class Run:
    """A run of a horizon at the beginning of an epoch; `give` cores to advance to the next."""

    def __init__(self, horizon: Horizon) -> None:
        self.horizon = horizon
        self.epoch = 0
        self.done = [0 for _ in horizon.submit]  # core-milliseconds
        self.total_loss = self.total_worst_loss = self.total_time_to_goal = 0

    def ended(self) -> bool:
        """Check that all jobs are done."""
        return not any(self._remaining(j) for j in range(len(self.done)))

    def there(self) -> list[int]:
        """Return the present jobs of this epoch."""
        now, h = self.epoch * self.horizon.epoch, self.horizon
        return [j for j in range(len(self.done)) if int(h.submit[j]) <= now and self._remaining(j)]

    def running(self) -> list[int]:
        """Return the jobs that run in this epoch."""
        return self.there()[: self.horizon.cores // self.horizon.least]

    def faults(self, given: list[int]) -> list[str]:
        """Return the faults of an epoch's cores under rules 2 and 3."""
        running, h = self.running(), self.horizon
        faults = []
        for j, count in enumerate(given):
            if j not in running:
                if count:
                    faults.append(f"job {j} gets {count} cores: it is not there, or waits")
            elif count < h.least:
                faults.append(f"job {j} gets {count} cores: the least is {h.least}")
            elif count > int(h.most[j]):
                faults.append(f"job {j} gets {count} cores: its cap is {int(h.most[j])}")
        if sum(given) > h.cores:
            faults.append(f"the jobs get {sum(given)} cores: there are {h.cores}")
        return faults

    def give(self, given: list[int]) -> None:
        """Advance through an epoch with faultless cores."""
        h = self.horizon
        losses = [int(h.weight[j]) * self.loss(j) for j in self.there()]
        self.total_loss += sum(losses)
        self.total_worst_loss += max(losses, default=0)
        for j, count in enumerate(given):
            before, needed = self.done[j], int(h.goal[j]) * int(h.work[j])
            work_after = before + count * 1000 * h.epoch
            if before < needed <= work_after:
                at = 1000 * self.epoch * h.epoch + -(-(needed - before) // count)
                self.total_time_to_goal += int(h.weight[j]) * (at - 1000 * int(h.submit[j]))
            self.done[j] = min(work_after, int(h.iterations[j]) * int(h.work[j]))
        self.epoch += 1

    def loss(self, job: int) -> int:
        """Compute the loss of a job now, ppm, by rule 6."""
        h, work = self.horizon, int(self.horizon.work[job])
        whole, rest = divmod(self.done[job], work)
        here = int(h.loss[job, whole])
        return here - (here - int(h.loss[job, whole + 1])) * rest // work

    def _remaining(self, job: int) -> int:
        return int(self.horizon.iterations[job]) * int(self.horizon.work[job]) - self.done[job]

    def values(self) -> dict[str, int]:
        """Return the objective values of a run that has ended, by rule 7."""
        return {objective.name: int(getattr(self, objective.name)) for objective in OBJECTIVES}


def violations(horizon: Horizon, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible. The first faulty epoch ends it."""
    if not isinstance(plan, horizon.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(horizon.plan_type.kind)}"]
    return _carried_out(horizon, plan)[0]


def evaluate(horizon: Horizon, plan: Epochs) -> dict[str, int]:
    """Evaluate the objectives of a feasible plan."""
    faults, run = _carried_out(horizon, plan)
    if faults:
        raise InvalidInput(f"the plan cannot be evaluated: {faults[0]}")
    return run.values()


def _carried_out(horizon: Horizon, plan: Any) -> tuple[list[str], Run]:
    """Return the faults of a plan, and the run up to the first fault."""
    run, rows = Run(horizon), plan.cores.tolist()
    if plan.cores.shape[1] != len(horizon.submit) and rows:
        return [f"cores has {plan.cores.shape[1]} columns, expected {len(horizon.submit)}, one for each job"], run
    for e, cores in enumerate(rows):
        if run.ended():
            return [f"epoch {e} comes after the last job is done: there are {len(rows)} rows"], run
        if faults := run.faults(cores):
            return [f"epoch {e}: {fault}" for fault in faults], run
        run.give(cores)
    return ([] if run.ended() else [f"jobs are not done after {len(rows)} epochs: there must be more rows"]), run
