"""The registry: scanning, look-up by text, plug-ins of other packages, duplicates."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from preemption_examples import small

import mlsched
from mlsched import api
from mlsched.core import plugins
from mlsched.core import registry as module
from mlsched.core.errors import UnknownName
from mlsched.core.registry import Registry, registry, solver, solvers_in
from mlsched.core.solver import Solver

PACKAGE = Path(mlsched.__file__).parent


def fresh() -> Registry:
    """A registry filled anew, so that entry points put on the path by a test are seen (the cached one is untouched)."""
    plugins.clear_caches()
    found = registry.__wrapped__()
    found.available()
    return found


def test_the_scan_finds_every_file_that_declares_a_solver():
    """Looked for as text, which no import can hide."""
    declaring = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for layer in module.LAYERS
        for path in (PACKAGE / layer).glob("*/*.py")
        if re.search(r"^@(solver|exact_algorithm|model_builder)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    found = registry().available()
    assert {a.function.__module__ for a in found if a.function.__module__.startswith("mlsched.")} == declaring
    assert all(module.LAYERS[a.function.__module__.split(".")[1]] == a.kind for a in found)
    assert {a.problem for a in found} == set(registry().problems)


def test_available_lists_exact_first_and_filters():
    kinds = [a.kind for a in registry().available("preemption")]
    assert kinds == sorted(kinds, key=["exact", "heuristic", "trained"].index)
    rules = {path.stem for path in (PACKAGE / "heuristics" / "preemption").glob("[!_]*.py")}
    assert {a.name.replace("-", "_") for a in registry().available("preemption", "heuristic")} == rules
    assert registry().available("preemption", "trained") == []


def test_every_solver_says_what_it_does_and_where_it_is_from():
    for found in registry().available():
        assert found.summary.endswith(".") or found.summary, found.name
        assert found.kind == "exact" or found.paper, f"{found.name} names no paper"


def test_look_up_by_text_gives_the_parameters_that_are_not_at_their_default():
    found, values = registry().solver("preemption", "fitgpp:s=8,P=0")
    assert found.name == "fitgpp"
    assert values == {"s": 8.0}


def test_a_solver_is_found_in_the_file_of_its_name_and_stays_the_one_that_was_found():
    found = registry.__wrapped__()
    alone = found.solvers["preemption", "fitgpp"]
    assert found.solvers["preemption", "fitgpp"] is alone
    assert (alone.called, alone.function.__module__) == ("online", "mlsched.heuristics.preemption.fitgpp")
    assert [a for a in found.available("preemption") if a.name == "fitgpp"] == [alone]
    assert next(a for a in found.available("preemption") if a.name == "fitgpp") is alone
    assert found.solvers["preemption", "fitgpp"] is alone


@pytest.mark.parametrize("name", ["fitgp", "", "-", "_score", ".fitgpp", "fitgpp.x", "../fitgpp", "__init__", "FITGPP"])
def test_only_a_public_file_of_that_very_name_is_looked_into(name):
    assert registry.__wrapped__().solvers.get(("preemption", name)) is None


def test_a_solver_in_a_file_of_another_name_is_found():
    other = next(
        a for a in registry().available() if not a.function.__module__.endswith(f".{a.name.replace('-', '_')}")
    )
    assert registry.__wrapped__().solvers[other.problem, other.name].function is other.function


def test_unknown_names_list_the_known_ones():
    with pytest.raises(UnknownName, match=r"unknown problem 'tetris'; there are .*preemption"):
        registry().problem("tetris")
    with pytest.raises(UnknownName, match="unknown problem 'tetris'"):
        registry().solver("tetris", "fitgpp")
    with pytest.raises(
        UnknownName,
        match=r"unknown solver 'fitgp' for preemption \(did you mean 'fitgpp'\?\); there are brute-force, columns",
    ):
        registry().solver("preemption", "fitgp")
    with pytest.raises(UnknownName, match="unknown problem"):
        registry().available("tetris")


PLUGIN = '''
"""A rule of another package."""
from mlsched.core.registry import solver
from mlsched.instances.preemption import Plan

@solver("wait", problem="preemption", kind="heuristic", paper="none")
def answer(instance, *, rng, patience: int = 3):
    """Everybody waits."""
    return Plan(te_node=[-1] * len(instance.te_demand), victims=[])
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """`install(entry_points, **modules)`: a distribution on the path, as pip would have left it."""

    def put(points: str, **modules: str) -> None:
        for name, source in modules.items():
            (tmp_path / f"{name}.py").write_text(source)
        info = tmp_path / "plug_in-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[mlsched.solvers]\n{points}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    before = set(sys.modules)
    yield put
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]
    plugins.clear_caches()


@pytest.mark.parametrize("point", ["wait = plugin_a", "wait = plugin_a:answer"])
def test_an_entry_point_adds_a_solver(install, point):
    install(point, plugin_a=PLUGIN)
    found, values = fresh().solver("preemption", "wait:patience=5")
    assert values == {"patience": 5}
    assert found.kind == "heuristic"
    plan = found.function(small(), rng=np.random.default_rng(0), **values)
    assert small().violations(plan) == []
    assert ("preemption", "wait") not in registry().solvers, "the shared registry is untouched"


def test_a_broken_entry_point_is_named_and_the_rest_works(install):
    known = {a.name for a in registry().available("preemption")}
    install("bad = plugin_b\nwait = plugin_a", plugin_b="raise RuntimeError('no driver')", plugin_a=PLUGIN)
    with pytest.warns(UserWarning, match="plug-in 'bad' of mlsched.solvers is left out: RuntimeError: no driver"):
        found = fresh()
    assert {a.name for a in found.available("preemption")} == {*known, "wait"}


def test_an_entry_point_to_a_module_that_does_not_exist_is_named(install):
    install("gone = plugin_gone")
    with pytest.warns(UserWarning, match="plug-in 'gone' .* is left out: ModuleNotFoundError: No module named"):
        fresh()


def test_an_entry_point_that_declares_nothing_is_named(install):
    install("empty = plugin_c", plugin_c="x = 1")
    with pytest.warns(UserWarning, match="plug-in 'empty' of mlsched.solvers is left out: declares no solver"):
        fresh()


def test_a_duplicate_is_an_error(install):
    install("mine = plugin_d", plugin_d=PLUGIN.replace('"wait"', '"fitgpp"'))
    with pytest.raises(
        ValueError, match=r"\('preemption', 'fitgpp'\) registered twice: in mlsched\..*fitgpp and in plugin_d"
    ):
        fresh()
    with pytest.raises(mlsched.InvalidInput, match="registered twice"):
        Registry().solver("preemption", "fitgpp")
    assert Registry().solver("quality", "slaq")[0].name == "slaq", "other problems are not concerned"


def test_a_function_imported_from_elsewhere_is_not_declared_again():
    borrower = types.ModuleType("borrower")
    borrower.answer = registry().solvers["preemption", "fitgpp"].function
    assert solvers_in(borrower) == []


def test_adding_a_file_adds_a_solver(tmp_path, monkeypatch):
    import mlsched.heuristics.preemption as folder

    (tmp_path / "wait.py").write_text(PLUGIN.replace(', kind="heuristic"', ""))
    (tmp_path / "_private.py").write_text("raise RuntimeError('private modules are not scanned')")
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    folder.__spec__.submodule_search_locations.append(str(tmp_path))
    try:
        found, _ = fresh().solver("preemption", "wait")
    finally:
        folder.__spec__.submodule_search_locations.remove(str(tmp_path))
        sys.modules.pop("mlsched.heuristics.preemption.wait", None)
        vars(folder).pop("wait", None)
    assert found.kind == "heuristic", "the kind follows from the layer"


def test_the_kind_must_be_given_outside_mlsched():
    with pytest.raises(ValueError, match="solver 'x': kind must be given, one of exact, heuristic, trained"):

        @solver("x", problem="preemption")
        def answer(instance, *, rng): ...


def test_a_decorated_function_of_ones_own_can_be_solved_with():
    from mlsched.instances.preemption import Plan

    @solver("mine", problem="preemption", kind="heuristic")
    def answer(instance, *, rng, on: int = -1):
        return Plan(te_node=[on], victims=[2])

    assert api.solve(small(), answer).solver == "mine"
    assert api.solve(small(), answer, on=1).sort_keys == {
        "total_score": 1_000_000,
        "victim_count": 1,
        "max_grace_period": 0,
    }


def test_world_options_of_the_rules():
    def world(text: str) -> dict:
        found, values = registry().solver("preemption", text)
        return found.world_options(values)

    assert world("fifo") == {"te_first": False}
    assert world("fitgpp") == {}
    assert world("fitgpp:P=2") == {"preemption_limit": 2}
    assert world("cp-sat") == {}


def test_the_rules_that_aim_at_an_objective_warm_up_the_exact_solvers():
    assert all(registry().solvers["preemption", name].warm_start for name in ("fitgpp", "min-max-grace"))
    assert isinstance(registry().solvers["preemption", "fitgpp"], Solver)
    assert module.LAYERS == {
        "formulations": "exact",
        "solvers": "exact",
        "heuristics": "heuristic",
        "learned": "trained",
    }


@pytest.mark.parametrize("name", ["q", "q" * 10**6, "q\n" * 1000])
def test_what_is_said_of_an_unknown_name_is_a_line_of_300_signs(name):
    """The beginning of the list, in whole names, and how many more there are."""
    known = [a.name for a in registry().available("taskgraph")]
    with pytest.raises(UnknownName) as caught:
        registry().solver("taskgraph", name)
    said = str(caught.value)
    assert len(said) <= 300
    assert said.isprintable()
    listed, more = re.search(r" for taskgraph; there are (.*?)(?:, and (\d+) more)?$", said).groups()
    fitting = len(known) - int(more or 0)
    assert listed.split(", ") == known[:fitting]
    # The count of the others is given room for some digits.
    assert not more or len(f"{said}, {known[fitting]}") > 290, "a further name would have fitted"


IMPORTED = """
import sys
problems = ("taskgraph", "workers", "placement", "preemption", "quality")
print(*(name for name in problems if any(m.startswith("mlsched.") and name in m.split(".") for m in sys.modules)))
"""


def test_what_asks_for_one_problem_imports_no_other(tmp_path):
    """What has been imported stays: one process asks for one thing after the other."""
    file = tmp_path / "instance.json"
    mlsched.save(mlsched.generate("preemption", preset="small"), file)
    asked = (
        "mlsched.load(FILE)",
        "mlsched.save(mlsched.generate('preemption', preset='small'), FILE)",
        "mlsched.solve(mlsched.load(FILE), 'fitgpp')",
        "mlsched.solvers.available('preemption')",
        "mlsched.solve(mlsched.load(FILE), 'cp-sat')",
        "from mlsched.simulation import simulation; simulation('preemption')",
    )
    code = "\n".join([f"import mlsched\nFILE = {str(file)!r}", *(f"{line}\n{IMPORTED}" for line in asked)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert dict(zip(asked, done.stdout.splitlines(), strict=True)) == dict.fromkeys(asked, "preemption")


def test_problems_and_solvers_come_in_one_order_whatever_was_looked_up_first():
    one, other = registry.__wrapped__(), registry.__wrapped__()
    one.solver("workers", "dp")
    other.problem("quality")
    assert list(one.problems) == list(other.problems) == sorted(one.problems)
    assert list(one.solvers) == list(other.solvers)


def test_a_problem_lies_in_the_folder_of_its_name(monkeypatch):
    import mlsched.instances.quality as folder

    monkeypatch.setattr(folder, "PROBLEM", dataclasses.replace(folder.PROBLEM, name="others"))
    with pytest.raises(ValueError, match=r"mlsched\.instances\.quality: its problem is named 'others'"):
        registry.__wrapped__().problem("quality")


@pytest.mark.parametrize("name", ["", ".", "..", "/tmp/mine.toml", "quality.judge", "os.path"])
def test_a_name_of_a_user_is_no_name_of_a_module(name):
    assert name not in registry.__wrapped__().problems
