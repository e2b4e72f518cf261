"""The public calls: thin paths from names to the layers below. No scheduling happens here."""

from mlsched.api.answers import solve
from mlsched.api.asked import AnyAnswerer, resolve_answerer
from mlsched.api.calls import answer_once
from mlsched.api.certificates import certify, check_certificate
from mlsched.api.fronts import pareto
from mlsched.api.functions import is_function
from mlsched.api.judged import judged
from mlsched.api.records import generate, load, load_with_hash, published_objective, record_types, save
from mlsched.api.runs import problem_of, read_log, simulate, simulation_of, workload

__all__ = [
    "AnyAnswerer",
    "answer_once",
    "certify",
    "check_certificate",
    "generate",
    "is_function",
    "judged",
    "load",
    "load_with_hash",
    "pareto",
    "problem_of",
    "published_objective",
    "read_log",
    "record_types",
    "resolve_answerer",
    "save",
    "simulate",
    "simulation_of",
    "solve",
    "workload",
]
