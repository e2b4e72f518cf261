"""Write docs/reference/api.md from `__all__` of the public modules: `python tools/make_api.py`."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "api.md"
HEAD = """# API

<!-- keywords: api, python, functions, classes, mlsched.solve, mlsched.simulate -->

The public names of the Python packages, with arguments, units and errors. Only these names are covered by the
[versioning promise](../contribute/index.md); [internals](internals/index.md) describes further names for people who
extend mlsched. This page is generated from `__all__` by `python tools/make_api.py`.
"""
#: Module -> its contents in a sentence.
MODULES = {
    "mlsched": "Instances, solvers, gaps, fronts, certificates, runs and benchmarks.",
    "mlsched.testing": "Checks for schedulers of your own; the guide is [Test a scheduler](../guides/testing.md).",
    "mlsched_admission": "Decisions of Kueue, Kubernetes, KAI and Slurm against the optimum.",
    "mlsched_training": "Training of policies; it needs the extra `learn`.",
    "mlsched_papers": "The papers' evaluations and their claims.",
}
#: Names whose entry lists only some members.
MEMBERS = {"mlsched_admission.Judgement": "accepted, to_json"}


def page() -> str:
    """Return the Markdown of the page."""
    lines, written = [HEAD.rstrip()], set[int]()
    for name, contents in MODULES.items():
        module = importlib.import_module(name)
        lines += ["", f"## {name}", "", contents]
        for title, entries in _kinds(module, written).items():
            lines += ["", f"### {title}" if name == "mlsched" else "", "", "```{eval-rst}"] if entries else []
            lines += ["\n\n".join(entries), "```"] if entries else []
    return "\n".join(lines).replace("\n\n\n\n", "\n\n").replace("\n\n\n", "\n\n") + "\n"


def _kinds(module: ModuleType, written: set[int]) -> dict[str, list[str]]:
    """Return the entries of functions, classes and errors that no module before had; `written` grows by them."""
    found: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": []}
    for name in module.__all__:
        thing = getattr(module, name)
        if id(thing) in written or not (inspect.isclass(thing) or inspect.isroutine(thing)):
            continue
        written.add(id(thing))
        full = f"{module.__name__}.{name}"
        error = inspect.isclass(thing) and issubclass(thing, Exception)
        kind = "exception" if error else "class" if inspect.isclass(thing) else "function"
        title = {"exception": "Errors", "class": "Classes", "function": "Functions"}[kind]
        members = f"\n   :members: {MEMBERS[full]}" if full in MEMBERS else ""
        found[title].append(f".. auto{kind}:: {full}{members}")
    return found


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
