"""Which runs Figure 8 needs: readings x arrival patterns x seeds x policies; every registered rule is a policy."""

from __future__ import annotations

import dataclasses

from mlsched.core.registry import registry

#: Arrival patterns of Fig. 8 and their mean number of jobs an interval on six servers.
PATTERNS = {"uniform": 3.0, "poisson": 2.0, "google": 2.0}
#: Servers of the testbed; of a rack (Section VI-C).
TESTBED, RACK = 6, 30

Settings = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Policy:
    """A row of the tables: its label, the answerer as text, and its kind: baseline, rule, exact or trained."""

    label: str
    text: str
    kind: str


#: Section VI-B, in the paper's order.
BASELINES = (
    Policy("load balancing", "load-balancing", "baseline"),
    Policy("Tetris", "tetris", "baseline"),
    Policy("LIF-Line", "lif-linear", "baseline"),
    Policy("LIF-Quad", "lif-quadratic", "baseline"),
)
LOAD_BALANCING = BASELINES[0]
EXACT = Policy("exact (ours)", "cp-sat", "exact")
SEARCH = "local-search"


def policies() -> tuple[Policy, ...]:
    """The paper's baselines, every other registered rule, the exact answerer, and every trained policy."""
    known = {policy.text for policy in BASELINES}
    rules = tuple(
        Policy(a.name + (" (ours)" if a.paper == "none" else ""), a.name, "rule")
        for a in registry().available("placement", "heuristic")
        if a.name not in known
    )
    trained = tuple(Policy(a.name, a.name, "trained") for a in registry().available("placement", "trained"))
    return (*BASELINES, *rules, EXACT, *trained)


@dataclasses.dataclass(frozen=True)
class Reading:
    """One way to fill in what the paper leaves open.

    load: offered load without any slowdown. model: interference. options: of the world. servers: a rack has 30, and as
    many times the arrivals. patterns: which of them are run.
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

    reading: Reading
    pattern: str
    seed: int
    policy: Policy


@dataclasses.dataclass(frozen=True)
class Grid:
    """The size of the experiment. readings: all policies run; rack: the paper's baselines and trained policies.

    work: deterministic limit of one exact decision (CP-SAT's own measure). samples, rounds: of Fig. 9. policies: None
    asks the registry when the experiment runs.
    """

    readings: tuple[Reading, ...]
    rack: Reading | None
    seeds: int = 10
    jobs: int = 120
    rack_jobs: int = 300
    rack_seeds: int = 5
    work: float = 2.0
    samples: int = 13177
    rounds: int = 5


UNIFORM = ("uniform",)
LIGHT, BASE = Reading("load 0.2", 0.2), Reading("load 0.3", 0.3)
FULL = Grid(
    readings=(
        LIGHT,
        BASE,
        Reading("load 0.3, linear interference", 0.3, "linear", patterns=UNIFORM),
        Reading("load 0.3, quadratic interference", 0.3, "quadratic", patterns=UNIFORM),
        Reading("load 0.3, jobs leave at once", 0.3, options=(("departure", "instant"),), patterns=UNIFORM),
    ),
    rack=Reading("rack of 30, load 0.3", 0.3, servers=RACK, patterns=UNIFORM),
)
QUICK = Grid(readings=(BASE,), rack=None, seeds=2, jobs=40, work=0.5, samples=1500, rounds=2)


def cases(grid: Grid) -> list[Case]:
    """Every run that tables, figures and claims read, once each."""
    everybody = policies()
    found = [
        Case(reading, pattern, seed, policy)
        for seed in range(grid.seeds)
        for reading in grid.readings
        for pattern in reading.patterns
        for policy in everybody
    ]
    if grid.rack is not None:
        found += [
            Case(grid.rack, pattern, seed, policy)
            for seed in range(min(grid.seeds, grid.rack_seeds))
            for pattern in grid.rack.patterns
            for policy in everybody
            if policy.kind in ("baseline", "trained")
        ]
    return found
