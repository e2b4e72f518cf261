"""The public surface: every name and parameter that was promised is there, described, and has an example that runs.

`public_names.txt` is the promise. A name that goes, or a parameter, is announced first (CONTRIBUTING, Versions); a new
one is added by `python tests/test_public_names.py`.
"""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

import mlsched

PROMISED = Path(__file__).with_name("public_names.txt")
MODULES = ("mlsched", "mlsched.testing")
EXAMPLES = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def public(modules: Iterable[str] = MODULES) -> dict[str, Any]:
    """Name as users write it -> what it is."""
    found = {}
    for module in modules:
        there = importlib.import_module(module)
        found |= {f"{module}.{name}": getattr(there, name) for name in there.__all__}
    return found


def lines(name: str, thing: Any) -> list[str]:
    """A public name as the file has it: with its parameters, and of a class with its fields and methods."""
    if inspect.ismodule(thing) or not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return [name]
    if inspect.isroutine(thing):
        return [name + _parameters(thing)]
    fields = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    ours = {name for cls in thing.__mro__ if cls.__module__.startswith("mlsched") for name in vars(cls)}
    found = [name]
    for member in sorted(fields | ours):
        if not member.startswith("_"):
            value = getattr(thing, member, None)
            found.append(
                f"{name}.{member}" + (_parameters(value) if inspect.isroutine(value) and callable(value) else "")
            )
    return found


def _parameters(function: Any) -> str:
    """ "(instance, solver, *, objective=)": what may be given by name or place; what has a default may be left out."""
    shown = []
    star = False
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        star = star or p.kind is p.VAR_POSITIONAL
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        shown.append(f"{mark}{p.name}" + ("" if p.default is p.empty else "="))
    return f"({', '.join(shown)})"


def surface(modules: Iterable[str] = MODULES) -> list[str]:
    """All lines."""
    return sorted({line for name, thing in public(modules).items() for line in lines(name, thing)})


def test_nothing_public_went_or_changed_its_name() -> None:
    promised, there = PROMISED.read_text(encoding="utf-8").splitlines(), surface()
    gone = [line for line in promised if line not in there]
    assert not gone, f"{gone}: deprecate it first, or write what changed by `python {Path(__file__).name}`"
    new = [line for line in there if line not in promised]
    assert not new, f"{new}: new public names; `python tests/test_public_names.py` writes them down"


def test_a_renamed_parameter_or_method_is_noticed() -> None:
    def before(instance, *, seed=0): ...

    def after(question, *, seed=0): ...

    assert lines("f", before) == ["f(instance, *, seed=)"] != lines("f", after)
    assert any(line.startswith("mlsched.Result.gap_to(") for line in surface())


CALLABLE = {name: thing for name, thing in public().items() if inspect.isroutine(thing)}
DESCRIBED = {name: thing for name, thing in public().items() if inspect.isroutine(thing) or inspect.isclass(thing)}
#: Classes of mlsched.testing are what its functions return or raise; their examples are those of the functions.
WITH_EXAMPLE = [name for name, thing in DESCRIBED.items() if inspect.isroutine(thing) or name.count(".") == 1]


def arguments(thing: Any) -> list[str]:
    """The names in the section Args of a docstring."""
    section = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", inspect.getdoc(thing) or "", re.DOTALL | re.MULTILINE)
    return re.findall(r"^    (\w+): ", section[1], re.MULTILINE) if section else []


@pytest.mark.parametrize("name", CALLABLE)
def test_every_parameter_is_explained_once_in_order(name: str) -> None:
    parameters = [p for p in inspect.signature(CALLABLE[name]).parameters if p != "self"]
    assert arguments(CALLABLE[name]) == parameters


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_every_public_name_has_an_example_that_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    run_examples(DESCRIBED[name], name, {"mlsched": mlsched})


def run_examples(thing: Any, name: str, known: dict[str, Any]) -> None:
    """Run the examples in the docstring of what has that name; there are some."""
    found = [test for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs=known) if test.examples]
    assert found, f"{name}: write an example into its docstring"
    said: list[str] = []
    for test in found:
        doctest.DocTestRunner(optionflags=EXAMPLES).run(test, out=said.append)
    assert not said, "".join(said)


if __name__ == "__main__":
    PROMISED.write_text("\n".join(surface()) + "\n", encoding="utf-8")
    sys.exit(0)
