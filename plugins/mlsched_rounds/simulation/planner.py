"""A simulation of rounds under Shockwave's plans (Zheng et al., NSDI 2023): times of planning, forecasts, and jobs of
each round.

It follows the authors' program (uw-mad-dash/shockwave, `scheduler/shockwave.py` and, in `scheduler/scheduler.py`,
`_update_shockwave_scheduler`). A window of rounds is planned when a job arrives or ends and every `replan` rounds; in
between the plan is kept. GPUs that it leaves free go to the jobs with most remaining work. A job should end as if it
had an equal part of the cluster. That time is estimated whenever a job arrives or ends, and the estimates are averaged
over their rounds. Time is counted in full rounds from the first arrival.

Running times are forecast from the expected batch sizes (`heuristics/rounds/forecast`); reactive policies see only the
present rate. A job whose batch size is constant has a hundred epochs here, unless its log gives a number. All GPUs are
equal in the plan; each job of a round runs on the fastest type with room.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray, IntArray, ints
from mlsched_rounds.heuristics.forecast import Forecast
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.simulator import Rounds
from mlsched_rounds.simulation.workload import Workload
from mlsched_rounds.solvers.shockwave import Jobs, Window, shockwave

#: Epochs of a job if its log does not give them.
EPOCHS = 100
#: Earliest fair end of a job, s (ours): with a single epoch the forecast expects the remaining work to be 0.
SOONEST = 1.0
#: Weight of the average of the estimates of the fair end; the rest is the last one's.
MOMENTUM = 0.9


class Planner:
    """The jobs of each round, by plans. `calls`: rounds in which a window was planned."""

    def __init__(self, rounds: Rounds, workload: Workload, options: Options) -> None:
        self.rounds, self.workload, self.options = rounds, workload, options
        self.calls: list[int] = []
        self._window = Window(
            options.window,
            options.round,
            int(workload.capacity.sum()),
            options.makespan,
            options.fairness,
            options.ratio,
            options.order,
        )
        self._forecasts: dict[int, Forecast] = {}
        self._since: dict[int, float] = {}  # first observation of the job, s
        self._ought: dict[int, list[tuple[int, float]]] = {}  # (round, fair end of the job)
        self._measured: dict[int, tuple[float, int]] = {}  # samples, and the round until which they count
        self._pace: dict[int, float] = {}  # samples per second of running jobs
        self._plan: dict[int, list[int]] = {}
        self._stood = 0  # rounds since the last plan that was due by their number

    @property
    def decided(self) -> int:
        """Return the number of planned windows."""
        return len(self.calls)

    def begin(self) -> None:
        """Plan if that is due, and begin the round."""
        r, active = self.rounds, self.rounds.active.tolist()
        self._count_samples()
        changed = self._come_and_gone(active)
        self._stood += r.rounds > 0
        due = self._stood >= self.options.replan
        if due:
            self._stood = 0
        if active and (changed or due or r.rounds not in self._plan):
            self._plan_window(active, changed)
        choice = [job for job in self._plan.get(r.rounds, []) if job in self._forecasts]
        selection = self._place_on_types(choice)
        self._pace = {job: self._samples_per_second(job, kind) for kind, jobs in enumerate(selection) for job in jobs}
        r.run([[(job,) for job in jobs] for jobs in selection], {(job,) for job in active})

    def stuck(self) -> str:
        """Explain why jobs never start on an idle cluster after the last arrival, and suggest a remedy."""
        return f"shockwave: at {self.rounds.now:.10g} s no job of the plan fits; take gavel:policy=fifo_perf"

    def _count_samples(self) -> None:
        """Count the samples of running jobs.

        As in the authors' program, a slice's pace counts for all rounds since the slice before.
        """
        for job, pace in self._pace.items():
            samples, until = self._measured.get(job, (0.0, 0))
            seconds = self.options.round * (self.rounds.rounds - until)
            self._measured[job] = samples + pace * seconds, self.rounds.rounds

    def _come_and_gone(self, active: list[int]) -> bool:
        """Record new jobs and forget ended ones; return whether there were any."""
        removals = self._forecasts.keys() - set(active)
        for job in removals:
            del self._forecasts[job]
        come = [job for job in active if job not in self._forecasts]
        for job in come:
            self._forecasts[job] = self._forecast_of_job(job)
            self._since[job] = self.rounds.now
        return bool(removals or come)

    def _forecast_of_job(self, job: int) -> Forecast:
        w = self.workload
        if w.adaptation is None:
            seconds = float(w.steps[job]) / self._mean_rate(self.rounds.rate[job]) / EPOCHS
            return Forecast([0] * EPOCHS, [seconds] * EPOCHS, float(w.steps[job]) / EPOCHS)
        samples = float(w.adaptation.samples[job])
        regimes = w.adaptation.beliefs(job, w.adaptation.epochs(w.steps)[job])
        batch = w.adaptation.batch[job]
        pace = {one: float(batch[one]) * self._mean_rate(w.adaptation.rates[job, one]) for one in set(regimes)}
        return Forecast([int(batch[one]) for one in regimes], [samples / pace[one] for one in regimes], samples)

    def _mean_rate(self, rate: FloatArray) -> float:
        """Return the steps per second, averaged over the job's GPUs."""
        able = np.where(rate > 0, self.workload.capacity, 0)
        return float(rate @ able / able.sum())

    def _samples_per_second(self, job: int, kind: int) -> float:
        r = self.rounds
        if r.progress is None or self.workload.adaptation is None:
            return r.rates[job][kind]
        return r.rates[job][kind] * int(self.workload.adaptation.batch[job, r.progress.regime[job]])

    def _plan_window(self, active: list[int], changed: bool) -> None:
        """Plan the window that begins now."""
        r, options = self.rounds, self.options
        forecasts = [self._forecasts[job] for job in active]
        for job, one in zip(active, forecasts, strict=True):
            one.done = self._completed_epochs(job)
            if job in self._measured:
                samples, until = self._measured[job]
                one.calibrate(samples, float(options.round * until))
        remaining = np.array([one.remaining() for one in forecasts])
        if changed:
            share = min(1.0, self._window.gpus / len(active))
            for job, one, rest in zip(active, forecasts, remaining.tolist(), strict=True):
                ought = self._since[job] + (one.past() + rest) / share
                self._ought.setdefault(job, []).append((r.rounds, ought))
        jobs = Jobs(
            gpus=self.workload.gpus[active],
            epochs=np.array([one.epochs for one in forecasts], dtype=np.float64),
            done=np.array([one.done for one in forecasts], dtype=np.float64),
            epoch=np.array([one.epoch() for one in forecasts]),
            remaining=remaining,
            age=np.full(len(active), float(r.rounds * options.round)),
            fair=np.array([max(SOONEST, self._fair_end(job)) for job in active]),
        )
        plan = shockwave(self._window, jobs, gap=options.gap, seed=options.seed)
        self.calls.append(r.rounds)
        self._plan = {
            r.rounds + k: [
                active[row] for row in _rows_of_round(plan.runs[:, k], jobs.gpus, remaining, self._window.gpus)
            ]
            for k in range(options.window)
        }

    def _completed_epochs(self, job: int) -> int:
        """Return the completed epochs of the job."""
        if self.rounds.progress is not None:
            return self.rounds.progress.epoch(job)
        steps = int(self.workload.steps[job])
        return (steps - self.rounds.remaining[job]) * EPOCHS // steps

    def _fair_end(self, job: int) -> float:
        """Return the fair end of the job: its estimates averaged over their rounds, and the last one."""
        series = self._ought[job]
        stood = np.diff([*(number for number, _ in series), self.rounds.rounds]).astype(np.float64)
        values = np.array([ought for _, ought in series])
        average = float(values @ stood / stood.sum()) if stood.any() else float(values[-1])
        return MOMENTUM * average + (1 - MOMENTUM) * float(values[-1])

    def _place_on_types(self, choice: list[int]) -> list[list[int]]:
        """Place the jobs of a round on types: larger ones first, each on the fastest type with room for it."""
        w, free = self.workload, self.workload.capacity.tolist()
        result: list[list[int]] = [[] for _ in free]
        for job in sorted(choice, key=lambda one: -int(w.gpus[one])) if len(free) > 1 else choice:
            able = [m for m in range(len(free)) if w.fits[job, m] and w.gpus[job] <= free[m]]
            if able:
                best = max(able, key=lambda m: self.rounds.rates[job][m])
                result[best].append(job)
                free[best] -= int(w.gpus[job])
        return result


def _rows_of_round(runs: IntArray, gpus: IntArray, remaining: FloatArray, free: int) -> list[int]:
    """Return the rows of a round: the planned jobs, then others that fit, most remaining work first."""
    result = np.flatnonzero(runs).tolist()
    free -= int(gpus[result].sum())
    for row in np.argsort(-remaining, kind="stable").tolist():
        if not runs[row] and gpus[row] <= free:
            result.append(row)
            free -= int(gpus[row])
    if free < 0:
        raise BackendError(f"a plan has more jobs in a round than fit on the GPUs: {ints(result).tolist()}")
    return result
