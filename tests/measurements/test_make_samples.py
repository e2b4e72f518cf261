"""The sample traces are what `measurements/make_samples.py` makes."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

from mlsched.instances.traces import public

SCRIPT = Path(__file__).parents[2] / "measurements" / "make_samples.py"


def test_samples_are_what_their_recipe_makes():
    spec = importlib.util.spec_from_file_location("make_samples", SCRIPT)
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    assert set(recipe.SAMPLES) == set(public.CATALOGUE)
    for name, make in recipe.SAMPLES.items():
        assert gzip.decompress(public.sample(name).read_bytes()).decode() == make()
        assert public.sample(name).stat().st_size < 10_000
