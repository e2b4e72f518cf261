"""Forward passes of small networks in NumPy, for the answers of trained policies."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidFile
from mlsched.core.fields import IntArray
from mlsched.learned.weights import Weights

Floats = npt.NDArray[np.float32]
#: Floats of any precision.
Reals = npt.NDArray[np.floating]


#: Multiplications of a product up to which OpenBLAS takes one thread.
ALONE = 2**18


def product_in_blocks(x: Reals, weight: Reals) -> Reals:
    """Compute `x @ weight`, shapes (rows, inputs) and (inputs, outputs), in blocks of rows on one thread.

    NumPy's library would split products of this size over all cores. The threads would wait for each other, which takes
    several times as long, or many times on a busy machine.
    """
    rows = max(1, ALONE // weight.size)
    if x.ndim != 2 or len(x) <= rows:
        return x @ weight
    result = np.empty((len(x), weight.shape[1]), dtype=np.result_type(x, weight))
    for first in range(0, len(x), rows):
        np.matmul(x[first : first + rows], weight, out=result[first : first + rows])
    return result


class Mlp:
    """A fully connected network with ReLU between its layers; float32.

    Its tensors are `<prefix><k>.weight` (outputs x inputs, as torch has them) and `<prefix><k>.bias` for k = 0, 1, ...
    """

    def __init__(self, tensors: Mapping[str, Floats], prefix: str = "", source: str = "weights") -> None:
        self.layers: list[tuple[Floats, Floats]] = []
        while (name := f"{prefix}{len(self.layers)}.weight") in tensors:
            bias = tensors.get(f"{prefix}{len(self.layers)}.bias", np.zeros(0, dtype=np.float32))
            self.layers.append((np.ascontiguousarray(tensors[name].T), bias))
        self._check_tensors(prefix, source)

    def _check_tensors(self, prefix: str, source: str) -> None:
        """Refuse tensors that do not fit together."""
        if not self.layers:
            raise InvalidFile(
                f"{source}: tensor '{prefix}0.weight' is missing: the file is of another policy; train it again"
            )
        outputs = None
        for k, (weight, bias) in enumerate(self.layers):
            if weight.ndim != 2 or bias.shape != weight.shape[1:] or outputs not in (None, weight.shape[0]):
                raise InvalidFile(f"{source}: shapes of layer {prefix}{k} do not fit: is of another policy")
            outputs = weight.shape[1]

    @property
    def inputs(self) -> int:
        """Return the number of entries of an input."""
        return int(self.layers[0][0].shape[0])

    @property
    def outputs(self) -> int:
        """Return the number of entries of an output."""
        return int(self.layers[-1][0].shape[1])

    def __call__(self, x: Reals) -> Reals:
        """Compute the outputs, shape (..., outputs), of inputs of shape (..., inputs)."""
        *hidden, (last, shift) = self.layers
        for weight, bias in hidden:
            x = product_in_blocks(x, weight)
            x += bias
            np.maximum(x, 0, out=x)
        return product_in_blocks(x, last) + shift


@functools.lru_cache(maxsize=16)
def scoring_network(weights: Weights, features: int) -> Mlp:
    """Build the network of these weights that scores rows of `features` entries."""
    net = Mlp(weights.tensors, source=weights.source or "weights")
    if (net.inputs, net.outputs) != (features, 1):
        raise InvalidFile(
            f"{weights.source}: its network is {net.inputs} -> {net.outputs}, expected {features} -> 1; train it again"
        )
    return net


def sample(logits: Reals, rng: np.random.Generator) -> IntArray:
    """Draw an index of the last axis from the softmax of `logits` (-inf: never), by the Gumbel-max method."""
    noise = rng.standard_exponential(logits.shape, dtype=np.float32)
    indices: IntArray = (logits - np.log(np.maximum(noise, np.finfo(np.float32).tiny))).argmax(axis=-1)
    return indices
