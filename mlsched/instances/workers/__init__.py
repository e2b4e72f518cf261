"""Workers (Chic): the number of workers and parameter servers of each training job.

Papers: Gong, Li, Liang, Zhan, "Chic: Experience-driven Scheduling in Machine Learning Clusters", IWQoS 2019, Section
2.2; Peng, Bao, Chen, Wu, Guo, "Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning Clusters", EuroSys
2018, Section 4.1.
"""

from mlsched.core.contract import Generator, InSuites, Problem
from mlsched.instances.workers.bounds import TRIVIAL_BOUNDS
from mlsched.instances.workers.cases import cases, relaxations
from mlsched.instances.workers.draw import draw
from mlsched.instances.workers.features import FEATURES
from mlsched.instances.workers.generate import generate
from mlsched.instances.workers.horizon import Horizon, Stages
from mlsched.instances.workers.horizons import HORIZONS, generate_horizon
from mlsched.instances.workers.instance import DELAY, NEVER, Instance, Plan, waiting_terms
from mlsched.instances.workers.presets import PRESETS
from mlsched.instances.workers.relations import RELATIONS
from mlsched.instances.workers.strategies import contended, instances
from mlsched.instances.workers.stream import Policy, Stream
from mlsched.instances.workers.streams import STREAMS

PROBLEM = Problem(
    name="workers",
    title="how many workers and parameter servers each job gets",
    paper="Chic (Gong et al., 2019)",
    instance_type=Instance,
    plan_type=Plan,
    generate=generate,
    presets=PRESETS,
    strategy=instances,
    contended=contended,
    metamorphic_relations=RELATIONS,
    features=FEATURES,
    cases=cases,
    relaxations=relaxations,
    default="cp-sat",
    trivial_bounds=TRIVIAL_BOUNDS,
    draw=draw,
    other_types=(Horizon, Stream),
    horizons=(Generator(generate_horizon, HORIZONS), STREAMS),
    suites=InSuites(
        harder=("paper", 5, ()),
        exact=("small", "paper", "crowded"),
        scale=("x16", tuple({"jobs": n, "scale": n / 5} for n in (5, 10, 20))),
        speed="paper-10",
        edition=1,
        for_runs=("srpt", "max-rate", "rank-rate", "lp-mpc", "chic", "chic-pair", "chic-plus"),
        runs=("poisson-6", "burst-4"),
        on_runs=(
            *("clairvoyant", "dp", "optimus", "marginal-gain", "hull-greedy", "drf"),
            *("srpt", "max-rate", "rank-rate", "lp-mpc", "chic", "chic-pair", "chic-plus"),
        ),
    ),
)

__all__ = [
    "DELAY",
    "NEVER",
    "PROBLEM",
    "Horizon",
    "Instance",
    "Plan",
    "Policy",
    "Stages",
    "Stream",
    "generate",
    "instances",
    "waiting_terms",
]
