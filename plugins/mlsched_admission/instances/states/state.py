"""What a reader makes of a state, before it is numbers: nodes, running units, waiting jobs, quotas, by their names.

Readers fill a `State`; `build.py` makes it an instance. Amounts are integers in a resource's own small unit (CPUs in
thousandths, memory in bytes or MiB, GPUs one by one or in thousandths); what divides all of them goes when the instance
is built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Amounts = dict[str, int]


def plus(*amounts: Amounts) -> Amounts:
    """The sum, resource by resource."""
    total: Amounts = {}
    for one in amounts:
        for name, value in one.items():
            total[name] = total.get(name, 0) + value
    return total


def times(count: int, amounts: Amounts) -> Amounts:
    """So many of them."""
    return {name: count * value for name, value in amounts.items()}


@dataclass
class Node:
    """`free`: what nobody holds; `draining`: what pods that are on their way out give back. domain: by level."""

    name: str
    free: Amounts
    draining: Amounts = field(default_factory=dict)
    domain: dict[str, str] = field(default_factory=dict)


@dataclass
class Pod:
    """What a unit holds on one node, and gives back when it is evicted. nodes: where a moved one may go (None: any)."""

    name: str
    node: str
    demand: Amounts
    labels: dict[str, str] = field(default_factory=dict)
    nodes: frozenset[str] | None = None


@dataclass
class Unit:
    """What runs and is evicted as one.

    lost: GPU-seconds of work that its eviction loses. grace: seconds. preempted: how often it was. age: seconds since
    it started. ends: seconds until it ends by itself at the latest (None: not known). gang: the group that it belongs
    to ("": none) and `minimum` of that group's pods below which all of it is lost. fixed: nobody may evict it.
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

    level: one domain of it holds each slice (`slice` pods; 0: all of them). spread: at most so many on a node (0: any).
    """

    count: int
    demand: Amounts
    nodes: frozenset[str]
    level: str = ""
    slice: int = 0
    spread: int = 0


@dataclass
class Job:
    """What waits.

    may: the units that it may evict; may_if_nominal: those that it may evict where it then borrows nothing. contested:
    the flavors that need preemption (empty: those that do not fit). by_priority: it evicts units of its own queue only
    if their priority is lower.
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
    """A queue or a cohort. parent: "" for a root. Limits are None where there is none."""

    name: str
    parent: str = ""
    nominal: Amounts = field(default_factory=dict)
    borrow: dict[str, int | None] = field(default_factory=dict)
    lend: dict[str, int | None] = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)


@dataclass
class Budget:
    """So many more of these pods may be disturbed (a disruption budget)."""

    name: str
    remaining: int
    pods: frozenset[str]


@dataclass
class Limit:
    """What starts must need no more of something than `remaining` and what is evicted give (GrpTRES of Slurm, say)."""

    name: str
    remaining: int
    jobs: dict[str, int]
    units: dict[str, int]


#: Units of a resource that people use, the largest first: how many of the smallest each is, and its name.
Scale = tuple[tuple[int, str], ...]
CPUS: Scale = ((1000, ""), (1, "m"))
BYTES: Scale = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
MEBIBYTES: Scale = ((1024, "GiB"), (1, "MiB"))
THOUSANDTHS: Scale = ((1000, ""), (1, "thousandths"))


@dataclass
class State:
    """A cluster's state as it was read.

    scales: in which units resources are shown. read: what was found. assumed: what the state does not say, and what was
    taken for it. unmodelled: job -> features that the instance does not have and that could change a verdict. held:
    job -> why the scheduler does not consider it. model: the state as the scheduler's own program sees it, or a call
    that makes it. counted: what lost work counts, GPU or CPU. again: makes the states that other options ask about.
    blocked: job -> why no amounts would let it start.
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
        """Say once what was assumed."""
        if line not in self.assumed:
            self.assumed.append(line)

    def copy(self) -> State:
        """Return a copy to which jobs can be added."""
        made = dataclasses.replace(self, jobs={}, unmodelled={}, blocked={})
        made.assumed, made.levels, made.limits, made.read = (
            [*self.assumed],
            [*self.levels],
            [*self.limits],
            [*self.read],
        )
        return made

    def leave_out(self, job: str, what: Iterable[str]) -> None:
        """Say what of a job is not modelled."""
        lines = self.unmodelled.setdefault(job, [])
        lines += [line for line in what if line not in lines]
        if not lines:
            del self.unmodelled[job]


@dataclass(frozen=True)
class Options:
    """How a state is read.

    now: seconds since 1970 (None: the latest time in the state). checkpoint_every: seconds of work that an eviction
    loses at most. checkpoint_annotation: the annotation (Slurm: the comment's KEY=VALUE) with the time of the last
    checkpoint. flavors: "chosen" as the scheduler would, or "free". slurm_conf: the text of slurm.conf or of `scontrol
    show config`. job: names of the waiting jobs that are asked about (empty: all).
    """

    now: int | None = None
    checkpoint_every: int | None = None
    checkpoint_annotation: str | None = None
    flavors: str = "chosen"
    slurm_conf: str | None = None
    jobs: tuple[str, ...] = ()
