"""Batched, bounded, weighted least squares of u ~ A g(x; theta) + d for thousands of small problems at once.

Variable projection (Golub and Pereyra 1973, with Kaufman's Jacobian): for given shape parameters theta the best
amplitude A >= 0 and asymptote d in [low, high] are known in closed form, so that Levenberg-Marquardt searches theta
alone: one number for the superlinear family, two for the sublinear one. Bounds on theta are kept by projection; a
component that stands at its bound and wants to leave is frozen for that step.

Everything here is scaled: x and u of the fitted history lie in [0, 1]. Arrays are (H, N): observations by problems.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mlsched.core.losses.curves import FloatArray

Theta = FloatArray
"""(P, N) shape parameters: P = 1 (rate) or 2 (first, second)."""

_SETTLED = 1e-9  # relative fall of the squared error below which a problem is done
_ROUNDING = 1e-20  # a mean squared error that is nothing but rounding, u being in [0, 1]
_DAMPED = 1e9  # damping beyond which no step helps any more


@dataclass(frozen=True)
class Shape:
    """A family of shapes g(x; theta) with g(0) = 1, decreasing in x and in every component of theta.

    Attributes:
        value: (x, theta) -> g.
        slopes: (x, g) -> -dg/dtheta, one array a component.
        starts: (S, P) candidates for theta that the search begins from.
        low, high: (P,) bounds on theta.
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


# Inside the bounds, where both components can move: from second = 0 the search sticks to that edge more often.
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
    """The data of N problems and the sums that do not depend on theta.

    Attributes:
        x, u, w: (H, N) abscissae, ordinates and weights (0 on padding).
        low, high: (N,) bounds on the asymptote d.
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
        self.suu = dot(self.wu, self.u)

    def take(self, keep: npt.NDArray[np.int64]) -> Problems:
        """The problems `keep`."""
        x, u, w = (np.ascontiguousarray(a[:, keep]) for a in (self.x, self.u, self.w))
        return Problems(x, u, w, self.low[keep], self.high[keep])


@dataclass
class Linear:
    """The best A and d for given shapes, and the sums they were made of; all (N,)."""

    amplitude: FloatArray
    asymptote: FloatArray
    free: npt.NDArray[np.bool_]  # d is strictly within its bounds
    sg: FloatArray
    sgg: FloatArray
    sse: FloatArray  # from the normal equations: good for ranking, not to the last digit


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Sums over observations of a * b."""
    return np.asarray(np.einsum("hn,hn->n", a, b))


def linear(p: Problems, g: FloatArray) -> Linear:
    """The bounded least squares in A and d: the interior solution, or the best of the three edges."""
    sg, sgg, sgu = dot(p.w, g), dot(p.w * g, g), dot(p.wu, g)
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
    return np.asarray(p.suu - 2 * a * sgu - 2 * d * p.su + a * a * sgg + 2 * a * d * sg + d * d * p.sw)


def best_start(shape: Shape, p: Problems, theta: Theta | None, high: Theta) -> Theta:
    """The best of the shape's starts for each problem, `theta` (NaN where there is none) being one of them."""
    best = np.repeat(shape.starts[:1].T, len(p.low), axis=1)
    smallest = np.full(len(p.low), np.inf)
    for candidate in [c[:, None] for c in shape.starts] if theta is None else [theta]:
        tried = np.minimum(np.broadcast_to(candidate, best.shape), high)
        error = linear(p, shape.value(p.x, tried)).sse
        better = error < smallest
        best, smallest = np.where(better, tried, best), np.where(better, error, smallest)
    return best


def solve(shape: Shape, p: Problems, theta: Theta, high: Theta, steps: int) -> tuple[Theta, Linear]:
    """Levenberg-Marquardt from `theta` (P, N), at most `steps` steps; returns theta and the linear part there."""
    theta = theta.copy()
    damping = np.full(theta.shape[1], 1e-3)
    todo = np.arange(theta.shape[1])
    q, at, top = p, theta.copy(), high
    g = shape.value(q.x, at)
    lin = linear(q, g)
    r = q.u - lin.amplitude * g - lin.asymptote
    sse = dot(q.w * r, r)
    for _ in range(steps):
        move = _step(shape, q, g, r, lin, at, top, damping)
        tried = np.clip(at + move, shape.low[:, None], top)
        g2 = shape.value(q.x, tried)
        lin2 = linear(q, g2)
        r2 = q.u - lin2.amplitude * g2 - lin2.asymptote
        sse2 = dot(q.w * r2, r2)
        good = sse2 < sse
        at = np.where(good, tried, at)
        settled = (np.abs(sse - sse2) <= _SETTLED * sse) | (sse <= _ROUNDING * q.sw) | (damping > _DAMPED)
        damping = np.where(good, damping * 0.1, damping * 8.0)
        if settled.any():
            theta[:, todo] = at
            remaining = np.flatnonzero(~settled)
            if not remaining.size:
                break
            if remaining.size < 0.7 * len(todo):
                todo, at, top = todo[remaining], at[:, remaining], top[:, remaining]
                damping, q = damping[remaining], q.take(remaining)
                g = shape.value(q.x, at)
                lin = linear(q, g)
                r = q.u - lin.amplitude * g - lin.asymptote
                sse = dot(q.w * r, r)
                continue
        if good.all():
            g, r, lin, sse = g2, r2, lin2, sse2
        else:
            g, r = np.where(good, g2, g), np.where(good, r2, r)
            lin = _merge(good, lin2, lin)
            sse = np.where(good, sse2, sse)
    theta[:, todo] = at
    return theta, linear(p, shape.value(p.x, theta))


def _merge(good: npt.NDArray[np.bool_], new: Linear, old: Linear) -> Linear:
    names = ("amplitude", "asymptote", "free", "sg", "sgg", "sse")
    return Linear(*(np.where(good, getattr(new, name), getattr(old, name)) for name in names))


def _step(
    shape: Shape, p: Problems, g: FloatArray, r: FloatArray, lin: Linear, theta: Theta, high: Theta, damping: FloatArray
) -> Theta:
    """The Levenberg-Marquardt step in theta, (P, N); 0 where the amplitude is 0 and theta says nothing."""
    slopes = shape.slopes(p.x, g, p.x * g)
    weighted = [p.w * v for v in slopes]
    with np.errstate(all="ignore"):
        grad = [dot(wv, r) for wv in weighted]
        project = _projection(p, g, lin, weighted)
        scale = [dot(wv, v) for wv, v in zip(weighted, slopes, strict=True)]
        # A step leaves the feasible set where its component is at a bound and pushes on; such a component stays.
        stuck = [
            (theta[i] <= shape.low[i]) & (grad[i] > 0) | (theta[i] >= high[i]) & (grad[i] < 0)
            for i in range(len(slopes))
        ]
        diagonal = [s - project(i, i) + damping * s for i, s in enumerate(scale)]
        if len(slopes) == 1:
            steps = [np.where(stuck[0], 0.0, -grad[0] / diagonal[0])]
        else:
            cross = np.where(stuck[0] | stuck[1], 0.0, dot(weighted[0], slopes[1]) - project(0, 1))
            b0, b1 = np.where(stuck[0], 0.0, -grad[0]), np.where(stuck[1], 0.0, -grad[1])
            room = [(shape.low[i] - theta[i]) * lin.amplitude for i in (0, 1)]
            steps = _step_of_two(diagonal, cross, (b0, b1), room)
        return np.nan_to_num(np.array(steps) / lin.amplitude, nan=0.0, posinf=0.0, neginf=0.0)


def _step_of_two(
    diagonal: list[FloatArray], cross: FloatArray, b: tuple[FloatArray, FloatArray], room: list[FloatArray]
) -> list[FloatArray]:
    """The solution of a 2 x 2 system; where it would pass a lower bound, the other component best for that bound."""
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
    """(i, j) -> how much of <v_i, v_j> lies in the span of the free linear terms (g, and 1 where d is free)."""
    along_g = [dot(wv, g) for wv in weighted]
    along_1 = [wv.sum(axis=0) for wv in weighted]
    det = p.sw * lin.sgg - lin.sg * lin.sg

    def inside(i: int, j: int) -> FloatArray:
        both = p.sw * along_g[i] * along_g[j] + lin.sgg * along_1[i] * along_1[j]
        both = both - lin.sg * (along_g[i] * along_1[j] + along_g[j] * along_1[i])
        return np.where(lin.free, both / det, along_g[i] * along_g[j] / lin.sgg)

    return inside
