"""Every public name is in the reference and says what it is."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest
from documentation import DOCS

#: The modules whose `__all__` is promised to users.
PUBLIC = (
    "mlsched",
    "mlsched.api",
    "mlsched.testing",
    "mlsched.solvers",
    "mlsched.solvers.front",
    "mlsched.simulation",
    "mlsched.simulation.bound",
    "mlsched.simulation.taskgraph.iterations",
    *(
        f"mlsched.{layer}.{problem}"
        for layer in ("instances", "simulation")
        for problem in ("preemption", "placement", "quality", "taskgraph", "workers")
    ),
    "mlsched.instances.taskgraph.files",
    "mlsched.instances.traces",
    "mlsched_training",
    "mlsched_papers",
    "mlsched_papers.findings",
)
ENTRY = re.compile(r"\.\. auto(?P<kind>\w+):: (?P<name>[\w.]+)")
ENTRIES = [
    (entry["name"], entry["kind"])
    for page in sorted((DOCS / "reference").rglob("*.md"))
    for entry in ENTRY.finditer(page.read_text(encoding="utf-8"))
]


def found(name: str) -> Any:
    """The object of a full name: a module, or what a module holds."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return getattr(found(module), last)


def described(module: Any, name: str) -> bool:
    """Whether a name of a module has a text of its own; a constant has one in the comment or string beside it."""
    thing = getattr(module, name)
    if inspect.isclass(thing):
        return bool(vars(thing).get("__doc__")) and not str(thing.__doc__).startswith(f"{thing.__name__}(")
    return bool(inspect.getdoc(thing))


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_in_the_reference(module: str) -> None:
    named = {name for name, _ in ENTRIES}
    shown = [thing for name in named if inspect.isclass(thing := found(name)) or inspect.isroutine(thing)]
    home = importlib.import_module(module)
    for name in home.__all__:
        thing = getattr(home, name)
        there = f"{module}.{name}" in named or any(thing is other for other in shown) or inspect.ismodule(thing)
        assert there, f"{module}.{name}: write an entry for it into docs/reference/"


def lacking(name: str, kind: str) -> list[str]:
    """What of an entry has no text: the object itself, or methods of a class that are written in it."""
    thing = found(name)
    if kind in ("data", "module"):
        return [] if kind == "data" or thing.__doc__ else [name]
    module, _, last = name.rpartition(".")
    own = vars(thing).items() if inspect.isclass(thing) else ()
    methods = [
        f"{name}.{method}"
        for method, value in own
        if not (method.startswith("_") or inspect.ismemberdescriptor(value))  # a field of a class with slots
        and (isinstance(value, (property, classmethod)) or getattr(value, "__qualname__", "").startswith(f"{last}."))
        and not inspect.getdoc(getattr(thing, method))
    ]
    return methods if described(found(module), last) else [name, *methods]


def test_nothing_is_described_twice() -> None:
    twice = {entry for entry in ENTRIES if ENTRIES.count(entry) > 1}
    assert not twice


def test_what_the_reference_names_exists_and_says_what_it_is() -> None:
    assert [name for entry in ENTRIES for name in lacking(*entry)] == []
