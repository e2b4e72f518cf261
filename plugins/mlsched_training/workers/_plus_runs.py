"""Runs under Chic-plus in compiled code, for its evolution: some 20 microseconds a decision in place of a millisecond.

The compiled code (`compiled/plus_runs.c`) repeats the simulator and the hull greedy, and skips the rounding of a
decision's costs. Validation and tests compare it with the simulator.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.instances.workers import NEVER
from mlsched.learned.workers.chic_plus import NAMES
from mlsched.simulation.workers import Workload
from mlsched.simulation.workers.workload import MS, startable
from mlsched_training._recipe import Tensors

#: The compiled code; `hatch_build.py` makes it.
LIBRARY = Path(__file__).parent / "compiled" / "libplus_runs.so"


class _Workload(ctypes.Structure):
    """Jobs and cluster, as `Workload` in `plus_runs.c`."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("jobs", "models", "resources", "changed")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "capacity",
                "first",
                "time",
                "use",
                "most",
                "pair",
                "rate",
                "share",
                "submit",
                "iterations",
                "model",
            )
        ),
    )


class _Network(ctypes.Structure):
    """Network, as `Network` in `plus_runs.c`."""

    _fields_ = (
        ("hidden", ctypes.c_int32),
        ("weight", ctypes.c_void_p * 3),
        ("bias", ctypes.c_void_p * 3),
        ("linear", ctypes.c_void_p),
    )


@functools.cache
def compiled_function() -> Any:
    """Return the compiled function, or None if this machine lacks it."""
    try:
        function = ctypes.CDLL(str(LIBRARY)).plus_run
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.POINTER(_Workload), ctypes.POINTER(_Network))
    function.restype = ctypes.c_int64
    return function


class Cluster:
    """Cluster with its training models in the layout of the compiled code."""

    def __init__(self, work: Workload) -> None:
        first, time, use = [0], list[Any](), list[Any]()
        can = startable(work)
        for m, table in enumerate(work.iteration):
            w, p = np.nonzero(can[m])
            need = (w[:, None] + 1) * work.worker_demand[m] + (p[:, None] + 1) * work.ps_demand[m]
            order = np.lexsort((need.sum(axis=1), table[w, p]))  # the fastest first: only a faster one can dominate
            need = need[order]
            covers = (need[:, None, :] <= need[None, :, :]).all(axis=2)
            useful = ~np.triu(covers, 1).any(axis=0)
            time.append(table[w, p][order][useful])
            use.append(need[useful])
            first.append(first[-1] + int(useful.sum()))
        pair = work.iteration[:, 0, 0]
        share = ((work.worker_demand + work.ps_demand) / np.maximum(work.capacity, 1)).max(axis=1)
        self.arrays = {
            "capacity": work.capacity,
            "first": np.array(first, dtype=np.int32),
            "time": np.concatenate(time),
            "use": np.ascontiguousarray(np.concatenate(use)),
            "most": np.stack([each.max(axis=0) for each in use]),
            "pair": np.where(pair == NEVER, [each[0] for each in time], pair),
            "rate": np.concatenate([each[0] / each for each in time]),
            "share": np.maximum(share, 1e-3),
        }
        self.sizes = (len(work.models), len(work.resources))


class Runs:
    """Workload on a cluster, run by the compiled code."""

    def __init__(self, cluster: Cluster, work: Workload, floor: str) -> None:
        self.jobs = len(work.submit)
        self._arrays = {
            **cluster.arrays,
            "submit": work.submit,
            "iterations": work.iterations,
            "model": work.model.astype(np.int32),
        }
        self._work = _Workload(self.jobs, *cluster.sizes, floor == "changed")
        for name, value in self._arrays.items():
            setattr(self._work, name, value.ctypes.data)

    def completion_s(self, network: Network) -> float:
        """Return the mean completion time in seconds."""
        function = compiled_function()
        if function is None:
            raise InvalidInput("chic-plus: its evolution needs compiled code; install mlsched with a C compiler")
        total = function(ctypes.byref(self._work), ctypes.byref(network.given))
        if total < 0:
            raise InvalidInput("chic-plus: a run of its training is stuck, or memory is short")
        return float(total / MS / self.jobs)


class Network:
    """Tensors of Chic-plus in the layout of the compiled code."""

    def __init__(self, tensors: Tensors) -> None:
        names = [*(f"network.{k}.{part}" for part in ("weight", "bias") for k in range(3)), "linear.0.weight"]
        self._arrays = [np.ascontiguousarray(tensors[name], dtype=np.float64) for name in names]
        at = [each.ctypes.data for each in self._arrays]
        hidden, features = self._arrays[0].shape
        assert features == len(NAMES)
        self.given = _Network(hidden, (ctypes.c_void_p * 3)(*at[:3]), (ctypes.c_void_p * 3)(*at[3:6]), at[6])
