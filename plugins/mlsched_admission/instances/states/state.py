"""A state with names, before numbering: nodes, running units, waiting jobs, quotas.

Readers fill a `State`; `build.py` makes it an instance. Amounts are integers in a resource's own small unit (CPUs in
thousandths, memory in bytes or MiB, GPUs one by one or in thousandths); their common divisor is removed when the
instance is built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Amounts = dict[str, int]


def sum_of_amounts(*amounts: Amounts) -> Amounts:
    """Return the sum, resource by resource."""
    total: Amounts = {}
    for one in amounts:
        for name, value in one.items():
            total[name] = total.get(name, 0) + value
    return total


def multiple_of_amounts(count: int, amounts: Amounts) -> Amounts:
    """Return `count` times the amounts."""
    return {name: count * value for name, value in amounts.items()}


@dataclass
class Node:
    """A node.

    Attributes:
        free: Unused amounts.
        draining: Amounts that pods in deletion will give back.
        domain: Domains by level.
    """

    name: str
    free: Amounts
    draining: Amounts = field(default_factory=dict)
    domain: dict[str, str] = field(default_factory=dict)


@dataclass
class Pod:
    """A unit's pod on a node, with its amounts. nodes: possible nodes of a move (None: any)."""

    name: str
    node: str
    demand: Amounts
    labels: dict[str, str] = field(default_factory=dict)
    nodes: frozenset[str] | None = None


@dataclass
class Unit:
    """A running unit, evicted as one.

    Attributes:
        lost: GPU-seconds of work that its eviction loses.
        grace: Seconds.
        preempted: Number of its past preemptions.
        age: Seconds since it started.
        ends: Seconds until it ends by itself at the latest (None: unknown).
        gang: Its group ("" without one); below `minimum` of the group's pods all of it is lost.
        fixed: It cannot be evicted.
    """

    name: str
    priority: int
    pods: list[Pod] = field(default_factory=list)
    lost: int = 0
    grace: int = 0
    preempted: int = 0
    age: int = 0
    ends: int | None = None
    movable: bool = False
    gang: str = ""
    minimum: int = 0
    fixed: bool = False
    queue: str = ""
    use: Amounts = field(default_factory=dict)
    rank: str = ""
    """What breaks ties of schedulers: units are numbered by it."""


@dataclass
class Shape:
    """`count` equal pods of a waiting job, which may use `nodes`.

    level: one domain of it has each slice (`slice` pods; 0: all of them). spread: most pods on a node (0: any).
    """

    count: int
    demand: Amounts
    nodes: frozenset[str]
    level: str = ""
    slice: int = 0
    spread: int = 0


@dataclass
class Job:
    """A waiting job.

    Attributes:
        may: Units that it may evict.
        may_if_nominal: Units that it may evict if it then does not borrow.
        contested: Flavors that need preemption (empty: all that do not fit).
        by_priority: It evicts units of its own queue only if their priority is lower.
    """

    name: str
    priority: int
    shapes: list[Shape] = field(default_factory=list)
    may: frozenset[str] = frozenset()
    may_if_nominal: frozenset[str] = frozenset()
    queue: str = ""
    use: Amounts = field(default_factory=dict)
    contested: frozenset[str] = frozenset()
    by_priority: bool = False


@dataclass
class Quota:
    """A queue or a cohort. parent: "" for a root. Limits are None if unlimited."""

    name: str
    parent: str = ""
    nominal: Amounts = field(default_factory=dict)
    borrow: dict[str, int | None] = field(default_factory=dict)
    lend: dict[str, int | None] = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)


@dataclass
class Budget:
    """A disruption budget: the number of its pods that may still be disturbed."""

    name: str
    remaining: int
    pods: frozenset[str]


@dataclass
class Limit:
    """A limit: starting jobs need at most `remaining` plus the returns of evicted units (GrpTRES of Slurm, for
    example).
    """

    name: str
    remaining: int
    jobs: dict[str, int]
    units: dict[str, int]


#: Usual units of a resource, the largest first: size in the smallest unit, and name.
Scale = tuple[tuple[int, str], ...]
CPUS: Scale = ((1000, ""), (1, "m"))
BYTES: Scale = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
MEBIBYTES: Scale = ((1024, "GiB"), (1, "MiB"))
THOUSANDTHS: Scale = ((1000, ""), (1, "thousandths"))


@dataclass
class State:
    """A cluster's state as it was read.

    Attributes:
        scales: Display units of resources.
        read: Description of the input.
        assumed: Missing data, and their assumed values.
        unmodelled: Job -> features that the instance lacks and that could change a verdict.
        held: Job -> reason why the scheduler ignores it.
        model: The state as the scheduler's own program sees it, or a call that makes it.
        counted: Resource that measures lost work, GPU or CPU.
        again: Makes the states of other options.
        blocked: Job -> reason why it cannot start with any amounts.
    """

    system: str
    scales: dict[str, Scale] = field(default_factory=lambda: {"cpu": CPUS, "memory": BYTES, "ephemeral-storage": BYTES})
    nodes: dict[str, Node] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    quotas: dict[str, Quota] = field(default_factory=dict)
    budgets: list[Budget] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    levels: list[str] = field(default_factory=list)
    above_nominal: bool = False
    now: int | None = None
    read: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    unmodelled: dict[str, list[str]] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    model: Any = None
    counted: str = "GPU"
    again: Callable[[Options], list[State]] | None = None
    blocked: dict[str, str] = field(default_factory=dict)

    def assume(self, line: str) -> None:
        """Add an assumption once."""
        if line not in self.assumed:
            self.assumed.append(line)

    def copy(self) -> State:
        """Return a copy to which jobs can be added."""
        duplicate = dataclasses.replace(self, jobs={}, unmodelled={}, blocked={})
        duplicate.assumed, duplicate.levels, duplicate.limits, duplicate.read = (
            [*self.assumed],
            [*self.levels],
            [*self.limits],
            [*self.read],
        )
        return duplicate

    def leave_out(self, job: str, what: Iterable[str]) -> None:
        """Add a feature of a job that is not modelled."""
        lines = self.unmodelled.setdefault(job, [])
        lines += [line for line in what if line not in lines]
        if not lines:
            del self.unmodelled[job]


@dataclass(frozen=True)
class Options:
    """Options of reading a state.

    Attributes:
        now: Seconds since 1970 (None: the latest time in the state).
        checkpoint_every: Upper limit in seconds on the work that an eviction loses.
        checkpoint_annotation: Annotation (Slurm: the comment's KEY=VALUE) with the time of the last checkpoint.
        flavors: "chosen" as the scheduler would, or "free".
        slurm_conf: Text of slurm.conf or of `scontrol show config`.
        job: Names of the requested waiting jobs (empty: all).
    """

    now: int | None = None
    checkpoint_every: int | None = None
    checkpoint_annotation: str | None = None
    flavors: str = "chosen"
    slurm_conf: str | None = None
    jobs: tuple[str, ...] = ()
