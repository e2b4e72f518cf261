"""Chic-plus' network: a learned marginal gain of one more worker or PS, the same function for every job.

A decision phase gives one worker or PS after the other, as Chic's does, but (a) only actions that can help are taken
(`valid`), (b) a job's score depends on the job (`static`), on what it has by now (`dynamic`) and on the mean encoding
of all jobs, through the same weights whatever the job's place: so the policy works for any number of jobs, in any
order, and for training models it has never seen, whose tables of times it reads. All features are float32; times are in
seconds, infinite where a job cannot train.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidFile
from mlsched.learned.net import Floats, Mlp

#: Entries of a job's features at the beginning of a phase, of those that change with every action, and of an encoding.
STATIC, DYNAMIC, CODE = 8, 14, 16


def static(best: Any, pair: Any, worker: Any, ps: Any, there: Any, backlog: Any) -> Floats:
    """Features of jobs at the beginning of a phase: (... x jobs) -> (... x jobs x STATIC).

    best: least time to finish alone on the cluster; pair: time with one worker and one PS; worker, ps: dominant share
    of one; there: whether there is a job; backlog (...): jobs beyond those listed.
    """
    safe = np.where(there, best, 1.0)
    count = there.sum(axis=-1, keepdims=True)
    total = np.where(there, best, 0.0).sum(axis=-1, keepdims=True)
    smaller = ((safe[..., None, :] < safe[..., :, None]) & there[..., None, :]).sum(axis=-1)
    columns = [
        np.log(safe / 1000),
        np.log(np.clip(np.where(there, pair, 1.0) / safe, 1.0, 1e3)),
        smaller / np.maximum(count, 1),
        safe / np.maximum(total, 1e-9),
        np.broadcast_to(np.log1p(count), safe.shape),
        np.broadcast_to(np.log1p(np.asarray(backlog)[..., None]), safe.shape),
        10 * worker,
        10 * ps,
    ]
    features = np.stack(np.broadcast_arrays(*columns), axis=-1).astype(np.float32)
    return np.asarray(np.where(there[..., None], features, np.float32(0)))


def dynamic(ahead: Any, best: Any, workers: Any, servers: Any, worker: Any, ps: Any) -> Floats:
    """Features of what jobs have by now: (...) -> (... x DYNAMIC).

    ahead (4 x ...): time to finish as it is, with a worker more, with a PS more, with both; best: as for `static`;
    workers, servers: numbers; worker, ps: dominant share of one.
    """
    speed = best / ahead  # shares of the best speed
    now, gain = speed[0], speed[1:] - speed[0]
    size = 1000 / best
    shape = np.broadcast_shapes(now.shape, *(np.shape(each) for each in (workers, servers, worker, ps)))
    columns = np.empty((DYNAMIC, *shape))
    columns[0] = now
    columns[1:4] = gain
    for column, each, share in zip(columns[4:7], gain, (worker, ps, worker + ps), strict=True):
        np.divide(each, share, out=column)
    columns[4:7] /= 10
    columns[7] = now * size
    columns[8:10] = gain[:2] * size
    columns[10] = workers > 0
    columns[11] = workers * worker
    columns[12] = servers * ps
    columns[13] = np.log1p(workers) - np.log1p(servers)
    np.clip(columns, -20, 20, out=columns)
    return np.ascontiguousarray(np.moveaxis(columns, 0, -1), dtype=np.float32)


def valid(ahead: Any, workers: Any, servers: Any, fits: Any, there: Any) -> Any:
    """Which actions may be taken: (... x jobs) -> (... x jobs x 2), worker and PS.

    fits (... x jobs x 3): whether a worker, a PS, and both together fit what is free and the job's table. A job begins
    with a worker and then at once its PS; later tasks must make it faster, or able to train at all.
    """
    begun = (workers > 0) & (servers > 0)
    half = there & (workers > 0) & (servers == 0)
    faster = ahead[1:3] < ahead[0]
    cannot = np.isinf(ahead[0])
    worker = np.where(begun, (faster[0] | cannot) & fits[..., 0], fits[..., 2]) & there & ~half
    ps = np.where(begun, (faster[1] | cannot) & fits[..., 1], half)
    pairs = np.stack([worker, ps & there], axis=-1)
    waiting = half.any(axis=-1)
    only = np.stack([np.zeros_like(half), half], axis=-1)
    return np.where(waiting[..., None, None], only, pairs)


class PlusNet:
    """Encodes jobs, then scores a worker and a PS more for each."""

    def __init__(self, tensors: Mapping[str, Floats]) -> None:
        self.encoder, self.head = Mlp(tensors, "encoder."), Mlp(tensors, "head.")
        sizes = (self.encoder.inputs, self.encoder.outputs, self.head.inputs, self.head.outputs)
        if sizes != (STATIC, CODE, 2 * CODE + DYNAMIC, 2):
            raise InvalidFile(
                f"weights: layers of {sizes} inputs and outputs are not those of chic-plus; train it again"
            )

    def encode(self, features: Any, there: Any) -> Any:
        """Encodings of jobs beside the mean of all: (... x jobs x STATIC) -> (... x jobs x 2 CODE)."""
        code = np.maximum(self.encoder(features), 0)
        code *= there[..., None]
        mean = code.sum(axis=-2, keepdims=True) / np.maximum(there.sum(axis=-1), 1).astype(np.float32)[..., None, None]
        return np.concatenate([code, np.broadcast_to(mean, code.shape)], axis=-1)

    def score(self, code: Any, changing: Any) -> Any:
        """Scores (... x 2) of a worker and of a PS more."""
        return self.head(np.concatenate([code, changing], axis=-1))
