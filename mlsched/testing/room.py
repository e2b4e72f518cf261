"""Second run of a stuck scheduler in a larger cluster, to distinguish a rule's choice from a fault.

A rule may let jobs wait that the cluster could serve. A rule that never splits a job over nodes waits for a node with
enough space; a rule with equal shares gives jobs nothing if a share rounds to zero. If such jobs wait forever, the run
is stuck by the rule's choice, not by a fault. The rule is therefore run again with the same jobs in a cluster in which
every node has space for all of them. If it is stuck there as well, it omits jobs.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlsched.core.errors import Stuck
from mlsched.core.params import Value
from mlsched.core.record import Record
from mlsched.simulation.clock import run
from mlsched.simulation.run import Simulation
from mlsched.simulation.wake import Wake
from mlsched.testing.subject import Subject


def serves_in_larger_cluster(
    scheduler: Subject,
    simulation: Simulation,
    workload: Record,
    options: Mapping[str, Value],
    scheduling_events: Wake,
    seed: int = 0,
) -> bool:
    """Return whether a run of the same jobs ends if every node has space for all of them.

    Args:
        scheduler: The scheduler under test.
        simulation: Simulation of the workload.
        workload: The workload.
        options: Simulator options.
        scheduling_events: Cadence of decisions.
        seed: Random seed.
    """
    if simulation.drawn is None or simulation.drawn.roomy is None:
        return False
    world = simulation.world(simulation.drawn.roomy(workload), simulation.options(options))
    try:
        run(
            world,
            scheduler.rule(),
            scheduling_events=scheduling_events,
            seed=seed,
            unit=simulation.parts_of_second(workload),
        )
    except Stuck:
        return False
    return True
