"""Assumptions of a simulation of rounds that change its numbers, in words."""

from __future__ import annotations

import numpy as np

from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.workload import Workload


def never_done(workload: Workload, options: Options) -> str:
    """Describe the jobs that are dropped because they never finish a step in a full round.

    With the interpretation "dropped", they never finish one step per GPU.
    """
    steps = np.minimum(np.floor(workload.rates * options.round), workload.steps[:, None])
    least = workload.gpus if options.remainder == "dropped" else np.ones_like(workload.gpus)
    never = np.flatnonzero(~(workload.fits & (steps >= least[:, None])).any(axis=1))
    if not never.size:
        return ""
    job = int(never[0])
    which = f"job {job}{f' ({workload.models[job]})' if workload.models else ''}"
    each = " on each of its GPUs" if options.remainder == "dropped" else ""
    more = f", and so are {never.size - 1} more" if never.size > 1 else ""
    remedy = "lengthen round, count smaller steps, or give remainder=run" if each else "lengthen round"
    return f"{which} does no step{each} in a round of {options.round} s{more}; {remedy}"


def assumed(workload: Workload, options: Options) -> dict[str, str]:
    """Return name -> a sentence without its full stop."""
    cost = f"{options.resume} s of a round's steps for a job that did not run in the one before"
    adapts = () if workload.adaptation is None else ("emptied",)
    display = ("remainder", "gaps", *adapts, *(("fifo", "unaware", "oversized", "optimum") if options.shares else ()))
    query = f"Gavel's, with the shares of {options.shares}, asked anew at the soonest after {options.reset} s"
    plan = f"Shockwave's, with plans of {options.window} rounds, made anew after {options.replan} at the latest"
    paired = "" if workload.packing is None else "; of pairs that share GPUs as measured"
    constant, changing = workload.adaptation is None, "as the batch sizes, that change with the epochs"
    dropped = never_done(workload, options)
    return {
        "rounds": f"at most {options.round} s; a GPU that is free earlier idles until the round ends, arrivals wait",
        "pause cost": cost if options.resume else "none",
        "movement": "jobs pause and move at every round; where their GPUs are changes no speed",
        "rates": f"known and {'constant' if constant else changing}: the table's, of jobs that run alone{paired}",
        "mechanism": query if options.shares else plan if options.plan else "none: who runs where is asked every round",
        "readings": ", ".join(f"{name}={getattr(options, name)}" for name in display),
        **({"dropped": dropped} if dropped else {}),
    }
