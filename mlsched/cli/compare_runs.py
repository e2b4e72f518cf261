"""`mlsched compare RUNS RUNS`: two files of `mlsched simulate -o`, policy by policy, each with its interval."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from mlsched.benchmark.formats import gap
from mlsched.benchmark.paired import relative_difference
from mlsched.cli.output import table
from mlsched.cli.simulation_runs import weights_name
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.files import read_json
from mlsched.core.safe_open import shown_path

NOTE = (
    "change: (second - first) / the larger of the two. Above its bound: (value - bound) / bound, at most so far from "
    "the best possible run. Loses: against the best schedule of the whole log, at least and at most, by the references "
    "that the runs were given."
)
#: Files of runs begin so, stores of benchmarks with SQLite's name.
BEGIN = b"{"


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure of a policy in a scenario, as both files have it; shares are fractions, other numbers in the run's unit.

    change: the relative difference (`benchmark/paired.py`); None for shares.
    """

    scenario: str
    policy: str
    name: str
    first: float | None
    second: float | None
    share: bool

    @property
    def change(self) -> float | None:
        """The relative difference of the second from the first."""
        if self.share or self.first is None or self.second is None:
            return None
        return relative_difference(self.first, self.second)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {**dataclasses.asdict(self), "change": self.change}


@dataclasses.dataclass(frozen=True)
class Compared:
    """What two files of runs have in common: figures, the simulator of their runs, and sentences on what differs."""

    figures: list[Figure]
    simulator: list[str]
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "measures": [figure.to_json() for figure in self.figures],
            "simulator": self.simulator,
            "notes": self.notes,
        }


def is_runs(path: Path) -> bool:
    """Whether a file is one of runs, as far as its first sign says."""
    try:
        with path.open("rb") as stream:
            return stream.read(1) == BEGIN
    except OSError:
        return False  # who opens it as a store says what is wrong


def compared(first: Path, second: Path) -> Compared:
    """The figures of the policies that both files have, in the order of the first.

    Raises InvalidInput where the files have no policy in common, InvalidFile where one is no file of runs.
    """
    one, other = _read(first), _read(second)
    figures, notes = list[Figure](), list[str]()
    simulator: dict[str, None] = {}
    for key, run in one.items():
        beside = other.get(key)
        if beside is None:
            continue
        scenario, policy = key
        name = f"{policy} on {scenario}" if scenario else policy
        if run["workload_hash"] != beside["workload_hash"]:
            notes.append(f"{name}: the second is of another workload; each distance is from the bound of its own")
        figures += _figures(scenario, policy, run, beside)
        mine, theirs = (_simulator(entry) for entry in (run, beside))
        simulator |= dict.fromkeys(mine)
        notes += [f"{name}: in the second, {line}" for line in theirs if line not in mine]
    if not figures:
        raise InvalidInput(f"{shown_path(first)} and {shown_path(second)} have no policy in common")
    return Compared(figures, list(simulator), notes)


def shown(found: Compared) -> list[Any]:
    """The same for people: the simulator, and a row per figure."""
    several = any(figure.scenario for figure in found.figures)
    rows = [
        [
            *([figure.scenario] if several else []),
            figure.policy,
            figure.name,
            _cell(figure.first, figure.share),
            _cell(figure.second, figure.share),
            "" if figure.change is None else f"{100 * figure.change:+.1f} %",
        ]
        for figure in found.figures
    ]
    header = [*(["on"] if several else []), "policy", "measure", "first", "second", "change"]
    return [*found.simulator, table("", header, rows), *found.notes, NOTE]


def _cell(value: float | None, share: bool) -> str:
    if value is None:
        return "-"
    return gap(value) if share else f"{value:.10g}"


def _figures(scenario: str, policy: str, run: dict[str, Any], other: dict[str, Any]) -> list[Figure]:
    """Times of the summary, distances from bounds, and what is lost by references; what only one has as well."""
    mine, theirs = (_values(entry) for entry in (run, other))
    return [
        Figure(scenario, policy, name, mine.get(name, (None, False))[0], theirs.get(name, (None, False))[0], share)
        for name, share in {name: share for values in (mine, theirs) for name, (_, share) in values.items()}.items()
    ]


def _values(run: dict[str, Any]) -> dict[str, tuple[float, bool]]:
    """Name -> value, and whether it is a share."""
    summary, bound = run["summary"], run.get("bound", {})
    found = {name: (float(summary[name]), False) for name in ("total_jct", "mean_jct", "makespan") if name in summary}
    found |= {
        f"{name} above its bound": (float(share), True) for name, share in run.get("gaps", {}).items() if name in bound
    }
    for weights, loss in run.get("losses", {}).items():
        for key in ("at_least", "at_most"):
            found[f"{weights_name(weights)} loses {key.replace('_', ' ')}"] = (float(loss[key]), True)
    return found


def _simulator(run: dict[str, Any]) -> list[str]:
    """What the run took for granted, and for which runs its bound holds."""
    lines = [f"{name}: {said}" for name, said in run.get("assumed", {}).items()]
    return [*lines, *([f"bound: of {run['bounded_by']}"] if "bounded_by" in run else [])]


def _read(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Runs by scenario and policy; those that failed are left out."""
    data = read_json(path)
    runs = data.get("runs")
    if not isinstance(runs, list) or not str(data.get("kind", ".runs")).endswith(".runs"):
        raise InvalidFile(f"{shown_path(path)}: has no runs; `mlsched simulate -o FILE` or `--json` writes such files")
    found = {}
    for number, run in enumerate(runs):
        try:
            if "reason" in run:
                continue
            scenario = str(run.get("scenario", ""))
            run = {"workload_hash": _hash(data, scenario), **run}
            _values(run)
            _simulator(run)
            found[scenario, str(run["policy"])] = run
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise InvalidFile(f"{shown_path(path)}: runs[{number}]: makes no sense ({what}); run it anew") from None
    return found


def _hash(data: dict[str, Any], scenario: str) -> Any:
    """The hash of a scenario's workload, in documents whose runs do not say it."""
    return next((s["workload_hash"] for s in data.get("scenarios", []) if s["scenario"] == scenario),
                data.get("workload_hash"))  # fmt: skip
