"""Arguments of a wrong type end in one line that names the argument and what it must be."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import mlsched
from mlsched.instances.traces import read_nodes


def inst() -> mlsched.Instance:
    return mlsched.generate("quality", "small")


def result() -> mlsched.Result:
    return mlsched.solve(inst(), "slaq")


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: result().gap_to(5), "gap_to: reference: 5, expected a Result"),
    (lambda: result().gap_to(None), "gap_to: reference: None, expected a Result"),
    (lambda: mlsched.generate(["quality"]), "generate: problem: ['quality'], expected a text"),
    (lambda: mlsched.load(5), "load: path: 5, expected a path"),
    (lambda: mlsched.save(inst(), 5), "save: path: 5, expected a path"),
    (lambda: mlsched.save(result().plan, "p.json", instance=5), "save: instance: 5, expected an Instance or None"),
    (lambda: mlsched.pareto(inst(), 5), "pareto: objectives: 5, expected a list (each a text) or None"),
    (lambda: mlsched.pareto(inst(), time_limit="5"), "pareto: time_limit: '5', expected a number or None"),
    (lambda: mlsched.pareto(inst(), resume=5), "pareto: resume: 5, expected a path or None"),
    (lambda: mlsched.certify(inst(), 5), "certify: folder: 5, expected a path"),
    (lambda: mlsched.check_certificate(5), "check_certificate: folder: 5, expected a path"),
    (lambda: mlsched.sum_up(5), "sum_up: gaps: 5, expected a list (each a Gap)"),
    (lambda: mlsched.sum_up([0.5]), "sum_up: gaps: [0.5], expected a list (each a Gap)"),
    (lambda: mlsched.gap_lines([5]), "gap_lines: rows: [5], expected a list (each a Row)"),
    (lambda: mlsched.run_suite(5), "run_suite: suite: 5, expected a Suite or a text"),
    (lambda: mlsched.run_suite("preemption", store=5), "run_suite: store: 5, expected a path or None"),
    (lambda: mlsched.merge(5, "all.sqlite"), "merge: stores: 5, expected a list (each a path)"),
    (lambda: read_nodes(5), "read_nodes: path: 5, expected a path"),
    (lambda: mlsched.read_reference(5), "read_reference: folder: 5, expected a path"),
    (lambda: mlsched.losses(5, 5), "losses: run: 5, expected a Run"),
    (lambda: mlsched.decompose(5), "decompose: run: 5, expected a Run"),
    (lambda: mlsched.worst_cases("slaq", 5), "worst_cases: instances: 5, expected a list (each an Instance) or a dict"),
    (lambda: mlsched.worst_cases("slaq", inst()), "expected a list (each an Instance) or a dictionary"),
    (lambda: mlsched.worst_cases("slaq", [inst()], most="1"), "worst_cases: most: '1', expected an integer"),
    (lambda: mlsched.plot_losses(5, "x.svg"), "plot_losses: losses: 5, expected a list (each a Loss)"),
    (lambda: mlsched.plot_runs(5, "x.svg"), "plot_runs: runs: 5, expected a list (each a Run) or a dictionary"),
    (lambda: mlsched.check_scheduler(5, "quality"), "check_scheduler: scheduler: 5, expected a text or a function"),
    (lambda: mlsched.check_scheduler("slaq", "quality", examples="9"), "examples: '9', expected an integer"),
    (lambda: mlsched.from_networkx(5, [{"gpu": 1}]), "graphs: expected a networkx graph for each job, one or a list"),
    (lambda: mlsched.from_networkx([], 5), "from_networkx: nodes: 5, expected a list (each a dictionary)"),
    (lambda: mlsched.start_in_order(5, 5), "start_in_order: snapshot: 5, expected a Snapshot"),
    (lambda: inst().evaluate(5), "evaluate: plan: 5, expected a Plan"),
    (lambda: inst().table(5), "table: plan: 5, expected a Plan"),
    (lambda: inst().replace(jobs=5), "jobs: unknown field of a quality.instance; it has cores, "),
]


@pytest.mark.parametrize(
    ("call", "said"), CALLS, ids=[said.partition(":")[0] + str(k) for k, (_, said) in enumerate(CALLS)]
)
def test_a_wrong_type_is_named_with_what_it_must_be(call, said):
    with pytest.raises(mlsched.InvalidInput) as caught:
        call()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


#: Function -> arguments of it that mean nothing, and what is said: before anything else of the call is looked at.
MEANINGLESS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (mlsched.solve, {"time_limit": True}, "solve: time_limit: True, expected a number or None"),
    (mlsched.solve, {"time_limit": np.True_}, "solve: time_limit: np.True_, expected a number or None"),
    (mlsched.solve, {"work_limit": math.nan}, "work_limit: nan, expected above 0"),
    (mlsched.solve, {"seed": False}, "solve: seed: False, expected an integer"),
    (mlsched.solve, {"seed": 1.0}, "solve: seed: 1.0, expected an integer"),
    (mlsched.solve, {"isolate": "yes"}, "solve: isolate: 'yes', expected True or False"),
    (mlsched.solve, {"confirm": 1}, "solve: confirm: 1, expected True or False"),
    (mlsched.solve, {"memory_limit": 0}, "memory_limit: 0, expected at least 1"),
    (mlsched.solve, {"memory_limit": 1.5}, "solve: memory_limit: 1.5, expected an integer or None"),
    (mlsched.generate, {"seed": True}, "generate: seed: True, expected an integer"),
    (mlsched.pareto, {"solve_limit": 0.5}, "pareto: solve_limit: 0.5, expected an integer or None"),
    (mlsched.pareto, {"stages": "three"}, "stages: 'three', expected one of one, two"),
    (mlsched.simulate, {"record": 1.5}, "record: 1.5, expected between 0 and 1"),
    (mlsched.simulate, {"record": True}, "simulate: record: True, expected a number"),
    (mlsched.simulate, {"isolate": None}, "simulate: isolate: None, expected True or False"),
    (mlsched.workload, {"limit": -1}, "limit: -1, expected at least 1"),
    (mlsched.workload, {"strict": "no"}, "workload: strict: 'no', expected True or False"),
    (mlsched.read_log, {"limit": 1.5}, "read_log: limit: 1.5, expected an integer or None"),
    (mlsched.certify, {"time_limit": False}, "certify: time_limit: False, expected a number or None"),
    (mlsched.check_certificate, {"time_limit": -1}, "time_limit: -1, expected above 0"),
    (mlsched.make_reference, {"moves": -1}, "moves: -1, expected at least 0"),
    (mlsched.make_reference, {"pausing": 1}, "make_reference: pausing: 1, expected True or False"),
    (mlsched.run_suite, {"workers": 0}, "workers: 0, expected at least 1"),
    (mlsched.run_suite, {"resume": "yes"}, "run_suite: resume: 'yes', expected True or False"),
    (mlsched.worst_cases, {"most": 0}, "most: 0, expected at least 1"),
    (mlsched.from_networkx, {"tick_ms": -1}, "tick_ms: -1, expected at least 0"),
    (mlsched.check_scheduler, {"calls": -5}, "calls: -5, expected at least 0"),
    (mlsched.check_scheduler, {"examples": True}, "check_scheduler: examples: True, expected an integer"),
    (mlsched.check_scheduler, {"largest_gap": -0.1}, "largest_gap: -0.1, expected at least 0"),
    (mlsched.testing.check_metamorphic_relations, {"examples": 0}, "examples: 0, expected at least 1"),
    (mlsched.testing.clock_machine, {"stateful": "no"}, "clock_machine: stateful: 'no', expected True or False"),
]


@pytest.mark.parametrize(("function", "arguments", "said"), MEANINGLESS, ids=[said for *_, said in MEANINGLESS])
def test_an_argument_that_means_nothing_is_refused_before_anything_is_done(function, arguments, said):
    with pytest.raises(mlsched.InvalidInput, match=re.escape(said)):
        function(**arguments)


#: Annotations of numbers.
NUMBERS = re.compile(r"\b(int|float|Number|Positive|NotNegative|Share|Seed|Count)\b")


def numbers_and_truth_values(functions: Iterable[Callable[..., Any]]) -> Iterator[Any]:
    """Every argument that is a number or a truth value, with a value that is the other."""
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.annotation == "bool":
                yield pytest.param(function, name, 1, id=f"{function.__name__} {name}")
            elif re.fullmatch(NUMBERS.pattern + r"( \| None)?|Annotated\[(int|float), .*", parameter.annotation):
                yield pytest.param(function, name, True, id=f"{function.__name__} {name}")


PUBLIC = [getattr(there, name) for there in (mlsched, mlsched.testing) for name in there.__all__]
FUNCTIONS = dict.fromkeys(filter(inspect.isroutine, PUBLIC))


@pytest.mark.parametrize(("function", "name", "value"), list(numbers_and_truth_values(FUNCTIONS)))
def test_no_public_function_takes_a_truth_value_for_a_number_or_a_number_for_a_truth_value(function, name, value):
    with pytest.raises(mlsched.InvalidInput, match=f"{function.__name__}: {name}: {value}, expected"):
        function(**{name: value})


LOG = {"submit_time": [0, 60], "run_s": [600, 900], "gpus": [1, 8]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cluster": 5}, "workload: cluster: 5, expected a text or None"),
        ({"cluster": "2x(8gpu)", "read": 5}, "read: 5, expected a text, a dictionary or None"),
        ({"cluster": "12x8"}, "cluster '12x8': 12 nodes of 8 GPUs each are written 12x(8gpu)"),
        ({"cluster": "4 * 2 GPUs"}, "cluster '4 * 2 GPUs': 4 nodes of 2 GPUs each are written 4x(2gpu)"),
        ({"cluster": "v100=8,k80=16"}, "cluster 'v100=8,k80=16': here GPUs are in nodes, such as 2x(8gpu:v100)"),
        ({"cluster": " "}, "cluster: is empty; write for example 84x(32cpu,256gb,8gpu), or name a file of nodes"),
    ],
)
def test_a_wrong_cluster_says_what_it_must_be(options, said):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(mlsched.InvalidInput, match=r".*") as caught:
        mlsched.workload(pandas.DataFrame(LOG), **options)
    assert said in str(caught.value)


def test_runs_are_asked_rightly():
    work = mlsched.workload("synthetic:gangs", jobs=4)
    for wrong, said in (
        ({"scheduling_events": 5}, "scheduling_events: 5, expected a text or None"),
        ({"scheduling_events": ""}, "scheduling_events: '', expected 'events'"),
        ({"record": "a"}, "record: 'a', expected a"),
    ):
        with pytest.raises(mlsched.InvalidInput, match=said):
            mlsched.simulate(work, "fifo", **wrong)
