"""What a run of rounds takes for granted that changes its numbers, in words."""

from __future__ import annotations

from mlsched.simulation.rounds.options import Options
from mlsched.simulation.rounds.workload import Workload


def assumed(workload: Workload, options: Options) -> dict[str, str]:
    """Name -> a sentence without its end."""
    cost = f"{options.resume} s of a round's steps for a job that did not run in the one before"
    shown = ("remainder", "gaps", *(("fifo", "unaware", "oversized", "optimum") if options.shares else ()))
    asked = f"Gavel's, with the shares of {options.shares}, asked anew at the soonest after {options.reset} s"
    return {
        "rounds": f"at most {options.round} s; a GPU that is free earlier idles until the round ends, arrivals wait",
        "pause cost": cost if options.resume else "none",
        "movement": "jobs pause and move at every round; where their GPUs are changes no speed",
        "rates": "known and constant: the table's, of jobs that run alone",
        "mechanism": asked if options.shares else "none: who runs where is asked every round",
        "readings": ", ".join(f"{name}={getattr(options, name)}" for name in shown),
    }
