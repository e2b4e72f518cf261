"""mlsched: scheduling questions of ML clusters, answered exactly, by published heuristic, by trained policy.

    import mlsched

    inst = mlsched.generate("preemption", preset="small", seed=0)
    best = mlsched.solve(inst, "cp-sat")        # proven optimal
    rule = mlsched.solve(inst, "fitgpp")        # the published rule
    print(rule.sort_key, best.sort_key, rule.gap_to(best))

Importing mlsched loads no solver: they are imported when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched._version import __version__
from mlsched.core.deferred import imported_at_first_use

if TYPE_CHECKING:
    from mlsched import instances, solvers, testing
    from mlsched.api import (
        Model,
        certify,
        certify_front,
        check_certificate,
        check_reference,
        decompose,
        generate,
        load,
        losses,
        make_reference,
        model,
        pareto,
        plan_from,
        read_log,
        read_reference,
        save,
        simulate,
        solve,
        workload,
    )
    from mlsched.benchmark.merge import merge
    from mlsched.benchmark.pictures import plot
    from mlsched.benchmark.run_pictures import plot_runs
    from mlsched.benchmark.runner import run_suite
    from mlsched.benchmark.table import gap_lines
    from mlsched.benchmark.worst import plot_losses, worst_cases
    from mlsched.core.contract import Instance, Objective, Plan
    from mlsched.core.errors import BackendError, InvalidFile, InvalidInput, MlschedError, SolverError, UnknownName
    from mlsched.core.gap import Gap, sum_up
    from mlsched.core.registry import solver
    from mlsched.core.result import Result
    from mlsched.heuristics.taskgraph._order import order
    from mlsched.heuristics.taskgraph._own import pause_in_order, start_in_order
    from mlsched.instances.taskgraph import from_networkx
    from mlsched.simulation import Run
    from mlsched.solvers.front import Front, enumerate_front
    from mlsched.testing import check_scheduler

#: Public name -> module of this package that defines it, or that it is. `testing`, `check_scheduler` need Hypothesis.
_HOME = {
    "certify": "api",
    "certify_front": "api",
    "check_certificate": "api",
    "check_reference": "api",
    "decompose": "api",
    "check_scheduler": "testing",
    "enumerate_front": "solvers.front",
    "from_networkx": "instances.taskgraph",
    "gap_lines": "benchmark.table",
    "generate": "api",
    "load": "api",
    "losses": "api",
    "make_reference": "api",
    "merge": "benchmark.merge",
    "model": "api",
    "order": "heuristics.taskgraph._order",
    "pareto": "api",
    "pause_in_order": "heuristics.taskgraph._own",
    "plan_from": "api",
    "plot": "benchmark.pictures",
    "plot_losses": "benchmark.worst",
    "plot_runs": "benchmark.run_pictures",
    "read_log": "api",
    "read_reference": "api",
    "run_suite": "benchmark.runner",
    "save": "api",
    "simulate": "api",
    "solve": "api",
    "start_in_order": "heuristics.taskgraph._own",
    "sum_up": "core.gap",
    "workload": "api",
    "worst_cases": "benchmark.worst",
    "Instance": "core.contract",
    "Objective": "core.contract",
    "Plan": "core.contract",
    "SolverError": "core.errors",
    "InvalidFile": "core.errors",
    "InvalidInput": "core.errors",
    "Model": "api",
    "MlschedError": "core.errors",
    "BackendError": "core.errors",
    "UnknownName": "core.errors",
    "solver": "core.registry",
    "Front": "solvers.front",
    "Gap": "core.gap",
    "Result": "core.result",
    "Run": "simulation",
    "instances": "instances:",
    "solvers": "solvers:",
    "testing": "testing:",
}

__all__ = [
    "BackendError",
    "Front",
    "Gap",
    "Instance",
    "InvalidFile",
    "InvalidInput",
    "MlschedError",
    "Model",
    "Objective",
    "Plan",
    "Result",
    "Run",
    "SolverError",
    "UnknownName",
    "__version__",
    "certify",
    "certify_front",
    "check_certificate",
    "check_reference",
    "check_scheduler",
    "decompose",
    "enumerate_front",
    "from_networkx",
    "gap_lines",
    "generate",
    "instances",
    "load",
    "losses",
    "make_reference",
    "merge",
    "model",
    "order",
    "pareto",
    "pause_in_order",
    "plan_from",
    "plot",
    "plot_losses",
    "plot_runs",
    "read_log",
    "read_reference",
    "run_suite",
    "save",
    "simulate",
    "solve",
    "solver",
    "solvers",
    "start_in_order",
    "sum_up",
    "testing",
    "workload",
    "worst_cases",
]


__getattr__ = imported_at_first_use(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
