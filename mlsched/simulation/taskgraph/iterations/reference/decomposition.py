"""Decomposition of a run's gap to a bound: restrictions of the world, and missing information of the rule.

From the relaxed world to the run's own, each step adds one restriction (`worlds`). The best schedule in the world of
step k is OPT_k; known are a bound L_k and a schedule U_k, L_k <= OPT_k <= U_k. So the step costs

    OPT_k - OPT_(k-1),  at least L_k - U_(k-1) (and 0),  at most U_k - L_(k-1),

and the rule's loss in the run's own world, V - OPT_K, is at least V - U_K and at most V - L_K. A schedule of a world is
also one of each less restricted world, and a bound is valid in each more restricted one: so both only grow along the
steps. The differences U_k - U_(k-1), with U_0 - L_0 before them and V - U_K after them, add up to V - L_0.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core import html, tables
from mlsched.core.aliases import Columns, Data
from mlsched.core.brief import short_repr
from mlsched.core.errors import InvalidInput
from mlsched.simulation.run import Run
from mlsched.simulation.taskgraph.iterations.workload import Jobs

if TYPE_CHECKING:
    import pandas

#: Part outside the steps: the difference of the two sides in the relaxed world.
UNKNOWN = "not known: the bound, or a better schedule"
SHAPE, PRICE, STAY, WHOLE_RUNS = "node shape", "price of pauses", "no moves to other nodes", "no pauses"
RUNNING_TIMES, FUTURE = "running times not known", "arrivals not known, and greed"
#: Last parts, independent of the steps.
LAST_PARTS = (FUTURE, RUNNING_TIMES)
#: Their sum: the gap to the bound of the relaxed world, which is at most the run's own.
SUM = "above the relaxed bound"


@dataclasses.dataclass(frozen=True)
class World:
    """A step: its restriction (`part`; "": the relaxed world), the jobs in that world, and options of the world."""

    part: str
    jobs: Jobs
    pausing: bool
    movement: str


@dataclasses.dataclass(frozen=True)
class Step:
    """Limits of the best schedule in a world: it is at least `bound`, at most `value` ticks."""

    part: str
    bound: int
    value: int


@dataclasses.dataclass(frozen=True)
class Part:
    """Part of a gap, ticks: its value adds up with the others; the true part is between its two limits."""

    name: str
    value: int
    at_least: int
    at_most: int


@dataclasses.dataclass(frozen=True, repr=False)
class Decomposition:
    """Parts of the gap of a run's `total` (sum of completion - arrival, ticks) to the relaxed bound.

    Attributes:
        bound: Lower limit of all schedules of the relaxed world.
        parts: They add up to `total - bound`.
        beside: Rule with known running times with which the run is compared.
    """

    policy: str
    total: int
    bound: int
    beside: str
    parts: tuple[Part, ...]

    @property
    def distance(self) -> float:
        """Return the run's gap to the bound of the relaxed world, as a share of it."""
        return (self.total - self.bound) / self.bound if self.bound else 0.0

    def table(self) -> Columns:
        """Return one row per part, shares of the bound; the last row is their sum. See also `dataframe`."""
        rows = [
            (part.name, *(self._share_of_bound(n) for n in (part.value, part.at_least, part.at_most)))
            for part in self.parts
        ]
        rows.append((SUM, self.distance, self.distance, self.distance))
        columns = ("part", "share", "at_least", "at_most")
        return {"policy": [self.policy] * len(rows)} | {
            name: [row[k] for row in rows] for k, name in enumerate(columns)
        }

    def _share_of_bound(self, ticks: int) -> float:
        return ticks / self.bound if self.bound else 0.0

    def dataframe(self) -> pandas.DataFrame:
        """Return `table` as a pandas DataFrame."""
        return tables.dataframe(self.table())

    def to_json(self) -> Data:
        """Return plain JSON data, in ticks and as shares."""
        return {**dataclasses.asdict(self), "distance": self.distance, "table": self.table()}

    def __repr__(self) -> str:
        parts = ", ".join(f"{part.name} {100 * self._share_of_bound(part.value):.1f} %" for part in self.parts)
        return short_repr(self, self.policy, f"{100 * self.distance:.1f} % {SUM}", parts)

    def _repr_html_(self) -> str:
        """Render one row per part for notebooks."""
        columns = self.table()
        rows = [
            [name, *(f"{100 * value:.1f} %" for value in values)]
            for name, *values in zip(*(columns[key] for key in ("part", "share", "at_least", "at_most")), strict=True)
        ]
        facts = [f"{100 * self.distance:.1f} % above what no schedule is below", f"beside {self.beside}"]
        return html.titled_block(
            self.policy, facts, html.html_table(["part", "share of the bound", "at least", "at most"], rows)
        )


def worlds(run: Run) -> list[World]:
    """Return the worlds from the relaxed to the run's own; reject runs for which the steps are invalid."""
    jobs: Any = run.workload
    if not isinstance(jobs, Jobs):
        raise InvalidInput("parts: are for runs of logs and their like (task graphs by iterations)")
    if len(jobs.failure_node) or run.options.usage == "drawn" or run.options.pausing == "restart":
        raise InvalidInput(
            f"{run.solver}: a gap has parts only if nodes do not fail, usage=demand, and pausing is 'none' or 'keep'"
        )
    free = jobs.replace(pause_cost=np.zeros_like(jobs.pause_cost))
    steps_found = [World("", pooled(free), True, "anytime"), World(SHAPE, free, True, "anytime")]
    if not run.pauses:
        return [*steps_found, World(WHOLE_RUNS, jobs, False, "none")]
    if jobs.pause_cost.any():
        steps_found.append(World(PRICE, jobs, True, "anytime"))
    movement = jobs.moving(run.options.pausing, run.options.movement)
    return steps_found if movement == "anytime" else [*steps_found, World(STAY, jobs, True, movement)]


def pooled(jobs: Jobs) -> Jobs:
    """Merge nodes of a type that may run the same tasks into one large node, with pooled GPUs."""
    kinds, of = np.unique(np.vstack([jobs.eligible, jobs.node_type]), axis=1, return_inverse=True)
    capacity = np.zeros((kinds.shape[1], len(jobs.resources)), dtype=np.int64)
    np.add.at(capacity, of.reshape(-1), jobs.node_capacity)
    return jobs.replace(node_capacity=capacity, eligible=kinds[:-1], node_type=kinds[-1], gpu_unit=0, node_names=())


def settled(steps: list[Step], total: int) -> list[Step]:
    """Tighten each side by all steps, and by the run itself (`total`)."""
    bounds, values = list[int](), list[int]()
    for step in steps:
        bounds.append(max(step.bound, *bounds[-1:], 0))
    for step in reversed(steps):
        values.append(min(step.value, *values[-1:], total))
    return [Step(s.part, b, v) for s, b, v in zip(steps, bounds, reversed(values), strict=True)]


def decomposed(policy: str, total: int, found: list[Step], informed: int, beside: str) -> Decomposition:
    """Return the parts of a run with this total.

    Args:
        policy: Name of the run's rule.
        total: Total of the run.
        found: Steps with their limits.
        informed: Total of a rule (`beside`) that knows the running times.
        beside: Name of that rule.
    """
    steps = settled([*found[:-1], dataclasses.replace(found[-1], value=min(found[-1].value, informed))], total)
    first, last, informed = steps[0], steps[-1], min(informed, total)
    parts = [Part(UNKNOWN, first.value - first.bound, 0, first.value - first.bound)]
    for before, step in zip(steps, steps[1:], strict=False):
        at_least = max(0, step.bound - before.value)
        parts.append(Part(step.part, step.value - before.value, at_least, step.value - before.bound))
    parts.append(Part(FUTURE, informed - last.value, informed - last.value, informed - last.bound))
    parts.append(Part(RUNNING_TIMES, total - informed, total - informed, total - informed))
    return Decomposition(policy, total, first.bound, beside, tuple(parts))
