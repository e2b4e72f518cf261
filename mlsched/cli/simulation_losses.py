"""What `mlsched simulate` shows of what runs lose, at least and at most, and of which parts that is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlsched.benchmark.formats import gap
from mlsched.simulation.taskgraph.iterations.reference.decomposition import LAST_PARTS, SUM

#: What "above its bound" means in the tables of runs.
BOUND_NOTE = (
    "Above its bound: (value - bound) / bound. No scheduler can be below the bound, whatever it knows and, where runs "
    "may pause, however often it preempts; so a run is at most this far from the best possible one."
)
#: What "loses" means there.
LOSS_NOTE = (
    "Loses: against the best schedule of the whole log that may do what the run may (node by node, in hindsight): at "
    "least so much, since the reference has a better one (0 %: it has none); at most so much, since no schedule is "
    "below the reference's bound, which was searched for longer than the run's own."
)
#: What the table of parts means.
PARTS_NOTE = (
    "Parts, as shares of the relaxed bound (jobs pause and move for nothing on one large node): they add up to how far "
    "the run is above that bound, as a rule more than above its own. Each is against the best schedule of a world that "
    "forbids one thing more than the one before; in brackets what is known of it: at least, at most. The last row "
    "names the best rule that knows running times."
)


def of_weights(weights: str) -> str:
    """What a reference counts, as its figure is called."""
    return "total_jct" if weights == "jobs" else f"completion times by {weights}"


def notes(ran: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """What distances from bounds and from references mean, and for whom which bound holds."""
    of: dict[str, list[str]] = {}
    for entry in ran:
        if entry.get("gaps"):
            of.setdefault(entry["bounded_by"], []).append(entry["policy"])
    found = (BOUND_NOTE,) * bool(of)
    found += tuple(f"The bound of {', '.join(dict.fromkeys(who))} is of {runs}." for runs, who in of.items())
    return found + (LOSS_NOTE,) * any(entry.get("losses") for entry in ran)


def lines(entry: dict[str, Any]) -> dict[str, str]:
    """What a run loses at least and at most, by the references that were given."""
    found = {}
    for weights, loss in entry.get("losses", {}).items():
        for key, share in loss.items():
            found[f"{of_weights(weights)} loses {key.replace('_', ' ')}"] = gap(share)
    return found


def rows(entries: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The same of several runs: a row per line."""
    columns = [lines(entry) for entry in entries]
    names = dict.fromkeys(name for column in columns for name in column)
    return [[name, *(column.get(name, "-") for column in columns)] for name in names]


def beside(share: float | None, loss: dict[str, float] | None) -> str:
    """A distance from the bound, and beside it what the run loses where that is known."""
    if loss is None:
        return gap(share)
    return f"{gap(share)} (loses {gap(loss['at_least'])} to {gap(loss['at_most'])})"


def parts(told: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Of which parts distances are made: a row per part, a column per run; below, the sum and the rule beside."""
    tables = [entry["parts"]["table"] for entry in told]
    names = list(dict.fromkeys(name for table in tables for name in table["part"][:-1]))
    names.sort(key=lambda name: name in LAST_PARTS)
    found = [[name, *(part(table, name) for table in tables)] for name in [*names, SUM]]
    return [*found, ["running times known", *(entry["parts"]["beside"] for entry in told)]]


def part(table: dict[str, list[Any]], name: str) -> str:
    """A part: "4.2 % (1.0 to 5.3)"; one that is known as it is has no brackets."""
    if name not in table["part"]:
        return "-"
    at = table["part"].index(name)
    share, least, most = (100 * table[key][at] for key in ("share", "at_least", "at_most"))
    return f"{share:.1f} %" if least == share == most else f"{share:.1f} % ({least:.1f} to {most:.1f})"
