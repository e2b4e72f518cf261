"""Runs of Figure 8: interpretations x arrival patterns x seeds x policies (every registered heuristic)."""

from __future__ import annotations

import dataclasses

from mlsched.core.registry import registry
from mlsched_papers.claim import Exclusion

#: Arrival patterns of Fig. 8 and their mean number of jobs per interval on six servers.
PATTERNS = {"uniform": 3.0, "poisson": 2.0, "google": 2.0}
#: Servers of the testbed; of a rack (Section VI-C).
TESTBED, RACK = 6, 30

Settings = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Policy:
    """A row of the tables: its label, the solver as text, and its kind.

    Attributes:
        kind: "baseline" of the paper; "random": every task on a random server; "reading": a baseline under another
            reading of its text; "former": differs from the paper (see `FORMER`), shown without claims; "rule", "exact"
            or "trained"; "variant": a training of Table II or Figure 10 (`training.py`).
        variant: Name of its interpretation; it replaces the baseline `of` there.
    """

    label: str
    text: str
    kind: str
    variant: str = ""
    of: str = ""


#: Section VI-B, in the paper's order.
BASELINES = (
    Policy("load balancing", "load-balancing", "baseline"),
    Policy("Tetris", "tetris", "baseline"),
    Policy("LIF-Line", "lif-linear", "baseline"),
    Policy("LIF-Quad", "lif-quadratic", "baseline"),
)
LOAD_BALANCING = BASELINES[0]
#: Open details of LIF (see `heuristics.placement.interference`).
LIF_READINGS = {"by the increase": "score=increase", "random ties": "tie=random"}
INTERPRETATIONS = tuple(
    Policy(f"{lif.label}, {variant}", f"{lif.text}:{setting}", "interpretation", f"LIF {variant}", lif.label)
    for variant, setting in LIF_READINGS.items()
    for lif in BASELINES[2:]
)
#: Excluded. Section II-B counts slowdown against a job by itself, whose slowdown is 0. Section VI-B describes Tetris as
#: packing jobs together, as its own paper does, machine by machine.
FORMER = (
    Policy("Tetris, task by task", "tetris:order=task", "former"),
    Policy("LIF-Line, 1 + slowdown", "lif-linear:score=slowdown", "former"),
    Policy("LIF-Quad, 1 + slowdown", "lif-quadratic:score=slowdown", "former"),
)
#: LIF at its strongest: comparisons with it are claims of ours.
FULL_STRENGTH = "LIF by the increase"
NOT_PRINTED = Exclusion(
    "the paper says otherwise", "Section VI-B scores a server by the slowdown of all tasks on it, not by its increase"
)
#: The baseline that a trained policy must beat first.
RANDOM = Policy("random placement", "uniform-random", "random")
#: The trained policy with a network for one cluster size: it does not run on a rack.
ONE_SIZE = "harmony"
#: Ours, for any size: it runs on a rack, too.
PLUS = "harmony-plus"
EXACT = Policy("exact (ours)", "cp-sat", "exact")
SEARCH = "local-search"


def policies() -> tuple[Policy, ...]:
    """Return the paper's baselines in all interpretations, other heuristics, the exact solver and trained policies."""
    lookup = {policy.text for policy in (*BASELINES, RANDOM)}
    model_value = registry().available("placement", "trained")
    # Policies of ours are not evidence about Harmony: claims exclude them.
    ours = {a.name for a in model_value if a.paper.startswith("ours")}
    rules = tuple(
        Policy(a.name + (" (ours)" if a.paper == "none" or a.name in ours else ""), a.name, "rule")
        for a in registry().available("placement")
        if a.name not in lookup and (a.kind == "heuristic" or a.name in ours)
    )
    trained = tuple(Policy(a.name, a.name, "trained") for a in model_value if a.name not in ours)
    return (*BASELINES, *INTERPRETATIONS, *FORMER, RANDOM, *rules, EXACT, *trained)


@dataclasses.dataclass(frozen=True)
class Interpretation:
    """One completion of the paper's open details.

    Attributes:
        load: Offered load without slowdown.
        model: Interference.
        options: Options of the simulator.
        servers: Servers; a rack has 30, and as many times the arrivals.
        patterns: Arrival patterns that are run.
    """

    name: str
    load: float
    model: str = "pairwise"
    options: Settings = ()
    servers: int = TESTBED
    patterns: tuple[str, ...] = tuple(PATTERNS)


@dataclasses.dataclass(frozen=True)
class Case:
    """One simulated run."""

    interpretation: Interpretation
    pattern: str
    seed: int
    policy: Policy


@dataclasses.dataclass(frozen=True)
class Grid:
    """The size of the experiment.

    Attributes:
        interpretations: All policies run.
        rack: Baselines, random placement and trained policies.
        seeds: Workloads of the first interpretation; `few` of the others, `rack_seeds` of the rack, at most `seeds`.
        work: Deterministic limit of one exact decision (CP-SAT's own measure).
        samples, rounds: Samples and rounds of Fig. 9.
        trainings: Iterations of each training of Table II and Figure 10; 0: skipped.
        rack_training: Iterations of the training for the rack; 0: skipped.
    """

    interpretations: tuple[Interpretation, ...]
    rack: Interpretation | None
    seeds: int = 10
    few: int = 10
    jobs: int = 120
    rack_jobs: int = 300
    rack_seeds: int = 5
    work: float = 2.0
    samples: int = 13177
    rounds: int = 5
    trainings: int = 1500
    rack_training: int = 1250

    def workloads(self, interpretation: Interpretation) -> int:
        """Return the number of workloads of an interpretation."""
        if interpretation == self.rack:
            return min(self.seeds, self.rack_seeds)
        return self.seeds if interpretation == self.interpretations[0] else min(self.seeds, self.few)


UNIFORM = ("uniform",)
LIGHT, BASE = Interpretation("load 0.2", 0.2), Interpretation("load 0.3", 0.3)
FULL = Grid(
    interpretations=(
        BASE,
        LIGHT,
        Interpretation("load 0.3, linear interference", 0.3, "linear", patterns=UNIFORM),
        Interpretation("load 0.3, quadratic interference", 0.3, "quadratic", patterns=UNIFORM),
        Interpretation("load 0.3, jobs leave at once", 0.3, options=(("departure", "instant"),), patterns=UNIFORM),
    ),
    rack=Interpretation("rack of 30, load 0.3", 0.3, servers=RACK, patterns=UNIFORM),
)
QUICK = Grid(
    interpretations=(BASE,), rack=None, seeds=2, jobs=40, work=0.5, samples=1500, rounds=2, trainings=0, rack_training=0
)


def learned(grid: Grid, variants: tuple[Policy, ...], large: tuple[Policy, ...]) -> list[Case]:
    """Return the runs of the experiment's trainings: Table II, Figure 10 (first interpretation), and the rack."""
    base, result = grid.interpretations[0], []
    for interpretation, policies in ((base, variants), (grid.rack, large)):
        if interpretation is not None:
            seeds = range(grid.workloads(interpretation))
            result += [Case(interpretation, "uniform", seed, policy) for seed in seeds for policy in policies]
    return result


#: Kinds of policies that run on a rack.
ON_RACK = ("baseline", "interpretation", "random", "trained")


def cases(grid: Grid) -> list[Case]:
    """Return every run of tables, figures and claims, except the runs of `learned`, once each."""
    everybody = policies()
    result = [
        Case(interpretation, pattern, seed, policy)
        for interpretation in grid.interpretations
        for seed in range(grid.workloads(interpretation))
        for pattern in interpretation.patterns
        for policy in everybody
    ]
    if grid.rack is not None:
        result += [
            Case(grid.rack, pattern, seed, policy)
            for seed in range(grid.workloads(grid.rack))
            for pattern in grid.rack.patterns
            for policy in everybody
            if (policy.kind in ON_RACK or policy.text == PLUS) and policy.text != ONE_SIZE
        ]
    return result
