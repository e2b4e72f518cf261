"""A run of rounds under Shockwave's plans (Zheng et al., NSDI 2023): when it plans, with what in mind, and who runs.

As the authors' program does (uw-mad-dash/shockwave, `scheduler/shockwave.py` and, in `scheduler/scheduler.py`,
`_update_shockwave_scheduler`): a window of rounds is planned anew when a job has come or gone and every so many rounds;
in between the plan stands. GPUs that it leaves free go to the jobs with most before them. A job ought to end when it
would at an equal part of the cluster; that moment is estimated whenever a job comes or goes, and the estimates are
averaged over the rounds for which they stood. Time is counted in whole rounds from the first arrival.

How long jobs take is forecast from what is believed of their batch sizes (`heuristics/rounds/forecast`); reactive
policies see the rate of the moment alone. A job whose batch size is constant has a hundred epochs here, if its log says
of none. All GPUs are the same to the plan; whoever runs in a round does so on the fastest type with room.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import IntArray, ints
from mlsched_rounds.heuristics.forecast import Forecast
from mlsched_rounds.simulation.adaptation import Floats
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.simulator import Rounds
from mlsched_rounds.simulation.workload import Workload
from mlsched_rounds.solvers.shockwave import Jobs, Window, shockwave

#: Epochs of a job whose log says of none.
EPOCHS = 100
#: When a job ought to end at the soonest, s (ours): of one with a single epoch the forecast expects nothing to remain.
SOONEST = 1.0
#: Weight of the average of the estimates of when a job ought to end; the rest is the last one's.
MOMENTUM = 0.9


class Planner:
    """Who runs in each round, by plans. `calls`: in which rounds a window was planned."""

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
        self._since: dict[int, float] = {}  # when the job was seen first, s
        self._ought: dict[int, list[tuple[int, float]]] = {}  # (round, when the job ought to end)
        self._measured: dict[int, tuple[float, int]] = {}  # samples, and until which round
        self._pace: dict[int, float] = {}  # samples per second of who runs
        self._plan: dict[int, list[int]] = {}
        self._stood = 0  # rounds since the last plan that was due by their number

    @property
    def decided(self) -> int:
        """How often a window was planned."""
        return len(self.calls)

    def begin(self) -> None:
        """Plan where that is due, and begin the round."""
        r, active = self.rounds, self.rounds.active.tolist()
        self._measure()
        changed = self._come_and_gone(active)
        self._stood += r.rounds > 0
        due = self._stood >= self.options.replan
        if due:
            self._stood = 0
        if active and (changed or due or r.rounds not in self._plan):
            self._make(active, changed)
        chosen = [job for job in self._plan.get(r.rounds, []) if job in self._forecasts]
        taken = self._placed(chosen)
        self._pace = {job: self._samples_per_second(job, kind) for kind, jobs in enumerate(taken) for job in jobs}
        r.run([[(job,) for job in jobs] for jobs in taken], {(job,) for job in active})

    def stuck(self) -> str:
        """What holds a run up in which jobs wait, nothing runs and nothing will arrive, and what helps."""
        return f"shockwave: at {self.rounds.now:.10g} s no job of the plan fits; take gavel:policy=fifo_perf"

    def _measure(self) -> None:
        """Samples of who ran. As the authors count them: a slice's pace for all rounds since the slice before."""
        for job, pace in self._pace.items():
            samples, until = self._measured.get(job, (0.0, 0))
            seconds = self.options.round * (self.rounds.rounds - until)
            self._measured[job] = samples + pace * seconds, self.rounds.rounds

    def _come_and_gone(self, active: list[int]) -> bool:
        """Take note of new jobs and forget those that have ended; whether there were any."""
        gone = self._forecasts.keys() - set(active)
        for job in gone:
            del self._forecasts[job]
        come = [job for job in active if job not in self._forecasts]
        for job in come:
            self._forecasts[job] = self._forecast(job)
            self._since[job] = self.rounds.now
        return bool(gone or come)

    def _forecast(self, job: int) -> Forecast:
        w = self.workload
        if w.adaptation is None:
            seconds = float(w.steps[job]) / self._usual(self.rounds.rate[job]) / EPOCHS
            return Forecast([0] * EPOCHS, [seconds] * EPOCHS, float(w.steps[job]) / EPOCHS)
        samples = float(w.adaptation.samples[job])
        regimes = w.adaptation.beliefs(job, w.adaptation.epochs(w.steps)[job])
        batch = w.adaptation.batch[job]
        pace = {one: float(batch[one]) * self._usual(w.adaptation.rates[job, one]) for one in set(regimes)}
        return Forecast([int(batch[one]) for one in regimes], [samples / pace[one] for one in regimes], samples)

    def _usual(self, rate: Floats) -> float:
        """Steps per second, in the mean of the GPUs on which the job runs."""
        able = np.where(rate > 0, self.workload.capacity, 0)
        return float(rate @ able / able.sum())

    def _samples_per_second(self, job: int, kind: int) -> float:
        r = self.rounds
        if r.progress is None or self.workload.adaptation is None:
            return r.rates[job][kind]
        return r.rates[job][kind] * int(self.workload.adaptation.batch[job, r.progress.regime[job]])

    def _make(self, active: list[int], changed: bool) -> None:
        """Plan the window that begins now."""
        r, options = self.rounds, self.options
        forecasts = [self._forecasts[job] for job in active]
        for job, one in zip(active, forecasts, strict=True):
            one.done = self._done(job)
            if job in self._measured:
                samples, until = self._measured[job]
                one.calibrate(samples, float(options.round * until))
        remaining = np.array([one.remaining() for one in forecasts])
        if changed:
            share = min(1.0, self._window.gpus / len(active))
            for job, one, left in zip(active, forecasts, remaining.tolist(), strict=True):
                ought = self._since[job] + (one.past() + left) / share
                self._ought.setdefault(job, []).append((r.rounds, ought))
        jobs = Jobs(
            gpus=self.workload.gpus[active],
            epochs=np.array([one.epochs for one in forecasts], dtype=np.float64),
            done=np.array([one.done for one in forecasts], dtype=np.float64),
            epoch=np.array([one.epoch() for one in forecasts]),
            remaining=remaining,
            age=np.full(len(active), float(r.rounds * options.round)),
            fair=np.array([max(SOONEST, self._average(job)) for job in active]),
        )
        planned = shockwave(self._window, jobs, gap=options.gap, seed=options.seed)
        self.calls.append(r.rounds)
        self._plan = {
            r.rounds + k: [active[row] for row in _filled(planned.runs[:, k], jobs.gpus, remaining, self._window.gpus)]
            for k in range(options.window)
        }

    def _done(self, job: int) -> int:
        """Epochs of the job that are over."""
        if self.rounds.progress is not None:
            return self.rounds.progress.epoch(job)
        steps = int(self.workload.steps[job])
        return (steps - self.rounds.remaining[job]) * EPOCHS // steps

    def _average(self, job: int) -> float:
        """When the job ought to end: estimates averaged over the rounds for which they stood, and the last one."""
        series = self._ought[job]
        stood = np.diff([*(number for number, _ in series), self.rounds.rounds]).astype(np.float64)
        values = np.array([ought for _, ought in series])
        average = float(values @ stood / stood.sum()) if stood.any() else float(values[-1])
        return MOMENTUM * average + (1 - MOMENTUM) * float(values[-1])

    def _placed(self, chosen: list[int]) -> list[list[int]]:
        """The jobs of a round on types: larger ones first, each on the fastest type with room for it."""
        w, free = self.workload, self.workload.capacity.tolist()
        found: list[list[int]] = [[] for _ in free]
        for job in sorted(chosen, key=lambda one: -int(w.gpus[one])) if len(free) > 1 else chosen:
            able = [m for m in range(len(free)) if w.fits[job, m] and w.gpus[job] <= free[m]]
            if able:
                best = max(able, key=lambda m: self.rounds.rates[job][m])
                found[best].append(job)
                free[best] -= int(w.gpus[job])
        return found


def _filled(runs: IntArray, gpus: IntArray, remaining: Floats, free: int) -> list[int]:
    """Rows of the jobs of a round: those planned, then whoever fits, most remaining first."""
    found = np.flatnonzero(runs).tolist()
    free -= int(gpus[found].sum())
    for row in np.argsort(-remaining, kind="stable").tolist():
        if not runs[row] and gpus[row] <= free:
            found.append(row)
            free -= int(gpus[row])
    if free < 0:
        raise BackendError(f"a plan has more jobs in a round than the GPUs hold: {ints(found).tolist()}")
    return found
