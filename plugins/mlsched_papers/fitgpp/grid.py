"""Runs of the FitGpp experiment: interpretations x seeds x (the tables' policies and the figures' sweeps)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from mlsched_papers.fitgpp import paper

#: The paper's share of TE jobs, and the grace periods of Section 4.1.
TE_SHARE, GRACE_SCALE = 0.3, 1.0
#: The interpretation that is not a calibration: the user's trace.
TRACE = "trace"


@dataclasses.dataclass(frozen=True)
class Policy:
    """A row of the tables: its label, the solver as text, options of the simulator beside the interpretation's."""

    label: str
    text: str
    options: tuple[tuple[str, bool], ...] = ()


def fitgpp(s: float = 4.0, limit: str = "1", label: str | None = None, fallback: str = "random") -> Policy:
    """Return FitGpp with weight `s`, at most `limit` preemptions per job, and a fallback if all jobs are too small."""
    again = f",fallback={fallback}" if fallback != "random" else ""
    return Policy(label or f"FitGpp (s = {s:.1f})", f"fitgpp:s={s:g},P={limit}{again}")


FIFO, LRTP, RAND = Policy(paper.FIFO, "fifo"), Policy(paper.LRTP, "lrtp:P=1"), Policy(paper.RAND, "rand:P=1")
FITGPP, FITGPP_8 = fitgpp(), fitgpp(8.0)
#: Literal "a random BE job" (Section 3.2): one random victim, then Eq. 4 again.
AGAIN = fitgpp(label="FitGpp, literal fallback", fallback="again")
#: Ours: FIFO that puts TE jobs first without preemption; the victim heuristic without a solver.
FIRST = Policy("FIFO, TE jobs first (ours)", "fifo", (("te_first", True),))
MINMAX = Policy("min-max grace period (ours)", "min-max-grace:P=1")
#: The paper's four policies, and the preempting ones among them.
PAPER, PREEMPTIVE = (FIFO, LRTP, RAND, FITGPP), (LRTP, RAND, FITGPP)
#: Policies beside the paper's in the tables.
BESIDE = (AGAIN, MINMAX)
LRTP_FREE, RAND_FREE = Policy(paper.LRTP, "lrtp:P=inf"), Policy(paper.RAND, "rand:P=inf")
FITGPP_FREE = fitgpp(limit="inf")
AGAIN_FREE = fitgpp(limit="inf", label=AGAIN.label, fallback="again")
#: Table 4: P infinite.
UNLIMITED = (LRTP_FREE, RAND_FREE, FITGPP_FREE, AGAIN_FREE)


@dataclasses.dataclass(frozen=True)
class Case:
    """One simulated run.

    Attributes:
        reading: Name of a calibration, or TRACE.
        repeat: Number of the run of a random heuristic.
        jobs: Jobs of the workload; 0: the experiment's number.
    """

    interpretation: str
    seed: int
    policy: Policy
    te_share: float = TE_SHARE
    grace_scale: float = GRACE_SCALE
    repeat: int = 0
    jobs: int = 0


@dataclasses.dataclass(frozen=True)
class Grid:
    """The size of an experiment.

    Attributes:
        weights: s of Fig. 4.
        limits: P of Fig. 5.
        shares: TE shares of Fig. 6.
        scales: Grace scales of Fig. 7.
        lengths: Numbers of jobs, below `jobs`, at which BE jobs are measured as well.
    """

    interpretations: tuple[str, ...]
    seeds: int
    jobs: int
    rand_repeats: int = 4
    weights: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    limits: tuple[str, ...] = ("1", "2", "4", "8", "inf")
    shares: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    scales: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    lengths: tuple[int, ...] = (2**12, 2**14)
    trace: bool = False

    @property
    def shorter(self) -> tuple[int, ...]:
        """Return the lengths below that of the experiment."""
        return tuple(length for length in self.lengths if length < self.jobs)


FULL = Grid(interpretations=("z", "a"), seeds=8, jobs=2**16)
QUICK = Grid(
    interpretations=("z",),
    seeds=2,
    jobs=2**13,
    weights=(0.0, 1.0, 4.0, 8.0, 16.0),
    limits=("1", "2", "inf"),
    shares=(0.1, 0.3, 0.5, 0.7, 0.9),
    scales=(1.0, 2.0, 8.0),
)


def cases(grid: Grid) -> list[Case]:
    """Return every run of tables, figures and claims, once each; the trace's first, since it may be refused."""
    result: list[Case] = []
    for seed in range(grid.seeds):
        if grid.trace:
            result += [c for policy in (*PAPER, *BESIDE) for c in _repeated(TRACE, seed, policy, grid)]
        for interpretation in grid.interpretations:
            result += _of_workload(interpretation, seed, grid)
    ordered = sorted(dict.fromkeys(result), key=lambda c: c.interpretation != TRACE)
    return ordered


def _of_workload(interpretation: str, seed: int, grid: Grid) -> Iterator[Case]:
    for policy in (*PAPER, FIRST, *BESIDE):
        yield from _repeated(interpretation, seed, policy, grid)
    sweep = [fitgpp(s) for s in grid.weights] + [fitgpp(limit=p) for p in grid.limits]
    for policy in (*UNLIMITED, *sweep):
        yield Case(interpretation, seed, policy)
    for share in grid.shares:
        for policy in PAPER:
            yield Case(interpretation, seed, policy, te_share=share)
    for scale in grid.scales:
        for policy in (*PREEMPTIVE, FITGPP_8):
            yield Case(interpretation, seed, policy, grace_scale=scale)
    for jobs in grid.shorter:
        for policy in (FIFO, FITGPP, AGAIN):
            yield Case(interpretation, seed, policy, jobs=jobs)


def _repeated(interpretation: str, seed: int, policy: Policy, grid: Grid) -> Iterator[Case]:
    for repeat in range(grid.rand_repeats if policy == RAND else 1):
        yield Case(interpretation, seed, policy, repeat=repeat)
