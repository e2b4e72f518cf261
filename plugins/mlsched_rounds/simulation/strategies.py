"""Hypothesis strategies of small workloads of rounds and of simulator options, and random schedulers."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched.instances.values import one_of
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room
from mlsched_rounds.simulation.adaptation import Adaptation
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.packing import Packing
from mlsched_rounds.simulation.workload import MICRO, PICO, PPM, Workload

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def workloads(*, jobs: int = 6, types: int = 3, gpus: int = 4) -> SearchStrategy[Workload]:
    """Generate workloads in which each job fits some type; few distinct numbers make bursts and ties common."""
    from hypothesis import strategies as st

    @st.composite
    def draw_workload(draw: DrawFn) -> Workload:
        count, kinds = draw(st.integers(1, jobs), label="jobs"), draw(st.integers(1, types), label="types")

        def column(entries: SearchStrategy[int], length: int = count) -> IntArray:
            return ints(draw(st.lists(entries, min_size=length, max_size=length)))

        capacity = column(st.integers(1, gpus), kinds)
        needs = np.minimum(column(one_of(1, 1, 2, 3)), int(capacity.max()))
        rate = column(one_of(0, PICO // 3, PICO, 7 * PICO // 2, 20 * PICO), count * kinds).reshape(count, kinds)
        nowhere = ~((rate > 0) & (needs[:, None] <= capacity)).any(axis=1)
        rate[nowhere, int(capacity.argmax())] = PICO
        adapts, packs = draw(st.booleans(), label="adapts"), draw(st.booleans(), label="packs")
        return Workload(
            adaptation=draw(_adaptations(rate)) if adapts else None,
            packing=draw(_pair_rates(rate, needs)) if packs and not adapts else None,
            types=tuple(f"t{m}" for m in range(kinds)),
            capacity=capacity,
            submit=np.sort(column(one_of(0, 0, 1, 5 * MICRO, 400 * MICRO, 3000 * MICRO))),
            steps=column(one_of(1, 2, 30, 359, 360, 361, 2000)),
            gpus=needs,
            rate=rate,
            weight=column(one_of(PPM, PPM, 3 * PPM)),
        )

    return draw_workload()


def _pair_rates(rate: IntArray, gpus: IntArray) -> SearchStrategy[Packing]:
    """Generate rates of pairs with equal GPU counts: a part of the single rate, slightly more, or 0 if unfit."""
    from hypothesis import strategies as st

    @st.composite
    def draw_packing(draw: DrawFn) -> Packing:
        count, kinds = rate.shape
        quarters = draw(st.lists(one_of(1, 2, 3, 4, 5), min_size=count**2 * kinds, max_size=count**2 * kinds))
        fits = ints(draw(st.lists(one_of(0, 1, 1), min_size=count**2 * kinds, max_size=count**2 * kinds)))
        pairs = fits.reshape(count, count, kinds) & (gpus[:, None] == gpus)[:, :, None]
        pairs &= pairs.transpose(1, 0, 2) & (rate > 0) & (rate > 0)[:, None]
        return Packing(
            group=np.arange(count),
            rate=rate[:, None] // 4 * ints(quarters).reshape(pairs.shape) * pairs,
            fine=np.zeros(pairs.shape, dtype=np.int64),
        )

    return draw_packing()


def _adaptations(rate: IntArray) -> SearchStrategy[Adaptation]:
    """Generate two or three batch sizes per job, which double; epochs of few steps, so that they change often."""
    from hypothesis import strategies as st

    @st.composite
    def draw_adaptation(draw: DrawFn) -> Adaptation:
        count, kinds = rate.shape
        regimes, changes = draw(st.integers(1, 3), label="regimes"), draw(st.integers(1, 4), label="changes")

        def table(entries: SearchStrategy[int], width: int) -> IntArray:
            return ints(draw(st.lists(entries, min_size=count * width, max_size=count * width))).reshape(count, width)

        faster = table(one_of(1, 2, 3), regimes)  # halves of the rate of the regime before
        rates = np.array(
            [[rate[j] * np.prod(faster[j, 1 : g + 1]) // 2**g for g in range(regimes)] for j in range(count)]
        )
        begins = np.sort(table(one_of(0, 1, 2, 5, 40), changes), axis=1)
        begins[:, 0] = 0
        return Adaptation(
            samples=table(one_of(1, 7, 40, 600), 1)[:, 0],
            batch=table(one_of(1, 2, 16), 1) * 2 ** np.arange(regimes),
            rate=rates.reshape(count, regimes, kinds),
            fine=np.zeros((count, regimes, kinds), dtype=np.int64),
            ahead=table(one_of(0, 1), 1)[:, 0],
            wants_from=begins,
            wants=table(st.integers(0, regimes - 1), changes),
            believed_from=begins,
            believed=table(st.integers(0, regimes - 1), changes),
        )

    return draw_adaptation()


@functools.cache
def options() -> SearchStrategy[Options]:
    """Generate options of runs in which the solver decides every round."""
    from hypothesis import strategies as st

    return st.builds(
        Options,
        round=st.sampled_from([20, 120, 360]),
        resume=st.sampled_from([0, 0, 5, 20]),
        remainder=st.sampled_from(["dropped", "run"]),
        gaps=st.sampled_from(["booked", "idle"]),
        emptied=st.sampled_from(["failed", "ended"]),
    )


def roomy(workload: Workload) -> Workload:
    """Return the same jobs with enough GPUs for all of them at once on every type."""
    return dataclasses.replace(workload, capacity=np.full(len(workload.types), int(workload.gpus.sum())))


def anything(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Return jobs in random order, each in a random configuration that fits; at least one job runs."""
    room = Room(instance)
    for job in rng.permutation(len(instance.remaining)).tolist():
        fitting = room.fitting(job)
        if fitting.size and (rng.random() < 0.8 or (room.config < 0).all()):
            room.take(job, int(rng.choice(fitting)))
    return room.plan()


VERBS = {"anything": anything}
