"""Share of small changes of judges, replay checks, translations and checkers that their own tests notice.

The numbers of research/notes/mutations.md.

python measurements/mutations.py [NAME...] [--sample N] [--seed N] [--lines N...] [--json]

Every mutant has one change: a comparison, an operation, a boundary, a condition or a statement. Tests are collected
once; each mutant is a fork in which the functions have the changed code, and which runs the tests until one fails. A
mutant that takes five times the CPU time of the code as it is, and 2 s more, counts as noticed. Texts of messages are
not changed. Survivors are named on standard error as they are found.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import math
import os
import random
import resource
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).resolve().parents[1]
#: CPU seconds of the code as it is; of a mutant, as a share of these and beyond it.
LIMIT, TIMES, MORE = 200, 5, 2

INSTANCES, RUNS = "tests/instances", "tests/simulation"
CERTIFICATES = "tests/certificates"
TRANSLATED = f"{CERTIFICATES}/test_translation.py::test_the_formulas_agree_with_brute_force_and_need_every_family"
#: Problem -> the file with what else its formulas must say.
FORMULAS = dict.fromkeys(("preemption", "quality", "workers"), f"{CERTIFICATES}/test_formulas.py")
FORMULAS |= {problem: f"{CERTIFICATES}/test_{problem}_formula.py" for problem in ("placement", "taskgraph")}
#: Name -> module, and the tests that are its own.
TARGETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "preemption replay": ("simulation.preemption.replay", (f"{RUNS}/preemption/test_replay.py",)),
    "quality replay": ("simulation.quality.replay", (f"{RUNS}/quality/test_quality_replay.py",)),
    "workers horizon judge": ("instances.workers.horizon_judge", (f"{INSTANCES}/workers/test_workers_horizon.py",)),
    "preemption judge": ("instances.preemption.judge", (f"{INSTANCES}/preemption/test_judge.py",)),
    "quality judge": ("instances.quality.judge", (f"{INSTANCES}/quality/test_quality_judge.py",)),
    "workers judge": ("instances.workers.judge", (f"{INSTANCES}/workers/test_workers_judge.py",)),
    "placement judge": ("instances.placement.judge", (f"{INSTANCES}/placement/test_placement_judge.py",)),
    "taskgraph judge": (
        "instances.taskgraph.judge",
        (f"{INSTANCES}/taskgraph/test_taskgraph_judge.py", f"{INSTANCES}/taskgraph/test_taskgraph_gpus.py"),
    ),
    "snapshot judge": (
        "instances.taskgraph.snapshot_judge",
        (f"{INSTANCES}/taskgraph/test_snapshot.py", f"{INSTANCES}/taskgraph/test_snapshot_gpus.py"),
    ),
    "admission judge": ("instances.admission.judge", (f"{INSTANCES}/admission/test_admission_judge.py",)),
    "admission judge of quotas": (
        "instances.admission.judge_quotas",
        (f"{INSTANCES}/admission/test_admission_judge.py",),
    ),
    "rounds judge": ("instances.rounds.judge", (f"{INSTANCES}/rounds/test_rounds_judge.py",)),
    "preemption horizon judge": (
        "instances.preemption.horizon_judge",
        (f"{INSTANCES}/preemption/test_preemption_horizon.py",),
    ),
    "quality horizon judge": ("instances.quality.horizon_judge", (f"{INSTANCES}/quality/test_quality_horizon.py",)),
    "workers stream judge": ("instances.workers.stream_judge", (f"{INSTANCES}/workers/test_workers_stream.py",)),
    "rounds replay": (
        "simulation.rounds.replay",
        (
            f"{RUNS}/rounds/test_rounds_world.py",
            f"{RUNS}/rounds/test_adaptation.py::test_what_is_left_of_a_job_when_a_change_gives_it_away",
        ),
    ),
    "placement replay": ("simulation.placement.replay", (f"{RUNS}/placement/test_placement_replay.py",)),
    "workers replay": ("simulation.workers.replay", (f"{RUNS}/workers/test_workers_replay.py",)),
    "taskgraph replay": (
        "simulation.taskgraph.replay",
        (f"{RUNS}/taskgraph/test_taskgraph_replay.py", f"{RUNS}/taskgraph/test_taskgraph_world_gpus.py"),
    ),
    "iterations replay": (
        "simulation.taskgraph.iterations.replay",
        (
            *(f"{RUNS}/taskgraph/iterations/test_iterations_{what}.py" for what in ("replay", "gpus", "usage")),
            f"{RUNS}/taskgraph/iterations/test_replay_gangs.py",
        ),
    ),
    "gangs replay": (
        "simulation.taskgraph.iterations.replay_gangs",
        (f"{RUNS}/taskgraph/iterations/test_replay_gangs.py",),
    ),
    "checker": ("certificates.checker", (f"{CERTIFICATES}/test_checker.py",)),
    **{
        f"{problem} translation": (f"certificates.{problem}", (FORMULAS[problem], f"{TRANSLATED}[{problem}]"))
        for problem in FORMULAS
    },
    "taskgraph translation": (
        "certificates.taskgraph",
        (f"{CERTIFICATES}/test_taskgraph_objectives.py", FORMULAS["taskgraph"], f"{TRANSLATED}[taskgraph]"),
    ),
    "taskgraph translation of schedules": (
        "certificates.taskgraph._schedule",
        (FORMULAS["taskgraph"], f"{TRANSLATED}[taskgraph]"),
    ),
}

BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITE = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATION = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """(what, replacement) for one node; None deletes a statement."""

    def other(**fields: Any) -> Any:
        made = copy.deepcopy(node)
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            for kind, table in (("boundary", BOUNDARY), ("opposite", OPPOSITE)):
                if type(op) in table:
                    ops = [*node.ops]
                    ops[place] = table[type(op)]()
                    yield kind, other(ops=ops)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATION:
        yield "operation", other(op=OPERATION[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield "and/or", other(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for place in range(len(node.values)):
            left = [value for k, value in enumerate(node.values) if k != place]
            yield f"without part {place}", left[0] if len(left) == 1 else other(values=left)
    elif isinstance(node, (ast.If, ast.IfExp)):
        for value in (True, False):
            yield f"condition {value}", other(test=ast.Constant(value))
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield "without if", other(ifs=[])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield "without sign", node.operand
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value + 1} for {node.value}", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield CALLS[node.func.id], other(func=ast.Name(CALLS[node.func.id], ast.Load()))
    elif (isinstance(node, (ast.Continue, ast.Return)) and not getattr(node, "value", None)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "without it", ast.Pass()


#: A change: its line, what it is, and a function that makes the changed module.
Mutant = tuple[int, str, Callable[[], ast.Module]]


def mutants(source: str) -> list[Mutant]:
    """Every change of a module; neither in annotations nor in the texts of messages."""
    tree, found = ast.parse(source), []

    def visit(node: ast.AST) -> None:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns") or isinstance(node, ast.JoinedStr) or _not_run(node):
                continue
            for place, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST):
                    continue
                for what, made in () if _not_run(child) else changes(child):
                    found.append((_line(child), what, partial(_with, tree, node, name, value, place, made)))
                visit(child)

    visit(tree)
    return found


def _not_run(node: ast.AST) -> bool:
    """Whether it is `if TYPE_CHECKING:` or `if __name__ == "__main__":`, which no test in this process runs."""
    if not isinstance(node, ast.If):
        return False
    names = {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)}
    return names in ({"TYPE_CHECKING"}, {"__name__"})


def _line(node: ast.AST) -> int:
    return next((n.lineno for n in ast.walk(node) if hasattr(n, "lineno")), 0)


def _with(tree: ast.Module, node: ast.AST, name: str, value: Any, place: int, made: Any) -> ast.Module:
    """A copy of the tree in which one child is another."""
    if isinstance(value, list):
        changed = [*value]
        changed[place] = made
    else:
        changed = made
    setattr(node, name, changed)
    copied = ast.fix_missing_locations(copy.deepcopy(tree))
    setattr(node, name, value)
    return copied


def put_in(module: types.ModuleType, tree: ast.Module) -> None:
    """Give functions, methods and constants of a module what the tree says; whoever imported them has it, too."""
    made = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(tree, str(module.__file__), "exec"), made)
    for name, new in made.items():
        old = module.__dict__.get(name)
        if isinstance(new, type) and isinstance(old, type) and new.__module__ == module.__name__:
            for method in set(vars(new)) & set(vars(old)):
                _exchange(vars(old)[method], vars(new)[method])
        elif name.isupper():
            module.__dict__[name] = new
        else:
            _exchange(old, new)


def _exchange(old: Any, new: Any) -> None:
    """Have a function run the code of another; a property, that of the other's getter."""
    if isinstance(old, property) and isinstance(new, property):
        old, new = old.fget, new.fget
    if isinstance(new, types.FunctionType) and isinstance(old, types.FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__


class Judge:
    """A pytest plugin: instead of running the collected tests once, runs them against every mutant."""

    def __init__(self, module: types.ModuleType, chosen: list[Mutant], say: Callable[[str], Any]) -> None:
        self.module, self.chosen, self.say = module, chosen, say
        self.survivors: list[tuple[int, str]] = []
        self.limit = LIMIT

    def pytest_runtestloop(self, session: Any) -> bool:
        # Tests without Hypothesis first: they are quick, and name what they test.
        items = sorted(session.items, key=lambda item: hasattr(getattr(item, "obj", None), "hypothesis"))
        if not self._noticed(items, None):
            for number, (line, what, tree) in enumerate(self.chosen, 1):
                if not self._noticed(items, tree()):
                    self.survivors.append((line, what))
                    self.say(f"  {number} of {len(self.chosen)}: line {line}: {what}\n")
        else:
            raise RuntimeError("the tests fail as they are")
        return True

    def _noticed(self, items: list[Any], tree: ast.Module | None) -> bool:
        child = os.fork()
        if child == 0:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (self.limit, self.limit))
            status = 1
            try:
                if tree is not None:
                    put_in(self.module, tree)
                following = [*items[1:], None]
                status = int(any(map(self._fails, items, following)))
            finally:
                os._exit(status)
        _, status, used = os.wait4(child, 0)
        if tree is None:
            self.limit = math.ceil(TIMES * (used.ru_utime + used.ru_stime)) + MORE
        return status != 0

    @staticmethod
    def _fails(item: Any, following: Any) -> bool:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return bool(item.session.testsfailed)


def score(name: str, sample: int | None, seed: int, lines_only: list[int] | None = None) -> dict[str, Any]:
    """Return the result of one target; `lines_only`: only of the changes in these lines."""
    module_name, tests = TARGETS[name]
    module = importlib.import_module(f"mlsched.{module_name}")
    found = mutants(Path(str(module.__file__)).read_text())
    chosen = [m for m in found if lines_only is None or m[0] in lines_only]
    if sample is not None and sample < len(chosen):
        chosen = random.Random(seed).sample(chosen, sample)
    errors = os.fdopen(os.dup(2), "w", buffering=1)  # pytest takes the standard error
    judge = Judge(module, sorted(chosen, key=lambda m: m[0]), errors.write)
    # Neither shrinking nor a database: a failure is all that counts.
    quiet = {"phases": (Phase.explicit, Phase.generate), "database": None, "derandomize": True, "deadline": None}
    settings.register_profile("mutations", max_examples=15, suppress_health_check=list(HealthCheck), **quiet)
    calling = [
        "-q",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-o",
        "faulthandler_timeout=0",
        "--hypothesis-profile=mutations",
    ]
    out = os.dup(1)
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 1)
        try:
            status = pytest.main(
                [*calling, "--rootdir", str(ROOT), *(str(ROOT / test) for test in tests)], plugins=[judge]
            )
        finally:
            os.dup2(out, 1)
    if status not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"{name}: pytest ended with {status!r}")
    lines = Path(str(module.__file__)).read_text().splitlines()
    return {
        "target": name,
        "mutants": len(found),
        "tried": len(chosen),
        "noticed": len(chosen) - len(judge.survivors),
        "survivors": [{"line": n, "what": what, "text": lines[n - 1].strip()} for n, what in judge.survivors],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="targets; default: all")
    parser.add_argument("--sample", type=int, default=None, help="mutants of each; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", type=int, nargs="+", help="change these lines only")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests")]
    os.environ.setdefault("MLSCHED_VALIDATE", "1")
    found = []
    for name in given.names or TARGETS:
        found.append(score(name, given.sample, given.seed, given.lines))
        if not given.json:
            done = found[-1]
            print(f"{name}: {done['noticed']} of {done['tried']} noticed ({done['mutants']} in all)", flush=True)
            for s in done["survivors"]:
                print(f"  {s['line']}: {s['what']}: {s['text']}", flush=True)
    if given.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
