"""The summary table on the first screen of a benchmark's report."""

from __future__ import annotations

from collections.abc import Sequence

from mlsched.benchmark import html
from mlsched.benchmark.formats import NONE, gap
from mlsched.benchmark.report_tables import best_rule
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import GapLine, verification_of

#: Most rows of the table: more would not fit on the first screen.
MAX_ROWS = 10
HEADER = ("problem", "objective", "instances", "proven optima", "best heuristic or policy", "mean gap")


def summary(rows: Sequence[Row], lines: Sequence[GapLine]) -> str:
    """Return one row per problem and objective: instances, proven optima, and the heuristic with the least mean gap.

    If these are more than `MAX_ROWS`, each problem has one row for its first objective.
    """
    groups: dict[tuple[str, str], list[GapLine]] = {}
    for line in lines:
        groups.setdefault((line.problem, line.objective), []).append(line)
    if len(groups) > MAX_ROWS:
        first = {problem: (problem, objective) for problem, objective in reversed(groups)}
        groups = {key: own for key, own in groups.items() if first[key[0]] == key}
    cells = []
    for (problem, objective), own in groups.items():
        answers = [row for row in rows if (row.problem, row.objective) == (problem, objective)]
        known = verification_of(answers)
        best = best_rule(own)
        cells.append([problem, objective, str(known.questions), str(known.optima), best or NONE, gap(_mean(own, best))])
    return html.table(HEADER, cells, label="Summary")


def _mean(lines: Sequence[GapLine], solver: str | None) -> float | None:
    """Return the mean gap of a solver over all presets, as a share."""
    own = [line.gaps for line in lines if line.solver == solver and line.gaps.mean is not None]
    count = sum(gaps.relative for gaps in own)
    return sum(gaps.relative * (gaps.mean or 0.0) for gaps in own) / count if count else None
