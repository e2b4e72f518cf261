"""The placement decision and its plan.

Servers with free resources run jobs that stay there; new jobs wait. Decide how many workers and parameter servers (PSs)
of each new job every server hosts. Jobs that share a server slow each other down, and PSs on other servers slow a job
down; both models are data.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mlsched.core import contract
from mlsched.core.contract import Information, Objective
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, labels, text
from mlsched.instances.placement import judge

#: Interference and network coefficients are in millionths of the isolated time.
MILLION = 10**6
#: Largest coefficient: a thousand times the isolated time.
MOST_SLOWDOWN = 10**9
#: CPU, network and other uses are in thousandths of a complete server.
MOST_USE = 10**6
#: Numerators of slowdowns stay below this, so that int64 tables of them cannot overflow.
MOST_NUMERATOR = 2**61


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(contract.Plan):
    """How many workers and PSs of each new job every server hosts; a job without any waits."""

    kind: ClassVar[str] = "placement.plan"

    workers: IntArray = array("jobs", "servers", doc="workers of each new job on each server")
    ps: IntArray = array("jobs", "servers", doc="PSs of each new job on each server")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(contract.Instance):
    """One placement decision.

    A new job is placed completely (all its workers and PSs) or waits. Jobs train synchronously, so the slowest server
    that hosts a part of a job sets its pace. There, with `w` of its `W` workers and `p` of its `P` PSs, its slowdown is

        1 + sum over tasks of other jobs of sigma[its type, their type]       (workers and PSs have separate tables)
          + sum_d linear[d] U_d + sum_d sum_e quadratic[d, e] U_d U_e          (U: the others' use of the server)
          + rho_ps (P - p) / P + rho_worker (W - w) / (W - 1)                  (shares of PSs and workers elsewhere)

    in thousandths, rounded down once; 0/0 counts as 0. The network terms count on servers with a worker of the job (the
    worker pulls and pushes). `network_at = "tasks"` is the other interpretation: the PS term counts on every server
    that hosts a part of the job. The speed of a job is `K * 1000 // slowdown`. K = floor(10^6 c / e) is its isolated
    speed: c epochs per interval of e in total (Eq. 1). Types marked `apart` never share a server (a measured pair that
    does not fit in memory), except for running jobs that already do.
    """

    kind: ClassVar[str] = "placement.instance"
    problem: ClassVar[str] = "placement"
    plan_type: ClassVar[type[contract.Plan]] = Plan
    judge: ClassVar[ModuleType] = judge
    objectives: ClassVar[tuple[Objective, ...]] = (
        Objective(
            "total_speed", "max", "millionths of a job per interval", "sum of Eq. 1 over running and placed jobs"
        ),
    )

    #: How jobs slow each other and themselves down is learnt from running them, or not at all.
    secrets: ClassVar[tuple[str, ...]] = ("sigma_worker", "sigma_ps", "linear", "quadratic", "rho_ps", "rho_worker")

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    types: tuple[str, ...] = labels("types", doc="names of the types of job (models)")
    pressures: tuple[str, ...] = labels("pressures", doc="names of what the linear and quadratic models look at")
    server_capacity: IntArray = array("servers", "resources", doc="capacity of each server")
    server_free: IntArray = array("servers", "resources", doc="free on each server, net of the running jobs")
    sigma_worker: IntArray = array(
        "types",
        "types",
        high=MOST_SLOWDOWN,
        doc="slowdown of a job of the row's type, caused by one worker of the column's type, in millionths",
    )
    sigma_ps: IntArray = array(
        "types",
        "types",
        high=MOST_SLOWDOWN,
        doc="slowdown of a job of the row's type, caused by one PS of the column's type, in millionths",
    )
    apart: IntArray = array("types", "types", high=1, doc="1: jobs of these types never share a server; symmetric")
    use_worker: IntArray = array("types", "pressures", high=MOST_USE, doc="use by a worker, 1e-3 of a server")
    use_ps: IntArray = array("types", "pressures", high=MOST_USE, doc="use by a PS, 1e-3 of a server")
    linear: IntArray = array(
        "types", "pressures", high=MOST_SLOWDOWN, doc="slowdown per whole server that other jobs use, in millionths"
    )
    quadratic: IntArray = array(
        "types",
        "pressures",
        "pressures",
        high=MOST_SLOWDOWN,
        doc="slowdown per product of two such uses, in millionths",
    )
    rho_ps: IntArray = array("types", high=MOST_SLOWDOWN, doc="slowdown if all PSs are elsewhere, in millionths")
    rho_worker: IntArray = array(
        "types", high=MOST_SLOWDOWN, doc="slowdown if all other workers are elsewhere (all-reduce), in millionths"
    )
    run_type: IntArray = array("runs", doc="type of each running job")
    run_speed: IntArray = array("runs", high=10**9, doc="K of each running job, 1e-6 of the job per interval")
    run_workers: IntArray = array("runs", "servers", doc="its workers on each server")
    run_ps: IntArray = array("runs", "servers", doc="its PSs on each server")
    job_type: IntArray = array("jobs", doc="type of each new job")
    job_speed: IntArray = array("jobs", high=10**9, doc="K of each new job, 1e-6 of the job per interval")
    job_workers: IntArray = array("jobs", low=1, high=1000, doc="W: workers of each new job")
    job_ps: IntArray = array("jobs", high=1000, doc="P: PSs of each new job; 0 for all-reduce")
    worker_demand: IntArray = array("jobs", "resources", doc="demand of one worker")
    ps_demand: IntArray = array("jobs", "resources", doc="demand of one PS")
    most_jobs: int = integer(high=UNLIMITED, default=UNLIMITED, doc="N: most concurrent jobs, running ones included")
    most_new: int = integer(high=UNLIMITED, default=UNLIMITED, doc="N': most new jobs placed now")
    network_at: str = text(choices=("workers", "tasks"), default="workers", doc="where rho_ps counts")

    def check(self) -> None:
        if not len(self.server_capacity):
            raise InvalidInput("server_capacity: 0 servers, expected at least one")
        types = len(self.types)
        for name in ("run_type", "job_type"):
            _refuse_first_of(
                getattr(self, name) >= types, name, getattr(self, name), f"expected below {types} (the number of types)"
            )
        _refuse_first_of(
            self.server_free > self.server_capacity, "server_free", self.server_free, "expected at most server_capacity"
        )
        _refuse_first_of(self.apart != self.apart.T, "apart", self.apart, "expected symmetric")
        _refuse_first_of(
            self.run_workers.sum(axis=1) < 1,
            "run_workers",
            self.run_workers.sum(axis=1),
            "a running job must have a worker somewhere",
        )
        if len(self.run_type) > self.most_jobs:
            raise InvalidInput(f"most_jobs = {self.most_jobs}: {len(self.run_type)} jobs are running already")
        total = 1000 * (int(self.run_speed.sum()) + int(self.job_speed.sum()))
        if total > EXACT:
            raise InvalidInput(f"total_speed: 1000 times it can reach {total}, expected below 2^53; lower job_speed")
        self._check_numerators()

    def _check_numerators(self) -> None:
        """Refuse slowdowns so large that an int64 table of them could overflow."""
        workers = [*self.run_workers.sum(axis=1).tolist(), *self.job_workers.tolist()]
        servers = [*self.run_ps.sum(axis=1).tolist(), *self.job_ps.tolist()]
        w, p = sum(workers), sum(servers)
        use = [
            w * int(self.use_worker[:, d].max(initial=0)) + p * int(self.use_ps[:, d].max(initial=0))
            for d in range(len(self.pressures))
        ]
        worst = MILLION * (
            MILLION
            + w * int(self.sigma_worker.max(initial=0))
            + p * int(self.sigma_ps.max(initial=0))
            + int(self.rho_ps.max(initial=0))
            + 2 * int(self.rho_worker.max(initial=0))
        )
        worst += sum(1000 * u * int(self.linear[:, d].max(initial=0)) for d, u in enumerate(use))
        for d, u in enumerate(use):
            worst += sum(u * v * int(self.quadratic[:, d, e].max(initial=0)) for e, v in enumerate(use))
        scale = max((max(1, b) * max(1, a - 1) for a, b in zip(workers, servers, strict=True)), default=1)
        if worst * scale > MOST_NUMERATOR:
            raise InvalidInput(
                f"slowdown: with all jobs on one server it can reach {worst // MILLION**2} times the isolated time; "
                "lower the interference or the number of tasks"
            )

    def table(self, plan: Plan) -> dict[str, object]:
        """Return one row per server and new job with a part on it; waiting jobs have one row, on server -1."""
        waits = (plan.workers + plan.ps).sum(axis=1) == 0
        job, server = np.nonzero(plan.workers + plan.ps)
        job, server = np.concatenate([job, np.flatnonzero(waits)]), np.concatenate([server, np.full(waits.sum(), -1)])
        order = np.lexsort((server, job))
        job, server = job[order], server[order]
        names = np.array(self.types, dtype=object)
        is_placed = server >= 0
        return {
            "job": job,
            "type": names[self.job_type[job]],
            "server": server,
            "workers": np.where(is_placed, plan.workers[job, server], 0),
            "ps": np.where(is_placed, plan.ps[job, server], 0),
        }

    def profile(self, workers: IntArray, ps: IntArray) -> Any:
        """Return the measurement of an experiment on one server: slowdown - 1 of each type beside other jobs' tasks.

        All of the profiled job is on that server, without network terms. Requires `information="profiled"`.

        Args:
            workers: Workers of each type beside the job, shape (types, experiments, types).
            ps: PSs of each type beside the job, same shape.

        Returns:
            Floats, shape (types, experiments).
        """
        use = (workers @ self.use_worker + ps @ self.use_ps) / 1000
        extra = np.einsum("tkj,tj->tk", workers, self.sigma_worker).astype(np.float64)
        extra += np.einsum("tkj,tj->tk", ps, self.sigma_ps)
        extra += np.einsum("tkd,td->tk", use, self.linear)
        extra += np.einsum("tkd,tke,tde->tk", use, use, self.quadratic)
        return extra / MILLION

    def shown(self, information: Information) -> Self:
        """Return the visible part, see `contract.Instance`; a profiling rule may call `profile`."""
        copied = super().shown(information)
        if information == "profiled" and copied is not self:
            copied.__dict__["profile"] = self.profile
        return copied

    def private(self) -> Self:
        """Return an independent copy, see `Record`; `profile` reads a copy of its own."""
        copied = super().private()
        if "profile" in self.__dict__:
            copied.__dict__["profile"] = self.profile.__self__.private().profile  # type: ignore[attr-defined]
        return copied


def _refuse_first_of(wrong: npt.NDArray[np.bool_], name: str, values: IntArray, rule: str) -> None:
    """Raise InvalidInput for the first entry of `values` marked `wrong`, if there is one."""
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InvalidInput(f"{name}{''.join(f'[{i}]' for i in index)}: {int(values[index])}, {rule}")
