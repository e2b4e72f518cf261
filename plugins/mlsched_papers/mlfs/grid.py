"""Runs of the evaluation of MLFS: loads x workloads x available schedulers.

The paper leaves open three points about MLF-H, which four interpretations vary. A placed job keeps its nodes to the end
(`HELD`), or it queues again in every iteration, and jobs earlier in the order preempt running ones (`ANEW`). Eq. 4's
deadline term is as printed, below 0 once the deadline has passed (`PRINTED`). A job's place in the queue is that of its
task of lowest priority instead of the highest (`LAST`, also with the printed term). A policy affected by these
interpretations has a row for each.

The compared schedulers are as the paper describes them, the same under all interpretations. By Section 3.3.3, of
Tiresias, RL, TensorFlow and SLAQ only Tiresias preempts; by Section 2, Gandiva is FIFO, Graphene assigns available
resources, and HyperSched pauses jobs. By Section 4.2.1 none of them tries to send less. Baselines
that preempt, take turns or place near their neighbours beyond that are stronger than in the paper, and ours
(`STRONGER`).

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
LAST = "every iteration queues anew, Eq. 4 as printed, by a job's lowest priority"
INTERPRETATIONS = (HELD, ANEW, PRINTED, LAST)
#: Interpretation -> suffix of its rows, and parameters of MLF-H and MLFS.
READ: Mapping[str, tuple[str, Mapping[str, str]]] = {
    ANEW: ("anew", {"queueing": "iteration"}),
    PRINTED: ("anew, as printed", {"queueing": "iteration", "overdue": "printed"}),
    LAST: ("anew, as printed, lowest", {"queueing": "last-task", "overdue": "printed"}),
}


#: Server choice, which the paper does not describe. Tasks slow each other down there, so they are spread. By default,
#: list heuristics of this library take the fullest node with room.
SPREAD = "nodes=least-work"
#: The same for the compared schedulers of the paper, which do not try to send less.
BALANCE = "nodes=balance"
MLF_H, MLF_H_C = Policy("MLF-H", "mlf-h", under=HELD), Policy("MLF-H + MLF-C", "mlfs-h", under=HELD)
#: The paper's own schedulers, with the trained ones, which join if they exist.
MLFS, MLF_RL = Policy("MLFS", "mlfs", under=HELD), Policy("MLF-RL", "mlf-rl", under=HELD)
OURS = (MLFS, MLF_RL, MLF_H_C, MLF_H)
GRAPHENE, TIRESIAS = Policy("Graphene", f"graphene:{BALANCE}"), Policy("Tiresias", f"tiresias:{BALANCE}")
HYPERSCHED, GANDIVA = Policy("HyperSched", f"hypersched:{BALANCE}"), Policy("Gandiva", "gandiva")
TENSORFLOW = Policy("TensorFlow", f"fair:{BALANCE}")
#: SLAQ and Optimus plan every ten minutes, when the others decide too.
SLAQ = Policy("SLAQ", f"slaq:epoch=600,queueing=held,{BALANCE}")
RL = Policy("RL", "mirhoseini-rl")
#: Schedulers of the paper's comparison, from the lowest JCT to the highest in its text.
PAPERS = (GRAPHENE, TIRESIAS, HYPERSCHED, RL, GANDIVA, TENSORFLOW, SLAQ)
#: The same, stronger than in the paper: they preempt or take turns, and place near what they exchange data with.
STRONGER = (
    Policy("Graphene, preemptive (ours)", f"graphene:queueing=iteration,{SPREAD}"),
    Policy("Gandiva, in turns (ours)", "gandiva:turn=60"),
    Policy("TensorFlow, in turns (ours)", f"fair:queueing=iteration,{SPREAD}"),
    Policy("SLAQ, preemptive (ours)", f"slaq:epoch=600,{SPREAD}"),
)
OTHERS = (
    *(
        Policy(f"{text.partition(':')[0]} (ours)", f"{text},{SPREAD}")
        for text in ("fifo:strict=false", "srtf:size=work", "drf:per=job", "optimus:epoch=600")
    ),
    Policy("srpt, preemptive (ours)", f"srpt:preempt=true,{SPREAD}"),
    Policy("MLF-RL-plus (ours)", "mlf-rl-plus"),
    Policy("MLF-RL-plus + MLF-C (ours)", "mlf-c:rule=mlf-rl-plus"),
)
WITHOUT = tuple(
    Policy(f"MLF-H without {name}", f"mlf-h:{name}=false", name, HELD)
    for name in ("urgency", "deadline", "bandwidth", "migration")
)
#: A lower bound on every scheduler's mean completion time, if all iterations are run; and the most jobs that could meet
#: a deadline or a required accuracy, each alone on the cluster.
BOUND = Policy("lower bound", "bound", "bound")


def _read(policy: Policy, interpretation: str) -> Policy:
    """Return the policy under another interpretation."""
    name, _, rest = policy.text.partition(":")
    suffix, given = READ[interpretation]
    if policy == MLF_RL:  # it does not use Eq. 4
        suffix, given = READ[ANEW]
        interpretation = ANEW
    text = ",".join(filter(None, [rest, *(f"{key}={value}" for key, value in given.items())]))
    return Policy(f"{policy.label}, {suffix}", f"{name}:{text}", policy.feature, interpretation)


def as_read(policy: Policy, interpretation: str) -> Policy:
    """Return the replacement of a policy of the first interpretation under another.

    Not all run: MLF-H without a feature does under `HELD` and `PRINTED`.
    """
    if not policy.under or interpretation == policy.under:
        return policy
    return _read(policy, interpretation)


def known(policies: tuple[Policy, ...]) -> tuple[Policy, ...]:
    """Return the policies with a registered solver."""
    there = registry().solvers
    return tuple(p for p in policies if p == BOUND or ("taskgraph", p.text.partition(":")[0]) in there)


def policies() -> tuple[Policy, ...]:
    """Return all policies that run."""
    read = [as_read(policy, way) for way in READ for policy in OURS]
    read += [as_read(policy, PRINTED) for policy in WITHOUT]
    return known(tuple(dict.fromkeys((*OURS, *PAPERS, *STRONGER, *OTHERS, *WITHOUT, *read, BOUND))))


def in_main_comparison(policy: Policy) -> bool:
    """Return whether a policy belongs to the main comparison; MLF-RL, with its own claims, does not."""
    mine = not policy.feature and policy.text.partition(":")[0] in ("mlfs", "mlf-h", "mlfs-h")
    return mine or policy in (*PAPERS, BOUND)


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
        few: Workloads of loads below the highest, and of policies outside the main comparison, which then run at the
            highest load only. None: all policies run on all workloads.
        usage: Factor on the mean usage of all tasks.
        overload_power: Power of the slowdown by overload.
    """

    loads: tuple[float, ...] = LOADS
    seeds: int = 10
    jobs: int = JOBS
    servers: int = 5
    hours: float = 1.0
    ablations: bool = True
    pause: float = 30.0
    few: int | None = None
    usage: float = 1.0
    overload_power: int = 1


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
    result = []
    for x in grid.loads:
        for seed in range(grid.seeds):
            for policy in query:
                main, highest = in_main_comparison(policy), x == grid.loads[-1]
                if grid.few is None or (main and highest) or (seed < grid.few and (main or highest)):
                    result.append(Case(policy, x, seed))
    return result
