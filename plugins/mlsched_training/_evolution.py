"""Covariance matrix adaptation evolution strategy (CMA-ES) for a dozen numbers.

Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv:1604.00772, 2016, with its default settings.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import FloatArray


class Cma:
    """Search around `mean` with the standard deviation `sigma`; `ask` returns candidates, `tell` takes their values.

    `extra` is the number of candidates per generation beyond the default 4 + 3 ln n, for values with noise.
    """

    def __init__(self, mean: FloatArray, sigma: float, extra: int = 0) -> None:
        n = len(mean)
        self.mean, self.sigma, self.generation = np.array(mean, dtype=np.float64), sigma, 0
        self.path, self.sigma_path, self.covariance = np.zeros(n), np.zeros(n), np.eye(n)
        self.count = 4 + int(3 * np.log(n)) + extra
        best = self.count // 2
        share = np.log(best + 0.5) - np.log(np.arange(1, best + 1))
        self.share = share / share.sum()
        mu = 1 / float((self.share**2).sum())
        self.rate_sigma, self.rate_path = (mu + 2) / (n + mu + 5), (4 + mu / n) / (n + 4 + 2 * mu / n)
        self.rate_one = 2 / ((n + 1.3) ** 2 + mu)
        self.rate_mu = min(1 - self.rate_one, 2 * (mu - 2 + 1 / mu) / ((n + 2) ** 2 + mu))
        self.damping = 1 + 2 * max(0.0, ((mu - 1) / (n + 1)) ** 0.5 - 1) + self.rate_sigma
        self.usual_length = n**0.5 * (1 - 1 / (4 * n) + 1 / (21 * n * n))
        self.mu = mu

    def ask(self, rng: np.random.Generator) -> FloatArray:
        """Return the candidates of a generation, (candidates, numbers)."""
        scale, axes = self._axes()
        return self.mean + self.sigma * (rng.normal(size=(self.count, len(self.mean))) * scale @ axes.T)

    def tell(self, candidates: FloatArray, values: FloatArray) -> None:
        """Move towards the candidates with the smallest values."""
        n, self.generation = len(self.mean), self.generation + 1
        scale, axes = self._axes()
        steps = ((candidates - self.mean) / self.sigma)[np.argsort(values, kind="stable")[: len(self.share)]]
        step = self.share @ steps
        self.mean = self.mean + self.sigma * step
        # Discounted path of the mean, in coordinates in which the covariance is the identity.
        keep = 1 - self.rate_sigma
        self.sigma_path = keep * self.sigma_path + (1 - keep**2) ** 0.5 * self.mu**0.5 * (
            axes @ (axes.T @ step / scale)
        )
        length = float(np.linalg.norm(self.sigma_path)) / self.usual_length
        moves = length / (1 - keep ** (2 * self.generation)) ** 0.5 < 1.4 + 2 / (n + 1)
        # Path of the mean in the original coordinates; it pauses while the other path is long.
        keep = 1 - self.rate_path
        self.path = keep * self.path + moves * ((1 - keep**2) * self.mu) ** 0.5 * step
        lost_share = (1 - moves) * (1 - keep**2)
        # The old covariance, the update of rank one by the path, and that of rank mu by the best candidates.
        self.covariance = (
            (1 - self.rate_one - self.rate_mu) * self.covariance
            + self.rate_one * (np.outer(self.path, self.path) + lost_share * self.covariance)
            + self.rate_mu * (steps.T * self.share) @ steps
        )
        self.sigma *= float(np.exp(min(1.0, self.rate_sigma / self.damping * (length - 1))))

    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """Return the standard deviations along the covariance's axes, and the axes."""
        values, axes = np.linalg.eigh(self.covariance)
        return np.sqrt(np.maximum(values, 1e-12)), axes

    def state(self) -> dict[str, Array]:
        """Return everything that changes, as arrays by name."""
        numbers = np.array([self.sigma, self.generation])
        return {
            "mean": self.mean,
            "path": self.path,
            "sigma_path": self.sigma_path,
            "covariance": self.covariance,
            "numbers": numbers,
        }

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Return to a `state`."""
        for name in ("mean", "path", "sigma_path", "covariance"):
            setattr(self, name, np.array(state[name], dtype=np.float64))
        self.sigma, self.generation = float(state["numbers"][0]), int(state["numbers"][1])
