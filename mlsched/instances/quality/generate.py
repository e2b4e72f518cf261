"""Random quality instances from known loss curves; parameters set families, load, caps and the loss of rounding.

Amplitudes, speeds of convergence and costs of an iteration span the paper's workload (Table 1: iterations of 10s of
milliseconds to seconds on a share of 640 cores). The paper does not print these values, so they are documented
assumptions. Presets are frozen: measurements and tests quote them by name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.contract import Preset
from mlsched.core.errors import InvalidInput
from mlsched.core.losses.curves import Family
from mlsched.core.params import Count, CountOrNone, Range, Share, check_size, flatten_groups
from mlsched.instances.quality.instance import Instance
from mlsched.instances.quality.tables import Curves, Epoch, from_curves

#: Core-seconds of one iteration: median and sigma of a lognormal distribution, cut to [SHORTEST, LONGEST].
WORK, WORK_SIGMA, SHORTEST, LONGEST = 6.0, 1.0, 0.05, 120.0
#: Iterations until the excess loss has halved: median and sigma of a lognormal distribution.
HALVING, HALVING_SIGMA = 4.0, 0.7

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("small", "brute force answers within 5 s", {"jobs": 4, "cores": 16, "cap": 12, "reserved_share": 0.1}),
        Preset("floored", "only whole iterations count: unit greedy goes wrong", {"jobs": 40, "cores": 160}),
        Preset("fluid", "parts of iterations count: nearly concave", {"jobs": 40, "cores": 160, "rounding": "fluid"}),
        Preset(
            "contended",
            "few cores to share out beyond one per job; caps, weights and a reservation",
            {"jobs": 48, "cores": 80, "cap": 10, "reserved_share": 0.2, "important": 0.3, "speed": 2.0},
        ),
        Preset("paper", "the paper's testbed: 160 jobs, 640 cores, epochs of 3 s", {"jobs": 160, "cores": 640}),
        Preset(
            "large",
            "Fig. 10(c): 4,000 jobs, 16,000 cores, at most 64 cores per job",
            {"jobs": 4000, "cores": 16000, "width": 64},
        ),
    )
}


@dataclasses.dataclass(frozen=True)
class Sizes(ValidatedFields):
    """Parameters of `generate`, whose docstring has their meaning."""

    jobs: Count = 4
    cores: Count = 16
    epoch: Annotated[float, Range(0.001, 86400)] = 3.0
    rounding: Literal["floor", "fluid"] = "floor"
    sublinear: Share = 0.6
    age: Annotated[float, Range(0, 1000)] = 1.5
    speed: Annotated[float, Range(0, 1000, open_low=True)] = 1.0
    cap: CountOrNone = 0
    reserved_share: Share = 0.0
    least: CountOrNone = 1
    important: Share = 0.0
    width: CountOrNone = 0


@flatten_groups
@validate_arguments
def generate(rng: np.random.Generator, *, sizes: Sizes) -> Instance:
    """Draw an instance.

    Sizes:
        jobs: Number of jobs.
        cores: Number of cores.
        epoch: Length of the epoch, seconds.
        rounding: "floor" or "fluid" iterations.
        sublinear: Share of jobs with a 1/(ak^2+bk+c)+d curve, the others mu^(k-b)+c.
        age: Mean progress of the jobs in halvings of their excess loss.
        speed: Factor on the work of an iteration (2: iterations take half as long).
        cap: Job caps are uniform in least..cap; 0 removes them.
        reserved_share: Share of the cores that non-ML jobs use, rounded.
        least: Fewest cores of a running job.
        important: Share of jobs of weight 2..5.
        width: Most cores in the tables; 0 for the most that a job can get.
    """
    check_size("jobs x cores", sizes.jobs * (sizes.width or min(sizes.cap or sizes.cores, sizes.cores)))
    for name, value in (("cap", sizes.cap), ("width", sizes.width)):
        if value and value < sizes.least:
            raise InvalidInput(f"{name}: {value}, expected 0 or at least {sizes.least} (least)")
    curves, halving = draw_curves(rng, sizes.jobs, sizes.sublinear)
    iteration = np.floor(halving * rng.exponential(sizes.age, sizes.jobs))
    seconds = np.clip(rng.lognormal(np.log(WORK), WORK_SIGMA, sizes.jobs), SHORTEST, LONGEST) / sizes.speed
    weight = np.where(rng.uniform(size=sizes.jobs) < sizes.important, rng.integers(2, 6, sizes.jobs), 1)
    caps = rng.integers(sizes.least, sizes.cap + 1, sizes.jobs) if sizes.cap else None
    return from_curves(
        curves,
        Epoch(
            cores=sizes.cores,
            milliseconds=max(1, round(1000 * sizes.epoch)),
            rounding="floor" if sizes.rounding == "floor" else "fluid",
            reserved=round(sizes.cores * sizes.reserved_share),
            least=sizes.least,
            width=sizes.width,
        ),
        iteration=iteration,
        work=np.maximum(np.rint(1000 * seconds), 1).astype(np.int64),
        weight=weight,
        most=caps,
    )


def draw_curves(
    rng: np.random.Generator, jobs: int, share: float
) -> tuple[Curves, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Draw `jobs` curves, a `share` of them sublinear, and the iterations in which their excess loss first halves.

    Excess loss at iteration 0: uniform in 0.2..3, above a final loss uniform in 0..0.5. Sublinear curves mix O(1/k) and
    O(1/k^2) evenly. Curves with more than about 38 % of the latter (b^2 < ac) start concave; their gains do not.
    """
    excess, final, mix = rng.uniform(0.2, 3, jobs), rng.uniform(0, 0.5, jobs), rng.uniform(0, 1, jobs)
    halving = np.maximum(rng.lognormal(np.log(HALVING), HALVING_SIGMA, jobs), 0.25)
    first_order = rng.uniform(size=jobs) < share
    mu = 0.5 ** (1 / halving)
    # 1 / excess = c and a halving^2 + b halving = c; mu^(-b) = excess.
    quadratic = np.stack([mix / excess / halving**2, (1 - mix) / excess / halving, 1 / excess, final], axis=1)
    geometric = np.stack([mu, -np.log(excess) / np.log(mu), final, np.zeros(jobs)], axis=1)
    families: list[Family] = ["sublinear" if slow else "superlinear" for slow in first_order.tolist()]
    return Curves(families, np.where(first_order[:, None], quadratic, geometric)), halving
