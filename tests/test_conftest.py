"""Which records of the trusted path are validated in tests: the part that `tests/conftest.py` promises."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import settings

from mlsched.core import record


@pytest.fixture
def begun(request, monkeypatch):
    """`begun(folder)`: what `validate_trusted` is where a test of this folder begins."""
    (plugin,) = (p for p in request.config.pluginmanager.get_plugins() if hasattr(p, "Sampled"))

    def begin(folder):
        monkeypatch.setattr(record, "validate_trusted", None)
        plugin.pytest_runtest_setup(SimpleNamespace(path=request.path.parent / folder / "test_it.py"))
        return record.validate_trusted

    return begin


def test_the_first_hundred_and_every_twentieth_after_them(begun):
    """Of each test anew, and so the same ones in every order of the tests."""
    if settings().max_examples >= 1000:
        pytest.skip("in the thorough profile each is validated")
    for _ in range(2):
        sampled = begun("api")
        validated = [number for number in range(1, 201) if sampled]
        assert validated == [*range(1, 101), 120, 140, 160, 180, 200]


@pytest.mark.parametrize("folder", ["core", "instances", "simulation/rounds"])
def test_each_where_records_and_worlds_are_tested(begun, folder):
    assert begun(folder) is True


def test_each_in_the_thorough_profile(begun):
    settings.register_profile("many", max_examples=1000)
    before = settings.get_current_profile_name()
    settings.load_profile("many")
    try:
        assert begun("api") is True
    finally:
        settings.load_profile(before)
