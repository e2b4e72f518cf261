"""Base classes of the environments: action masks, pictures, and names of observations and actions.

`InstanceEnv` is the base class of environments with one instance per episode.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Array, Data
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput
from mlsched.core.params import check_choice

#: Render modes: text, or a picture of the plan so far if the problem draws plans.
TEXT, PICTURE = "ansi", "rgb_array"


class MaskedEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc, unused-ignore]
    """Environment with actions that have no effect in some states.

    The mask of actions with an effect is in `info["action_mask"]` (int8). `action_masks()` returns it as booleans, as
    MaskablePPO of sb3-contrib requires. With `mask_observation=True`, observations are dictionaries of "observation"
    and "action_mask", as in RLlib and PettingZoo.

    `observation_names` names every index of a flat observation, and `action_names` every action.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [TEXT], "render_fps": 4}
    #: Options of `reset(options={...})`.
    reset_options: ClassVar[tuple[str, ...]] = ()

    def reset(self, *, seed: int | None = None, options: Data | None = None) -> Any:
        """Seed random draws and reject unknown options; subclasses then begin an episode."""
        reject_unknown_options(options, self.reset_options)
        return super().reset(seed=seed)

    def _declare_spaces(self, low: Any, high: Any, mask_observation: bool, render_mode: str | None) -> None:
        """Set the spaces: one float32 in [low, high] per name of an observation, and one action per action name.

        Args:
            low: Least values, a number or one per name.
            high: Greatest values, a number or one per name.
            mask_observation: Whether observations have the mask.
            render_mode: Render mode, or None.
        """
        if render_mode is not None:
            check_choice("render_mode", render_mode, tuple(self.metadata["render_modes"]))
        self.render_mode = render_mode
        size, actions = len(self.observation_names), len(self.action_names)
        ends = [np.broadcast_to(np.asarray(end, dtype=np.float32), (size,)) for end in (low, high)]
        flat = gymnasium.spaces.Box(*ends, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(actions)
        self.observation_space = seen_space(flat, actions, mask_observation)
        self._masked = mask_observation

    @property
    def observation_names(self) -> list[str]:
        """Return the names of the entries of a flat observation, in order."""
        raise NotImplementedError  # pragma: no cover - every environment defines it

    @property
    def action_names(self) -> list[str]:
        """Return descriptions of the actions, in order."""
        raise NotImplementedError  # pragma: no cover - every environment defines it

    def _action_mask(self) -> npt.NDArray[np.int8]:
        raise NotImplementedError  # pragma: no cover - every environment defines it

    def _index_of(self, action: Any) -> int:
        """Return the number of an action; reject others, because a negative number would count from the end."""
        last = int(self.action_space.n) - 1  # type: ignore[attr-defined, unused-ignore]
        try:
            number = operator.index(action)
        except TypeError:
            number = -1
        if not 0 <= number <= last:
            raise InvalidInput(f"step: action: {action!r}, expected an integer from 0 to {last}")
        return number

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the mask of actions with an effect, shape (actions,)."""
        return self._action_mask().astype(bool)

    def _with_mask(self, features: Any) -> Any:
        """Return the observation of features, with the mask if `mask_observation` is set."""
        return {"observation": features, "action_mask": self._action_mask()} if self._masked else features

    def render(self) -> Any:
        """Return the state as text ("ansi"), or the plan so far as bytes of shape (height, width, 3) ("rgb_array")."""
        if self.render_mode == TEXT:
            return self._state_as_text()
        if self.render_mode == PICTURE:
            return self._plan_as_picture()
        gymnasium.logger.warn("render: the environment was made without a render_mode; make it with 'ansi'")
        return None

    def _state_as_text(self) -> str:
        raise NotImplementedError  # pragma: no cover - every environment defines it

    def _plan_as_picture(self) -> Array:
        raise NotImplementedError  # pragma: no cover - environments with such a mode define it


def seen_space(flat: Any, actions: int, mask_observation: bool) -> Any:
    """Return the observation space: `flat`, or with `mask_observation` a dictionary with the mask of `actions`."""
    if not mask_observation:
        return flat
    return gymnasium.spaces.Dict({"observation": flat, "action_mask": gymnasium.spaces.MultiBinary(actions)})


def painted_plan(draw: Any, instance: Any, plan: Any) -> Array:
    """Return the picture of a plan as bytes, shape (height, width, 3)."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInput("render: pictures need matplotlib; pip install 'mlsched[plot]'") from None
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    draw(instance, plan, figure.subplots())
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


class InstanceEnv(MaskedEnv):
    """Environment with one instance per episode, drawn at random or from a given list.

    `reset(options={"instance": 3})` selects an entry of `instances`; `reset(options={"instance": inst})` sets `inst`.
    """

    reset_options = ("instance",)
    #: The given instances; None if each episode draws a new instance.
    _instances: list[Any] | None = None

    def reset(self, *, seed: int | None = None, options: Data | None = None) -> tuple[Any, Data]:
        """Begin with a new instance."""
        super().reset(seed=seed, options=options)
        self._begin_episode(self._requested_instance((options or {}).get("instance")))
        return self._with_mask(self._observation()), self._step_info()

    def _requested_instance(self, request: Any) -> Any:
        """Return the requested instance, the entry of that number, or for None a random instance."""
        instances = self._instances
        if request is None:
            return (
                self._random_instance(self.np_random)
                if instances is None
                else instances[int(self.np_random.integers(len(instances)))]
            )
        if isinstance(request, Instance):
            self._check_instance(request, "options: instance")
            return request
        if instances is None:
            raise InvalidInput("options: instance: was the environment made with instances? it draws its own")
        if type(request) is not int or not 0 <= request < len(instances):
            raise InvalidInput(
                f"options: instance: {request!r}, expected an instance, or a number from 0 to {len(instances) - 1}"
            )
        return instances[request]

    def _example_instance(self, kind: type[Any], problem: str) -> Any:
        """Return an instance for the sizes of the spaces; raise InvalidInput if the first entry is of another type."""
        if self._instances is None:
            return self._random_instance(np.random.default_rng(0))
        if not self._instances:
            raise InvalidInput("instances: expected at least one, or left out for random ones")
        if not isinstance(self._instances[0], kind):
            raise InvalidInput(f"instances[0]: is not an instance of {problem}")
        return self._instances[0]

    def _random_instance(self, rng: np.random.Generator) -> Any:
        raise NotImplementedError  # pragma: no cover - every environment defines it

    def _check_instance(self, inst: Any, name: str) -> None:
        """Raise InvalidInput, naming `name`, for an instance that cannot be an episode of this environment."""
        raise NotImplementedError  # pragma: no cover - every environment defines it

    def _begin_episode(self, inst: Any) -> None:
        raise NotImplementedError  # pragma: no cover - every environment defines it

    def _observation(self) -> Array:
        raise NotImplementedError  # pragma: no cover - every environment defines it

    def _step_info(self) -> Data:
        raise NotImplementedError  # pragma: no cover - every environment defines it


def reject_unknown_options(options: Data | None, known: tuple[str, ...] = ()) -> None:
    """Reject unknown options of `reset`, which users would otherwise assume to have an effect."""
    for name in options or {}:
        if name not in known:
            raise InvalidInput(f"reset: options: unknown '{name}'; it has {', '.join(known) or 'none'}")
