"""Runs of the SLAQ experiment: interpretations x seeds x policies, and the sweep of Fig. 9."""

from __future__ import annotations

import dataclasses

from mlsched_papers.claim import Exclusion

#: Section 6.2.1: mean seconds between arrivals.
MEAN_ARRIVAL = 15.0
#: Fig. 9: mean seconds between arrivals, from light to heavy.
ARRIVALS = (10.0, 6.0, 4.0)
#: T, s: "a few seconds".
EPOCH = 3

Options = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Policy:
    """A row of the tables: its label, the solver as text, and its changes of the simulator's options."""

    label: str
    text: str
    options: Options = ()


#: Fair ignores predictions, so they are not computed for it.
FAIR, SLAQ = Policy("fair", "fair", (("information", "oracle"),)), Policy("SLAQ", "slaq")
#: Ours: they leave useless cores free, which the simulator then shares out, as Algorithm 1 does by itself.
MAX_MIN = Policy("SLAQ, max-min", "slaq-max-min")
ENVELOPE = Policy("envelope greedy (ours)", "envelope-greedy", (("spare", "share"),))
EXACT = Policy("exact per epoch (ours)", "dp", (("spare", "share"),))
ALL, PAIR = (FAIR, SLAQ, MAX_MIN, ENVELOPE, EXACT), (FAIR, SLAQ)


@dataclasses.dataclass(frozen=True)
class Interpretation:
    """One completion of the paper's open details.

    Attributes:
        load: Offered load at `at` seconds between arrivals (the paper prints neither load nor cost of an iteration).
        cap: Most cores of a job, 0: unlimited.
        options: Options of the simulator.
        target: Share of its loss reduction at which a job stops, 0: it never stops early.
        excluded: Reason why it does not count for verdicts; None if it does.
    """

    name: str
    load: float
    cap: int = 0
    options: Options = ()
    at: float = MEAN_ARRIVAL
    target: float = 0.0
    excluded: Exclusion | None = None


def base(load: float, cap: int = 0) -> Interpretation:
    """Return the simulator's defaults at this load and cap."""
    return Interpretation(f"load {load:g}" + (f", cap {cap}" if cap else ""), load, cap)


def variant(load: float, name: str, **options: str) -> Interpretation:
    """Return another interpretation of the simulated world."""
    return Interpretation(f"load {load:g}, {name}", load, 0, tuple(options.items()))


def light(load: float) -> Interpretation:
    """Return Fig. 9's lightest load, 10 s between arrivals."""
    return Interpretation(f"load {load:g} at {ARRIVALS[0]:g} s", load, at=ARRIVALS[0])


@dataclasses.dataclass(frozen=True)
class Case:
    """One simulated run."""

    interpretation: Interpretation
    seed: int
    policy: Policy
    mean_arrival: float


@dataclasses.dataclass(frozen=True)
class Grid:
    """The size of the experiment.

    Attributes:
        interpretations: All policies run.
        variants: The paper's two policies run.
        sweeps: Interpretations of Fig. 9.
        seeds: Workloads of the paper's two policies under interpretations and variants.
        few: Upper limit on the workloads of everything else.
        departures: Interpretations for the paper's two that are excluded from verdicts, each with its reason; they are
            shown.
        models: Jobs per algorithm of Table 1 in the prediction study.
        scales: Jobs of Fig. 10(c), four cores each.
    """

    interpretations: tuple[Interpretation, ...]
    variants: tuple[Interpretation, ...]
    sweeps: tuple[Interpretation, ...]
    departures: tuple[Interpretation, ...] = ()
    seeds: int = 10
    few: int = 3
    jobs: int = 160
    cores: int = 640
    arrivals: tuple[float, ...] = ARRIVALS
    models: int = 8
    scales: tuple[int, ...] = (1000, 2000, 4000)


def without(interpretation: Interpretation, reason: Exclusion) -> Interpretation:
    """Return the interpretation, excluded for a reason."""
    return dataclasses.replace(interpretation, excluded=reason)


NO_CAP = Exclusion("the paper says otherwise", "Algorithm 1 gives a job core after core without a cap")
DEPARTURES = (
    without(base(1.0, 64), NO_CAP),
    without(base(1.2, 64), NO_CAP),
    without(
        variant(1.0, "gains by range", normalise="range"),
        Exclusion("the paper says otherwise", "Section 4.1 normalises by the largest change of loss so far"),
    ),
    without(
        variant(1.0, "known curves", information="oracle"),
        Exclusion("the paper says otherwise", "Section 4.2 predicts losses from those reported so far"),
    ),
    # 95 % of the loss reduction takes 0.45 of the work: a load of 1 until the jobs stop.
    without(
        Interpretation("load 2.2, jobs stop at 95 %", 2.2, target=0.95),
        Exclusion("not in the paper's evaluation", "target losses are of Section 7"),
    ),
)
#: Open details of the paper: an iteration that an epoch cuts, and a job with one reported loss.
LEFT_OPEN = (
    variant(1.0, "whole iterations", progress="carry"),
    variant(1.0, "no guess for newcomers", newcomer="flat"),
)
FULL = Grid(
    interpretations=(base(0.9), base(1.0)),
    variants=(base(0.8), base(0.85), base(0.95), base(1.2), *LEFT_OPEN),
    sweeps=(light(0.4), light(0.8)),
    departures=DEPARTURES,
)
QUICK = Grid(
    interpretations=(base(1.0),),
    variants=(),
    departures=(DEPARTURES[0], DEPARTURES[3]),
    sweeps=(light(0.8),),
    seeds=2,
    jobs=40,
    arrivals=(10.0, 4.0),
    models=2,
    scales=(4000,),
)


def cases(grid: Grid) -> list[Case]:
    """Return every run of tables, figures and claims, once each."""
    result = []
    for seed in range(grid.seeds):
        for interpretation in (*grid.interpretations, *grid.variants):
            result += [Case(interpretation, seed, policy, interpretation.at) for policy in PAIR]
        if seed >= grid.few:
            continue
        for interpretation in grid.interpretations:
            result += [Case(interpretation, seed, policy, interpretation.at) for policy in ALL if policy not in PAIR]
        for interpretation in grid.departures:
            result += [Case(interpretation, seed, policy, interpretation.at) for policy in PAIR]
        for interpretation in grid.sweeps:
            result += [Case(interpretation, seed, policy, arrival) for arrival in grid.arrivals for policy in PAIR]
    return result
