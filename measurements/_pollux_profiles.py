"""Speed models from Pollux' profiles: measured times of a step by placement and batch size (Qiao et al., OSDI 2021).

Source: github.com/petuum/adaptdl, branch osdi21-artifact, simulator/traces (Apache-2.0). `<app>/placements.csv` has
`placement` (a digit per node: GPUs there), `local_bsz` (samples per GPU), `step_time` and the part of it that is
gradient synchronisation, `sync_time` (s); `<app>/scalability.csv` has num_nodes and num_replicas, no placement.

The jobs are all-reduce: there are no PSs to measure. Here such a job has exactly one PS that demands nothing, and a
worker is a GPU. A job keeps its global batch M, so w workers take M / w samples each.
"""

from __future__ import annotations

import dataclasses
import os
import re

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.params import check_choice, check_range
from mlsched.instances.traces.curve import members, parts
from mlsched.instances.traces.source import Text, csv_header, csv_rows
from mlsched.instances.workers.fit import Fitted, errors, solve
from mlsched.instances.workers.instance import Instance
from mlsched.instances.workers.models import TrainingModel
from mlsched.instances.workers.speed import Synchronous, Table
from mlsched.instances.workers.tables import from_models

_MEMBER = re.compile(r"(.*/)?(placements|scalability)\.csv")
_PLACEMENT = re.compile(r"[1-9]+")


@dataclasses.dataclass(frozen=True, eq=False)
class Profile:
    """What was measured of one application: a row per point.

    gpus, nodes: of the placement. local: samples per GPU and step. step, sync: seconds of a step, and of its
    synchronisation.
    """

    application: str
    gpus: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    local: npt.NDArray[np.float64]
    step: npt.NDArray[np.float64]
    sync: npt.NDArray[np.float64]

    def fit(self, batch: int) -> Fitted:
        """Optimus' synchronous model for global batches of `batch` samples, from all points together.

        step = theta0 local + theta1 + theta3 w by non-negative least squares on relative errors, local = M / w; with
        one PS that costs nothing, theta2 w / p is part of theta3 w and theta4 p of theta1. What the model cannot say is
        that two nodes are slower than one: the error tells what that costs.
        """
        check_range("batch", batch, 1)
        columns = np.stack([self.local, np.ones_like(self.step), self.gpus], axis=1)
        theta = solve(columns, self.step)
        model = Synchronous(round(theta[0] * batch, 9), theta[1], 0, theta[2], 0)
        return Fitted(model, *errors(columns, theta, self.step), len(self.step))

    def table(self, batch: int, most_workers: int = 16) -> Table:
        """Times as measured, for global batches of `batch` samples on 1..most_workers GPUs.

        Of the placements of w GPUs the one on the fewest nodes counts, of several the one that is fastest on average;
        between measured batch sizes times are interpolated. None where w GPUs were not measured, or not with so many or
        so few samples each (they did not fit into memory, or nobody would).
        """
        check_range("batch", batch, 1)
        check_range("most_workers", most_workers, 1)
        return Table(tuple((self._time(w, batch / w),) for w in range(1, most_workers + 1)))

    def _time(self, workers: int, local: float) -> float | None:
        mine = self.gpus == workers
        if not mine.any():
            return None
        mine &= self.nodes == self.nodes[mine].min()
        sizes = np.unique(self.local[mine])
        if not sizes[0] <= local <= sizes[-1]:
            return None
        mean = [float(self.step[mine & (self.local == size)].mean()) for size in sizes]
        return round(float(np.interp(local, sizes, mean)), 9)


def read_pollux(path: str | os.PathLike[str], *, application: str | None = None) -> dict[str, Profile]:
    """The profiles in an archive (.tar, .tar.gz) of traces by application, or the one in a single CSV file.

    application: name for a single file; the name of its folder by default.

    Raises InvalidFile: the file is missing, unreadable, holds no profile, or has a bad row.
    """
    rows: dict[str, list[tuple[int, int, float, float, float]]] = {}
    for inside, text in members(path, _MEMBER):
        folders = parts(inside)
        name = application or (folders[1] if len(folders) > 1 else "")
        if not name:
            raise InvalidFile(f"{text.name}: lies in no folder; give application=")
        with text:
            rows.setdefault(name, []).extend(_read(text))
    return {name: _profile(name, found) for name, found in sorted(rows.items())}


def _profile(name: str, rows: list[tuple[int, int, float, float, float]]) -> Profile:
    gpus, nodes, local, step, sync = (np.array(part) for part in zip(*rows, strict=True))
    return Profile(name, gpus, nodes, local.astype(np.float64), step, sync)


def _read(text: Text) -> list[tuple[int, int, float, float, float]]:
    placed = "placement" in csv_header(text)
    names = ("placement", "placement") if placed else ("num_nodes", "num_replicas")
    found = []
    for first, second, local, step, sync in csv_rows(text, (*names, "local_bsz", "step_time", "sync_time"), {}):
        if placed and not _PLACEMENT.fullmatch(first):
            text.bad("placement", first, "expected digits from 1 to 9, the GPUs on each node")
        nodes = len(first) if placed else text.whole(names[0], first)
        gpus = sum(map(int, first)) if placed else text.whole(names[1], second)
        if not 1 <= nodes <= gpus:
            text.bad(names[0], first, f"expected between 1 and {gpus}, the number of replicas")
        times = [_seconds(text, column, value) for column, value in (("step_time", step), ("sync_time", sync))]
        if times[0] <= 0 or times[1] > times[0]:
            text.bad("sync_time", sync, f"expected part of a step_time above 0, which is {step}")
        size = text.whole("local_bsz", local)
        if not size:
            text.bad("local_bsz", local, "expected at least 1")
        found.append((gpus, nodes, float(size), times[0], times[1]))
    if not found:
        text.fail("there is no row", "give a file with rows")
    return found


def _seconds(text: Text, column: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        text.bad(column, value, "expected a number of seconds >= 0")
    if not 0 <= seconds < 10**6:
        text.bad(column, value, "expected a number of seconds >= 0 and below 10^6")
    return seconds


def generate_measured(
    rng: np.random.Generator,
    profiles: dict[str, Profile],
    *,
    jobs: int = 20,
    gpus: int = 64,
    speed: str = "table",
    most_workers: int = 16,
    least_iterations: int = 1000,
    most_iterations: int = 10_000,
) -> Instance:
    """Draw an instance of all-reduce jobs of measured applications on `gpus` GPUs.

    A job's global batch is a measured batch of one GPU times 1, 2, 4 or 8; its remaining iterations are uniform
    between the two bounds. speed: "table" (as measured; not every number of GPUs is) or "fit" (the fitted model).
    """
    for name, value, low in (("jobs", jobs, 0), ("gpus", gpus, 0), ("least_iterations", least_iterations, 1)):
        check_range(name, value, low)
    check_range("most_iterations", most_iterations, least_iterations)
    check_choice("speed", speed, ("table", "fit"))
    if not profiles:
        raise InvalidInput("profiles: is empty; give what read_pollux returns")
    names = sorted(profiles)
    models: dict[str, TrainingModel] = {}
    chosen = []
    for _ in range(jobs):
        profile = profiles[names[int(rng.integers(len(names)))]]
        batch = int(rng.choice(np.unique(profile.local[profile.gpus == profile.gpus.min()]))) * 2 ** int(
            rng.integers(4)
        )
        name = f"{profile.application}-{batch}"
        if name not in models:
            model = profile.table(batch, most_workers) if speed == "table" else profile.fit(batch).model
            models[name] = TrainingModel(name, (1,), (0,), model)
        chosen.append(name)
    order = sorted(models)
    return from_models(
        [models[name] for name in order],
        ("gpu",),
        [gpus],
        model=[order.index(name) for name in chosen],
        remaining=rng.integers(least_iterations, most_iterations + 1, jobs),
        most_workers=most_workers,
        most_ps=1,
    )
