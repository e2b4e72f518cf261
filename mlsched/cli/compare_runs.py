"""`mlsched compare RUNS RUNS`: compare two files of `mlsched simulate -o`, policy by policy."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlsched.benchmark.formats import gap
from mlsched.benchmark.paired import relative_difference
from mlsched.cli.output import table
from mlsched.cli.simulation_runs import weights_name
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.files import read_json
from mlsched.core.safe_open import shown_path

if TYPE_CHECKING:
    from rich.console import RenderableType

NOTE = (
    "change: (second - first) / the larger of the two. Above its bound: (value - bound) / bound, at most so far from "
    "the best possible run. Loses: against the best schedule of the whole log, at least and at most, by the references "
    "that the runs were given."
)
#: First byte of files of runs; stores of benchmarks begin with SQLite's name.
BEGIN = b"{"


@dataclasses.dataclass(frozen=True)
class Figure:
    """Measure of a policy in a scenario in both files; shares are fractions, other numbers in the run's unit."""

    scenario: str
    policy: str
    name: str
    first: float | None
    second: float | None
    share: bool

    @property
    def change(self) -> float | None:
        """The relative difference of the second from the first (`benchmark/paired.py`); None for shares."""
        if self.share or self.first is None or self.second is None:
            return None
        return relative_difference(self.first, self.second)

    def to_json(self) -> Data:
        """Return the measure as plain JSON data."""
        return {**dataclasses.asdict(self), "change": self.change}


@dataclasses.dataclass(frozen=True)
class RunsComparison:
    """Comparison of two files of runs: common measures, the simulator, and sentences on differences."""

    figures: list[Figure]
    simulator: list[str]
    notes: list[str]

    def to_json(self) -> Data:
        """Return the comparison as plain JSON data."""
        return {
            "measures": [figure.to_json() for figure in self.figures],
            "simulator": self.simulator,
            "notes": self.notes,
        }


def is_runs(path: Path) -> bool:
    """Return whether a file is a file of runs, judged by its first byte."""
    try:
        with path.open("rb") as stream:
            return stream.read(1) == BEGIN
    except OSError:
        return False  # opening it as a store reports the fault


def compare_files(first: Path, second: Path) -> RunsComparison:
    """Compare the policies in both files, in the order of the first.

    Raises:
        InvalidInput: The files have no policy in common.
        InvalidFile: A file is not a file of runs.
    """
    first_runs, second_runs = _runs_by_policy(first), _runs_by_policy(second)
    figures, notes = list[Figure](), list[str]()
    simulator: dict[str, None] = {}
    for key, run in first_runs.items():
        second_run = second_runs.get(key)
        if second_run is None:
            continue
        scenario, policy = key
        name = f"{policy} on {scenario}" if scenario else policy
        if run["workload_hash"] != second_run["workload_hash"]:
            notes.append(f"{name}: the second is of another workload; each distance is from the bound of its own")
        figures += _figures(scenario, policy, run, second_run)
        mine, theirs = (_simulator(entry) for entry in (run, second_run))
        simulator |= dict.fromkeys(mine)
        notes += [f"{name}: in the second, {line}" for line in theirs if line not in mine]
    if not figures:
        raise InvalidInput(f"{shown_path(first)} and {shown_path(second)} do not share a policy")
    return RunsComparison(figures, list(simulator), notes)


def comparison_lines(comparison: RunsComparison) -> list[RenderableType]:
    """Return the comparison as lines and tables: the simulator, and one row per measure."""
    several = any(figure.scenario for figure in comparison.figures)
    rows = [
        [
            *([figure.scenario] if several else []),
            figure.policy,
            figure.name,
            _format_measure(figure.first, figure.share),
            _format_measure(figure.second, figure.share),
            "" if figure.change is None else f"{100 * figure.change:+.1f} %",
        ]
        for figure in comparison.figures
    ]
    header = [*(["on"] if several else []), "policy", "measure", "first", "second", "change"]
    return [*comparison.simulator, table("", header, rows), *comparison.notes, NOTE]


def _format_measure(value: float | None, share: bool) -> str:
    if value is None:
        return "-"
    return gap(value) if share else f"{value:.10g}"


def _figures(scenario: str, policy: str, run: Data, other: Data) -> list[Figure]:
    """Return times of the summary, gaps to bounds, and regrets; also measures in only one file."""
    mine, theirs = (_measures(entry) for entry in (run, other))
    return [
        Figure(scenario, policy, name, mine.get(name, (None, False))[0], theirs.get(name, (None, False))[0], share)
        for name, share in {name: share for values in (mine, theirs) for name, (_, share) in values.items()}.items()
    ]


def _measures(run: Data) -> dict[str, tuple[float, bool]]:
    """Return each measure with its value and whether it is a share."""
    summary, bound = run["summary"], run.get("bound", {})
    measures = {
        name: (float(summary[name]), False) for name in ("total_jct", "mean_jct", "makespan") if name in summary
    }
    measures |= {
        f"{name} above its bound": (float(share), True) for name, share in run.get("gaps", {}).items() if name in bound
    }
    for weights, loss in run.get("losses", {}).items():
        for key in ("at_least", "at_most"):
            measures[f"{weights_name(weights)} loses {key.replace('_', ' ')}"] = (float(loss[key]), True)
    return measures


def _simulator(run: Data) -> list[str]:
    """Return the run's assumptions, and the runs that its bound covers."""
    lines = [f"{name}: {assumption}" for name, assumption in run.get("assumed", {}).items()]
    return [*lines, *([f"bound: holds for {run['bounded_by']}"] if "bounded_by" in run else [])]


def _runs_by_policy(path: Path) -> dict[tuple[str, str], Data]:
    """Return runs by scenario and policy, without failed ones."""
    data = read_json(path)
    runs = data.get("runs")
    if not isinstance(runs, list) or not str(data.get("kind", ".runs")).endswith(".runs"):
        raise InvalidFile(
            f"{shown_path(path)}: runs are missing; `mlsched simulate -o FILE` or `--json` writes such files"
        )
    runs_by_key = {}
    for number, run in enumerate(runs):
        try:
            if "reason" in run:
                continue
            scenario = str(run.get("scenario", ""))
            run = {"workload_hash": _workload_hash(data, scenario), **run}
            _measures(run)
            _simulator(run)
            runs_by_key[scenario, str(run["policy"])] = run
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            description = f"{type(error).__name__}: {error}"
            raise InvalidFile(f"{shown_path(path)}: runs[{number}]: is invalid ({description}); run it again") from None
    return runs_by_key


def _workload_hash(data: dict[str, Any], scenario: str) -> object:
    """Return the hash of a scenario's workload from the head of a document."""
    return next((s["workload_hash"] for s in data.get("scenarios", []) if s["scenario"] == scenario),
                data.get("workload_hash"))  # fmt: skip
