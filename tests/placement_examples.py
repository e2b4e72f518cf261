"""Placement instances whose speeds were worked out by hand.

`small()`: two servers with 2 cpu free each; a running job of type b on server 1; two new jobs of type a. A worker of b
slows a by 0.5, a PS of b by 0.25; a worker of a slows b by 1.0; two jobs of type a do not disturb each other. A remote
PS costs a 0.3.
"""

from __future__ import annotations

from mlsched.instances.placement import Instance

SMALL = {
    "resources": ["cpu"],
    "types": ["a", "b"],
    "pressures": ["cpu"],
    "server_capacity": [[2], [4]],
    "server_free": [[2], [2]],
    "sigma_worker": [[0, 500_000], [1_000_000, 0]],
    "sigma_ps": [[0, 250_000], [0, 0]],
    "apart": [[0, 0], [0, 0]],
    "use_worker": [[500], [250]],
    "use_ps": [[250], [0]],
    "linear": [[0], [0]],
    "quadratic": [[[0]], [[0]]],
    "rho_ps": [300_000, 0],
    "rho_worker": [0, 0],
    "run_type": [1],
    "run_speed": [600_000],
    "run_workers": [[0, 1]],
    "run_ps": [[0, 1]],
    "job_type": [0, 0],
    "job_speed": [1_000_000, 500_000],
    "job_workers": [1, 1],
    "job_ps": [1, 1],
    "worker_demand": [[1], [1]],
    "ps_demand": [[1], [1]],
}


def small(**changes) -> Instance:
    """The instance of this module's docstring, with some fields changed."""
    return Instance(**{**SMALL, **changes})
