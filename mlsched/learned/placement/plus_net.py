"""Harmony-plus' network: scores the possible next placements, for any numbers of jobs and servers.

A candidate is an edge between a job and a server: a number of workers and PSs of the job there. One round of messages
runs between them. Candidates are encoded with the features of both ends; every job and every server attends to its
candidates, and the complete state to all. The messages return to the candidates, which are then scored. All weights are
shared, so renaming jobs or servers only renames the scores (equivariance).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidFile
from mlsched.core.fields import IntArray
from mlsched.learned.net import Floats, Reals, product_in_blocks

#: Features of a candidate, of a job, of a server, and of the complete state.
CANDIDATE, JOB, SERVER, WHOLE = 16, 12, 7, 6
#: Logits of attention are kept within this.
MOST_ATTENTION = 8.0


def tensor_shapes(hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor, (inputs, outputs); (outputs,) for biases."""
    h = hidden
    return {
        "edge.candidate": (CANDIDATE, h),
        "edge.job": (JOB, h),
        "edge.server": (SERVER, h),
        "edge.whole": (WHOLE, h),
        "edge.bias": (h,),
        "attention": (h, 3),
        "score.edge": (h, h),
        "score.job": (h, h),
        "score.server": (h, h),
        "score.whole": (h, h),
        "score.bias": (h,),
        "score.out": (h, 1),
        "stop.message": (h, h),
        "stop.whole": (WHOLE, h),
        "stop.bias": (h,),
        "stop.out": (h, 1),
    }


@dataclasses.dataclass(frozen=True)
class View:
    """The network's input for several states at once (B states, J jobs, M servers, C candidates of all states).

    Attributes:
        candidates: Features, shape (C, CANDIDATE).
        jobs: Features, shape (B J, JOB).
        servers: Features, shape (B M, SERVER).
        whole: Features of the complete states, shape `(B, WHOLE)`.
        job, server: Row of each candidate's job and server in them, shape (C,); `job` is ascending.
        state: State of each candidate, shape (C,), ascending.
        may_stop: True if a state may place nothing more, shape (B,).
    """

    candidates: Floats
    jobs: Floats
    servers: Floats
    whole: Floats
    job: IntArray
    server: IntArray
    state: IntArray
    may_stop: npt.NDArray[np.bool_]


class PlusNet:
    """The network's forward pass in NumPy; `training/placement/_plus.py` has the same in torch."""

    def __init__(self, tensors: Mapping[str, Floats]) -> None:
        hidden = tensors["edge.bias"].shape[0] if "edge.bias" in tensors else 0
        for name, shape in tensor_shapes(hidden).items():
            if not hidden or name not in tensors or tensors[name].shape != shape:
                raise InvalidFile(f"weights: {name} is not as harmony-plus has it; train it again")
        self.tensors = tensors

    def __call__(self, view: View) -> tuple[Reals, Reals]:
        """Score the candidates, shape (C,), and the choice to stop, shape (B,)."""
        t = self.tensors
        edge = product_in_blocks(view.candidates, t["edge.candidate"])
        edge += (view.jobs @ t["edge.job"])[view.job]
        edge += (view.servers @ t["edge.server"])[view.server]
        edge += (view.whole @ t["edge.whole"] + t["edge.bias"])[view.state]
        np.maximum(edge, 0, out=edge)
        weight = np.exp(np.clip(product_in_blocks(edge, t["attention"]), -MOST_ATTENTION, MOST_ATTENTION))
        by_job = average_by_group(edge, weight[:, 0], view.job, len(view.jobs))
        order = np.argsort(view.server, kind="stable")
        by_server = average_by_group(edge[order], weight[order, 1], view.server[order], len(view.servers))
        message = average_by_group(edge, weight[:, 2], view.state, len(view.whole))
        edge = product_in_blocks(edge, t["score.edge"])
        edge += (by_job @ t["score.job"])[view.job]
        edge += (by_server @ t["score.server"])[view.server]
        edge += (message @ t["score.whole"] + t["score.bias"])[view.state]
        np.maximum(edge, 0, out=edge)
        stop = np.maximum(message @ t["stop.message"] + view.whole @ t["stop.whole"] + t["stop.bias"], 0)
        return product_in_blocks(edge, t["score.out"])[:, 0], (stop @ t["stop.out"])[:, 0]


def average_by_group(values: Reals, weight: Reals, group: IntArray, count: int) -> Floats:
    """Return the weighted mean of the rows of `values` in each group, shape (count, H); 0 for an empty group.

    Args:
        values: Shape (C, H).
        weight: Weight of each row, shape (C,).
        group: Group of each row, ascending, shape (C,).
        count: Number of groups.
    """
    means = np.zeros((count, values.shape[1]), dtype=np.float32)
    if len(group):
        first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        total = np.add.reduceat(weight, first)
        means[group[first]] = np.add.reduceat(values * weight[:, None], first, axis=0) / total[:, None]
    return means
