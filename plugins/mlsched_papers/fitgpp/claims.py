"""Every claim of the FitGpp paper (and ours) with its verdict, computed only from the measurements."""

from __future__ import annotations

from collections.abc import Sequence

from mlsched_papers.claim import Claim
from mlsched_papers.fitgpp import claims_figures, claims_ours, claims_tables
from mlsched_papers.fitgpp.measured import Readings
from mlsched_papers.statement import Statement

#: Judged under the calibrations; those of the trace are judged on the user's trace.
OF_TABLES = (*claims_tables.STATEMENTS, *claims_ours.STATEMENTS)
STATEMENTS = (*OF_TABLES, *claims_figures.STATEMENTS)
#: Claims without FitGpp are independent of its fallback.
WITHOUT_FITGPP = (*claims_tables.WITHOUT_FITGPP, *claims_ours.WITHOUT_FITGPP)


def claims(interpretations: Sequence[Readings], trace: Readings | None, name: str | None = None) -> list[Claim]:
    """Return the paper's claims in its order, then those about the trace; or only the claim `name`.

    Claims about the trace are "not measured" without one.
    """

    def asked(statements: Sequence[Statement]) -> list[Statement]:
        return [statement for statement in statements if name in (None, statement.name)]

    result = [_of_tables(statement, interpretations) for statement in asked(OF_TABLES)]
    result += [
        statement.judge(*(each.plain for each in interpretations)) for statement in asked(claims_figures.STATEMENTS)
    ]
    on_trace = [trace.plain, trace.literal] if trace is not None else []
    return result + [statement.judge(*on_trace) for statement in asked(claims_tables.TRACE_STATEMENTS)]


def _of_tables(statement: Statement, interpretations: Sequence[Readings]) -> Claim:
    """Return a claim of the tables: if FitGpp is involved, with its literal fallback as well; pooled if possible."""
    views = [each.plain for each in interpretations]
    if statement not in WITHOUT_FITGPP:
        views += [each.literal for each in interpretations]
    if statement in claims_tables.INTERVALS:
        views += [view for each in interpretations for view in (each.pooled, each.literal_pooled)]
    return statement.judge(*views)
