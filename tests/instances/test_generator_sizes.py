"""Generators refuse sizes that would fill the memory, in one line and at once."""

from __future__ import annotations

import pytest

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.params import parameters_of
from mlsched.core.registry import registry
from mlsched.simulation import every_simulation

GENERATORS = [
    (f"generate {name}", name, key)
    for name, problem in registry().problems.items()
    for key, parameter in parameters_of(problem.generate).items()
    if parameter.type is int and key not in ("most_jobs", "most_new")
]
SOURCES = [
    (f"{name}:{key}", world, name, key)
    for world in every_simulation()
    for name, source in world.sources.items()
    for key, parameter in parameters_of(source).items()
    if parameter.type is int and key not in ("seed",)
]


@pytest.mark.parametrize("value", [10**9, 10**400, 10**5000], ids=["giga", "huge", "beyond"])
@pytest.mark.parametrize(("problem", "key"), [g[1:] for g in GENERATORS], ids=[g[0] for g in GENERATORS])
def test_a_size_of_an_instance(problem, key, value):
    with pytest.raises(InvalidInput) as caught:
        mlsched.generate(problem, **{key: value})
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize(
    ("problem", "sizes"),
    [
        ("placement", {"servers": 10**5}),
        ("quality", {"jobs": 10**5, "cores": 10**5}),
        ("taskgraph", {"runs": 10**5, "nodes": 10**5}),
        ("workers", {"jobs": 10**5, "most_workers": 1000, "most_ps": 1000}),
    ],
)
def test_sizes_that_are_too_much_together(problem, sizes):
    with pytest.raises(InvalidInput, match="numbers: expected at most 10000000; reduce the size"):
        mlsched.generate(problem, **sizes)


@pytest.mark.parametrize(("world", "name", "key"), [s[1:] for s in SOURCES], ids=[s[0] for s in SOURCES])
def test_a_size_of_a_workload(world, name, key):
    with pytest.raises(InvalidInput) as caught:
        mlsched.workload(f"synthetic:{name}", world.problem, simulator=world.simulator or None, **{key: 10**400})
    assert len(str(caught.value)) <= 300


FURTHER = [
    (problem, next(iter(generator.presets)), key)
    for problem, entry in registry().problems.items()
    for generator in entry.horizons
    for key, parameter in parameters_of(generator.generate).items()
    if parameter.type is int
]


@pytest.mark.parametrize("value", [10**9, 10**400], ids=["giga", "huge"])
@pytest.mark.parametrize(("problem", "preset", "key"), FURTHER)
def test_a_size_of_a_further_form(problem, preset, key, value):
    with pytest.raises(InvalidInput) as refused:
        mlsched.generate(problem, preset, **{key: value})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("problem", sorted(registry().problems))
def test_a_presets_name_tells_the_form(problem):
    """No two forms of a problem share a preset's name; each preset makes an instance of a type of the problem."""
    entry = registry().problem(problem)
    names = [name for generator in entry.generators for name in generator.presets]
    assert len(names) == len(set(names))
    for generator in entry.horizons:
        for name in generator.presets:
            made = mlsched.generate(problem, name, seed=1)
            assert type(made) in entry.other_types
            assert made == mlsched.generate(problem, name, seed=1)
