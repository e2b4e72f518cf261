"""Sia's costs of configurations from goodputs (Jayaram Subramanya et al., SOSP 2023), and its configurations.

G_jc is the job's goodput over the smallest of its row, and G_jc^p its cost. Goodputs of configurations other than the
current one are first multiplied by (T_j - N_j S_j) / (T_j + S_j), the job's time left by the restarts: T_j its age, N_j
its restarts until now, S_j seconds each. With p < 0 (the paper's text prints p = .5, its code -.5) costs fall with
goodput. `solvers/rounds/sia.py` has the program that sums them.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray

#: The paper's p, and its lambda: the cost of a job that waits.
POWER, WAITING = -0.5, 1.1


@dataclasses.dataclass(frozen=True)
class Configurations:
    """Possible GPU sets of a job, each of one type.

    Attributes:
        type, gpus: GPU type and GPU count of each configuration.
        capacity: GPUs of each type.
    """

    type: IntArray
    gpus: IntArray
    capacity: IntArray


def usual(capacity: IntArray, per_node: IntArray) -> Configurations:
    """Return Sia's configurations of each type: 1, 2, 4 ... R GPUs of a node, then 2 R, 3 R ... N R on several nodes.

    R: GPUs of a node.
    """
    kinds, counts = [], []
    for m, (total, node) in enumerate(zip(capacity.tolist(), per_node.tolist(), strict=True)):
        sizes = [2**i for i in range(node.bit_length()) if 2**i <= min(node, total)]
        sizes += [node] if node not in sizes and node <= total else []
        sizes += list(range(2 * node, total + 1, node))
        kinds += [m] * len(sizes)
        counts += sizes
    return Configurations(np.array(kinds, dtype=np.int64), np.array(counts, dtype=np.int64), capacity)


def kept(age: FloatArray, restarts: IntArray, seconds: FloatArray) -> FloatArray:
    """Return the part of each job's goodput that one more restart leaves.

    It is (age - restarts x seconds) / (age + seconds), within [0, 1].
    """
    return np.clip((age - restarts * seconds) / np.maximum(age + seconds, 1e-300), 0.0, 1.0)


def costs(goodput: FloatArray, current: IntArray, keeps: FloatArray, *, power: float = POWER) -> FloatArray:
    """Return G^p for each job and configuration; inf if the goodput is 0.

    Args:
        goodput: Goodput of each job, shape (jobs, configurations).
        current: Present configuration of each job, -1 for none.
        keeps: See `kept`.
        power: p.
    """
    if power == 0:
        raise InvalidInput("power: 0, expected below or above 0; with 0 all configurations cost the same")
    there = goodput > 0
    least = np.where(there, goodput, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    stays = np.arange(goodput.shape[1]) == current[:, None]
    scale = np.where(there, goodput / least, 0.0) * np.where(stays, 1.0, keeps[:, None])
    with np.errstate(divide="ignore"):
        return np.where(scale > 0, np.power(scale, power), np.inf)
