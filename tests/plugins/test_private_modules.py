"""Packages import only public modules of each other: a private one may change without notice."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mlsched

ROOT = Path(mlsched.__file__).parents[1]
PACKAGES = [ROOT / "mlsched", *sorted((ROOT / "plugins").glob("mlsched_*"))]


def imported(tree):
    """Yield the dotted name of each imported module or object."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_packages_import_only_public_modules_of_each_other(package):
    names = {other.name for other in PACKAGES} - {package.name}
    wrong = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in sorted(package.rglob("*.py"))
        for name in imported(ast.parse(file.read_text()))
        if name.partition(".")[0] in names and any(part.startswith("_") for part in name.split("."))
    ]
    assert wrong == []
