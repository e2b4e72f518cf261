"""A plug-in that fails, however it does, costs one line and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RULE = """
from mlsched.core.registry import solver
from mlsched.instances.preemption import Plan

@solver("wait", problem="preemption", kind="heuristic", paper="none")
def answer(instance, *, rng):
    return Plan(te_node=[-1] * len(instance.te_demand), victims=[])
"""
PROBLEM = '''
"""A problem of another distribution: preemption by another name."""
import dataclasses
from mlsched.instances import preemption

class Instance(preemption.Instance):
    kind, problem = "other.instance", "other"

def generate(rng, jobs: int = 3):
    made = preemption.generate(rng, jobs=jobs)
    object.__setattr__(made, "__class__", Instance)
    return made

PROBLEM = dataclasses.replace(
    preemption.PROBLEM, name="other", instance_type=Instance, generate=generate, presets={}, other_types=(), horizons=()
)
'''
RULE_OF_IT = """
from mlsched.core.registry import solver
from mlsched.instances.preemption import Plan

@solver("wait", problem="other")
def answer(instance, *, rng):
    return Plan(te_node=[-1] * len(instance.te_demand), victims=[])
"""
COMMAND = '''
def hello(name: str = "you") -> None:
    """Say hello."""
    print("hello", name)
'''


@pytest.fixture
def install(tmp_path):
    """`install(name, entry_points, **modules)`: a distribution on the path, as pip would have left it."""

    def put(name: str, points: str | bytes, **modules: str) -> None:
        for module, source in modules.items():
            path = tmp_path / f"{module.replace('.', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_bytes(points if isinstance(points, bytes) else points.encode())

    return put


@pytest.fixture
def mlsched(tmp_path, monkeypatch):
    """`mlsched("list", "solvers")`: the command in a process that sees what was installed: status, output, errors."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def call(*arguments: str) -> tuple[int, str, list[str]]:
        done = subprocess.run(
            [sys.executable, "-m", "mlsched", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr.splitlines()

    return call


BROKEN = {
    "exit": ("raise SystemExit(3)", "SystemExit: 3"),
    "error": ("1 / 0", "ZeroDivisionError: division by zero"),
    "base": ("class Strange(BaseException): pass\nraise Strange('two\\nlines')", "Strange: two lines"),
    "absent": ("import nobody_has_this", "ModuleNotFoundError: No module named 'nobody_has_this'"),
    "silent": ("class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute", "Mute"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_solver_whose_import_fails_is_one_line_and_the_rest_works(install, mlsched, how):
    source, said = BROKEN[how]
    install("broken", "[mlsched.solvers]\nbad = plugin_bad\n", plugin_bad=source)
    install("whole", "[mlsched.solvers]\nwait = plugin_wait\n", plugin_wait=RULE)
    status, out, errors = mlsched("list", "solvers", "--problem", "preemption")
    assert status == 0
    assert "wait: heuristic for preemption" in out
    assert "fitgpp: heuristic for preemption" in out
    assert len(errors) == 1
    assert errors[0].startswith(f"mlsched: note: plug-in 'bad' of mlsched.solvers is left out: {said}")


@pytest.mark.parametrize("where", ["other", "other.instances.__init__"])
def test_a_problem_whose_import_fails_is_one_line_and_the_rest_works(install, mlsched, where):
    modules = {"other.__init__": "", "other.instances.__init__": PROBLEM, where: "raise SystemExit(3)"}
    modules = {name + ("" if "." in name else ".__init__"): source for name, source in modules.items()}
    install("broken", "[mlsched.problems]\nother = other\n", **modules)
    status, out, errors = mlsched("list", "problems")
    assert status == 0
    assert "preemption: " in out
    assert "other" not in out
    assert len(errors) == 1
    assert "is left out: SystemExit: 3" in errors[0]


def test_a_problem_of_another_distribution_is_found_with_its_solvers(install, mlsched):
    modules = {"other.__init__": "", "other.instances.__init__": PROBLEM, "other.heuristics.__init__": ""}
    install("whole", "[mlsched.problems]\nother = other\n", **modules, **{"other.heuristics.wait": RULE_OF_IT})
    assert mlsched("generate", "other", "-o", "instance.json")[::2] == (0, [])
    status, out, errors = mlsched("solve", "instance.json", "--solver", "wait", "--json")
    assert (status, errors) == (0, [])
    assert '"problem": "other"' in out


def test_a_rule_of_a_problem_that_fails_is_left_out_alone(install, mlsched):
    modules = {"other.__init__": "", "other.instances.__init__": PROBLEM, "other.heuristics.__init__": ""}
    rules = {"other.heuristics.wait": RULE_OF_IT, "other.heuristics.bad": "raise SystemExit(3)"}
    install("broken", "[mlsched.problems]\nother = other\n", **modules, **rules)
    status, out, errors = mlsched("list", "solvers", "--problem", "other")
    assert (status, len(errors)) == (0, 1)
    assert out.startswith("wait: heuristic for other")
    assert "other.heuristics.bad is left out: SystemExit: 3" in errors[0]


def test_a_command_that_fails_is_one_line_and_the_others_work(install, mlsched):
    install(
        "broken", "[mlsched.commands]\nbad = plugin_bad:hello\nodd = plugin_odd\n", plugin_bad="import sys; sys.exit(3)"
    )
    install("whole", "[mlsched.commands]\nhello = plugin_hello:hello\n", plugin_hello=COMMAND)
    status, out, errors = mlsched("--help")
    assert status == 0
    assert "Say hello." in out
    assert [line.partition("mlsched.commands ")[2] for line in errors] == [
        "is left out: SystemExit: 3 (plugin_bad.py, line 1)",
        "is left out: ModuleNotFoundError: No module named 'plugin_odd'",
    ]
    assert mlsched("hello", "--name", "world") == (0, "hello world\n", [])
    assert mlsched("list", "suites")[::2] == (0, [])
    status, _, errors = mlsched("bad")
    assert status == 2
    assert "SystemExit: 3" in errors[0]


def test_a_command_of_ours_is_not_replaced(install, mlsched):
    install("proud", "[mlsched.commands]\nsolve = plugin_hello:hello\n", plugin_hello=COMMAND)
    status, out, errors = mlsched("--help")
    assert (status, len(errors)) == (0, 1)
    assert "Say hello." not in out
    assert "plug-in 'solve' of mlsched.commands is left out: there is a command of that name" in errors[0]


MALFORMED = [
    b"[mlsched.solvers]\nno equals sign\n",
    b"[mlsched.solvers]\nbad = \xff\xfe\n",
    b"[console_scripts]\nnothing\n",
]


@pytest.mark.parametrize("content", MALFORMED)
def test_malformed_entry_points_of_a_distribution_are_one_line_and_the_rest_works(install, mlsched, content):
    install("malformed", content)
    install("whole", "[mlsched.solvers]\nwait = plugin_wait\n", plugin_wait=RULE)
    status, out, errors = mlsched("list", "solvers", "--problem", "preemption")
    assert status == 0
    assert "wait: heuristic for preemption" in out
    assert len(errors) == 1
    assert "what malformed-1.0.dist-info declares is left out: " in errors[0]


def test_ctrl_c_during_an_import_still_interrupts(install, mlsched):
    install("slow", "[mlsched.solvers]\nslow = plugin_slow\n", plugin_slow="raise KeyboardInterrupt")
    status, _, errors = mlsched("list", "solvers")
    assert status == 130
    assert errors[-1] == "mlsched: interrupted"


def test_what_the_distribution_declares_is_there():
    """Of the packages beside this one, where they are installed: each entry point loads."""
    from mlsched.core import plugins

    assert all(plugins.load_point(point) is not None for point in plugins.declared_points())
    assert Path(plugins.__file__).name == "plugins.py"
