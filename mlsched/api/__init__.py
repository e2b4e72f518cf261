"""Public calls: thin paths from names to the layers below, without scheduling of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.core.deferred import imported_at_first_use

if TYPE_CHECKING:
    from mlsched.api.answers import solve
    from mlsched.api.asked import AnySolver, resolve_solver
    from mlsched.api.calls import call_solver
    from mlsched.api.certificates import certify, certify_front, check_certificate, check_folder, check_objectives
    from mlsched.api.fronts import pareto
    from mlsched.api.functions import is_function
    from mlsched.api.judging import judged
    from mlsched.api.models import Model, model, plan_from
    from mlsched.api.records import generate, load, load_with_hash, published_objective, record_types, save
    from mlsched.api.runs import refusal, simulate
    from mlsched.api.taskgraph.decomposition import decompose
    from mlsched.api.taskgraph.references import check_reference, losses, make_reference, read_reference
    from mlsched.api.workloads import problem_of, read_log, simulation_of, workload

#: Module -> names that it defines, imported at first use (PEP 562), so that reading a file does not load a simulator.
#: Names differ from those of the modules in this
#: folder.
_HOMES = {
    "answers": ("solve",),
    "asked": ("AnySolver", "resolve_solver"),
    "calls": ("call_solver",),
    "certificates": ("certify", "certify_front", "check_certificate", "check_folder", "check_objectives"),
    "taskgraph.decomposition": ("decompose",),
    "fronts": ("pareto",),
    "functions": ("is_function",),
    "judging": ("judged",),
    "models": ("Model", "model", "plan_from"),
    "records": ("generate", "load", "load_with_hash", "published_objective", "record_types", "save"),
    "taskgraph.references": ("check_reference", "losses", "make_reference", "read_reference"),
    "runs": ("refusal", "simulate"),
    "workloads": ("problem_of", "read_log", "simulation_of", "workload"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AnySolver",
    "Model",
    "call_solver",
    "certify",
    "certify_front",
    "check_certificate",
    "check_folder",
    "check_objectives",
    "check_reference",
    "decompose",
    "generate",
    "is_function",
    "judged",
    "load",
    "load_with_hash",
    "losses",
    "make_reference",
    "model",
    "pareto",
    "plan_from",
    "problem_of",
    "published_objective",
    "read_log",
    "read_reference",
    "record_types",
    "refusal",
    "resolve_solver",
    "save",
    "simulate",
    "simulation_of",
    "solve",
    "workload",
]


__getattr__ = imported_at_first_use(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
