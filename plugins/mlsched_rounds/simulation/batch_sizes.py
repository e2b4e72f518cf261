"""Batch-size changes of Shockwave's jobs: its patterns for two schemes, as in its program.

From uw-mad-dash/shockwave, commit 8a44f4a (MIT): `scheduler/utils.py` (`get_accordion_bs_pattern`,
`get_gns_bs_pattern`, `generate_pickle_file`) and `scheduler/scheduler.py` (`dataset_size_dict`, `_simulate_accordion`,
`_simulate_gns`); only facts, in our own tables.

- Accordion (Agarwal et al., MLSys 2021): the log's batch size in critical epochs, the model's largest in others.
- Gradient noise scale (McCandlish et al., 2018): the batch size doubles at the epochs of a table.

In the simulation (`wants`) accordion leaves its critical epochs as soon as they end. Shockwave's forecasts (`believed`)
differ. They expect a constant batch size in the first 30 % of a job and two more critical segments of Recommendation.
Under gradient noise scale, the last of more than two stages lacks its last epoch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mlsched.core.fields import UNLIMITED, ints
from mlsched.instances.traces.throughputs import Throughputs
from mlsched_rounds.simulation.adaptation import Adaptation
from mlsched_rounds.simulation.workload import in_digits

#: Samples of an epoch.
SAMPLES = {"ResNet-18": 50_000, "ResNet-50": 100_000, "Transformer": 10_000, "LM": 59_675, "Recommendation": 117_907}
#: The largest batch size.
LARGEST = {"ResNet-18": 256, "ResNet-50": 128, "Transformer": 128, "LM": 80, "Recommendation": 8192}
#: Models with batch sizes that accordion changes.
ACCORDION = ("ResNet-18", "ResNet-50", "LM", "Recommendation")
#: (model, batch size of the log, GPUs) -> epochs at which gradient noise scale doubles it.
DOUBLES: dict[tuple[str, int, int], tuple[int, ...]] = {
    ("ResNet-18", 16, 1): (31, 41, 51, 71),
    ("ResNet-18", 32, 1): (21, 31, 51),
    ("ResNet-18", 64, 1): (11, 31),
    ("ResNet-18", 128, 1): (11,),
    ("ResNet-18", 16, 2): (21, 31, 91, 111),
    ("ResNet-18", 32, 2): (11, 21, 41),
    ("ResNet-18", 64, 2): (21, 41),
    ("ResNet-18", 128, 2): (41,),
    ("ResNet-18", 16, 4): (11, 21, 81, 91),
    ("ResNet-18", 32, 4): (21, 31, 61),
    ("ResNet-18", 64, 4): (11, 61),
    ("ResNet-18", 128, 4): (11,),
    ("ResNet-50", 64, 1): (101,),
    ("ResNet-50", 32, 2): (101, 111),
    ("ResNet-50", 64, 2): (81,),
    ("ResNet-50", 32, 4): (131, 221),
    ("ResNet-50", 64, 4): (191,),
    ("LM", 5, 1): (31, 41, 61, 71),
    ("LM", 10, 1): (11, 21, 41),
    ("LM", 20, 1): (11, 41),
    ("LM", 40, 1): (11,),
    ("LM", 5, 2): (31, 51, 61, 71),
    ("LM", 10, 2): (11, 31, 41),
    ("LM", 20, 2): (31, 41),
    ("LM", 40, 2): (11,),
    ("LM", 5, 4): (11, 31, 71, 91),
    ("LM", 10, 4): (11, 31, 61),
    ("LM", 20, 4): (11, 61),
    ("LM", 40, 4): (61,),
    ("Recommendation", 512, 1): (21, 41, 71, 91),
    ("Recommendation", 1024, 1): (21, 51, 91),
    ("Recommendation", 2048, 1): (21, 41),
    ("Recommendation", 4096, 1): (41,),
}
#: First part of a job in which Shockwave forecasts a constant batch size under accordion.
FIRST_PART = 0.3

#: Segments [from, to) of epochs.
Segments = Sequence[tuple[int, int]]


class Job(NamedTuple):
    """A job of a trace.

    Attributes:
        model: Model with its batch size, as in the log.
        gpus: Number of GPUs.
        steps: Number of steps.
        mode: "static", "accordion" or "gns".
    """

    model: str
    gpus: int
    steps: int
    mode: str


class _Pattern(NamedTuple):
    """Batch sizes of a job's regimes, and the regimes by epoch: [(first epoch, regime)]."""

    batches: list[int]
    wants: list[tuple[int, int]]
    believed: list[tuple[int, int]]
    ahead: int = 0


def named(model: str) -> tuple[str, int] | None:
    """Return "LM (batch size 5)" as ("LM", 5); None for a model with unknown epochs."""
    match = re.fullmatch(r"(\S+) \(batch size (\d{1,9})\)", model)
    return (match[1], int(match[2])) if match and match[1] in SAMPLES and int(match[2]) else None


def adaptation(jobs: Sequence[Job], table: Throughputs, types: Sequence[str]) -> Adaptation | None:
    """Return the regimes of the jobs; None if a model is not one of Shockwave's, or if all jobs lack a mode."""
    lookup = [named(job.model) for job in jobs]
    if not any(job.mode for job in jobs) or None in lookup:
        return None
    patterns = []
    for job, name in zip(jobs, lookup, strict=True):
        assert name is not None
        result = _pattern_of_job(job, *name)
        able = all((f"{name[0]} (batch size {batch})", job.gpus) in table.rates for batch in result.batches)
        # A batch size without a measurement is refused there: the job keeps its present one.
        patterns.append(result if able else _constant_pattern(name[1]))
    regimes = max(len(one.batches) for one in patterns)
    rates = np.zeros((len(jobs), regimes, len(types), 2), dtype=np.int64)
    for j, (job, name, one) in enumerate(zip(jobs, lookup, patterns, strict=True)):
        assert name is not None
        for g, batch in enumerate(one.batches):
            rate = table.rates[f"{name[0]} (batch size {batch})", job.gpus]
            rates[j, g] = [in_digits(rate[kind]) for kind in types]
    wants_from, wants = _padded_rows([one.wants for one in patterns])
    believed_from, believed = _padded_rows([one.believed for one in patterns])
    return Adaptation(
        samples=ints(SAMPLES[name[0]] for name in lookup if name),
        batch=np.array([one.batches + [0] * (regimes - len(one.batches)) for one in patterns], dtype=np.int64),
        rate=rates[..., 0],
        fine=rates[..., 1],
        ahead=ints(one.ahead for one in patterns),
        wants_from=wants_from,
        wants=wants,
        believed_from=believed_from,
        believed=believed,
    )


def _padded_rows(patterns: Sequence[Sequence[tuple[int, int]]]) -> tuple[np.ndarray, np.ndarray]:
    """Return begins and regimes, jobs x changes; rows are padded with changes that never happen."""
    width = max(map(len, patterns))
    full = [[*one, *[(UNLIMITED, one[-1][1])] * (width - len(one))] for one in patterns]
    table = np.array(full, dtype=np.int64).reshape(len(patterns), width, 2)
    return table[..., 0], table[..., 1]


def _pattern_of_job(job: Job, model: str, batch: int) -> _Pattern:
    epochs = -(-job.steps // -(-SAMPLES[model] // batch))
    if job.mode == "accordion" and model in ACCORDION and batch != LARGEST[model]:
        wants = _regimes_outside(critical(model, batch, epochs), 0)
        believed = _regimes_outside(critical(model, batch, epochs, believed=True), int(epochs * FIRST_PART) + 1)
        return _Pattern([batch, LARGEST[model]], wants, believed)
    doubles = DOUBLES.get((model, batch, job.gpus), ()) if job.mode == "gns" else ()
    if not doubles:
        return _constant_pattern(batch)
    stages = [(0, 0), *((epoch, k + 1) for k, epoch in enumerate(doubles))]
    history = [stage for stage in stages if stage[0] < epochs]
    if len(history) > 2:
        # In its table the last epoch of every stage but the first has the log's batch size.
        history = [stage for stage in history if stage[0] < epochs - 1] + [(epochs - 1, 0)]
    return _Pattern([batch * 2**k for k in range(len(stages))], stages, history, ahead=1)


def _constant_pattern(batch: int) -> _Pattern:
    return _Pattern([batch], [(0, 0)], [(0, 0)])


def critical(model: str, batch: int, epochs: int, *, believed: bool = False) -> Segments:
    """Return the segments of epochs in which accordion keeps the log's batch size."""
    if model == "ResNet-18":
        return [(0, 10), (150, 160), (250, 260)]
    if model == "ResNet-50":
        return [(start, start + 10) for start in range(0, epochs + 1, 30)]
    if model == "LM":
        return [(0, 10)]
    first = 30 if batch <= 1024 else 40 if batch == 2048 else 10
    return [(0, first), *([(60, 70), (80, 90)] if believed else [])]


def _regimes_outside(segments: Segments, first: int) -> list[tuple[int, int]]:
    """Return regime 0 in the segments and before the epoch `first`, regime 1 elsewhere."""
    borders = sorted({0, first, *(border for segment in segments for border in segment)})
    result: list[tuple[int, int]] = []
    for epoch in borders:
        regime = int(epoch >= first and not any(start <= epoch < end for start, end in segments))
        if not result or result[-1][1] != regime:
            result.append((epoch, regime))
    return result
