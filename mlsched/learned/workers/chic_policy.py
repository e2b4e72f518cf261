"""The common part of Chic and Chic-Pair: a small network over the paper's state takes one action after the other.

Paper: Gong, Li, Liang, Zhan, "Chic", IWQoS 2019, Sections 4.2 (state, actions), 4.4 (Chic-Pair) and 5 (network).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.workers import Instance, Plan
from mlsched.learned.net import Mlp, sample
from mlsched.learned.weights import Weights, of
from mlsched.simulation.workers.phase import FIELDS, Decision, Phase, decide, features

#: Interpretations of the void action: it may end the phase at any time; it is taken only if unavoidable; or it may be
#: taken at any time and skips a step.
VOIDS = ("ends", "forced", "waits")


def allowed_actions(mask: npt.NDArray[np.bool_], masked: bool, void: str) -> npt.NDArray[np.bool_]:
    """Return the actions that a policy may take, shape (..., actions), given `mask`, the actions with an effect.

    Args:
        mask: True for actions that change the allocation, shape (..., actions).
        masked: Allow only those; False allows all.
        void: "forced" allows the void action only if all other actions have no effect.
    """
    actions = mask.copy() if masked else np.ones_like(mask)
    if void == "forced":
        actions[..., -1] = ~mask[..., :-1].any(axis=-1)
    return actions


class Policy:
    """A trained Chic or Chic-Pair."""

    def __init__(self, weights: Weights, pair: bool) -> None:
        recipe, name = weights.card["recipe"], weights.source
        models, window = weights.card["data"].get("models"), recipe.get("window")
        if not isinstance(models, list) or not all(isinstance(m, str) for m in models):
            raise InvalidFile(f"{name}: its card does not name the training models it knows; train it again")
        if type(window) is not int or window < 1 or type(recipe.get("limit")) is not int:
            raise InvalidFile(f"{name}: its recipe lacks window or limit; train it again")
        self.models: tuple[str, ...] = tuple(models)
        self.masked, self.void = recipe.get("masked") is True, recipe.get("void")
        if self.void not in VOIDS:
            raise InvalidFile(f"{name}: void: {self.void!r}, expected one of {', '.join(VOIDS)}; train it again")
        self.phase = Phase(window=window, pair=pair, limit=recipe["limit"], void_ends=self.void != "waits")
        #: Used only for comparison with a request.
        self.variant = Variant(window, recipe.get("jobs"), recipe.get("rate"), recipe.get("protocol", SETTLED))
        self.net = Mlp(weights.tensors)
        sizes = (self.phase.feature_size(len(models)), self.phase.actions)
        if (self.net.inputs, self.net.outputs) != sizes:
            raise InvalidFile(
                f"{name}: its network is {self.net.inputs} -> {self.net.outputs}: its recipe "
                f"needs {sizes[0]} -> {sizes[1]}; train it again"
            )

    def plan(self, instance: Instance, rng: np.random.Generator, greedy: bool) -> Plan:
        """Allocate workers and PSs to the first `window` jobs; the others wait."""
        return self.decide(instance, rng, greedy).plan()

    def decide(self, instance: Instance, rng: np.random.Generator, greedy: bool = False) -> Decision:
        """Run the decision phase of `plan` to its end; `steps` counts its actions."""
        numbers = self._model_numbers(instance)

        def choose(decision: Decision) -> int:
            state = decision.state
            kinds = state[:-1:FIELDS]
            state[:-1:FIELDS] = np.where(kinds >= 0, numbers[kinds], -1)
            # The likeliest action would be repeated forever if it had no effect.
            actions = allowed_actions(decision.mask, self.masked or greedy, self.void)
            logits = np.where(actions, self.net(features(state, len(self.models))), -np.inf)
            return int(logits.argmax() if greedy else sample(logits, rng))

        return decide(instance, choose, self.phase)

    def _model_numbers(self, instance: Instance) -> IntArray:
        """Index by which the network knows each of the instance's models; refuses jobs of a model it does not know."""
        index = {name: k for k, name in enumerate(self.models)}
        numbers = np.array([index.get(name, -1) for name in instance.models], dtype=np.int64)
        window_models = instance.model[: self.phase.window]
        if len(window_models) and (numbers[window_models] < 0).any():
            name = instance.models[int(window_models[numbers[window_models] < 0][0])]
            raise InvalidInput(
                f"models: '{name}' is unknown to these weights ({', '.join(self.models)}); "
                "train one on your models and give its file as weights=, or use chic-plus"
            )
        return numbers


#: Protocols of a training (see `training/workers/_chic.py`). Files without an entry used the second.
PAPER, SETTLED = "paper", "settled"
Protocol = Literal["auto", "paper", "settled"]


class Variant(NamedTuple):
    """The training conditions of weights; in a request, 0 or "auto" leaves a value open.

    Attributes:
        window: I, jobs that the network sees.
        episode: W, jobs per episode.
        rate: Arrivals per hour.
        protocol: Rule that ends training and selects the weights.
    """

    window: int = 0
    episode: int = 0
    rate: float = 0.0
    protocol: str = "auto"

    @property
    def usual(self) -> Variant:
        """Return this variant with the paper's usual setting for each open value."""
        window, episode, rate = self.window or USUAL.window, self.episode or USUAL.episode, self.rate or USUAL.rate
        return Variant(window, episode, rate, USUAL.protocol if self.protocol == "auto" else self.protocol)

    @property
    def suffix(self) -> str:
        """Return the suffix of file names: only the values that differ from the usual setting."""
        *sizes, protocol = self.usual
        named_values = zip(("i", "w", "r"), sizes, USUAL[:3], strict=True)
        name_suffix = "".join(f"-{letter}{value:g}" for letter, value, usual in named_values if value != usual)
        return name_suffix + ("" if protocol == USUAL.protocol else f"-{protocol}")


#: Sections 5 and 6.1: the default setting.
USUAL = Variant(3, 30, 1.8, PAPER)
#: Other arrivals per hour, in Figure 4, and other numbers I of jobs, in Figure 7(b).
RATES, WINDOWS = (0.9, 1.35, 2.25, 2.7), (2, 4)
ALIKE = (USUAL, USUAL._replace(episode=60), *(USUAL._replace(rate=rate) for rate in RATES))
#: The weights that come with mlsched.
VARIANTS: dict[str, tuple[Variant, ...]] = {
    "chic": (*ALIKE, USUAL._replace(protocol=SETTLED)),
    "chic-pair": (
        *ALIKE,
        *(USUAL._replace(window=window, rate=rate) for window in WINDOWS for rate in (USUAL.rate, RATES[0], RATES[-1])),
        USUAL._replace(protocol=SETTLED),
    ),
}


@functools.lru_cache(maxsize=64)
def _cached_policy(weights: Weights, pair: bool) -> Policy:
    return Policy(weights, pair)


def shipped_weights(name: str, asked: Variant = USUAL) -> Weights:
    """Return the weights that come with mlsched for a variant."""
    usual = asked.usual
    if usual not in VARIANTS[name]:
        known = ", ".join(f"{one.window}, {one.episode}, {one.rate:g} and {one.protocol}" for one in VARIANTS[name])
        raise InvalidInput(
            f"{name}: window = {usual.window}, episode = {usual.episode}, rate = {usual.rate:g} and protocol = "
            f"{usual.protocol}, expected {known}; train others with `mlsched train {name} --set window="
            f"{usual.window} --set jobs={usual.episode} --set rate={usual.rate:g} --set protocol={usual.protocol}`"
        )
    return of(name, "workers", "", usual.suffix)


def policy(name: str, path: str, asked: Variant = USUAL) -> Policy:
    """Return the cached policy of a weights file, or for "" of the weights that come with mlsched."""
    cached_policy = _cached_policy(
        of(name, "workers", path) if path else shipped_weights(name, asked), name == "chic-pair"
    )
    for key, value, trained in zip(Variant._fields, asked, cached_policy.variant, strict=True):
        if path and value not in (0, "auto", trained):
            raise InvalidInput(f"{name}: {key} = {value}: {path} was trained for {trained}; leave it out")
    return cached_policy


def world(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that maps parameters to options of the simulated world: the policy's window of jobs."""
    return lambda params: {
        "window": policy(
            name,
            params["weights"],
            Variant(params.get("window", 0), params["episode"], params["rate"], params["protocol"]),
        ).phase.window
    }
