"""Batched, bounded, weighted least squares of u ~ A g(x; theta) + d for thousands of small problems.

Variable projection (Golub and Pereyra 1973, with Kaufman's Jacobian): for given shape parameters theta, the best
amplitude A >= 0 and asymptote d in [low, high] have a closed form, so that Levenberg-Marquardt searches theta only: one
parameter for the superlinear family, two for the sublinear family. Bounds on theta are enforced by projection. A
component at its bound that would leave it is frozen for that step.

All values are scaled: x and u of the fitted history are in [0, 1]. Arrays are (H, N): observations by problems.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray

Theta = FloatArray
"""(P, N) shape parameters: P = 1 (rate) or 2 (first, second)."""

_SETTLED = 1e-9  # relative decrease of the squared error below which a problem has converged
_ROUNDING = 1e-20  # mean squared error that is only rounding, for u in [0, 1]
_DAMPED = 1e9  # damping beyond which further steps do not help


@dataclass(frozen=True)
class Shape:
    """Family of shapes g(x; theta) with g(0) = 1, decreasing in x and in every component of theta.

    Attributes:
        value: (x, theta) -> g.
        slopes: (x, g) -> -dg/dtheta, one array per component.
        starts: Initial candidates for theta, shape (S, P).
        low: Lower bounds on theta, shape (P,).
        high: Upper bounds on theta, shape (P,).
    """

    value: Callable[[FloatArray, Theta], FloatArray]
    slopes: Callable[[FloatArray, FloatArray, FloatArray], list[FloatArray]]
    starts: FloatArray
    low: FloatArray
    high: FloatArray


def _rational(x: FloatArray, theta: Theta) -> FloatArray:
    q = theta[1] * x
    q += theta[0]
    q *= x
    q += 1.0
    return np.asarray(np.reciprocal(q, out=q))


def _rational_slopes(x: FloatArray, g: FloatArray, xg: FloatArray) -> list[FloatArray]:
    first = xg * g
    return [first, first * x]


def _exponential(x: FloatArray, theta: Theta) -> FloatArray:
    power = x * -theta[0]
    return np.asarray(np.exp(power, out=power))


def _exponential_slopes(x: FloatArray, g: FloatArray, xg: FloatArray) -> list[FloatArray]:
    return [xg]


# Interior points, where both components can move: from second = 0 the search stays at that edge more often.
_STARTS = [(0.3, 0.3), (0.3, 0.05), (1, 1), (3, 0.5), (2, 4), (10, 5), (60, 60), (600, 600)]
_STARTS += [(0.1, 5), (0.1, 60), (14, 50), (80, 1600)]
#: 1 / (1 + first x + second x^2)
RATIONAL = Shape(
    _rational, _rational_slopes, np.array(_STARTS, dtype=np.float64), np.array([0.0, 0.0]), np.array([1e6, 1e10])
)
_RATES = [[0.1], [0.7], [1.6], [3.5], [7.0], [15.0], [40.0], [150.0]]
#: exp(-rate x)
EXPONENTIAL = Shape(_exponential, _exponential_slopes, np.array(_RATES), np.array([1e-6]), np.array([1e4]))


@dataclass
class Problems:
    """Data of N problems, and the sums that do not depend on theta.

    Attributes:
        x: Abscissae, shape (H, N).
        u: Ordinates, shape (H, N).
        w: Weights, shape (H, N); 0 on padding.
        low: Lower bounds on the asymptote d, shape (N,).
        high: Upper bounds on the asymptote d, shape (N,).
    """

    x: FloatArray
    u: FloatArray
    w: FloatArray
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        self.wu = self.w * self.u
        self.wx = self.w * self.x
        self.sw = self.w.sum(axis=0)
        self.su = self.wu.sum(axis=0)
        self.suu = sum_products(self.wu, self.u)

    def take(self, keep: npt.NDArray[np.int64]) -> Problems:
        """Select the problems with indices `keep`."""
        x, u, w = (np.ascontiguousarray(a[:, keep]) for a in (self.x, self.u, self.w))
        return Problems(x, u, w, self.low[keep], self.high[keep])


@dataclass
class Linear:
    """Best amplitude A and asymptote d for given shapes, with the sums behind them; all of shape (N,)."""

    amplitude: FloatArray
    asymptote: FloatArray
    free: npt.NDArray[np.bool_]  # d is strictly within its bounds
    sg: FloatArray
    sgg: FloatArray
    sse: FloatArray  # from the normal equations: exact enough for ranking only


def sum_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Sum a * b over observations."""
    return np.asarray(np.einsum("hn,hn->n", a, b))


def solve_linear(p: Problems, g: FloatArray) -> Linear:
    """Solve the bounded least squares in A and d: the interior solution, or the best of the three edges."""
    sg, sgg, sgu = sum_products(p.w, g), sum_products(p.w * g, g), sum_products(p.wu, g)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        det = p.sw * sgg - sg * sg
        a = (p.sw * sgu - sg * p.su) / det
        d = (sgg * p.su - sg * sgu) / det
        inside = (det > 1e-13 * p.sw * sgg) & (a >= 0) & (d >= p.low) & (d <= p.high)
        flat = np.clip(p.su / p.sw, p.low, p.high)
        a, d = np.where(inside, a, 0.0), np.where(inside, d, flat)
        sse = _error(p, sg, sgg, sgu, a, d)
        for bound in () if inside.all() else (p.low, p.high):
            edge = np.maximum((sgu - bound * sg) / sgg, 0.0)
            error = _error(p, sg, sgg, sgu, edge, bound)
            better = ~inside & (error < sse)
            a, d, sse = np.where(better, edge, a), np.where(better, bound, d), np.where(better, error, sse)
    return Linear(a, d, inside, sg, sgg, sse)


def _error(p: Problems, sg: FloatArray, sgg: FloatArray, sgu: FloatArray, a: FloatArray, d: FloatArray) -> FloatArray:
    """Return the weighted sum of squares of a g + d - u for each problem, from sums of products.

    Args:
        p: Problems, with the sums of w, w u and w u u.
        sg, sgg, sgu: Sums of w g, w g g and w g u.
        a, d: Coefficients.
    """
    return np.asarray(p.suu - 2 * a * sgu - 2 * d * p.su + a * a * sgg + 2 * a * d * sg + d * d * p.sw)


def best_start(shape: Shape, p: Problems, theta: Theta | None, high: Theta) -> Theta:
    """Return the best start for each problem: `theta` if it is not NaN, else the best of the shape's candidates."""
    best = np.repeat(shape.starts[:1].T, len(p.low), axis=1)
    smallest = np.full(len(p.low), np.inf)
    for candidate in [c[:, None] for c in shape.starts] if theta is None else [theta]:
        candidate_theta = np.minimum(np.broadcast_to(candidate, best.shape), high)
        error = solve_linear(p, shape.value(p.x, candidate_theta)).sse
        better = error < smallest
        best, smallest = np.where(better, candidate_theta, best), np.where(better, error, smallest)
    return best


def levenberg_marquardt(shape: Shape, p: Problems, theta: Theta, high: Theta, steps: int) -> tuple[Theta, Linear]:
    """Run at most `steps` steps of Levenberg-Marquardt from `theta` (P, N).

    Args:
        shape: Family of shapes.
        p: The problems.
        theta: Start, shape (P, N).
        high: Upper bounds on theta, shape (P, N).
        steps: Maximum number of steps.

    Returns:
        Final theta, shape (P, N), and the linear part there.
    """
    theta = theta.copy()
    damping = np.full(theta.shape[1], 1e-3)
    active = np.arange(theta.shape[1])
    q, current, top = p, theta.copy(), high
    g = shape.value(q.x, current)
    fit = solve_linear(q, g)
    r = q.u - fit.amplitude * g - fit.asymptote
    sse = sum_products(q.w * r, r)
    for _ in range(steps):
        move = _damped_step(shape, q, g, r, fit, current, top, damping)
        proposal = np.clip(current + move, shape.low[:, None], top)
        g2 = shape.value(q.x, proposal)
        fit2 = solve_linear(q, g2)
        r2 = q.u - fit2.amplitude * g2 - fit2.asymptote
        sse2 = sum_products(q.w * r2, r2)
        good = sse2 < sse
        current = np.where(good, proposal, current)
        converged = (np.abs(sse - sse2) <= _SETTLED * sse) | (sse <= _ROUNDING * q.sw) | (damping > _DAMPED)
        damping = np.where(good, damping * 0.1, damping * 8.0)
        if converged.any():
            theta[:, active] = current
            remaining = np.flatnonzero(~converged)
            if not remaining.size:
                break
            if remaining.size < 0.7 * len(active):
                active, current, top = active[remaining], current[:, remaining], top[:, remaining]
                damping, q = damping[remaining], q.take(remaining)
                g = shape.value(q.x, current)
                fit = solve_linear(q, g)
                r = q.u - fit.amplitude * g - fit.asymptote
                sse = sum_products(q.w * r, r)
                continue
        if good.all():
            g, r, fit, sse = g2, r2, fit2, sse2
        else:
            g, r = np.where(good, g2, g), np.where(good, r2, r)
            fit = _merge_linear(good, fit2, fit)
            sse = np.where(good, sse2, sse)
    theta[:, active] = current
    return theta, solve_linear(p, shape.value(p.x, theta))


def _merge_linear(good: npt.NDArray[np.bool_], new: Linear, old: Linear) -> Linear:
    names = ("amplitude", "asymptote", "free", "sg", "sgg", "sse")
    return Linear(*(np.where(good, getattr(new, name), getattr(old, name)) for name in names))


def _damped_step(
    shape: Shape, p: Problems, g: FloatArray, r: FloatArray, lin: Linear, theta: Theta, high: Theta, damping: FloatArray
) -> Theta:
    """Compute the Levenberg-Marquardt step in theta, shape (P, N).

    The step is 0 if the amplitude is 0, because theta is then undetermined.
    """
    slopes = shape.slopes(p.x, g, p.x * g)
    weighted = [p.w * v for v in slopes]
    with np.errstate(all="ignore"):
        grad = [sum_products(wv, r) for wv in weighted]
        project = _projection(p, g, lin, weighted)
        scale = [sum_products(wv, v) for wv, v in zip(weighted, slopes, strict=True)]
        # A step is infeasible if its component is at a bound and moves outwards; such a component is frozen.
        stuck = [
            (theta[i] <= shape.low[i]) & (grad[i] > 0) | (theta[i] >= high[i]) & (grad[i] < 0)
            for i in range(len(slopes))
        ]
        diagonal = [s - project(i, i) + damping * s for i, s in enumerate(scale)]
        if len(slopes) == 1:
            steps = [np.where(stuck[0], 0.0, -grad[0] / diagonal[0])]
        else:
            cross = np.where(stuck[0] | stuck[1], 0.0, sum_products(weighted[0], slopes[1]) - project(0, 1))
            b0, b1 = np.where(stuck[0], 0.0, -grad[0]), np.where(stuck[1], 0.0, -grad[1])
            slack = [(shape.low[i] - theta[i]) * lin.amplitude for i in (0, 1)]
            steps = _step_of_two(diagonal, cross, (b0, b1), slack)
        return np.nan_to_num(np.array(steps) / lin.amplitude, nan=0.0, posinf=0.0, neginf=0.0)


def _step_of_two(
    diagonal: list[FloatArray], cross: FloatArray, b: tuple[FloatArray, FloatArray], room: list[FloatArray]
) -> list[FloatArray]:
    """Solve symmetric 2 x 2 systems; if a solution passes a lower bound, optimise the other component at that bound.

    Args:
        diagonal: Both diagonals of the matrices.
        cross: Their other entry.
        b: Both right-hand sides.
        room: Lower bounds of both components.
    """
    det = diagonal[0] * diagonal[1] - cross * cross
    first, second = (b[0] * diagonal[1] - cross * b[1]) / det, (b[1] * diagonal[0] - cross * b[0]) / det
    low_second = second < room[1]
    second = np.maximum(second, room[1])
    first = np.where(low_second, (b[0] - cross * second) / diagonal[0], first)
    low_first = first < room[0]
    first = np.maximum(first, room[0])
    second = np.where(low_first, np.maximum((b[1] - cross * first) / diagonal[1], room[1]), second)
    return [first, second]


def _projection(
    p: Problems, g: FloatArray, lin: Linear, weighted: list[FloatArray]
) -> Callable[[int, int], FloatArray]:
    """Return a function (i, j) -> part of <v_i, v_j> in the span of the free linear terms (g, and 1 if d is free)."""
    along_g = [sum_products(wv, g) for wv in weighted]
    along_1 = [wv.sum(axis=0) for wv in weighted]
    det = p.sw * lin.sgg - lin.sg * lin.sg

    def inside(i: int, j: int) -> FloatArray:
        both = p.sw * along_g[i] * along_g[j] + lin.sgg * along_1[i] * along_1[j]
        both = both - lin.sg * (along_g[i] * along_1[j] + along_g[j] * along_1[i])
        return np.where(lin.free, both / det, along_g[i] * along_g[j] / lin.sgg)

    return inside
