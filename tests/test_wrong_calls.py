"""Arguments of a wrong type end in one line that names the argument and what it must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mlsched
from mlsched.core.arguments import explained


def inst() -> mlsched.Instance:
    return mlsched.generate("quality", "small")


def result() -> mlsched.Result:
    return mlsched.solve(inst(), "slaq")


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: result().gap_to(5), "gap_to: reference = 5: must be a Result"),
    (lambda: result().gap_to(None), "gap_to: reference = None: must be a Result"),
    (lambda: mlsched.generate(["quality"]), "generate: problem = ['quality']: must be a text"),
    (lambda: mlsched.load(5), "load: path = 5: must be a path"),
    (lambda: mlsched.save(inst(), 5), "save: path = 5: must be a path"),
    (lambda: mlsched.save(result().plan, "p.json", instance=5), "save: instance = 5: must be an Instance or None"),
    (lambda: mlsched.pareto(inst(), 5), "pareto: objectives = 5: must be a list (each a text) or None"),
    (lambda: mlsched.pareto(inst(), time_limit="5"), "pareto: time_limit = '5': must be a number or None"),
    (lambda: mlsched.pareto(inst(), resume=5), "pareto: resume = 5: must be a path or None"),
    (lambda: mlsched.certify(inst(), 5), "certify: folder = 5: must be a path"),
    (lambda: mlsched.check_certificate(5), "check_certificate: folder = 5: must be a path"),
    (lambda: mlsched.sum_up(5), "sum_up: gaps = 5: must be a list (each a Gap)"),
    (lambda: mlsched.sum_up([0.5]), "sum_up: gaps = [0.5]: must be a list (each a Gap)"),
    (lambda: mlsched.gap_lines([5]), "gap_lines: rows = [5]: must be a list (each a Row)"),
    (lambda: mlsched.run_suite(5), "run_suite: suite = 5: must be a Suite or a text"),
    (lambda: mlsched.run_suite("preemption", store=5), "run_suite: store = 5: must be a path or None"),
    (lambda: mlsched.merge(5, "all.sqlite"), "merge: stores = 5: must be a list (each a path)"),
    (lambda: mlsched.judge(5), "judge: states = 5: must be a path"),
    (lambda: mlsched.read_reference(5), "read_reference: folder = 5: must be a path"),
    (lambda: mlsched.losses(5, 5), "losses: run = 5: must be a Run"),
    (lambda: mlsched.decompose(5), "decompose: run = 5: must be a Run"),
    (lambda: mlsched.worst_cases("slaq", 5), "worst_cases: instances = 5: must be a list (each an Instance) or a dict"),
    (lambda: mlsched.worst_cases("slaq", inst()), "must be a list (each an Instance) or a dictionary"),
    (lambda: mlsched.worst_cases("slaq", [inst()], most="1"), "worst_cases: most = '1': must be an integer"),
    (lambda: mlsched.plot_losses(5, "x.svg"), "plot_losses: losses = 5: must be a list (each a Loss)"),
    (lambda: mlsched.plot_runs(5, "x.svg"), "plot_runs: runs = 5: must be a list (each a Run) or a dictionary"),
    (lambda: mlsched.check_scheduler(5, "quality"), "check_scheduler: scheduler = 5: must be a text or a function"),
    (lambda: mlsched.check_scheduler("slaq", "quality", examples="9"), "examples = '9': must be an integer"),
    (lambda: mlsched.from_networkx(5, [{"gpu": 1}]), "graphs: must be a networkx graph for each job, one or a list"),
    (lambda: mlsched.from_networkx([], 5), "from_networkx: nodes = 5: must be a list (each a dictionary)"),
    (lambda: mlsched.start_in_order(5, 5), "start_in_order: snapshot = 5: must be a Snapshot"),
    (lambda: inst().evaluate(5), "evaluate: plan = 5: must be a Plan"),
    (lambda: inst().table(5), "table: plan = 5: must be a Plan"),
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


LOG = {"submit_time": [0, 60], "run_s": [600, 900], "gpus": [1, 8]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cluster": 5}, "workload: cluster = 5: must be a text or None"),
        ({"cluster": "2x(8gpu)", "read": 5}, "read = 5: must be a text, a dictionary or None"),
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
        ({"wake": 5}, "wake = 5: must be a text or None"),
        ({"record": "a"}, "record = 'a': must be a"),
    ):
        with pytest.raises(mlsched.InvalidInput, match=said):
            mlsched.simulate(work, "fifo", **wrong)


def test_an_error_from_inside_is_left_as_it_is():
    """Only where an argument is of another type than annotated is it blamed."""

    @explained
    def broken(number: int) -> int:
        return number + None

    with pytest.raises(TypeError, match="unsupported operand"):
        broken(5)
    with pytest.raises(mlsched.InvalidInput, match="broken: number = 'five': must be an integer") as caught:
        broken("five")
    assert isinstance(caught.value.__cause__, TypeError)
    with pytest.raises(TypeError, match="missing 1 required"):
        broken()


def test_types_that_are_unknown_at_run_time_blame_nobody():
    @explained
    def odd(thing: NotThere[str] | None, number: int):  # noqa: F821
        return thing.name + number

    with pytest.raises(AttributeError):
        odd(5, 6)
    with pytest.raises(mlsched.InvalidInput, match="odd: number = None: must be an integer"):
        odd(5, None)
