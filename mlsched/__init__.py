"""mlsched: scheduling questions of ML clusters, answered exactly, by published heuristic, by trained policy.

    import mlsched

    inst = mlsched.generate("preemption", preset="small", seed=0)
    best = mlsched.solve(inst, "cp-sat")        # proven optimal
    rule = mlsched.solve(inst, "fitgpp")        # the published rule
    print(rule.value, best.value, rule.gap_to(best))

Importing mlsched loads no solver: they are imported when first needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mlsched._version import __version__

if TYPE_CHECKING:
    from mlsched import solvers, testing
    from mlsched.api import generate, load, pareto, read_log, save, simulate, solve, workload
    from mlsched.benchmark.plan_pictures import plot
    from mlsched.benchmark.run_pictures import plot_runs
    from mlsched.benchmark.worst import plot_losses, worst_cases
    from mlsched.core.contract import Instance, Objective, Plan
    from mlsched.core.errors import AnswererError, InvalidFile, InvalidInput, MlschedError, SolverError, UnknownName
    from mlsched.core.registry import answerer
    from mlsched.core.result import Result
    from mlsched.heuristics.taskgraph._own import start_in_order
    from mlsched.simulation import Run, environments

#: Public name -> module that defines it; imported at first use (PEP 562), so that `import mlsched` is quick.
_HOME = {
    "generate": "mlsched.api",
    "load": "mlsched.api",
    "pareto": "mlsched.api",
    "plot": "mlsched.benchmark.plan_pictures",
    "plot_losses": "mlsched.benchmark.worst",
    "plot_runs": "mlsched.benchmark.run_pictures",
    "read_log": "mlsched.api",
    "save": "mlsched.api",
    "simulate": "mlsched.api",
    "solve": "mlsched.api",
    "start_in_order": "mlsched.heuristics.taskgraph._own",
    "workload": "mlsched.api",
    "worst_cases": "mlsched.benchmark.worst",
    "Instance": "mlsched.core.contract",
    "Objective": "mlsched.core.contract",
    "Plan": "mlsched.core.contract",
    "AnswererError": "mlsched.core.errors",
    "InvalidFile": "mlsched.core.errors",
    "InvalidInput": "mlsched.core.errors",
    "MlschedError": "mlsched.core.errors",
    "SolverError": "mlsched.core.errors",
    "UnknownName": "mlsched.core.errors",
    "answerer": "mlsched.core.registry",
    "Result": "mlsched.core.result",
    "Run": "mlsched.simulation",
}

#: Public name -> module that it is, imported at first use too. `environments` needs gymnasium, `testing` Hypothesis.
_MODULES = {"environments": "mlsched.training.environments", "solvers": "mlsched.solvers", "testing": "mlsched.testing"}

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
    "environments",
    "generate",
    "load",
    "pareto",
    "plot",
    "plot_losses",
    "plot_runs",
    "read_log",
    "save",
    "simulate",
    "solve",
    "solvers",
    "start_in_order",
    "testing",
    "workload",
    "worst_cases",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'mlsched' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
