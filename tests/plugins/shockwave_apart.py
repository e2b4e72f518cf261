"""Shockwave's simulator written apart, from its source alone: one GPU type, equal time for each job.

A loop over rounds with plain numbers, batch sizes looked up epoch by epoch; nothing is shared with mlsched but the
table of epochs at which batch sizes double.
"""

from __future__ import annotations

import ast
import dataclasses
import gzip
import json
import math
from pathlib import Path

ROUND, RESUME, RESET = 120, 20, 1000
SAMPLES = {"ResNet-18": 50000, "ResNet-50": 100000, "Transformer": 10000, "LM": 59675, "Recommendation": 117907}
LARGEST = {"ResNet-18": 256, "ResNet-50": 128, "Transformer": 128, "LM": 80, "Recommendation": 8192}


@dataclasses.dataclass
class Job:
    """A job, and where it is."""

    model: str
    first: int
    gpus: int
    mode: str
    steps: int
    arrival: float
    batch: int
    rate: float
    done: int = 0
    flag: str = ""
    failures: int = 0

    def epoch_steps(self, batch: int) -> int:
        return math.ceil(SAMPLES[self.model] / batch)


class Apart:
    """`run()` gives each job's completion time, in the order of the trace."""

    def __init__(self, trace: Path, table: Path, gpus: int, doubles: dict) -> None:
        rates = json.loads(gzip.decompress(table.read_bytes()))["v100"]
        self.rates = {ast.literal_eval(key): entry["null"] for key, entry in rates.items()}
        self.gpus, self.doubles, self.jobs = gpus, doubles, []
        for line in gzip.decompress(trace.read_bytes()).decode().splitlines():
            kind, _, _, _, _, steps, size, mode, *_, arrival = line.split("\t")
            model, batch = kind.split(" ")[0], int(kind.rsplit(" ", 1)[1][:-1])
            rate = self.rates[kind, int(size)]
            self.jobs.append(Job(model, batch, int(size), mode, int(steps), float(arrival), batch, rate))
        self.share: dict[int, float] = {}
        self.time: dict[int, float] = {}
        self.lack: dict[int, float] = {}
        self.total = 0.0

    def run(self) -> list[float]:
        now, started, until, last, need = self.jobs[0].arrival, 0.0, None, 0.0, True
        waiting, here, ends = list(range(len(self.jobs))), [], {}
        ran: list[set[int]] = []
        running: list[tuple[float, int, int]] = []
        while True:
            if running:
                now = max(finish for finish, _, _ in running)
                started, until = (started if until is None else until), now
            for finish, j, steps in sorted(running, key=lambda one: (-one[0], one[1])):
                job, seconds = self.jobs[j], finish - started
                if len(ran) > 1 and j not in ran[-2] and seconds > ROUND - 5:
                    steps = int(steps * ((seconds - RESUME) / seconds))
                    seconds -= RESUME
                over = False
                if steps <= 0 and seconds <= 0:
                    job.failures += 1
                    over = job.failures == 5
                else:
                    job.failures, job.done = 0, job.done + steps
                    self.time[j] += seconds
                    self.total += seconds
                    over = job.done >= job.steps
                self.change(job)
                need = need or over or job.failures > 0
                if over:
                    ends[j] = finish
                    here.remove(j)
                    del self.time[j], self.lack[j]
            for j in here:
                self.wish(self.jobs[j])
            while waiting and self.jobs[waiting[0]].arrival <= now:
                here.append(waiting.pop(0))
                self.time[here[-1]], self.lack[here[-1]], need = ROUND / 2, 0.0, True
            if not here:
                return [ends[j] - job.arrival for j, job in enumerate(self.jobs)]
            if need and (now - last >= RESET or last == 0):
                for j in here:
                    self.lack[j] += self.share.get(j, 0.0) * (now - last) - (self.time[j] - ROUND / 2)
                    self.time[j] = ROUND / 2
                self.total, last, need = ROUND / 2 * len(here), now, False
                self.share = dict.fromkeys(here, min(1.0, self.gpus / len(here)))
            chosen = self.choose(here)
            ran.append(set(chosen))
            running = []
            for j in chosen:
                job = self.jobs[j]
                steps = max(0, min(int(job.rate * ROUND), job.steps - job.done))
                running.append((now + steps / job.rate, j, steps))

    def choose(self, here: list[int]) -> list[int]:
        def urgency(j: int) -> tuple[float, float, float]:
            share = self.share.get(j, 0.0)
            return (share / (self.time[j] / self.total) if share else 0.0, self.lack[j], share)

        free, taken = self.gpus, []
        for j in sorted(here, key=urgency, reverse=True):
            if self.jobs[j].gpus <= free:
                free -= self.jobs[j].gpus
                taken.append(j)
        return [j for j in taken if j in self.share]

    def wish(self, job: Job) -> None:
        """`_simulate_accordion` and `_simulate_gns`."""
        epoch = math.ceil(job.done / job.epoch_steps(job.batch))
        if job.mode == "accordion" and job.model != "Transformer":
            calm = self.critical(job, epoch)
            if job.batch == job.first and not calm and job.batch != LARGEST[job.model]:
                job.flag = "up"
            elif job.batch != job.first and calm:
                job.flag = "down"
        elif job.mode == "gns":
            doubles = self.doubles.get((job.model, job.first, job.gpus), ())
            if job.first * 2 ** sum(epoch + 1 >= at for at in doubles) > job.batch:
                job.flag = "up"

    @staticmethod
    def critical(job: Job, epoch: int) -> bool:
        if job.model == "ResNet-18":
            return epoch < (20 if job.first == 256 else 10) or 150 <= epoch < 160 or 250 <= epoch < 260
        if job.model == "ResNet-50":
            return epoch % 30 < 10
        if job.model == "LM":
            return epoch < 10
        return epoch < {512: 30, 1024: 30, 2048: 40, 4096: 10, 8192: 10}[job.first]

    def change(self, job: Job) -> None:
        """`_scale_bs_and_iters`."""
        flag, job.flag = job.flag, ""
        if not flag or job.first == LARGEST[job.model]:
            return
        new = 2 * job.batch if job.mode == "gns" else LARGEST[job.model] if flag == "up" else job.first
        before, after = job.epoch_steps(job.batch), job.epoch_steps(new)
        epochs, steps = math.ceil(job.steps / before), math.ceil(job.steps * (1 / (new / job.batch)))
        job.steps = steps if math.ceil(steps / after) == epochs else after * epochs
        job.done = math.ceil(job.done / before) * after
        job.batch, job.rate = new, self.rates[f"{job.model} (batch size {new})", job.gpus]
