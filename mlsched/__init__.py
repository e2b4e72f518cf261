"""mlsched: scheduling questions of ML clusters, answered exactly, by published heuristic, by trained policy.

    import mlsched

    inst = mlsched.generate("preemption", preset="small", seed=0)
    best = mlsched.solve(inst, "cp-sat")        # proven optimal
    rule = mlsched.solve(inst, "fitgpp")        # the published rule
    print(rule.value, best.value, rule.gap_to(best))

Importing mlsched loads no solver: they are imported when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched._version import __version__
from mlsched.core.deferred import imported_at_first_use

if TYPE_CHECKING:
    from mlsched import solvers, testing
    from mlsched.api import (
        check_reference,
        generate,
        judge,
        load,
        losses,
        make_reference,
        pareto,
        read_log,
        read_reference,
        save,
        simulate,
        solve,
        workload,
    )
    from mlsched.benchmark.plan_pictures import plot
    from mlsched.benchmark.run_pictures import plot_runs
    from mlsched.benchmark.worst import plot_losses, worst_cases
    from mlsched.core.contract import Instance, Objective, Plan
    from mlsched.core.errors import AnswererError, InvalidFile, InvalidInput, MlschedError, SolverError, UnknownName
    from mlsched.core.registry import answerer
    from mlsched.core.result import Result
    from mlsched.heuristics.taskgraph._own import start_in_order
    from mlsched.simulation import Run, environments

#: Public name -> module of this package that defines it, or that it is. `environments` needs gymnasium, `testing`
#: Hypothesis.
_HOME = {
    "check_reference": "api",
    "generate": "api",
    "judge": "api",
    "load": "api",
    "losses": "api",
    "make_reference": "api",
    "pareto": "api",
    "plot": "benchmark.plan_pictures",
    "plot_losses": "benchmark.worst",
    "plot_runs": "benchmark.run_pictures",
    "read_log": "api",
    "read_reference": "api",
    "save": "api",
    "simulate": "api",
    "solve": "api",
    "start_in_order": "heuristics.taskgraph._own",
    "workload": "api",
    "worst_cases": "benchmark.worst",
    "Instance": "core.contract",
    "Objective": "core.contract",
    "Plan": "core.contract",
    "AnswererError": "core.errors",
    "InvalidFile": "core.errors",
    "InvalidInput": "core.errors",
    "MlschedError": "core.errors",
    "SolverError": "core.errors",
    "UnknownName": "core.errors",
    "answerer": "core.registry",
    "Result": "core.result",
    "Run": "simulation",
    "environments": "training.environments:",
    "solvers": "solvers:",
    "testing": "testing:",
}

__all__ = [
    "AnswererError",
    "Instance",
    "InvalidFile",
    "InvalidInput",
    "MlschedError",
    "Objective",
    "Plan",
    "Result",
    "Run",
    "SolverError",
    "UnknownName",
    "__version__",
    "answerer",
    "check_reference",
    "environments",
    "generate",
    "judge",
    "load",
    "losses",
    "make_reference",
    "pareto",
    "plot",
    "plot_losses",
    "plot_runs",
    "read_log",
    "read_reference",
    "save",
    "simulate",
    "solve",
    "solvers",
    "start_in_order",
    "testing",
    "workload",
    "worst_cases",
]


__getattr__ = imported_at_first_use(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
