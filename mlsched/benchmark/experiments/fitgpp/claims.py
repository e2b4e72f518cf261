"""Every claim of the FitGpp paper (and ours) with its verdict, computed from the measurements alone."""

from __future__ import annotations

from collections.abc import Sequence

from mlsched.benchmark.experiments.claim import Claim
from mlsched.benchmark.experiments.fitgpp import claims_figures, claims_tables
from mlsched.benchmark.experiments.fitgpp.measured import Readings
from mlsched.benchmark.experiments.statement import Statement

#: Judged under the calibrations; those of the trace are judged on the user's trace.
STATEMENTS = (*claims_tables.STATEMENTS, *claims_figures.STATEMENTS)


def claims(readings: Sequence[Readings], trace: Readings | None) -> list[Claim]:
    """The claims in the paper's order, then those of the trace ("not measured" without one)."""
    found = [_of_tables(statement, readings) for statement in claims_tables.STATEMENTS]
    found += [statement.judge(*(each.plain for each in readings)) for statement in claims_figures.STATEMENTS]
    on_trace = [trace.plain, trace.literal] if trace is not None else []
    return found + [statement.judge(*on_trace) for statement in claims_tables.TRACE_STATEMENTS]


def _of_tables(statement: Statement, readings: Sequence[Readings]) -> Claim:
    """A claim of the tables: with the literal fallback as well where FitGpp plays a part, and pooled where it can be."""
    views = [each.plain for each in readings]
    if statement not in claims_tables.WITHOUT_FITGPP:
        views += [each.literal for each in readings]
    if statement in claims_tables.INTERVALS:
        views += [view for each in readings for view in (each.pooled, each.literal_pooled)]
    return statement.judge(*views)
