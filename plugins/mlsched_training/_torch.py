"""torch, imported only when a training begins, and made repeatable."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.errors import InvalidInput

#: Tensor, loss or parameter of torch. mypy runs without torch, which is an optional dependency.
Tensor: TypeAlias = Any
#: Layers of torch by name.
Layers: TypeAlias = Mapping[str, Any]


def torch_module() -> Any:
    """Return the torch module, or raise InvalidInput with the remedy."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise InvalidInput("training needs torch, which is not installed: pip install 'mlsched[learn]'") from None


def choose_device(name: str) -> str:
    """Return "cpu" or "cuda"; "auto" selects the GPU if one is present."""
    module = torch_module()
    if name == "auto":
        return "cuda" if module.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda") or (name == "cuda" and not module.cuda.is_available()):
        raise InvalidInput(f"device: {name!r}, expected cpu, auto, or, on a machine with a GPU, cuda")
    return name


@contextlib.contextmanager
def repeatable_numbers() -> Iterator[None]:
    """Limit torch and NumPy to one thread within the block, and restore torch's random state after it.

    Sums over several threads may differ in the last bit. On such small products, several threads also take several
    times the CPU time of one, because they wait for each other.
    """
    from threadpoolctl import threadpool_limits

    module = torch_module()
    threads = module.get_num_threads()
    module.set_num_threads(1)
    try:
        with threadpool_limits(limits=1), module.random.fork_rng():
            yield
    finally:
        module.set_num_threads(threads)


def seed_torch(*words: int) -> None:
    """Seed torch's random numbers from several words."""
    torch_module().manual_seed(int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> np.uint64(1)))


def layer_state(layers: Layers) -> dict[str, Array]:
    """Return weights and biases of linear layers as arrays by name."""
    state = {}
    for name, layer in layers.items():
        state[f"{name}.weight"] = layer.weight.detach().cpu().numpy()
        state[f"{name}.bias"] = layer.bias.detach().cpu().numpy()
    return state


def restore_layers(layers: Layers, state: dict[str, Array]) -> None:
    """Restore the layers from a `layer_state`."""
    module = torch_module()
    with module.no_grad():
        for name, layer in layers.items():
            layer.weight.copy_(module.from_numpy(state[f"{name}.weight"].copy()))
            layer.bias.copy_(module.from_numpy(state[f"{name}.bias"].copy()))


def adam_state(optimiser: Any, parameters: list[Tensor]) -> dict[str, Array]:
    """Return the state of Adam as arrays by name."""
    state = {}
    for k, p in enumerate(parameters):
        moments = optimiser.state.get(p, {})
        for name in ("step", "exp_avg", "exp_avg_sq"):
            if name in moments:
                state[f"adam.{k}.{name}"] = moments[name].detach().cpu().numpy().astype(np.float32).reshape(-1)
    return state


def restore_adam(optimiser: Any, parameters: list[Tensor], state: dict[str, Array]) -> None:
    """Restore Adam from an `adam_state`."""
    module = torch_module()
    for k, p in enumerate(parameters):
        if f"adam.{k}.step" in state:
            optimiser.state[p] = {
                "step": module.tensor(float(state[f"adam.{k}.step"][0])),
                "exp_avg": module.from_numpy(state[f"adam.{k}.exp_avg"].copy()).reshape(p.shape).to(p.device),
                "exp_avg_sq": module.from_numpy(state[f"adam.{k}.exp_avg_sq"].copy()).reshape(p.shape).to(p.device),
            }
