"""Which runs the evaluation of MLFS needs: loads x workloads x schedulers, of which those run that are there."""

from __future__ import annotations

import dataclasses

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


MLF_H, MLF_H_C = Policy("MLF-H", "mlf-h"), Policy("MLF-H + MLF-C", "mlfs-h")
#: The paper's own, with those that are to be trained, which join when they are there.
OURS = (Policy("MLFS", "mlfs"), Policy("MLF-RL", "mlf-rl"), MLF_H_C, MLF_H)
GRAPHENE, TIRESIAS = Policy("Graphene", "graphene"), Policy("Tiresias", "tiresias")
HYPERSCHED, GANDIVA = Policy("HyperSched", "hypersched"), Policy("Gandiva", "gandiva")
#: SLAQ and Optimus plan anew every ten minutes, when the others are asked too.
TENSORFLOW, SLAQ = Policy("TensorFlow", "fair"), Policy("SLAQ", "slaq:epoch=600")
RL = Policy("RL", "mirhoseini-rl")
#: What the paper compares with, from the lowest JCT to the highest in its text.
PAPERS = (GRAPHENE, TIRESIAS, HYPERSCHED, RL, GANDIVA, TENSORFLOW, SLAQ)
OTHERS = tuple(
    Policy(f"{text.partition(':')[0]} (ours)", text) for text in ("fifo", "srtf", "drf", "optimus:epoch=600")
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
    """The size of the experiment. jobs: at x = 1, on `servers` of four GPUs; hours: median running time."""

    loads: tuple[float, ...] = LOADS
    seeds: int = 10
    jobs: int = JOBS
    servers: int = 5
    hours: float = 1.0


FULL = Grid()
QUICK = Grid(loads=(1.0, 3.0), seeds=2, jobs=20, servers=2)


def cases(grid: Grid) -> list[Case]:
    """Every run, once each."""
    return [Case(policy, x, seed) for x in grid.loads for seed in range(grid.seeds) for policy in policies()]
