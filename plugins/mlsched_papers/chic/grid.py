"""Runs of the Chic experiment: interpretations x policies x arrival rates x sequences of jobs."""

from __future__ import annotations

import dataclasses

from mlsched.core.registry import registry
from mlsched.learned.workers.chic_policy import VARIANTS, Variant

#: Section 6.1: arrivals per hour, and the rate of Fig. 5 and 6.
RATES = (0.9, 1.35, 1.8, 2.25, 2.7)
AT = 1.8
#: Fig. 5: intervals of Optimus, s.
INTERVALS = (1200, 600, 300, 150)
#: Fig. 7(b): I.
WINDOWS = (2, 3, 4)
#: Fig. 7(a): W, jobs per episode in training.
EPISODES = (30, 60)

Options = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Policy:
    """A row of the tables: label, solver as text, cadence of the run, and changed options of the simulator.

    Attributes:
        optimus: Its text depends on the stopping rule of Optimus' greedy in the interpretation.
        `anew`: Its weights depend on the arrival rate; it is trained for each rate whose weights come with mlsched.
    """

    label: str
    text: str
    scheduling_events: str = "events"
    options: Options = ()
    optimus: bool = False
    anew: bool = False


def optimus(interval: int) -> Policy:
    """Return Optimus every `interval` seconds, or at events (0)."""
    if not interval:
        return Policy("Optimus, event-triggered", "optimus", optimus=True)
    return Policy(f"Optimus-{interval}", "optimus", f"interval:{interval}", optimus=True)


def windowed(label: str, text: str, window: int, anew: bool = False) -> Policy:
    """Return a policy that sees the first `window` jobs."""
    return Policy(f"{label}, I = {window}", text, options=(("window", str(window)),), anew=anew)


OPTIMUS_600, OPTIMUS_300, OPTIMUS = optimus(600), optimus(300), optimus(0)
#: Random draws of Chic's and Chic-Pair's actions: sample N + 1 of their training, not their untrained networks.
RANDOM = windowed("uniform-random", "uniform-random:window=3", 3)
RANDOM_PAIR = windowed("uniform-random pairs", "uniform-random:window=3,pair=true", 3)
CHIC, CHIC_PAIR, CHIC_PLUS = (
    Policy("Chic", "chic", anew=True),
    Policy("Chic-Pair", "chic-pair", anew=True),
    Policy("Chic plus (ours)", "chic-plus"),
)
#: Fig. 4(c): trained once, at 1.8/h, and tested at every rate.
CHIC_ONCE, CHIC_PAIR_ONCE = Policy("Chic (1.8/h)", "chic"), Policy("Chic-Pair (1.8/h)", "chic-pair")
#: Ours: trained at 1.8/h until the reward settles, unlike the fixed iterations of the paper's protocol.
CHIC_SETTLED, CHIC_PAIR_SETTLED = (
    Policy("Chic, settled (ours)", "chic:protocol=settled"),
    Policy("Chic-Pair, settled (ours)", "chic-pair:protocol=settled"),
)
LP_MPC = Policy("LP-MPC (ours)", "lp-mpc")
MAX_RATE = Policy("max-rate", "max-rate")
DRF_600 = Policy("DRF-600", "drf", "interval:600")
OTHERS = (
    Policy("marginal gain", "marginal-gain"),
    DRF_600,
    Policy("DRF", "drf"),
    Policy("fair", "fair"),
    Policy("SRPT", "srpt"),
    MAX_RATE,
    LP_MPC,
)


def known(*policies: Policy) -> tuple[Policy, ...]:
    """Return the policies with a registered solver: trained policies join if they are available."""
    return tuple(p for p in policies if ("workers", p.text.partition(":")[0]) in registry().solvers)


def trained() -> tuple[Policy, ...]:
    """Return the available trained policies."""
    return known(CHIC, CHIC_PAIR, CHIC_PLUS)


def once() -> tuple[Policy, ...]:
    """Return single trainings of the policies that are otherwise trained for each rate."""
    return known(CHIC_ONCE, CHIC_PAIR_ONCE)


def settled() -> tuple[Policy, ...]:
    """Return the policies that are trained until their reward settles."""
    return known(CHIC_SETTLED, CHIC_PAIR_SETTLED)


def core() -> tuple[Policy, ...]:
    """Return the policies of every interpretation."""
    return (OPTIMUS_600, OPTIMUS_300, OPTIMUS, RANDOM, *trained(), *once(), *settled())


def everyone() -> tuple[Policy, ...]:
    """Return the policies of the first interpretation."""
    return (*core(), RANDOM_PAIR, *known(*OTHERS))


@dataclasses.dataclass(frozen=True)
class Interpretation:
    """One completion of the paper's open details.

    Attributes:
        stop: Rule that ends the task assignment of Optimus.
        floor: Cost of a re-schedule.
    """

    name: str
    stop: str
    floor: str = "always"


INTERPRETATIONS = (
    Interpretation("Optimus goes on until nothing fits", "full"),
    Interpretation("Optimus goes on until nothing fits, iterations are not lost", "full", "never"),
    Interpretation("Optimus stops when a resource is used up", "used-up"),
    Interpretation("Optimus stops at the first misfit", "misfit"),
)
#: Stopping rules of Optimus: Chic's Section 6.1 ("until at least one type of resource is used up") or the published
#: program of Optimus' authors. Continuing until every task is placed or unfit is a stronger baseline: ours.
PRINTED = tuple(interpretation.name for interpretation in INTERPRETATIONS if interpretation.stop != "full")


@dataclasses.dataclass(frozen=True)
class Case:
    """One simulated run.

    Attributes:
        jobs: Jobs of the sequence; 0: the grid's number.
    """

    text: str
    scheduling_events: str
    options: Options
    rate: float
    seed: int
    jobs: int = 0


def case(interpretation: Interpretation, policy: Policy, rate: float, seed: int, jobs: int = 0) -> Case:
    """Return the run of a policy under an interpretation."""
    text = with_value(policy.text, f"stop={interpretation.stop}") if policy.optimus else at_rate(policy, rate)
    return Case(text, policy.scheduling_events, (*policy.options, ("floor", interpretation.floor)), rate, seed, jobs)


def with_value(text: str, value: str) -> str:
    """Return a solver as text with one more parameter."""
    return f"{text}{',' if ':' in text else ':'}{value}"


def variant(text: str) -> Variant:
    """Return the variant of mlsched's weights for a Chic or Chic-Pair solver text."""
    inputs = dict(part.split("=") for part in text.partition(":")[2].split(",") if part)
    sizes = (int(inputs.get("window", 0)), int(inputs.get("episode", 0)), float(inputs.get("rate", 0)))
    return Variant(*sizes, inputs.get("protocol", "auto")).usual


def at_rate(policy: Policy, rate: float) -> str:
    """Return the solver as text, with the weights that were trained for an arrival rate if there are any."""
    if (
        policy.anew
        and rate != AT
        and variant(policy.text)._replace(rate=rate) in VARIANTS[policy.text.partition(":")[0]]
    ):
        return with_value(policy.text, f"rate={rate:g}")
    return policy.text


@dataclasses.dataclass(frozen=True)
class Grid:
    """Return Fig. 7(a): number of jobs of a test sequence -> `jobs` of its cases; the usual number, and twice it."""

    interpretations: tuple[Interpretation, ...] = INTERPRETATIONS
    rates: tuple[float, ...] = RATES
    seeds: int = 30
    jobs: int = 30

    @property
    def at(self) -> float:
        """Return the rate of Fig. 5: the paper's, or the middle one."""
        return AT if AT in self.rates else self.rates[len(self.rates) // 2]

    @property
    def lengths(self) -> dict[int, int]:
        """Return the policies of Fig. 7(b) for `window` jobs. Trained ones join if they have the parameter `window`."""
        return {self.jobs: 0, 2 * self.jobs: 2 * self.jobs}


FULL = Grid()
QUICK = Grid(interpretations=(INTERPRETATIONS[0], INTERPRETATIONS[-1]), rates=(0.9, 1.8, 2.7), seeds=5, jobs=15)


def windows(window: int) -> tuple[Policy, ...]:
    """Return the policies of Fig. 7(b) with `window` jobs. A trained policy joins if it has a parameter `window`."""
    result = [
        windowed("max-rate", "max-rate", window),
        windowed("uniform-random", f"uniform-random:window={window}", window),
        windowed("uniform-random pairs", f"uniform-random:window={window},pair=true", window),
    ]
    for policy in trained():
        if "window" in registry().solvers["workers", policy.text].parameters:
            result.append(windowed(policy.label, f"{policy.text}:window={window}", window, policy.anew))
    return tuple(result)


def with_episode(policy: Policy, episode: int) -> Policy:
    """Return the policy of Fig. 7(a) trained with W = `episode`; for the first W, the policy of all other figures."""
    if episode == EPISODES[0]:
        return policy
    return dataclasses.replace(policy, label=f"{policy.label}, W = {episode}", text=f"{policy.text}:episode={episode}")


def has_episodes(policy: Policy) -> bool:
    """Return whether weights of every W come with mlsched: a trained policy needs a parameter `episode`."""
    return policy in trained() and "episode" in registry().solvers["workers", policy.text].parameters


def figure_7a() -> tuple[Policy, ...]:
    """Return the policies compared over W.

    They are the trained policies, random draws of their actions, and heuristics that decide at events.
    """
    return (*trained(), RANDOM, RANDOM_PAIR, OPTIMUS, *known(MAX_RATE, LP_MPC))


def by_episode(policy: Policy) -> tuple[Policy | None, ...]:
    """Return the policy for every W, or None if missing. An untrained policy lacks a W: first only."""
    return tuple(with_episode(policy, w) if w == EPISODES[0] or has_episodes(policy) else None for w in EPISODES)


def cases(grid: Grid) -> list[Case]:
    """Return every run of tables, figures and claims, once each."""
    result: dict[Case, None] = {}
    for seed in range(grid.seeds):
        for interpretation in grid.interpretations:
            for policy in everyone() if interpretation == grid.interpretations[0] else core():
                for rate in grid.rates:
                    result[case(interpretation, policy, rate, seed)] = None
            for interval in INTERVALS:
                result[case(interpretation, optimus(interval), grid.at, seed)] = None
        for jobs in grid.lengths.values():
            for one in (p for policy in figure_7a() for p in by_episode(policy) if p is not None):
                result[case(grid.interpretations[0], one, grid.at, seed, jobs)] = None
        for window in WINDOWS:
            for policy in windows(window):
                for rate in (grid.rates[0], grid.rates[-1]):
                    result[case(grid.interpretations[0], policy, rate, seed)] = None
    return list(result)
