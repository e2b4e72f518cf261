"""Runs of the evaluation of MLFS: loads x workloads x available schedulers.

The paper leaves open how often a job queues. Under one reading a placed job keeps its nodes to the end (`HELD`). Under
the others it queues again in every iteration, and jobs earlier in the order preempt running ones (`ANEW`, and
`PRINTED`, in which Eq. 4's deadline term is, as printed, below 0 once the deadline has passed). A scheduler affected by
these interpretations has a row for each; all others are the same under all.

Three sizes. `FULL` has a quarter of Figure 4's servers and jobs. `PAPERS_SIZE` is Figure 4's own: 20 servers of four
GPUs, 620 jobs at x = 1 that arrive within about a week, the schedulers of Figure 4. The paper measured Figures 6 to 9
there too; they are left to the smaller size. `QUICK` shows the machinery.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry

#: Figure 4's numbers of jobs, in 155 (the paper's 620 on 80 GPUs, on as many GPUs in proportion).
LOADS = (0.25, 0.5, 1.0, 2.0, 3.0)
HIGHEST = LOADS[-1]
JOBS = 155
#: Offered load at x = 1, which the paper does not print.
LOAD = 0.6


@dataclasses.dataclass(frozen=True)
class Policy:
    """A row of the tables: its label, and the solver as text.

    Attributes:
        feature: Omitted feature of MLF-H, for Figures 6-8.
        under: Its only interpretation; "" if it is the same under all, or represents itself.
    """

    label: str
    text: str
    feature: str = ""
    under: str = ""


#: The interpretations, as tables print them.
HELD, ANEW = "a placed job holds its nodes", "every iteration queues anew"
PRINTED = "every iteration queues anew, Eq. 4 as printed"
INTERPRETATIONS = (HELD, ANEW, PRINTED)


#: Server choice of the schedulers in MLFS's comparison, which the paper does not describe. Tasks slow each other down
#: there, so they are spread. By default, list heuristics of this library take the fullest node with room.
SPREAD = "nodes=least-work"
MLF_H, MLF_H_C = Policy("MLF-H", "mlf-h", under=HELD), Policy("MLF-H + MLF-C", "mlfs-h", under=HELD)
#: The paper's own schedulers, with the trained ones, which join if they exist.
MLFS, MLF_RL = Policy("MLFS", "mlfs", under=HELD), Policy("MLF-RL", "mlf-rl", under=HELD)
OURS = (MLFS, MLF_RL, MLF_H_C, MLF_H)
GRAPHENE, TIRESIAS = Policy("Graphene", f"graphene:{SPREAD}", under=HELD), Policy("Tiresias", f"tiresias:{SPREAD}")
HYPERSCHED, GANDIVA = Policy("HyperSched", f"hypersched:{SPREAD}"), Policy("Gandiva", "gandiva", under=HELD)
#: SLAQ and Optimus plan every ten minutes, when the others decide too.
TENSORFLOW = Policy("TensorFlow", f"fair:{SPREAD}", under=HELD)
SLAQ = Policy("SLAQ", f"slaq:epoch=600,{SPREAD}")
RL = Policy("RL", "mirhoseini-rl")
#: Schedulers of the paper's comparison, from the lowest JCT to the highest in its text.
PAPERS = (GRAPHENE, TIRESIAS, HYPERSCHED, RL, GANDIVA, TENSORFLOW, SLAQ)
OTHERS = (
    *(
        Policy(f"{text.partition(':')[0]} (ours)", f"{text},{SPREAD}")
        for text in ("fifo:strict=false", "srtf:size=work", "drf:per=job", "optimus:epoch=600")
    ),
    Policy("srpt, preemptive (ours)", f"srpt:preempt=true,{SPREAD}"),
    Policy("MLF-RL-plus (ours)", "mlf-rl-plus"),
)
WITHOUT = tuple(
    Policy(f"MLF-H without {name}", f"mlf-h:{name}=false", name, HELD)
    for name in ("urgency", "deadline", "bandwidth", "migration")
)
#: A lower bound on every scheduler's mean completion time, if all iterations are run.
BOUND = Policy("lower bound", "bound", "bound")


def _read(policy: Policy, interpretation: str, **given: str) -> Policy:
    """Return the policy under another interpretation, with these parameters."""
    name, _, rest = policy.text.partition(":")
    text = ",".join(filter(None, [rest, *(f"{key}={value}" for key, value in given.items())]))
    suffix = "anew" if interpretation == ANEW else "anew, as printed"
    return Policy(f"{policy.label}, {suffix}", f"{name}:{text}", policy.feature, interpretation)


#: Interpretation -> replacement of a policy of the first interpretation, if it differs.
AS_READ: Mapping[str, Mapping[Policy, Policy]] = {
    HELD: {},
    ANEW: {p: _read(p, ANEW, queueing="iteration") for p in (*OURS, GRAPHENE, TENSORFLOW, *WITHOUT)}
    | {GANDIVA: _read(GANDIVA, ANEW, turn="60")},
    PRINTED: {p: _read(p, PRINTED, queueing="iteration", overdue="printed") for p in (MLFS, MLF_H_C, MLF_H)},
}


def as_read(policy: Policy, interpretation: str) -> Policy | None:
    """Return the replacement of a policy of the first interpretation under another; None if it is not run there.

    Under `PRINTED` only policies with Eq. 4 differ from `ANEW`.
    """
    if not policy.under or policy.under == interpretation:
        return policy
    result = AS_READ[interpretation].get(policy)
    if result is None and interpretation == PRINTED and not policy.feature:
        result = AS_READ[ANEW].get(policy)
    return result


def known(policies: tuple[Policy, ...]) -> tuple[Policy, ...]:
    """Return the policies with a registered solver."""
    there = registry().solvers
    return tuple(p for p in policies if p == BOUND or ("taskgraph", p.text.partition(":")[0]) in there)


def policies() -> tuple[Policy, ...]:
    """Return all policies that run."""
    read = [policy for interpretation in (ANEW, PRINTED) for policy in AS_READ[interpretation].values()]
    return known((*OURS, *PAPERS, *OTHERS, *WITHOUT, *read, BOUND))


@dataclasses.dataclass(frozen=True)
class Case:
    """One simulated run. x: the load."""

    policy: Policy
    x: float
    seed: int


@dataclasses.dataclass(frozen=True)
class Grid:
    """The size of the experiment.

    Attributes:
        jobs: Jobs at x = 1, on `servers` of four GPUs.
        hours: Median running time.
        ablations: MLF-H also runs without each of its features (Figures 6 to 8).
        pause: Cost of a pause, seconds.
    """

    loads: tuple[float, ...] = LOADS
    seeds: int = 10
    jobs: int = JOBS
    servers: int = 5
    hours: float = 1.0
    ablations: bool = True
    pause: float = 30.0


FULL = Grid()
#: On 80 GPUs a job may request up to 32 of them, and 620 jobs of a median of 0.4 h at the offered load take a week.
PAPERS_SIZE = Grid(jobs=620, servers=20, hours=0.4, ablations=False)
QUICK = Grid(loads=(1.0, 3.0), seeds=2, jobs=20, servers=2)


def at_loads(grid: Grid, loads: tuple[float, ...] | None) -> Grid:
    """Return the grid with only those loads, from low to high. Raises InvalidInput for a load not in the paper."""
    if loads is None:
        return grid
    if not loads or not set(loads) <= set(LOADS):
        raise InvalidInput(f"loads: {list(loads)}, expected some of {', '.join(f'{x:g}' for x in LOADS)}")
    return dataclasses.replace(grid, loads=tuple(sorted(set(loads))))


def cases(grid: Grid) -> list[Case]:
    """Return every run, once each."""
    query = [policy for policy in policies() if grid.ablations or not policy.feature or policy == BOUND]
    return [Case(policy, x, seed) for x in grid.loads for seed in range(grid.seeds) for policy in query]
