"""Every claim of the FitGpp paper (and ours) with its verdict, computed from the measurements alone."""

from __future__ import annotations

from collections.abc import Sequence

from mlsched.benchmark.experiments.claim import Claim
from mlsched.benchmark.experiments.fitgpp import claims_figures, claims_tables
from mlsched.benchmark.experiments.fitgpp.measured import FitGppView

#: Judged under the calibrations; those of the trace are judged on the user's trace.
STATEMENTS = (*claims_tables.STATEMENTS, *claims_figures.STATEMENTS)


def claims(views: Sequence[FitGppView], trace: FitGppView | None) -> list[Claim]:
    """The claims in the paper's order, then those of the trace ("not measured" without one)."""
    found = [statement.judge(*views) for statement in STATEMENTS]
    on_trace = [trace] if trace is not None else []
    return found + [statement.judge(*on_trace) for statement in claims_tables.TRACE_STATEMENTS]
