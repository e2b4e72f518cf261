"""The paper's six models and its testbed, and the synthetic interference between them.

Speeds (samples/s, 1 PS + 1 worker) come from the same group's public table for the same 8-core servers with 2 GPUs and
48 GB: PS remote | PS on the same server. Their ratio is the network penalty: rho = same / remote - 1. The interference
table is synthetic (the paper's Fig. 2 is an image). It keeps the text's anchors (Section II-B): two jobs per server
lose 33 % on average, ResNeXt slows down nearly twice, ResNet with WLM or Seq2Seq is mild, ResNeXt with CTC severe.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray, ints

RESOURCES = ("cpu", "gpu", "ram")
#: One server of the testbed (Section VI-B): cores, GPUs, GB.
SERVER = (8, 2, 48)
#: A worker: 2 cores, a GPU (CTC: 0), 8 GB. A PS: 2 cores, 8 GB.
WORKER, PS = (2, 1, 8), (2, 0, 8)
PRESSURES = ("cpu", "bandwidth")


@dataclasses.dataclass(frozen=True)
class Model:
    """One row of Table I: speeds in samples/s (PS remote, PS local), and a task's use in thousandths of a server."""

    name: str
    remote: float
    local: float
    cpu: int
    bandwidth: int
    gpus: int = 1


#: CPU: share of the two cores that training keeps busy (high for CTC, low for Seq2Seq; Section VI-C). Bandwidth: model
#: size / time of a step at the local speed, relative to the largest (VGG-16) at 500.
MODELS = (
    Model("resnet50", 20.5, 40.9, cpu=110, bandwidth=190),
    Model("vgg16", 11.0, 17.5, cpu=120, bandwidth=500),
    Model("resnext110", 374.0, 381.0, cpu=170, bandwidth=40),
    Model("seq2seq", 169.0, 231.0, cpu=50, bandwidth=220),
    Model("ctc", 51.0, 68.0, cpu=240, bandwidth=50, gpus=0),
    Model("wlm", 80.0, 161.0, cpu=90, bandwidth=200),
)
#: Slowdown - 1 of the row's model when one worker and one PS of the column's share its server.
PAIRS = (
    (0.48, 0.54, 0.42, 0.14, 0.66, 0.12),
    (0.48, 0.72, 0.36, 0.30, 0.54, 0.48),
    (0.80, 0.86, 1.05, 0.70, 1.80, 0.75),
    (0.14, 0.36, 0.36, 0.30, 0.42, 0.36),
    (0.60, 0.54, 1.10, 0.42, 0.96, 0.48),
    (0.12, 0.48, 0.36, 0.36, 0.54, 0.54),
)
#: How much of a pair's interference its worker causes; the PS causes the rest.
WORKER_SHARE = 0.7
#: LIF's world: slowdown - 1 if others use a complete server of CPU and of bandwidth; one row per model.
LINEAR = ((0.8, 0.9), (0.7, 1.1), (3.0, 0.8), (0.4, 0.9), (2.2, 0.4), (0.6, 1.0))
#: The same for squares of the use (CPU CPU, bandwidth bandwidth) and for their product.
QUADRATIC = ((1.6, 1.5, 0.5), (1.3, 1.8, 0.6), (6.0, 1.2, 1.5), (0.6, 1.5, 0.3), (4.4, 0.6, 0.8), (1.0, 1.7, 0.5))
KINDS = ("pairwise", "linear", "quadratic")


def interference(kind: str, scale: float = 1.0) -> dict[str, Any]:
    """Return the instance fields of the six models, with one kind of interference, times `scale`.

    kind: "pairwise" (PAIRS), "linear" or "quadratic" in the CPU and bandwidth that other jobs use.
    """
    count, million = len(MODELS), 10**6
    pairs = np.array(PAIRS) * scale * (kind == "pairwise")
    linear = np.array(LINEAR) * scale * (kind == "linear")
    squares = np.array(QUADRATIC) * scale * (kind == "quadratic")
    quadratic = np.zeros((count, 2, 2), dtype=np.int64)
    quadratic[:, 0, 0], quadratic[:, 1, 1] = _to_millionths(squares[:, 0]), _to_millionths(squares[:, 1])
    quadratic[:, 0, 1] = _to_millionths(squares[:, 2])
    return {
        "types": tuple(m.name for m in MODELS),
        "pressures": PRESSURES,
        "sigma_worker": _to_millionths(pairs * WORKER_SHARE),
        "sigma_ps": _to_millionths(pairs * (1 - WORKER_SHARE)),
        "apart": np.zeros((count, count), dtype=np.int64),
        "use_worker": np.array([(m.cpu, m.bandwidth) for m in MODELS], dtype=np.int64),
        # A PS uses few cycles, but as much network traffic as the workers it serves.
        "use_ps": np.array([(m.cpu // 3, m.bandwidth) for m in MODELS], dtype=np.int64),
        "linear": _to_millionths(linear),
        "quadratic": quadratic,
        "rho_ps": ints(round(million * (m.local / m.remote - 1)) for m in MODELS),
        "rho_worker": ints(round(million * (m.local / m.remote - 1)) for m in MODELS),
    }


def _to_millionths(values: Any) -> IntArray:
    """Convert slowdowns to millionths, rounded to nearest."""
    return np.asarray(np.rint(values * 10**6), dtype=np.int64)
