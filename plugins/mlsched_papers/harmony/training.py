"""The trainings behind Table II, Figure 10 and the run at 30 machines, which the experiment performs.

mlsched does not include their weights. A training of the first two kinds takes about 150 CPU seconds, that for 30
machines about ten minutes, its reward model included.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mlsched.core.errors import InvalidFile
from mlsched.learned.weights import of
from mlsched_papers.harmony.grid import PATTERNS, RACK, TESTBED, Grid, Policy

FULL = "full recipe"
#: Table II: omitted technique -> parameters of the recipe.
TECHNIQUES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "without value network": {"value": "average"},
        "without exploration": {"explore": False},
        "without experience replay": {"replayed": False},
    }
)
#: Figure 10 (a) and (b); the full recipe has three layers of 196, 196 and 128 neurons.
NETWORKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "64 neurons": {"hidden": "64-64-64"},
        "128 neurons": {"hidden": "128-128-128"},
        "256 neurons": {"hidden": "256-256-256"},
        "1 hidden layer": {"hidden": "196"},
        "2 hidden layers": {"hidden": "196-196"},
        "4 hidden layers": {"hidden": "196-196-128-128"},
    }
)
#: Ours: the paper does not mention a permutation of slots and servers.
OTHERS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"without shuffling": {"shuffle": False}})
VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({FULL: {}, **TECHNIQUES, **NETWORKS, **OTHERS})
#: Exploration ends earlier than by default, so that more of a training is without it.
ANNEAL = 500
#: The policy for 30 machines: five times the slots and arrivals, with the samples per iteration of six servers.
LARGE: Mapping[str, Any] = MappingProxyType(
    {
        "servers": RACK,
        "new": 30,
        "running": 60,
        "rate": PATTERNS["uniform"] * RACK / TESTBED,
        "workers": 4,
        "minibatch": 160,
        "live": 1,
        "jobs": 300,
        "validation": 2,
        "every": 125,
        "span": 500,
        "anneal": 750,
    }
)
#: Its reward model: a placement on 30 servers has the speeds of five times as many jobs.
HISTORY: Mapping[str, Any] = MappingProxyType({"servers": RACK, "slots": 90, "samples": 3000})


def possible() -> bool:
    """Return whether trainings can be made: they need `mlsched_training`, and torch of the extra `learn`."""
    return all(importlib.util.find_spec(name) is not None for name in ("mlsched_training", "torch"))


def variants(grid: Grid, folder: Path) -> tuple[Policy, ...]:
    """Return the policies of Table II and Figure 10, trained into `folder` if missing; empty if not in the grid."""
    result = []
    for name, settings in VARIANTS.items() if grid.trainings else ():
        path = folder / f"{name.replace(' ', '-')}.safetensors"
        _once("harmony", path, iterations=grid.trainings, anneal=ANNEAL, **settings)
        result.append(Policy(name, f"harmony:weights={path}", "variant"))
    return tuple(result)


def large(grid: Grid, folder: Path) -> tuple[Policy, ...]:
    """Return the policy for 30 machines, trained into `folder` if missing; empty if the grid excludes it."""
    if not grid.rack_training:
        return ()
    model, path = folder / "harmony-reward-30.safetensors", folder / "harmony-30.safetensors"
    _once("harmony-reward", model, **HISTORY)
    _once("harmony", path, iterations=grid.rack_training, reward=str(model), **LARGE)
    return (Policy("harmony, trained for 30 servers", f"harmony:weights={path}", "trained"),)


def _once(policy: str, path: Path, **settings: Any) -> None:
    """Train a policy into a file, if the file is missing."""
    if not path.exists():
        from mlsched_training import train  # the other claims can be judged without it

        train(policy, output=path, **settings)


def untrained(policy: Policy) -> str:
    """Explain why a trained policy does not count as trained; "" if it does or has a foreign card."""
    name, _, path = policy.text.partition(":weights=")
    try:
        card = of(name, "placement", path).card
    except InvalidFile:
        return ""
    return "its training has not met the recipe's criterion" if card.get("trained") is False else ""
