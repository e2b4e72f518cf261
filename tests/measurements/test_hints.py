"""A slice of the measurement of hints: an answer is never worse than what was known, nor than without its hint."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from draws import draws

FILE = Path(__file__).resolve().parents[2] / "measurements" / "hints.py"


@pytest.fixture(scope="module")
def hints():
    sys.path.insert(0, str(FILE.parent))
    spec = importlib.util.spec_from_file_location("hints_measured", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["hints_measured"] = module
    spec.loader.exec_module(module)
    sys.path.remove(str(FILE.parent))
    yield module
    del sys.modules["hints_measured"]


@pytest.mark.parametrize("number", range(draws(5, 40)))
def test_a_hint_costs_nothing(hints, number, monkeypatch):
    monkeypatch.setattr(hints, "PRESETS", dict.fromkeys(hints.PRESETS, ("small",)))
    found = hints.draw(number, seed=3)
    if found is None:
        return
    assert found.worse_than == ""
    assert found.ratio <= 1 + hints.SLACK


def test_the_ratio_says_how_much_worse(hints):
    assert hints.ratio(110, 100, minimise=True) == hints.ratio(100, 110, minimise=False) == 1.1
    assert hints.ratio(0, 0, minimise=True) == 1.0
    assert hints.ratio(1, 0, minimise=True) == float("inf")
