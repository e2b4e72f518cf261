"""The plug-ins' public surface: every name and parameter that was promised is there (`test_public_names.py`)."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # where this file is run to write the names down
from test_public_names import run_examples, surface

import mlsched
import mlsched_admission

MODULES = ("mlsched_admission", "mlsched_papers", "mlsched_training")
PROMISED = Path(__file__).with_name("public_names.txt")


def test_nothing_public_went_or_changed_its_name() -> None:
    promised, there = PROMISED.read_text(encoding="utf-8").splitlines(), surface(MODULES)
    gone = [line for line in promised if line not in there]
    assert not gone, f"{gone}: deprecate it first, or write what changed by `python {Path(__file__).name}`"
    new = [line for line in there if line not in promised]
    assert not new, f"{new}: new public names; `python tests/plugins/test_plugin_names.py` writes them down"


@pytest.mark.parametrize("package", MODULES)
def test_a_name_that_there_is_not(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'solv'"):
        getattr(importlib.import_module(package), "solv")  # noqa: B009


def test_the_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(mlsched_admission.judge, "judge", {"mlsched": mlsched, "mlsched_admission": mlsched_admission})


if __name__ == "__main__":
    PROMISED.write_text("\n".join(surface(MODULES)) + "\n", encoding="utf-8")
