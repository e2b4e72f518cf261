"""The fluid model's data for the algorithms: scaled floats, and the relevant configurations of each job.

Configurations. A mixture of configurations of a job is a convex combination of its points (w, p, speed) and the
origin (idle). A configuration is *covered* when a mixture of the others and the origin has at most its workers and
PSs, and at least its speed. Demands are non-negative and linear in w and p. So the mixture demands at most the same of
every resource and can replace the configuration in every schedule, for any number of resources. Covered configurations
are dropped, and the optimum remains the same. (One after another, and only if the mixture is *strictly* faster, so
that two never cover each other.) The vertices of the upper hull of (w, p, speed) remain, 55 to 83 of the paper's 200.

Scale. Speeds are shares of the job's highest speed, `work` is the time that the job takes at that speed, and times are
in units such that the mean work is 1000. Demands are shares of the capacity. Resources that all jobs together cannot
exceed are dropped.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.aliases import BackendModel
from mlsched.core.fields import FloatArray, IntArray
from mlsched.instances.workers.horizon import NS, Horizon
from mlsched.instances.workers.instance import NEVER

#: A covering mixture must be faster by this share, so that rounding keeps all relevant configurations.
STRICT = 1e-9
#: Mean work in scaled units.
MEAN_WORK = 1000.0


@dataclasses.dataclass(frozen=True)
class Kind:
    """The common data of jobs with equal tables and demands.

    workers, ps: per configuration. speed: share of the fastest. use: configurations x resources, share of the
    capacity. base: for each number of workers the fastest configuration, with which restricted LPs begin.
    """

    workers: IntArray
    ps: IntArray
    speed: FloatArray
    use: FloatArray
    base: IntArray


@dataclasses.dataclass(frozen=True)
class Fluid:
    """A horizon in scaled units. kind: index into `kinds` of each job. arrival is counted from the first job's."""

    kinds: tuple[Kind, ...]
    kind: list[int]
    work: FloatArray
    arrival: FloatArray
    resources: int
    unit_ns: float
    start_ns: int

    @property
    def jobs(self) -> int:
        """Return the number of jobs."""
        return len(self.work)

    def of(self, job: int) -> Kind:
        """Return the type of a job."""
        return self.kinds[self.kind[job]]


def fluid(horizon: Horizon) -> Fluid:
    """Return the scaled data of a horizon with at least one job."""
    alone = np.array(horizon.alone, dtype=np.float64)
    unit = float(alone.mean()) / MEAN_WORK
    arrival = (horizon.arrival - horizon.arrival[0]) * (NS / unit)
    rows = scaled_kinds(
        np.where(horizon.allowed, horizon.time, NEVER), horizon.worker_demand, horizon.ps_demand, horizon.capacity
    )
    return Fluid(*rows, alone / unit, arrival, rows[0][0].use.shape[1], unit, int(horizon.arrival[0]) * NS)


def scaled_kinds(
    time: IntArray,
    worker_demand: IntArray,
    ps_demand: IntArray,
    capacity: IntArray,
    *,
    alike: float = 0.0,
    thin: bool = True,
) -> tuple[tuple[Kind, ...], list[int]]:
    """Return the types of jobs and the type of each job.

    Args:
        time: Iteration time of each configuration; NEVER if it is not allowed.
        worker_demand: Demand of a worker.
        ps_demand: Demand of a PS.
        capacity: Capacity of each resource.
        alike: Share of the fastest speed within which tables count as equal; 0: only identical tables.
        thin: Also drop configurations covered by mixtures, not only by a single one.
    """
    speeds = np.where(time < NEVER, time.min(axis=(1, 2), keepdims=True) / time, 0.0)
    kinds: list[Kind] = []
    members: list[int] = []
    index = []
    for j in range(len(time)):
        for k, i in enumerate(members):
            same = (worker_demand[i] == worker_demand[j]).all() and (ps_demand[i] == ps_demand[j]).all()
            near = np.abs(speeds[i] - speeds[j]).max() <= alike if alike else bool((time[i] == time[j]).all())
            if same and near:
                index.append(k)
                break
        else:
            index.append(len(kinds))
            members.append(j)
            kinds.append(_type_of_job(time[j], worker_demand[j], ps_demand[j], capacity, thin))
    most = np.array([kinds[k].use.max(axis=0, initial=0.0) for k in index])
    short = np.flatnonzero(most.sum(axis=0) > 1)
    # If the jobs cannot exceed any resource, an unused one keeps the arrays in shape.
    uses = [k.use[:, short] if len(short) else np.zeros((len(k.use), 1)) for k in kinds]
    cut_at = tuple(dataclasses.replace(k, use=np.ascontiguousarray(u)) for k, u in zip(kinds, uses, strict=True))
    return cut_at, index


def _type_of_job(time: IntArray, worker: IntArray, ps: IntArray, capacity: IntArray, thin: bool) -> Kind:
    """Return the useful configurations of a job: each is faster than all with at most its workers and PSs.

    With `thin`, configurations that a mixture of others covers are left out as well.
    """
    speed = np.where(time < NEVER, time.min() / time, 0.0)
    best = np.zeros((speed.shape[0] + 1, speed.shape[1] + 1))
    best[1:, 1:] = np.maximum.accumulate(np.maximum.accumulate(speed, axis=0), axis=1)
    better = (speed > best[:-1, 1:]) & (speed > best[1:, :-1])
    w, p = (rows + 1 for rows in np.nonzero(better))
    fast = speed[better]
    if thin:
        keep = _uncovered_configurations(w, p, fast)
        w, p, fast = w[keep], p[keep], fast[keep]
    demand = w[:, None] * worker + p[:, None] * ps
    # Allowed configurations do not demand resources of capacity 0.
    use = demand / np.maximum(capacity, 1)
    last = np.flatnonzero(np.diff(w, append=w[-1] + 1))
    return Kind(w, p, fast, use, last)


def _uncovered_configurations(w: IntArray, p: IntArray, speed: FloatArray) -> IntArray:
    """Return indices of the configurations that no mixture of others covers with a strictly higher speed."""
    import highspy

    count = len(w) + 1
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = count, 3
    lp.col_cost_ = -np.concatenate([[0.0], speed])
    lp.col_lower_, lp.col_upper_ = np.zeros(count), np.full(count, np.inf)
    lp.row_lower_, lp.row_upper_ = np.array([1.0, -np.inf, -np.inf]), np.array([1.0, 0.0, 0.0])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = 3 * np.arange(count + 1, dtype=np.int32)
    lp.a_matrix_.index_ = np.tile(np.arange(3, dtype=np.int32), count)
    points = np.stack([np.ones(count), np.concatenate([[0], w]), np.concatenate([[0], p])], axis=1)
    lp.a_matrix_.value_ = points.ravel().astype(np.float64)
    highs = new_highs()
    highs.passModel(lp)
    rows, free = np.array([1, 2], dtype=np.int32), np.full(2, -np.inf)
    kept_configurations = []
    for i in range(len(w)):
        highs.changeRowsBounds(2, rows, free, np.array([w[i], p[i]], dtype=np.float64))
        highs.run()
        solution = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        if not solution or -highs.getInfo().objective_function_value <= speed[i] * (1 + STRICT):
            kept_configurations.append(i)
    return np.array(kept_configurations, dtype=np.int64)


def new_highs() -> BackendModel:
    """Return a silent HiGHS for small LPs: one thread, so that the same calls give the same answers."""
    import highspy

    highs = highspy.Highs()
    # Without this reset, a second number of threads in one process ends in kNotset, without any solution.
    highspy.Highs.resetGlobalScheduler(True)
    for name, value in {"output_flag": False, "threads": 1, "random_seed": 0, "presolve": "off"}.items():
        highs.setOptionValue(name, value)
    return highs
