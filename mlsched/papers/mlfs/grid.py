"""Which runs the evaluation of MLFS needs: loads x workloads x schedulers, of which those run that are there.

Three sizes. `FULL` has a quarter of Figure 4's servers and jobs. `PAPERS_SIZE` is Figure 4's own: 20 servers of four
GPUs, 620 jobs at x = 1 that arrive within about a week, the schedulers that Figure 4 compares; Figures 6 to 9, which
the paper measured there too, are left to the smaller size. `QUICK` shows the machinery.
"""

from __future__ import annotations

import dataclasses

from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry

#: Figure 4's numbers of jobs, in 155 (the paper's 620 on 80 GPUs, on as many GPUs in proportion).
LOADS = (0.25, 0.5, 1.0, 2.0, 3.0)
HIGHEST = LOADS[-1]
JOBS = 155
#: Offered load at x = 1: the paper prints none.
LOAD = 0.6


@dataclasses.dataclass(frozen=True)
class Policy:
    """A row of the tables: its label, and the answerer as text. feature: of MLF-H that is left out, for Figures 6-8."""

    label: str
    text: str
    feature: str = ""


#: How the schedulers that MLFS compares with choose a server: it does not say, and tasks there slow each other down, so
#: that their work is spread. By default, list rules of this library take the fullest node with room.
SPREAD = "nodes=least-work"
MLF_H, MLF_H_C = Policy("MLF-H", "mlf-h"), Policy("MLF-H + MLF-C", "mlfs-h")
#: The paper's own, with those that are to be trained, which join when they are there.
OURS = (Policy("MLFS", "mlfs"), Policy("MLF-RL", "mlf-rl"), MLF_H_C, MLF_H)
GRAPHENE, TIRESIAS = Policy("Graphene", f"graphene:{SPREAD}"), Policy("Tiresias", f"tiresias:{SPREAD}")
HYPERSCHED, GANDIVA = Policy("HyperSched", f"hypersched:{SPREAD}"), Policy("Gandiva", "gandiva")
#: SLAQ and Optimus plan anew every ten minutes, when the others are asked too.
TENSORFLOW, SLAQ = Policy("TensorFlow", f"fair:{SPREAD}"), Policy("SLAQ", f"slaq:epoch=600,{SPREAD}")
RL = Policy("RL", "mirhoseini-rl")
#: What the paper compares with, from the lowest JCT to the highest in its text.
PAPERS = (GRAPHENE, TIRESIAS, HYPERSCHED, RL, GANDIVA, TENSORFLOW, SLAQ)
OTHERS = tuple(
    Policy(f"{text.partition(':')[0]} (ours)", f"{text},{SPREAD}")
    for text in ("fifo:strict=false", "srtf:size=work", "drf:per=job", "optimus:epoch=600")
)
WITHOUT = tuple(
    Policy(f"MLF-H without {name}", f"mlf-h:{name}=false", name)
    for name in ("urgency", "deadline", "bandwidth", "migration")
)


def known(policies: tuple[Policy, ...]) -> tuple[Policy, ...]:
    """Those whose answerer is registered."""
    return tuple(p for p in policies if ("taskgraph", p.text.partition(":")[0]) in registry().answerers)


def policies() -> tuple[Policy, ...]:
    """Everybody who runs."""
    return known((*OURS, *PAPERS, *OTHERS, *WITHOUT))


@dataclasses.dataclass(frozen=True)
class Case:
    """One simulated run. x: the load."""

    policy: Policy
    x: float
    seed: int


@dataclasses.dataclass(frozen=True)
class Grid:
    """The size of the experiment.

    jobs: at x = 1, on `servers` of four GPUs; hours: median running time; ablations: whether MLF-H also runs without
    each of its features (Figures 6 to 8).
    """

    loads: tuple[float, ...] = LOADS
    seeds: int = 10
    jobs: int = JOBS
    servers: int = 5
    hours: float = 1.0
    ablations: bool = True


FULL = Grid()
#: On 80 GPUs a job may ask for up to 32 of them, and 620 jobs of a median of 0.4 h at the offered load take a week.
PAPERS_SIZE = Grid(jobs=620, servers=20, hours=0.4, ablations=False)
QUICK = Grid(loads=(1.0, 3.0), seeds=2, jobs=20, servers=2)


def at_loads(grid: Grid, loads: tuple[float, ...] | None) -> Grid:
    """The grid at those loads only, from low to high. Raises InvalidInput for one that the paper does not have."""
    if loads is None:
        return grid
    if not loads or not set(loads) <= set(LOADS):
        raise InvalidInput(f"loads = {list(loads)}: must be some of {', '.join(f'{x:g}' for x in LOADS)}")
    return dataclasses.replace(grid, loads=tuple(sorted(set(loads))))


def cases(grid: Grid) -> list[Case]:
    """Every run, once each."""
    asked = [policy for policy in policies() if grid.ablations or not policy.feature]
    return [Case(policy, x, seed) for x in grid.loads for seed in range(grid.seeds) for policy in asked]
